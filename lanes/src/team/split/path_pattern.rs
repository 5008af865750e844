//! Ownership patterns: which paths a lane owns, and whether two patterns have a path in common. Pure.
//!
//! ```text
//! src/lib.rs      that file
//! src/  src/**    every file below src
//! src/*.rs        files directly in src; * is any text without a slash, ? one character
//! **/*.md         files anywhere
//! app/[id].tsx    that file: brackets are literal, because some frameworks name files that way
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tree::{PathError, RepoPath};

/// Longest pattern, in characters: comparing two patterns takes time proportional to the product of their lengths.
const MAX_CHARS: usize = 200;
/// The component that matches any number of directories, or at the end everything below.
const ANYWHERE: &str = "**";

/// A pattern that matches one path or many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Pattern {
    text: String,
    parts: Vec<Piece<Name>>,
}

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OwnershipPatternError {
    /// It could match nothing inside the workspace.
    #[error(transparent)]
    Path(#[from] PathError),
    /// `**` next to other text.
    #[error("`**` next to other text: it stands for whole directories")]
    GapInName,
    /// `!` at the start.
    #[error("a leading `!`: list what is owned, not what is not")]
    Negated,
    /// `{a,b}`.
    #[error("alternatives in braces: write one line for each")]
    Alternatives,
    /// Longer than a pattern may be.
    #[error("a pattern of more than {MAX_CHARS} characters")]
    TooLong,
}

/// One element of a sequence, or a gap for any number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece<T> {
    Gap,
    One(T),
}

/// A component of a path.
type Name = Vec<Piece<Letter>>;

/// A character of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letter {
    Any,
    This(char),
}

impl Pattern {
    /// Returns the pattern as text, normalized.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the pattern matches `path`.
    pub fn matches(&self, path: &RepoPath) -> bool {
        let literal = |part: &str| Piece::One(part.chars().map(this).collect::<Name>());
        let path: Vec<Piece<Name>> = path.components().map(literal).collect();
        meet(&self.parts, &path, names_meet)
    }

    /// Returns true if some path could match both patterns.
    pub fn overlaps(&self, other: &Self) -> bool {
        meet(&self.parts, &other.parts, names_meet)
    }
}

impl FromStr for Pattern {
    type Err = OwnershipPatternError;

    fn from_str(text: &str) -> Result<Self, OwnershipPatternError> {
        let below = if text.ends_with('/') { ANYWHERE } else { "" };
        let whole = format!("{text}{below}");
        if whole.chars().nth(MAX_CHARS).is_some() {
            return Err(OwnershipPatternError::TooLong);
        }
        // Invalid paths are invalid patterns as well; wildcards are ordinary characters there.
        let path = RepoPath::parse(&whole)?;
        if path.as_str().starts_with('!') {
            return Err(OwnershipPatternError::Negated);
        }
        let mut names: Vec<&str> = path.components().collect();
        names.dedup_by(|next, previous| *next == ANYWHERE && *previous == ANYWHERE);
        let mut parts = names.iter().map(|name| part(name)).collect::<Result<Vec<_>, _>>()?;
        if names.last() == Some(&ANYWHERE) {
            // A directory contains at least one entry.
            parts.push(Piece::One(vec![Piece::Gap]));
        }
        Ok(Self { text: names.join("/"), parts })
    }
}

fn part(name: &str) -> Result<Piece<Name>, OwnershipPatternError> {
    if name == ANYWHERE {
        return Ok(Piece::Gap);
    }
    if name.contains(ANYWHERE) {
        return Err(OwnershipPatternError::GapInName);
    }
    if has_alternatives(name) {
        return Err(OwnershipPatternError::Alternatives);
    }
    Ok(Piece::One(name.chars().map(letter).collect()))
}

fn has_alternatives(name: &str) -> bool {
    let inside = |rest: &str| rest.split_once('}').is_some_and(|(inside, _)| inside.contains(','));
    name.split('{').skip(1).any(inside)
}

const fn letter(c: char) -> Piece<Letter> {
    match c {
        '*' => Piece::Gap,
        '?' => Piece::One(Letter::Any),
        c => this(c),
    }
}

const fn this(c: char) -> Piece<Letter> {
    Piece::One(Letter::This(c))
}

fn names_meet(left: &Name, right: &Name) -> bool {
    meet(left, right, |left, right| letters_meet(*left, *right))
}

fn letters_meet(left: Letter, right: Letter) -> bool {
    match (left, right) {
        (Letter::Any, _) | (_, Letter::Any) => true,
        (Letter::This(left), Letter::This(right)) => left == right,
    }
}

/// Returns true if some sequence matches both sides, where two elements can be equal if they `fit`.
///
/// Column `n` of a row says whether the pieces of the left taken so far and the first `n` pieces of the right match a
/// common sequence. A gap on either side absorbs anything on the other.
fn meet<T>(left: &[Piece<T>], right: &[Piece<T>], fit: impl Fn(&T, &T) -> bool) -> bool {
    let leading = right.iter().take_while(|piece| matches!(piece, Piece::Gap)).count();
    let mut above: Vec<bool> = (0..=right.len()).map(|taken| taken <= leading).collect();
    for piece in left {
        let mut corner = above.first() == Some(&true);
        let mut before = corner && matches!(piece, Piece::Gap);
        let mut row = Vec::with_capacity(above.len());
        row.push(before);
        for (other, over) in right.iter().zip(above.iter().skip(1)) {
            before = match (piece, other) {
                (Piece::Gap, _) | (_, Piece::Gap) => *over || before,
                (Piece::One(one), Piece::One(other)) => corner && fit(one, other),
            };
            corner = *over;
            row.push(before);
        }
        if !row.contains(&true) {
            return false;
        }
        above = row;
    }
    above.last() == Some(&true)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl TryFrom<String> for Pattern {
    type Error = OwnershipPatternError;

    fn try_from(text: String) -> Result<Self, OwnershipPatternError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn patterns_match_paths() {
        for (text, stands, does_not) in [
            (
                "src/lib.rs",
                vec!["src/lib.rs"],
                vec!["src/lib.rsx", "lib.rs", "src/lib.rs/x", "src"],
            ),
            ("src", vec!["src"], vec!["src/a"]),
            ("src/", vec!["src/a", "src/a/b"], vec!["src", "srca", "a/src/b"]),
            ("src/**", vec!["src/a", "src/a/b"], vec!["src"]),
            ("src/*", vec!["src/a"], vec!["src/a/b", "src"]),
            ("src/*.rs", vec!["src/a.rs", "src/.rs"], vec!["src/a.r", "src/a/b.rs"]),
            ("src/*/", vec!["src/a/b", "src/a/b/c"], vec!["src/a"]),
            ("**/*.md", vec!["a.md", "a/b/c.md"], vec!["a.mdx", "a.md/b"]),
            ("a/**/b", vec!["a/b", "a/x/b", "a/x/y/b"], vec!["b", "a/b/c"]),
            ("**", vec!["a", "a/b/c"], vec![]),
            ("a?c", vec!["abc", "aéc", "a?c"], vec!["ac", "a/c", "abbc"]),
            ("app/[id]/p.tsx", vec!["app/[id]/p.tsx"], vec!["app/i/p.tsx"]),
            ("{{name}}/x", vec!["{{name}}/x"], vec!["name/x"]),
        ] {
            for path in stands {
                assert!(pattern(text).matches(&RepoPath::parse(path).unwrap()), "{text} {path}");
            }
            for path in does_not {
                assert!(!pattern(text).matches(&RepoPath::parse(path).unwrap()), "{text} {path}");
            }
        }
    }

    #[test]
    fn patterns_are_normalized() {
        for (text, kept) in [("src/", "src/**"), ("a/**/**/", "a/**"), ("./a/./b", "a/b")] {
            assert_eq!(pattern(text).as_str(), kept);
        }
    }

    #[test]
    fn invalid_patterns() {
        use OwnershipPatternError::{Alternatives, GapInName, Negated, Path, TooLong};
        for (text, why) in [
            ("", Path(PathError::Empty)),
            (".", Path(PathError::Empty)),
            ("/", Path(PathError::Absolute)),
            ("/etc/*", Path(PathError::Absolute)),
            ("../*", Path(PathError::Escape)),
            ("a/../b/", Path(PathError::Escape)),
            (".git/", Path(PathError::GitDir)),
            ("a/.GIT/**", Path(PathError::GitDir)),
            ("a//", Path(PathError::EmptyComponent)),
            ("a\\*", Path(PathError::Backslash)),
            ("src/**.rs", GapInName),
            ("***", GapInName),
            ("!src/", Negated),
            ("src/{a,b}.rs", Alternatives),
            ("src/{{a,b}}.rs", Alternatives),
        ] {
            assert_eq!(text.parse::<Pattern>(), Err(why), "{text}");
        }
        assert!("é".repeat(100).parse::<Pattern>().is_ok());
        assert_eq!("é".repeat(201).parse::<Pattern>(), Err(TooLong));
    }

    #[test]
    fn patterns_that_overlap() {
        for (left, right, expected) in [
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "src/b.rs", false),
            ("src/", "src/a/b.rs", true),
            ("src/", "srcs/", false),
            ("src/", "**/*.rs", true),
            ("src/*.rs", "src/*.md", false),
            ("src/*.rs", "src/a*", true),
            ("src/*", "src/*/", false),
            ("a/**/c", "**/b/*", true),
            ("a*b", "*ba*", true),
            ("a*", "*b", true),
            ("a?", "a", false),
            ("docs/", "README.md", false),
            ("*", "*/*", false),
            ("**", "x", true),
        ] {
            assert_eq!(pattern(left).overlaps(&pattern(right)), expected, "{left} {right}");
            assert_eq!(pattern(right).overlaps(&pattern(left)), expected, "{right} {left}");
        }
    }

    /// Returns all texts of `letters` up to a length, except the empty one.
    fn texts(letters: &[&str], longest: usize, joint: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut last = vec![String::new()];
        for length in 0..longest {
            let joint = if length == 0 { "" } else { joint };
            last = last
                .iter()
                .flat_map(|text| letters.iter().map(move |letter| format!("{text}{joint}{letter}")))
                .collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    /// The same as `matches`, by trying every way to read a pattern.
    fn reads(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), None) => reads(rest, name),
            (Some(('*', rest)), Some((_, shorter))) => reads(rest, name) || reads(pattern, shorter),
            (Some((p, rest)), Some((n, shorter))) => (*p == '?' || p == n) && reads(rest, shorter),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    fn reads_path(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", [])), _) => !path.is_empty(),
            (Some((&"**", rest)), None) => reads_path(rest, path),
            (Some((&"**", rest)), Some((_, below))) => {
                reads_path(rest, path) || reads_path(pattern, below)
            }
            (Some((p, rest)), Some((n, below))) => {
                let chars = |text: &str| text.chars().collect::<Vec<_>>();
                reads(&chars(p), &chars(n)) && reads_path(rest, below)
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    #[test]
    fn names_overlap_if_some_name_matches_both() {
        let names: Vec<RepoPath> =
            texts(&["a", "b"], 6, "").iter().map(|name| RepoPath::parse(name).unwrap()).collect();
        let patterns: Vec<Pattern> =
            texts(&["a", "b", "*", "?"], 3, "").iter().filter_map(|p| p.parse().ok()).collect();
        let stands_for: Vec<Vec<bool>> = patterns
            .iter()
            .map(|p| {
                let chars: Vec<char> = p.as_str().chars().collect();
                let is_read = |name: &RepoPath| {
                    let read = match p.as_str() {
                        "**" => true,
                        _ => reads(&chars, &name.as_str().chars().collect::<Vec<_>>()),
                    };
                    assert_eq!(p.matches(name), read, "{p} {name}");
                    read
                };
                names.iter().map(is_read).collect()
            })
            .collect();
        for (left, by_left) in patterns.iter().zip(&stands_for) {
            for (right, by_right) in patterns.iter().zip(&stands_for) {
                let common = by_left.iter().zip(by_right).any(|(l, r)| *l && *r);
                assert_eq!(left.overlaps(right), common, "{left} {right}");
            }
        }
    }

    fn some_pattern() -> impl Strategy<Value = String> {
        let name = prop_oneof![3 => "[ab*?][ab*?]?", 2 => Just("**".to_owned())];
        proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    }

    proptest! {
        #[test]
        fn patterns_overlap_if_some_path_matches_both(
            left in some_pattern(), right in some_pattern(),
        ) {
            // Patterns of three names of two letters have a short path in common, or none.
            let paths = texts(&["a", "b", "aa", "ab", "ba", "bb"], 5, "/");
            let (first, second) = (pattern(&left), pattern(&right));
            let (left, right): (Vec<&str>, Vec<&str>) =
                (left.split('/').collect(), right.split('/').collect());
            let is_common = |path: &String| {
                let path: Vec<&str> = path.split('/').collect();
                reads_path(&left, &path) && reads_path(&right, &path)
            };
            prop_assert_eq!(first.overlaps(&second), paths.iter().any(is_common));
        }

        #[test]
        fn matching_agrees_with_the_simple_matcher(text in some_pattern(), path in "[ab]{1,2}(/[ab]{1,2}){0,3}") {
            let read = reads_path(
                &text.split('/').collect::<Vec<_>>(),
                &path.split('/').collect::<Vec<_>>(),
            );
            prop_assert_eq!(pattern(&text).matches(&RepoPath::parse(&path).unwrap()), read);
        }

        #[test]
        fn a_normalized_pattern_parses_to_itself(text in "(\\PC|/|\\*|\\./){0,12}") {
            if let Ok(pattern) = text.parse::<Pattern>() {
                prop_assert_eq!(pattern.as_str().parse::<Pattern>(), Ok(pattern.clone()));
            }
        }
    }
}
