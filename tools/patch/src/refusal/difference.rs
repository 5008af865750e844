//! The first difference between two similar lines: its column, and the character on either side, by code point if it is
//! invisible. Pure.

use serde::Serialize;

use crate::diff::hunk_lines::FALSE_MARKERS;

/// The number of characters shown of a line.
const SHOWN: usize = 160;
/// The number of characters shown before a difference in a line that is cut.
const BEFORE: usize = 60;

/// The first character in which two lines differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineDifference {
    /// The column, in characters, from 1.
    pub column: usize,
    /// The character of the diff at that column: in backquotes, as `U+00A0`, or `the end`.
    pub expected: String,
    /// The character of the file at that column, in the same notation.
    pub found: String,
}

impl LineDifference {
    /// Compares what was expected with what was found; `None` if they are equal.
    pub(crate) fn between(expected: &str, found: &str) -> Option<LineDifference> {
        let mut pairs = expected.chars().zip(found.chars());
        let same = pairs.position(|(a, b)| a != b);
        let shorter = expected.chars().count().min(found.chars().count());
        let at = same.unwrap_or(shorter);
        (expected != found).then(|| LineDifference {
            column: at + 1,
            expected: named(expected.chars().nth(at)),
            found: named(found.chars().nth(at)),
        })
    }
}

fn named(c: Option<char>) -> String {
    match c {
        None => "the end".to_owned(),
        Some(c) if c.is_ascii_graphic() && c != '`' => format!("`{c}`"),
        Some(c) => format!("U+{:04X}", u32::from(c)),
    }
}

/// Returns true if two texts differ only in accents, however those are encoded, and in other characters outside ASCII.
pub(crate) fn look_alike(a: &str, b: &str) -> bool {
    let is_accent = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    let plain = |text: &str| -> String {
        let next = text.chars().skip(1).map(Some).chain([None]);
        let kept =
            text.chars().zip(next).filter(|(c, next)| c.is_ascii() && !next.is_some_and(is_accent));
        kept.map(|(c, _)| c).collect()
    };
    plain(a) == plain(b)
}

/// Cuts a line to the length that can be shown, around `column` (from 1) if that is far to the right.
pub(crate) fn cut(text: &str, column: usize) -> String {
    let skipped = if column > SHOWN { column.saturating_sub(BEFORE + 1) } else { 0 };
    let shown: String = text.chars().skip(skipped).take(SHOWN).collect();
    let before = if skipped > 0 { "…" } else { "" };
    let after = if text.chars().nth(skipped + SHOWN).is_some() { "…" } else { "" };
    [before, &shown, after].concat()
}

/// Returns the name of the character that `line` begins with, if it only looks like a marker.
pub(crate) fn false_marker(line: &str) -> Option<String> {
    let first = line.chars().next()?;
    FALSE_MARKERS.contains(first).then(|| named(Some(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_named_by_code_point() {
        let between =
            |a, b| LineDifference::between(a, b).map(|it| (it.column, it.expected, it.found));
        let of = |column, a: &str, b: &str| Some((column, a.to_owned(), b.to_owned()));
        assert_eq!(between("a b", "a\u{a0}b"), of(2, "U+0020", "U+00A0"));
        assert_eq!(between("e\u{301}", "\u{e9}"), of(1, "`e`", "U+00E9"));
        assert_eq!(between("ab", "a"), of(2, "`b`", "the end"));
        assert_eq!(between("x", "x"), None);
    }

    #[test]
    fn accents_can_be_encoded_in_two_ways() {
        assert!(look_alike("cafe\u{301}.py", "caf\u{e9}.py") && look_alike("a\u{200b}", "a"));
        assert!(!look_alike("cafe.py", "caf.py"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_difference() {
        let long = "x".repeat(400);
        assert_eq!(cut(&long, 1).chars().count(), SHOWN + 1);
        let shown = cut(&format!("{long}slip"), 401);
        assert!(shown.starts_with("…x") && shown.ends_with("slip"), "{shown}");
        assert_eq!(cut("short", 3), "short");
    }

    #[test]
    fn a_false_marker_is_named() {
        assert_eq!(false_marker("\u{2212}x").as_deref(), Some("U+2212"));
        assert_eq!(false_marker("-x"), None);
    }
}
