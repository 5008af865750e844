//! Finds added lines that are indented with spaces in a file with tabs throughout, or with tabs in one with spaces. Pure.

use super::file_habits::FileHabits;
use crate::diff::hunk_lines::{HunkLine, Kind};

/// The maximum number of old lines of a hunk that an added line is compared with.
const LOOKED_AT: usize = 50;
/// Marks that may open a string or comment of several lines.
const OPENERS: [&[u8]; 7] = [b"`", b"\"\"\"", b"'''", b"<<", b"/*", b"<pre", b"#\""];
const SPACES: &str = "is indented with spaces where the file has tabs";
const TABS: &str = "is indented with tabs where the file has spaces";

/// Returns an added line that is indented with the other white space, and its description.
pub(super) fn found<'h, 'a>(
    habits: &FileHabits<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    if !habits.is_code() {
        return None;
    }
    let recipe = untabbed_recipe(habits, body).map(|line| (line, SPACES));
    recipe
        .or_else(|| swapped(habits, body, [b"  ", b"\t"]).map(|line| (line, SPACES)))
        .or_else(|| swapped(habits, body, [b"\t", b"  "]).map(|line| (line, TABS)))
}

/// Returns the first added line that begins with `given`, if every indented line of the file, and of the hunk otherwise,
/// begins with `usual`. Lines that may be in a string of several lines are left alone, and so are hunks that change
/// nothing but white space.
fn swapped<'h, 'a>(
    habits: &FileHabits<'_>,
    body: &'h [HunkLine<'a>],
    [given, usual]: [&[u8]; 2],
) -> Option<&'h HunkLine<'a>> {
    let begins = |line: &&HunkLine<'_>, with: &[u8]| {
        line.text.starts_with(with) && !line.text.trim_ascii().is_empty()
    };
    let is_given = |line: &&HunkLine<'_>| line.kind == Kind::Added && begins(line, given);
    let first = body.iter().find(is_given)?;
    let old = || body.iter().filter(|line| line.is_old());
    let has_usual = old().any(|line| begins(&line, usual));
    let is_mixed = old().any(|line| begins(&line, given))
        || body.iter().any(|line| line.kind == Kind::Added && begins(&line, usual));
    if !has_usual || is_mixed {
        return None;
    }
    let indents = habits.indents();
    let (of_usual, of_given) = match usual {
        b"\t" => (indents.tabbed, indents.spaced),
        _ => (indents.spaced, indents.tabbed),
    };
    let may_be_text = |line: &HunkLine<'_>| {
        line.text.trim_ascii_end().ends_with(b"\\")
            || OPENERS.iter().any(|opener| memchr::memmem::find(line.text, opener).is_some())
    };
    let was_there =
        |text: &[u8]| old().take(LOOKED_AT).any(|old| old.text.trim_ascii() == text.trim_ascii());
    let is_told = of_usual > 1
        && of_given == 0
        && !body.iter().any(may_be_text)
        && !body.iter().filter(is_given).any(|line| was_there(line.text));
    is_told.then_some(first)
}

/// Returns a line of a recipe that is indented with spaces: `make` accepts only tabs.
fn untabbed_recipe<'h, 'a>(
    habits: &FileHabits<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    if !habits.is_makefile() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::hunk_of;

    fn is_found(name: &str, file: &str, hunk: &[&str]) -> bool {
        found(&FileHabits::of(file.as_bytes(), name), &hunk_of(hunk)).is_some()
    }

    #[test]
    fn the_other_white_space_is_found() {
        let (tabs, spaces) = ("f {\n\ta\n\tb\n}\n", "f {\n    a\n    b\n}\n");
        assert!(is_found("a.go", tabs, &[" f {", " \ta", "+    c"]));
        assert!(is_found("a.rs", spaces, &[" f {", "     a", "+\tc"]));
        for (file, hunk) in [
            (tabs, &[" f {", " \ta", "+\tc"][..]),
            (tabs, &[" f {", " \ta", "+\tc", "+    d"]),
            (tabs, &[" \ta", "-\tb", "+    b"]),
            (tabs, &[" \tx := `", "+    text"]),
            ("\ta\n\tb\n    c\n", &[" \ta", "+    d"]),
            ("f\ng\n", &[" f", "+    d"]),
        ] {
            assert!(!is_found("a.go", file, hunk), "{hunk:?}");
        }
        assert!(!is_found("a.md", tabs, &[" \ta", "+    c"]));
    }

    #[test]
    fn a_recipe_needs_its_tab() {
        let makefile = "all: a\n\techo\n";
        assert!(is_found("Makefile", makefile, &[" all: a", "+    cc a.c", " \techo"]));
        assert!(is_found("Makefile", makefile, &[" \techo", "+ \tcc a.c"]));
        for added in ["+\tcc a.c", "+    X = 1", "+  ifdef X", "+    # cc"] {
            assert!(!is_found("Makefile", makefile, &[" \techo", added]), "{added}");
        }
    }
}
