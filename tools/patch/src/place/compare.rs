//! Compares lines, from exactly to most loosely. Every tier tolerates what the tiers before it do.

use std::borrow::Cow;

use crate::diff::hunk_lines::{HunkLine, Kind};
use crate::diff::lines::{Eol, Line};
use crate::plan::tolerance::Tolerance;

/// A way to compare lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    Exact,
    /// Ignores line ends.
    Eol,
    /// Also ignores white space at the ends of lines.
    Trailing,
    /// Also accepts context that lost its marker.
    Marker,
    /// Also treats look-alike punctuation in context as equal.
    Punctuation,
    /// Also ignores white space in context.
    Space,
    /// Also ignores white space between the words of removed lines.
    Gaps,
}

impl Tier {
    /// All tiers except the first, in order.
    pub(crate) const LOOSE: [Tier; 6] =
        [Tier::Eol, Tier::Trailing, Tier::Marker, Tier::Punctuation, Tier::Space, Tier::Gaps];
    /// The last tier.
    pub(crate) const LOOSEST: Tier = Tier::Gaps;

    /// Returns the tolerance that the tier needs; `None` for the exact one.
    pub(crate) fn tolerance(self) -> Option<Tolerance> {
        match self {
            Tier::Exact => None,
            Tier::Eol => Some(Tolerance::Eol),
            Tier::Trailing => Some(Tolerance::Trailing),
            Tier::Marker => Some(Tolerance::Marker),
            Tier::Punctuation => Some(Tolerance::Punctuation),
            Tier::Space => Some(Tolerance::Space),
            Tier::Gaps => Some(Tolerance::Gaps),
        }
    }

    /// Returns a form of `text` that is the same for all texts that the tier considers equal.
    fn normal(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Tier::Exact | Tier::Eol => Cow::Borrowed(text),
            Tier::Trailing | Tier::Marker => Cow::Borrowed(text.trim_ascii_end()),
            Tier::Punctuation => plain(text.trim_ascii_end()),
            Tier::Space | Tier::Gaps => {
                let text = plain(text);
                Cow::Owned(words_of(&text).collect::<Vec<_>>().join(&b' '))
            }
        }
    }

    /// Returns true if a line of the file matches a line of a hunk.
    pub(crate) fn same(self, line: &HunkLine<'_>, file: &Line<'_>) -> bool {
        let may_lack_marker = self >= Tier::Marker && line.kind == Kind::Context;
        if line.is_bare() && !may_lack_marker || self == Tier::Exact && line.eol != file.eol {
            return false;
        }
        if self == Tier::Gaps && line.kind == Kind::Removed {
            return indentation(line.text) == indentation(file.text)
                && words_of(line.text).eq(words_of(file.text));
        }
        let tier = if line.kind == Kind::Context { self } else { self.min(Tier::Trailing) };
        let found = tier.normal(file.text);
        tier.normal(line.text) == found || may_lack_marker && tier.normal(line.raw) == found
    }
}

/// Typographic quotes, dashes, dots and spaces, with their ASCII equivalents.
pub(crate) const LOOK_ALIKES: [(&str, &str); 5] = [
    ("\u{201c}\u{201d}\u{201e}", "\""),
    ("\u{2018}\u{2019}\u{201a}", "'"),
    ("\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2212}", "-"),
    ("\u{2026}", "..."),
    ("\u{a0}\u{202f}", " "),
];

fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let Ok(text) = std::str::from_utf8(text) else { return Cow::Borrowed(text) };
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match LOOK_ALIKES.iter().find(|(fancy, _)| fancy.contains(c)) {
            Some((_, typed)) => plain.push_str(typed),
            None => plain.push(c),
        }
    }
    Cow::Owned(plain.into_bytes())
}

pub(crate) fn words_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns the white space at the start of a line.
pub(crate) fn indentation(text: &[u8]) -> &[u8] {
    text.get(..text.len() - text.trim_ascii_start().len()).unwrap_or_default()
}

/// Returns the indentation of a line and its first word, or its first character if that is not of a word: how the lines
/// begin that are headings of the same kind.
pub(crate) fn beginning(text: &[u8]) -> &[u8] {
    let indentation = indentation(text).len();
    let rest = text.get(indentation..).unwrap_or_default();
    let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count().max(1);
    text.get(..indentation + word).unwrap_or(text)
}

/// Returns a number that is equal for lines that any tier considers equal, and rarely equal for others.
pub(crate) fn fingerprint(text: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let text = plain(text);
    words_of(&text).fold(FACTOR, |hash, word| {
        let (chunks, rest) = word.as_chunks::<8>();
        let hash = chunks.iter().fold(hash, |hash, chunk| mix(hash, u64::from_le_bytes(*chunk)));
        let rest = rest.iter().fold(1, |rest, byte| rest << 8 | u64::from(*byte));
        mix(hash, rest)
    })
}

/// Returns true if a line of a hunk equals that of the file, apart from trailing white space and CR that only the file
/// has.
pub(crate) fn lacks_only_end(line: &HunkLine<'_>, file: &Line<'_>) -> bool {
    let is_end = line.eol == file.eol || line.eol == Eol::Lf;
    is_end && (line.text == file.text || line.text == file.text.trim_ascii_end())
}

/// Returns true if the ends of two matched lines are compatible: LF and CRLF are not, but a missing end matches
/// anything.
pub(crate) fn ends_agree(line: Eol, file: Eol) -> bool {
    line == file || line == Eol::None || file == Eol::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::lines::Lines;

    fn same(tier: Tier, raw: &str, file: &str) -> bool {
        let file = Lines::of(file.as_bytes()).get(0).unwrap();
        tier.same(&HunkLine::read(raw.as_bytes(), 1), &file)
    }

    #[test]
    fn each_tier_tolerates_one_more_difference() {
        let cases = [
            (" a b", "a b\n", Tier::Exact),
            (" a b\r", "a b\n", Tier::Eol),
            (" a b", "a b", Tier::Eol),
            (" a b", "a b \t\n", Tier::Trailing),
            ("a b", "a b\n", Tier::Marker),
            ("  a b", "  a b\n", Tier::Marker),
            (" \u{201c}a\u{201d}", "\"a\"\n", Tier::Punctuation),
            ("   a   b", "\ta b\n", Tier::Space),
            ("- a  b", " a b\n", Tier::Gaps),
        ];
        for (raw, file, needed) in cases {
            for tier in std::iter::once(Tier::Exact).chain(Tier::LOOSE) {
                assert_eq!(same(tier, raw, file), tier >= needed, "{raw:?} {file:?} {tier:?}");
            }
        }
    }

    #[test]
    fn removed_lines_are_compared_loosely_only_in_white_space() {
        assert!(same(Tier::Space, "-a b ", "a b\n"));
        assert!(!same(Tier::Space, "-a  b", "a b\n"));
        assert!(!same(Tier::Gaps, "-  a b", " a b\n"));
        assert!(!same(Tier::Gaps, "-a,b", "a, b\n"));
        assert!(!same(Tier::Space, "-\u{201c}a\u{201d}", "\"a\"\n"));
    }
}
