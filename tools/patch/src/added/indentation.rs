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
    let others = [([&b"  "[..], b"\t"], SPACES), ([b"\t", b"  "], TABS)];
    others.into_iter().find_map(|(pair, has)| Some((swapped(habits, body, pair)?, has)))
}

/// Returns the first added line that begins with `given`, if every indented line of the file, and of the hunk otherwise,
/// begins with `usual`. Lines that may be in a string of several lines are left alone, and so are hunks that change
/// nothing but white space.
fn swapped<'h, 'a>(
    habits: &FileHabits<'_>,
    body: &'h [HunkLine<'a>],
    [given, usual]: [&[u8]; 2],
) -> Option<&'h HunkLine<'a>> {
    let begins =
        |line: &&HunkLine<'_>, with: &[u8]| line.text.starts_with(with) && !line.is_blank();
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
}
