//! Detects white space in added lines that differs from that of the file: spaces for tabs, hard spaces, characters
//! displayed for tabs. Only differences that the file, or the lines around, make clear are reported. Pure.

use super::body::{HunkLine, Kind};
use super::damaged_line::Damage;
use super::file_style::{DIRECTIONS, FileStyle, HARD_SPACES, HIDDEN, TAB_SIGNS, begins_with};
use super::indentation;
use super::refuse::Reason;

/// The maximum number of old lines of a hunk that an added line is compared with.
const LOOKED_AT: usize = 50;
/// Extensions of files with tab-separated columns.
const TABLES: &[&str] = &["tsv", "tab"];

/// Extensions of files in which a blank at the start of a line belongs to a value.
const ROWS: [&str; 4] = ["csv", "tsv", "tab", "psv"];

/// Extensions of files that contain text for people, outside of quotes.
const TEXTS: [&str; 9] = ["csv", "tsv", "tab", "yaml", "yml", "properties", "ini", "srt", "vtt"];

/// Returns what is wrong with the white space of the lines that `body` adds.
pub(super) fn found(style: &FileStyle<'_>, body: &[HunkLine<'_>]) -> Option<Damage> {
    let added = || {
        let added = body.iter().filter(|line| line.kind == Kind::Added);
        added.filter(|line| !line.text.trim_ascii().is_empty())
    };
    let damaged = |line: &HunkLine<'_>, has| Some(Damage::at(Reason::DamagedLine, line, has));
    // Old lines are checked first: most of the time the file need not be read.
    let may_be_table = style.is_of(TABLES)
        || body.iter().any(|line| line.is_old() && line.text.trim_ascii().contains(&b'\t'));
    if let Some(line) = added().find(|line| may_be_table && lost_its_columns(style, line.text)) {
        return damaged(line, "has no tabs between its columns, but every line of the file does");
    }
    if let Some(line) = shifted_row(style, body) {
        let has = "begins with a blank, as all added lines do, unlike every line of the file";
        return Some(Damage::at(Reason::IndentMismatch, line, has));
    }
    if !style.is_code() {
        return None;
    }
    if let Some(line) = added().find(|line| has_tab_sign(style, body, line.text)) {
        return damaged(line, "begins with a character displayed for a tab, instead of a tab");
    }
    if let Some(line) = added().find(|line| has_drawn_spaces(style, line.text)) {
        return damaged(line, "begins with characters displayed for spaces, instead of spaces");
    }
    if let Some(line) = added().find(|line| has_hidden(style, line.text)) {
        return damaged(line, "has an invisible character");
    }
    if let Some(line) = added().find(|line| has_hard_space(style, line.text)) {
        return damaged(line, "has a hard space (U+00A0 or similar) instead of a space");
    }
    if let Some(line) = tabbed(style, body) {
        let has = "is indented with tabs where the file has spaces";
        return Some(Damage::at(Reason::IndentStyleMismatch, line, has));
    }
    if let Some((line, has)) = indentation::found(style, body) {
        return Some(Damage::at(Reason::IndentMismatch, line, has));
    }
    let line = untabbed_recipe(style, body).or_else(|| untabbed(style, body))?;
    let has = "is indented with spaces where the file has tabs";
    Some(Damage::at(Reason::IndentStyleMismatch, line, has))
}

/// Returns the first added line of a table if all of them begin with a blank, which would belong to the first value, and
/// no line of the file does.
fn shifted_row<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    if !style.is_of(&ROWS) {
        return None;
    }
    let is_shifted = |line: &&HunkLine<'_>| line.text.starts_with(b" ");
    let mut added = body.iter().filter(|line| line.kind == Kind::Added);
    let first = added.next().filter(is_shifted)?;
    let old = || body.iter().filter(|line| line.is_old());
    let is_plain = old().next().is_some() && !old().any(|line| is_shifted(&line));
    (is_plain && added.all(|line| is_shifted(&line)) && !style.begins_with_blank()).then_some(first)
}

/// Returns true if a line has gaps where every line of the file has tabs: wide gaps, or the same number of them.
fn lost_its_columns(style: &FileStyle<'_>, line: &[u8]) -> bool {
    if memchr::memchr(b'\t', line).is_some() || line.starts_with(b"#") {
        return false;
    }
    let is_table = style.is_of(TABLES);
    if style.is_empty() && !is_table {
        return false;
    }
    let columns = style.habits().columns;
    let text = line.trim_ascii();
    let is_wide = |gap: &[u8]| memchr::memmem::find(text, gap).is_some();
    let gaps = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).count() - 1;
    let has_gaps = is_wide(b"  ") || is_wide(b"\\t") || is_wide("→".as_bytes());
    (columns.is_some() || is_table) && has_gaps || columns.is_some_and(|tabs| tabs == gaps)
}

/// Returns true if a line begins with a character displayed for a tab, in a file that uses tabs.
fn has_tab_sign(style: &FileStyle<'_>, body: &[HunkLine<'_>], line: &[u8]) -> bool {
    if line.is_ascii() || begins_with(line, &TAB_SIGNS).is_none() {
        return false;
    }
    if !style.is_empty() {
        let habits = style.habits();
        return habits.tabbed > 0 && !habits.has_tab_signs;
    }
    let is_indented =
        |line: &HunkLine<'_>| line.text.starts_with(b" ") || line.text.starts_with(b"\t");
    let is_of_tabs = style.is_makefile() || style.is_of(&["go"]);
    is_of_tabs || body.len() > 1 && !body.iter().any(is_indented)
}

/// Returns true if a line is indented with characters displayed for spaces.
fn has_drawn_spaces(style: &FileStyle<'_>, line: &[u8]) -> bool {
    let is_drawn = |sign: &&&str| {
        line.strip_prefix(sign.as_bytes()).is_some_and(|rest| rest.starts_with(sign.as_bytes()))
    };
    let Some(sign) = ["·", "␣", "&nbsp;"].iter().find(is_drawn) else { return false };
    let may_be_meant = sign.chars().next().is_some_and(|c| style.has_char(c));
    !style.is_markup() && (sign.is_ascii() || !may_be_meant)
}

/// Returns true if a line has a zero-width character outside of what may be a string or a comment or at its end, or one
/// that changes the direction of text outside of quotes.
fn has_hidden(style: &FileStyle<'_>, line: &[u8]) -> bool {
    // A new file may begin with a byte order mark.
    let line =
        line.strip_prefix("\u{feff}".as_bytes()).filter(|_| style.is_empty()).unwrap_or(line);
    if line.is_ascii() {
        return false;
    }
    let outside = outside_quotes(line);
    let has_turns = !style.is_of(&TEXTS) && has_one_of(style, &outside, &DIRECTIONS);
    let ends_so = || outside.ends_with("\u{200b}".as_bytes()) && !style.has_char('\u{200b}');
    !style.is_markup() && (has_one_of(style, code_of(line), &HIDDEN) || has_turns || ends_so())
}

/// Returns a line without what is between quotes of the same kind.
fn outside_quotes(line: &[u8]) -> Vec<u8> {
    let mut open = None;
    let mut is_outside = |byte: &u8| {
        let was_open = open.is_some();
        match open {
            Some(quote) if quote == *byte => open = None,
            None if b"\"'`".contains(byte) => open = Some(*byte),
            Some(_) | None => {}
        }
        !was_open
    };
    line.iter().copied().filter(|byte| is_outside(byte)).collect()
}

/// Returns true if a line has a hard space in its indentation, or elsewhere outside of what may be a string or a
/// comment.
fn has_hard_space(style: &FileStyle<'_>, line: &[u8]) -> bool {
    if line.is_ascii() {
        return false;
    }
    let is_indented = begins_with(line, &HARD_SPACES).is_some_and(|c| !style.has_char(c));
    is_indented || !style.is_markup() && has_one_of(style, code_of(line), &HARD_SPACES)
}

/// Returns true if `code` has one of these characters and the file does not.
fn has_one_of(style: &FileStyle<'_>, code: &[u8], characters: &[char]) -> bool {
    let has =
        |c: &&char| memchr::memmem::find(code, c.encode_utf8(&mut [0; 4]).as_bytes()).is_some();
    characters.iter().find(has).is_some_and(|c| !style.has_char(*c))
}

/// Returns a line up to what may be a string or a comment.
fn code_of(line: &[u8]) -> &[u8] {
    if begins_with(line, &['*', ';', '%']).is_some() {
        return b"";
    }
    let code = line.split(|byte| b"\"'`#".contains(byte)).next().unwrap_or_default();
    memchr::memmem::find(code, b"//").and_then(|at| code.get(..at)).unwrap_or(code)
}

/// Returns a line that is indented with tabs, in a file without tabs whose language does not accept tabs mixed with
/// spaces.
fn tabbed<'h, 'a>(style: &FileStyle<'_>, body: &'h [HunkLine<'a>]) -> Option<&'h HunkLine<'a>> {
    if !style.is_of(&["py", "pyi", "yaml", "yml"]) {
        return None;
    }
    let mut added = body.iter().filter(|line| line.kind == Kind::Added);
    let line =
        added.find(|line| line.text.starts_with(b"\t") && !line.text.trim_ascii().is_empty())?;
    let is_spaced = |line: &HunkLine<'_>| line.is_old() && line.text.starts_with(b"  ");
    let may_be_text = body.iter().any(|line| memchr::memmem::find(line.text, b"\"\"\"").is_some());
    let habits = style.habits();
    let is_told = habits.tabbed == 0 && habits.spaced > 1 && body.iter().any(is_spaced);
    (is_told && !may_be_text).then_some(line)
}

/// Returns a line of a recipe that is indented with spaces: `make` accepts only tabs.
fn untabbed_recipe<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    if !style.is_makefile() {
        return None;
    }
    let new: Vec<&HunkLine<'_>> =
        body.iter().filter(|line| line.is_new() && !line.text.trim_ascii().is_empty()).collect();
    let pairs = new.iter().zip(new.iter().skip(1));
    pairs.map(|(before, line)| (before.text, *line)).find_map(|(before, line)| {
        let is_recipe = before.starts_with(b"\t") || is_rule(before);
        let is_open = before.trim_ascii_end().ends_with(b"\\");
        let is_recipe = is_recipe && !is_open && !is_of_make(line.text);
        let is_spaced = line.text.starts_with(b"  ") || line.text.starts_with(b" \t");
        (is_recipe && line.kind == Kind::Added && is_spaced).then_some(line)
    })
}

/// Returns true if a line of a makefile names a target whose recipe follows.
fn is_rule(line: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b':', line) else { return false };
    let is_target = line.first().is_some_and(|byte| !b" \t#".contains(byte));
    let head = line.get(..at).unwrap_or_default();
    let rest = line.get(at + 1..).unwrap_or_default();
    is_target && !head.contains(&b'=') && !rest.contains(&b'=') && !rest.contains(&b';')
}

/// Returns true if a line is read by `make` itself; such a line may be indented with anything.
fn is_of_make(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 12] = [
        b"ifeq",
        b"ifneq",
        b"ifdef",
        b"ifndef",
        b"else",
        b"endif",
        b"include",
        b"-include",
        b"define",
        b"endef",
        b"export",
        b"#",
    ];
    let text = line.trim_ascii_start();
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let name = text.iter().take_while(is_name).count();
    let rest = text.get(name..).unwrap_or_default().trim_ascii_start();
    let signs: [&[u8]; 5] = [b"=", b":=", b"?=", b"+=", b"::="];
    WORDS.iter().any(|word| text.starts_with(word))
        || name > 0 && signs.iter().any(|sign| rest.starts_with(sign))
}

/// Marks that may open a multi-line string or comment.
const OPENERS: [&[u8]; 6] = [b"`", b"\"\"\"", b"'''", b"<<", b"/*", b"<pre"];

/// Returns a line that is indented with spaces, in a file that is indented with tabs throughout, after a line that is.
/// Lines that may be in a multi-line string are left alone.
fn untabbed<'h, 'a>(style: &FileStyle<'_>, body: &'h [HunkLine<'a>]) -> Option<&'h HunkLine<'a>> {
    let is_spaced = |line: &&HunkLine<'_>| {
        line.kind == Kind::Added
            && line.text.starts_with(b"  ")
            && !line.text.trim_ascii().is_empty()
    };
    let mut added = body.iter().filter(|line| line.kind == Kind::Added);
    if !body.iter().any(|line| is_spaced(&line)) || added.any(|line| line.text.starts_with(b"\t")) {
        return None;
    }
    if body.iter().any(|line| line.is_old() && line.text.starts_with(b"  ")) {
        return None;
    }
    let habits = style.habits();
    if habits.tabbed < 2 || habits.spaced > 0 {
        return None;
    }
    let may_be_text = |line: &HunkLine<'_>| {
        line.text.trim_ascii_end().ends_with(b"\\")
            || OPENERS.iter().any(|opener| memchr::memmem::find(line.text, opener).is_some())
    };
    // If a hunk changes nothing but white space, that is intended.
    let is_old = |text: &[u8]| {
        let mut old = body.iter().filter(|line| line.is_old()).take(LOOKED_AT);
        old.any(|old| old.text.trim_ascii() == text.trim_ascii())
    };
    if body.iter().any(may_be_text) || body.iter().any(|line| is_spaced(&line) && is_old(line.text))
    {
        return None;
    }
    let first = body.iter().position(|line| is_spaced(&line))?;
    let old = |line: &&HunkLine<'_>| line.is_old() && !line.text.trim_ascii().is_empty();
    let (before, behind) = body.split_at_checked(first)?;
    let neighbour = before.iter().rev().find(old).or_else(|| behind.iter().find(old))?;
    let indented = body.iter().filter(is_spaced).count();
    (neighbour.text.starts_with(b"\t") || indented > 1).then(|| body.get(first)).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::super::testing::reason_of;
    use super::*;

    fn reason(name: &str, file: &str, hunk: &str) -> Option<Reason> {
        reason_of(found, name, file, hunk)
    }

    const GO: &str = "func f() {\n\ta()\n\tb()\n}\n";
    const TABLE: &str = "id\tname\n1\tone\n2\ttwo\n";

    #[test]
    fn spaces_for_tabs_are_found_in_files_with_tabs_throughout() {
        for (name, file, hunk) in [
            ("a.go", GO, " \ta()\n+    c()\n \tb()"),
            ("a.go", GO, " }\n+\n+func g() {\n+    c()\n+    d()\n+}"),
            ("a.go", GO, "-\tb()\n+    c()"),
            ("Makefile", "all: x\n\tcc\n", " all: x\n \tcc\n+    strip x"),
            ("Makefile", "all: x\n\tcc\n  ifdef A\n  endif\n", "+t:\n+        echo"),
            ("rules.mk", "", "+all:\n+    cc x.c"),
            ("a.py", "def f():\n    a()\n    b()\n", "     a()\n+\tc()"),
            ("a.yml", "a:\n  b: 1\n  c: 2\n", "   b: 1\n+\td: 3\n   c: 2"),
        ] {
            assert_eq!(reason(name, file, hunk), Some(Reason::IndentStyleMismatch), "{hunk}");
        }
    }

    #[test]
    fn spaces_that_may_be_meant_are_left() {
        let mixed = [GO, "  x\n"].concat();
        for (name, file, hunk) in [
            ("a.go", GO, "-\ta()\n-\tb()\n+    a()\n+    b()"),
            ("a.go", mixed.as_str(), " \ta()\n+    c()"),
            ("a.go", GO, " \ta()\n+\tc(d,\n+\t    e)"),
            ("a.py", "def f():\n    a()\n\tb()\n", "     a()\n+\tc()"),
            ("a.c", "f(){\n    a();\n    b();\n", "     a();\n+\tc();"),
            ("a.go", GO, " \ta()\n+\tc()\n+    d()"),
            ("a.go", GO, " }\n+const x = `\n+  a: b\n+  c: d\n+`"),
            ("a.c", GO, " }\n+/*\n+   A text.\n+   More of it.\n+ */"),
            ("a.md", GO, " \ta()\n+    c()"),
            ("f", GO, " \ta()\n+    c()"),
            ("a.go", "x\n\ta\n", " \ta\n+    b"),
            ("Makefile", "all: x\n\tcc\n", " all: x\n+    CFLAGS = -O2"),
            ("Makefile", "a = 1\n", "+SOURCES = a.c \\\n+    b.c"),
            ("Makefile", "all: x\n\tcc\n", " \tcc\n+ifdef A\n+    include x\n+endif"),
            ("Makefile", "all: x\n\tcc \\\n\t  a\n", " \tcc \\\n+\t  b \\\n \t  a"),
        ] {
            assert_eq!(reason(name, file, hunk), None, "{hunk}");
        }
    }

    #[test]
    fn columns_without_their_tabs_are_found() {
        for (name, file, line) in [
            ("a.tsv", TABLE, "3    three"),
            ("a", TABLE, "3 three"),
            ("a.tsv", TABLE, "3\\tthree"),
            ("a.txt", TABLE, "3→three"),
            ("a.tsv", "", "3    three"),
        ] {
            let reason = reason(name, file, &format!(" 2\ttwo\n+{line}"));
            assert_eq!(reason, Some(Reason::DamagedLine), "{line}");
        }
        for (name, file, line) in [
            ("a.tsv", TABLE, "3\tthree of them"),
            ("a.tsv", TABLE, "# a remark"),
            ("a.tsv", TABLE, "lone"),
            ("a.tsv", "id\tname\nlone\n", "one more"),
            ("a.c", "int a;\t// x\nint b;\n", "int c;    // y"),
            ("a.txt", "a  b\n", "c  d"),
        ] {
            assert_eq!(reason(name, file, &format!(" a\tb\n+{line}")), None, "{line}");
        }
    }

    #[test]
    fn characters_displayed_for_tabs_are_found() {
        for (name, file, hunk) in [
            ("a.go", GO, " \ta()\n+→c()"),
            ("a.go", GO, " \ta()\n+→→if c() {\n+→→}"),
            ("Makefile", "", "+all:\n+→cc x.c"),
            ("a.go", "", "+func f() {\n+⇥a()\n+}"),
            ("a.py", "", "+def f():\n+→a()\n+→b()"),
        ] {
            assert_eq!(reason(name, file, hunk), Some(Reason::DamagedLine), "{hunk}");
        }
        for (name, file, hunk) in [
            ("a.py", "def f():\n    a()\n", "+→ b"),
            ("a.go", "x\n\ta\n→ b\n", "+→ c"),
            ("a.md", GO, "+→ next"),
            ("a.go", GO, "+\tx := \"a → b\""),
            ("a.py", "", "+S = '''\n+→ a\n+    b\n+→ c\n+'''"),
        ] {
            assert_eq!(reason(name, file, hunk), None, "{hunk}");
        }
    }

    #[test]
    fn displayed_spaces_and_invisible_characters_are_found_in_code() {
        for line in ["··return 1", "␣␣x = 1", "&nbsp;&nbsp;x", "x\u{200b} = 1", "\u{feff}x"] {
            let found = reason("a.py", "x = 1\n", &format!("+{line}"));
            assert_eq!(found, Some(Reason::DamagedLine), "{line}");
            assert_eq!(reason("a.md", "x = 1\n", &format!("+{line}")), None, "{line}");
        }
        let hidden = ["x = f('a')\u{200b}", "x = 1\u{202e}", "# x\u{2066}", "f(\"a\");\u{202d}"];
        for line in hidden {
            let found = reason("a.py", "x\n", &format!("+{line}"));
            assert_eq!(found, Some(Reason::DamagedLine), "{line}");
        }
        for line in ["x = '\u{200b}'", "# a\u{200f}", "x = '··'", "·x", "t = \"a\u{202e}b\""] {
            assert_eq!(reason("a.py", "x = 1\n", &format!("+{line}")), None, "{line}");
        }
        assert_eq!(reason("a.py", "", "+\u{feff}x = 1"), None);
        let file = "s = '''\n··a\n\u{200b}'''\n";
        assert_eq!(reason("a.yml", "x\n", "+title: \u{202b}x\u{202c}"), None);
        assert_eq!(reason("a.py", "# \u{202b}\n", "+# \u{202b}x\u{202c}"), None);
        for line in ["··b", "x\u{200b}"] {
            assert_eq!(reason("a.py", file, &format!("+{line}")), None, "{line}");
        }
    }

    #[test]
    fn hard_spaces_are_found_in_code() {
        for (name, line) in [
            ("a.py", "\u{a0}\u{a0}\u{a0}\u{a0}return 1"),
            ("a.py", "x\u{a0}=\u{a0}2"),
            ("a.html", "\u{a0}\u{a0}<p>"),
            ("a.c", "\u{3000}int x;"),
            ("a.rs", "let x =\u{202f}1; // a\u{a0}b"),
        ] {
            let found = reason(name, "x = 1\n", &format!("+{line}"));
            assert_eq!(found, Some(Reason::DamagedLine), "{line}");
            assert_eq!(
                reason(name, "# \u{a0}\u{202f}\u{3000}\n", &format!("+{line}")),
                None,
                "{line}"
            );
        }
        for (name, line) in [
            ("a.py", "x = 'a\u{a0}b'"),
            ("a.py", "# 5\u{a0}km"),
            ("a.rs", "let x = 1; // 5\u{a0}km"),
            ("a.md", "\u{a0}\u{a0}5\u{a0}km"),
            ("a.html", "<p>5\u{a0}km</p>"),
            ("f", "x\u{a0}=\u{a0}1"),
        ] {
            assert_eq!(reason(name, "x = 1\n", &format!("+{line}")), None, "{line}");
        }
    }

    #[test]
    fn lines_one_column_too_deep_are_found_where_that_matters() {
        let of = |name: &str, file: &str, hunk: &[&str]| {
            let lines: Vec<&[u8]> = hunk.iter().map(|line| line.as_bytes()).collect();
            let style = FileStyle::of(file.as_bytes(), name);
            found(&style, &read_all(&lines, 1)).map(|damage| damage.reason)
        };
        let makefile = "test:\n\tgo test\n";
        let recipe = [" test:", "-\tgo test", "+ \tgo vet", "+ \tgo test"];
        assert_eq!(of("Makefile", makefile, &recipe), Some(Reason::IndentStyleMismatch));
        let variable = [" test:", " \tgo test", "+", "+ X = 1"];
        assert_eq!(of("Makefile", makefile, &variable), None);
        let table = "id,name\n1,bolt\n2,nut\n";
        let rows = [" 1,bolt", "-2,nut", "+ 2,nuts", "+ 3,nail"];
        assert_eq!(of("a.csv", table, &rows), Some(Reason::IndentMismatch));
        assert_eq!(of("a.csv", &format!("{table} 9,x\n"), &rows), None, "the file has one");
        assert_eq!(of("a.csv", table, &[" 1,bolt", "+ 3,nail", "+4,pin"]), None);
        assert_eq!(of("a.rs", table, &[" 1,bolt", "+ 3,nail"]), None);
    }
}
