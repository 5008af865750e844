//! Detects escapes that do not belong in added lines: `\_` of Markdown or `\"` of JSON in code, and `<br>` for a
//! newline. Pure.

use super::body::{HunkLine, Kind};
use super::damaged_line::Damage;
use super::file_style::{FileStyle, is_of_word};
use super::refuse::Reason;

/// Languages in which a backslash occurs only in strings and comments.
const STRICT: [&str; 17] = [
    "rs", "c", "h", "cc", "cpp", "hpp", "cxx", "java", "go", "kt", "cs", "swift", "py", "js", "ts",
    "json", "toml",
];
/// Those of them with multi-line strings or expressions in which a backslash needs no quote before it.
const WITH_TEXTS: [&str; 3] = ["py", "js", "ts"];
/// The maximum number of old lines of a hunk that are searched for a word.
const LOOKED_AT: usize = 200;
/// The ways to write a line break in HTML.
const BREAKS: [&str; 3] = ["<br>", "<br/>", "<br />"];

/// Returns what is wrong with the lines that `body` adds.
pub(super) fn found(style: &FileStyle<'_>, body: &[HunkLine<'_>]) -> Option<Damage> {
    let mut added = body.iter().filter(|line| line.kind == Kind::Added);
    if style.is_prose() {
        return broken(style, body);
    }
    let damage = |line: &HunkLine<'_>, has| Some(Damage::at(Reason::DamagedLine, line, has));
    if let Some(line) = added.clone().find(|line| is_typeset(style, line.text)) {
        return damage(line, "has typographic quotes or brackets instead of those of code");
    }
    if let Some(line) = added.clone().find(|line| is_of_json(style, line.text)) {
        return damage(line, "has a character that is escaped as in JSON");
    }
    if let Some(line) = with_escaped_quotes(style, body) {
        return damage(line, "has quotes that are escaped as in JSON");
    }
    let line = added.find(|line| is_escaped(style, body, line.text))?;
    damage(line, "has a character that is escaped as in Markdown")
}

/// Returns the code of a line, up to the first quote; empty for a comment.
fn code_of(line: &[u8]) -> &[u8] {
    let text = line.trim_ascii_start();
    let is_comment = [&b"//"[..], b"#", b"*", b"/*"].iter().any(|mark| text.starts_with(mark));
    let code = text.split(|byte| b"\"'`".contains(byte)).next().unwrap_or_default();
    if is_comment { b"" } else { code }
}

/// Returns true if a line has a character such as `<` escaped as in JSON, where the escape has no meaning.
fn is_of_json(style: &FileStyle<'_>, line: &[u8]) -> bool {
    let has = |escape: &&[u8]| memchr::memmem::find(code_of(line), escape).is_some();
    let escapes: [&[u8]; 3] = [b"\\u003c", b"\\u003e", b"\\u0026"];
    memchr::memchr(b'\\', line).is_some()
        && style.is_of(&STRICT)
        && escapes.iter().any(has)
        && !code_of(line).contains(&b'/')
}

/// Returns the first line with a quote, if every quote in the added lines is escaped and none in the file is.
fn with_escaped_quotes<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    let quoted = || {
        let added = body.iter().filter(|line| line.kind == Kind::Added);
        added.filter(|line| memchr::memchr(b'"', line.text).is_some())
    };
    let is_escaped = |line: &HunkLine<'_>| {
        let mut before = line.text.split(|byte| *byte == b'"').rev().skip(1);
        before.all(|part| part.ends_with(b"\\"))
    };
    // The very first quote is escaped and in code, not inside a string with other quotes.
    let is_code = |line: &HunkLine<'_>| {
        let code = code_of(line.text);
        code.ends_with(b"\\") && code.iter().any(|byte| b"(=[".contains(byte))
    };
    let first = quoted().next().filter(|line| style.is_of(&STRICT) && is_code(line))?;
    (quoted().all(is_escaped) && !style.habits().has_escaped_quotes).then_some(first)
}

/// Returns true if code has curly quotes around a string, or wide brackets after a name, which no code has.
fn is_typeset(style: &FileStyle<'_>, line: &[u8]) -> bool {
    if line.is_ascii() || !style.is_of(&STRICT) {
        return false;
    }
    let code = String::from_utf8_lossy(code_of(line));
    let ends_like_code = line.trim_ascii_end().last().is_some_and(|byte| b"):;,]}".contains(byte))
        || String::from_utf8_lossy(line).trim_end().ends_with('\u{ff09}');
    let signs = [("\u{201c}", "(=,[{"), ("\u{2018}", "(=,[{")];
    let is_string = signs.iter().any(|(quote, before)| {
        code.split_once(quote)
            .is_some_and(|(code, _)| code.trim_end().ends_with(|c| before.contains(c)))
    });
    let is_call = code.split_once('\u{ff08}').is_some_and(|(code, _)| {
        code.ends_with(|c: char| c.is_ascii_alphanumeric()) && code.is_ascii()
    });
    let has = |c| style.has_char(c);
    ends_like_code
        && (is_string && !has('\u{201c}') && !has('\u{2018}') || is_call && !has('\u{ff08}'))
        || is_call && code.trim_end().ends_with(':') && !has('\u{ff08}')
}

/// Returns true if code has `\_` in an identifier, or `\*` before an argument or between two factors.
fn is_escaped(style: &FileStyle<'_>, body: &[HunkLine<'_>], line: &[u8]) -> bool {
    if memchr::memchr(b'\\', line).is_none() || !style.is_of(&STRICT) {
        return false;
    }
    let text = line.trim_ascii_start();
    let is_comment = [&b"//"[..], b"#", b"*", b"/*"].iter().any(|mark| text.starts_with(mark));
    let code = text.split(|byte| b"\"'`".contains(byte)).next().unwrap_or_default();
    // A multi-line string has neither.
    let is_code = !style.is_of(&WITH_TEXTS) || code.iter().any(|byte| b"(=".contains(byte));
    let mut words = code.split(|byte| !(is_of_word(*byte) || *byte == b'\\'));
    !is_comment
        && is_code
        && (words.any(|word| is_escaped_name(style, is_declaration(code), word))
            || has_escaped_star(style, body, code))
        && !style.habits().has_escapes
}

/// Returns true if a line begins with a word that no prose begins with.
fn is_declaration(code: &[u8]) -> bool {
    let words: [&[u8]; 7] =
        [b"def ", b"class ", b"async def ", b"import ", b"function ", b"const ", b"export "];
    words.iter().any(|word| code.starts_with(word))
}

/// Returns true if an identifier has `\_` in it. If it may be text, the file must also have it without the backslash.
fn is_escaped_name(style: &FileStyle<'_>, is_declaration: bool, word: &[u8]) -> bool {
    let is_between = |part: &[u8]| {
        matches!(part, [before, b'\\', b'_'] if is_of_word(*before)) && word.first() != Some(&b'\\')
    };
    let plain: Vec<u8> = word.iter().copied().filter(|byte| *byte != b'\\').collect();
    word.windows(3).any(is_between)
        && (!style.is_of(&WITH_TEXTS)
            || is_declaration
            || style.is_empty()
            || style.has_word(&plain))
}

/// Returns true if `\*` precedes an argument that old lines have without the backslash, or is between two factors.
fn has_escaped_star(style: &FileStyle<'_>, body: &[HunkLine<'_>], code: &[u8]) -> bool {
    memchr::memmem::find_iter(code, b"\\*").any(|at| {
        let (before, behind) = code.split_at_checked(at).unwrap_or((code, b""));
        let is_argument = matches!(before.trim_ascii_end().last(), Some(b'(' | b','));
        let stars = behind.iter().take_while(|byte| b"\\*".contains(byte)).count();
        let name = behind.get(stars..).unwrap_or_default();
        let name = name.get(..name.iter().take_while(|byte| is_of_word(**byte)).count());
        let plain = [&b"*".repeat(stars / 2), name.unwrap_or_default()].concat();
        let is_factor = |byte: Option<&u8>| {
            byte.is_some_and(|byte| is_of_word(*byte) || b"()[]".contains(byte))
        };
        let is_product = behind.starts_with(b"\\* ") && before.ends_with(b" ");
        let is_product =
            is_product && is_factor(before.trim_ascii_end().last()) && is_factor(behind.get(3));
        is_argument && plain.len() > stars / 2 && is_there(body, &plain)
            || is_product && !style.is_of(&WITH_TEXTS)
    })
}

/// Returns true if old lines of a hunk have this text.
fn is_there(body: &[HunkLine<'_>], text: &[u8]) -> bool {
    let mut old = body.iter().filter(|line| line.is_old()).take(LOOKED_AT);
    old.any(|line| memchr::memmem::find(line.text, text).is_some())
}

/// Finds a line of a new text in which `<br>` stands for a newline: a heading, item or fence ends in one, or begins
/// after one.
fn broken(style: &FileStyle<'_>, body: &[HunkLine<'_>]) -> Option<Damage> {
    if !style.is_empty() || style.is_of(&["diff", "patch", "snap"]) {
        return None;
    }
    let texts = || body.iter().filter(|line| !line.text.trim_ascii().is_empty());
    let has = "has a `<br>` where a newline is meant";
    let damage = |line: &HunkLine<'_>| Damage::at(Reason::DamagedLine, line, has);
    let begins_one = |line: &HunkLine<'_>| {
        let text = std::str::from_utf8(line.text).unwrap_or_default();
        let is_row = text.trim_start().starts_with(['|', '<']);
        let mut parts = BREAKS.iter().flat_map(|mark| text.split(mark).skip(1));
        !is_row && parts.any(|part| is_heading(part) || part.starts_with("```"))
    };
    if let Some(line) = texts().find(|line| begins_one(line)) {
        return Some(damage(line));
    }
    let bare = |line: &HunkLine<'_>| {
        let text = std::str::from_utf8(line.text.trim_ascii_end()).unwrap_or_default();
        BREAKS.iter().find_map(|mark| text.strip_suffix(mark)).map(str::to_owned)
    };
    let all: Option<Vec<String>> = texts().map(bare).collect();
    let all = all.filter(|lines| lines.len() > 1)?;
    let is_structure = |line: &String| {
        let text = line.trim_start();
        is_heading(text)
            || text.starts_with("- ")
            || text.starts_with("* ")
            || text.starts_with("```")
    };
    let is_plain = style.is_of(&["txt", "rst", "adoc", "org"]);
    if !is_plain && !all.iter().any(is_structure) {
        return None;
    }
    texts().next().map(damage)
}

fn is_heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    (1..=6).contains(&(text.len() - rest.len())) && rest.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    fn is_damaged(name: &str, file: &str, hunk: &str) -> bool {
        let lines: Vec<&[u8]> = hunk.lines().map(str::as_bytes).collect();
        found(&FileStyle::of(file.as_bytes(), name), &read_all(&lines, 1)).is_some()
    }

    #[test]
    fn escapes_in_code_are_found() {
        for (name, file, hunk) in [
            ("a.rs", "let my_var = 1;\n", " let my_var = 1;\n+let x = my\\_var + 1;"),
            ("a.rs", "", "+fn run\\_all() {}"),
            ("a.py", "my_var = 1\n", " my_var = 1\n+print(my\\_var)"),
            ("a.py", "class A:\n", " class A:\n+    def a\\_\\_b(self):"),
            ("a.py", "def f(*args):\n", "-def f(*args):\n+def f(\\*args, x=1):"),
            ("a.py", "f(a, **kw)\n", "-f(a, **kw)\n+f(a, b, \\*\\*kw)"),
            ("a.py", "x\n", "+if a \\u003c 0:"),
            ("a.py", "x\n", "+raise E(\u{201c}bad\u{201d} % a)"),
            ("a.py", "x\n", "+def f\u{ff08}self\u{ff09}:"),
            ("a.rs", "x\n", "+f(\\\"a\\\");"),
            ("a.c", "x = a * b;\n", "-x = a * b;\n+x = a \\* (b + 1);"),
        ] {
            assert!(is_damaged(name, file, hunk), "{hunk}");
        }
    }

    #[test]
    fn a_backslash_that_may_be_meant_is_left() {
        for (name, file, hunk) in [
            ("a.md", "my_var\n", " my_var\n+see my\\_var"),
            ("a.py", "x\n", "+s = \"\\u003c\""),
            ("a.py", "x\n", "+Returns \u{201c}bad\u{201d} (or nothing)."),
            ("a.py", "x\n", "+\u{51fd}\u{6570}\u{ff08}x\u{ff09}"),
            ("a.rs", "x\n", "+f(\"a \\\"b\\\"\");"),
            ("a.py", "x\n", "+f('\\\"a\\\"')"),
            ("a.rs", "g(\"\\\"\");\n", "+f(\\\"a\\\");"),
            ("a.tex", "x\n", " x\n+my\\_var"),
            ("a.hs", "x\n", " x\n+map (\\_ -> 1) xs"),
            ("a.sh", "find . -name *.py\n", "-find . -name *.py\n+find . -name \\*.py"),
            ("a.py", "s = 1\n", " s = 1\n+t = r\"a\\_b\""),
            ("a.py", "    :param **kw: x\n", "-    :param **kw: x\n+    :param \\*\\*kw: x"),
            ("a.py", "    my_var is x\n", " my_var is x\n+    my\\_var is y"),
            ("a.rs", "x\n", " x\n+/// my\\_var"),
            ("a.rs", "// a\\_b\n", " x\n+let y = a\\_b;"),
            ("a.rs", "x\n", " x\n+    \\* a star in an expression"),
            ("a.py", "f(x)\n", "-f(x)\n+f(\\*\\*\\*\\*x)"),
            ("a.js", "x = /a*/;\n", "-x = /a*/;\n+x = /a\\*/;"),
            ("a.c", "x\n", " x\n+#define X(a) \\\n+    a * 2"),
        ] {
            assert!(!is_damaged(name, file, hunk), "{hunk}");
        }
    }

    #[test]
    fn a_br_tag_for_a_newline_is_found_in_a_new_text() {
        for (name, hunk) in [
            ("a.md", "+# Title<br><br>## Use<br>Run it."),
            ("a.md", "+# Title<br>\n+Text<br>\n+- a<br>"),
            ("a.md", "+Run:<br>```sh<br>x<br>```"),
            ("a.txt", "+one<br>\n+two<br/>"),
        ] {
            assert!(is_damaged(name, "", hunk), "{hunk}");
        }
        for (name, file, hunk) in [
            ("a.md", "", "+# Title\n+\n+one<br>\n+two"),
            ("a.md", "", "+Street 1<br>\n+Town<br>"),
            ("a.md", "", "+| a | b<br>c |\n+|---|---|"),
            ("a.md", "", "+a<br>\n+b<br>\n+c"),
            ("a.md", "x\n", "+# Title<br>\n+- a<br>"),
            ("a.html", "", "+# a<br># b"),
        ] {
            assert!(!is_damaged(name, file, hunk), "{hunk}");
        }
    }
}
