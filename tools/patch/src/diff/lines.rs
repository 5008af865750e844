//! Bytes as lines with their line ends, split only where needed. Nothing here knows about diffs.

use std::cell::OnceCell;

/// The distance between mileposts, in bytes: a few lines, which are quickly scanned.
const MILE: usize = 256;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Eol {
    Lf,
    CrLf,
    /// The last line of a file without a newline.
    None,
}

impl Eol {
    /// Returns how the last of `lines` ends.
    pub(crate) fn of(lines: &[u8]) -> Eol {
        match lines {
            [.., b'\r', b'\n'] => Eol::CrLf,
            [.., b'\n'] => Eol::Lf,
            _ => Eol::None,
        }
    }

    /// Returns the bytes of the line end.
    pub(crate) fn as_bytes(self) -> &'static [u8] {
        match self {
            Eol::Lf => b"\n",
            Eol::CrLf => b"\r\n",
            Eol::None => b"",
        }
    }
}

/// One line, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) eol: Eol,
}

impl<'a> Line<'a> {
    /// Creates a line from everything before its `\n`.
    pub(crate) fn before_newline(raw: &'a [u8]) -> Line<'a> {
        match raw.strip_suffix(b"\r") {
            Some(text) => Line { text, eol: Eol::CrLf },
            None => Line { text: raw, eol: Eol::Lf },
        }
    }

    /// Returns the length including the line end, in bytes.
    pub(crate) fn size(self) -> usize {
        self.text.len() + self.eol.as_bytes().len()
    }
}

/// The lines of a file; the last may have no line end. An empty file has no lines.
///
/// A line is found from the milepost before it, so that a small change does not require splitting the whole file.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    /// The number of newlines before each [`MILE`].
    mileposts: Vec<usize>,
    len: usize,
    /// The start of each line, once all lines have been requested.
    starts: OnceCell<Vec<usize>>,
}

impl<'a> Lines<'a> {
    /// Counts the lines of `bytes` without splitting them.
    pub(crate) fn of(bytes: &'a [u8]) -> Lines<'a> {
        let mut newlines = 0;
        let pass = |mile: &[u8]| {
            let before = newlines;
            newlines += memchr::memchr_iter(b'\n', mile).count();
            before
        };
        let mileposts = bytes.chunks(MILE).map(pass).collect();
        let open = !bytes.is_empty() && Eol::of(bytes) == Eol::None;
        let len = newlines + usize::from(open);
        Lines { bytes, mileposts, len, starts: OnceCell::new() }
    }

    /// Returns the bytes of the file.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the number of lines.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if the last line has no line end.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_empty() && Eol::of(self.bytes) == Eol::None
    }

    /// Returns the offset of line `at`, from 0; after the last line, the end of the file.
    pub(crate) fn start_of(&self, at: usize) -> usize {
        match self.starts.get() {
            Some(starts) => starts.get(at).copied(),
            None => self.find(at),
        }
        .unwrap_or(self.bytes.len())
    }

    /// Returns the offset of line `at`, scanning from the last milepost with fewer newlines before it.
    fn find(&self, at: usize) -> Option<usize> {
        let Some(nth) = at.checked_sub(1) else { return Some(0) };
        let post = self.mileposts.partition_point(|newlines| *newlines < at).checked_sub(1)?;
        let mut newlines = memchr::memchr_iter(b'\n', self.bytes.get(post * MILE..)?);
        let newline = newlines.nth(nth - self.mileposts.get(post)?)?;
        Some(post * MILE + newline + 1)
    }

    /// Returns line `at`, from 0.
    pub(crate) fn get(&self, at: usize) -> Option<Line<'a>> {
        self.from(at).next()
    }

    /// Yields the lines from `at` on.
    pub(crate) fn from(&self, at: usize) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let mut rest = self.bytes.get(self.start_of(at)..).unwrap_or_default();
        std::iter::from_fn(move || {
            let (line, after) = cut(rest)?;
            rest = after;
            Some(line)
        })
    }

    /// Returns all lines, and remembers their starts for later lookups.
    pub(crate) fn all(&self) -> Vec<Line<'a>> {
        let lines: Vec<Line<'a>> = self.from(0).collect();
        self.starts.get_or_init(|| {
            let begins = |next: &mut usize, line: &Line<'_>| {
                let start = *next;
                *next += line.size();
                Some(start)
            };
            lines.iter().scan(0, begins).collect()
        });
        lines
    }
}

/// Returns the first line of `bytes`, and the rest.
fn cut(bytes: &[u8]) -> Option<(Line<'_>, &[u8])> {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => {
            let (raw, rest) = bytes.split_at_checked(end)?;
            Some((Line::before_newline(raw), rest.get(1..)?))
        }
        None if bytes.is_empty() => None,
        None => Some((Line { text: bytes, eol: Eol::None }, &[])),
    }
}

/// Yields the pieces between the newlines of `bytes`: always one more than newlines.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut next = 0;
    memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]).map(move |end| {
        let piece = bytes.get(next..end).unwrap_or_default();
        next = end + 1;
        piece
    })
}

/// Converts text to a string for display, whatever its encoding.
pub(crate) fn lossy_text(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Splits line by line, without mileposts.
    fn naive(bytes: &[u8]) -> Vec<Line<'_>> {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines
            .map(|line| match line.strip_suffix(b"\n") {
                Some(raw) => Line::before_newline(raw),
                None => Line { text: line, eol: Eol::None },
            })
            .collect()
    }

    /// Files with few and with many newlines, several miles long.
    fn file() -> impl Strategy<Value = Vec<u8>> {
        let line = (
            prop_oneof![0..4_usize, 0..80_usize, 0..3 * MILE],
            prop_oneof![Just("\n"), Just("\r\n")],
        );
        let lines = proptest::collection::vec(line, 0..80);
        (lines, prop_oneof![Just(""), Just("end"), Just("\r")]).prop_map(|(lines, last)| {
            let whole = lines.iter().map(|(length, end)| "x".repeat(*length) + end);
            (whole.collect::<String>() + last).into_bytes()
        })
    }

    #[test]
    fn an_empty_file_has_no_lines() {
        let lines = Lines::of(b"");
        assert!(lines.is_empty() && lines.get(0).is_none() && lines.all().is_empty());
        assert_eq!((lines.start_of(0), lines.start_of(9), lines.is_open()), (0, 0, false));
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_are_found(bytes in file()) {
            let (lines, naive) = (Lines::of(&bytes), naive(&bytes));
            for all_are_cut in [false, true] {
                if all_are_cut {
                    prop_assert_eq!(&lines.all(), &naive);
                }
                for at in 0..naive.len() + 2 {
                    prop_assert_eq!(lines.get(at), naive.get(at).copied());
                    let before = naive.iter().take(at).map(|line| line.size());
                    prop_assert_eq!(lines.start_of(at), before.sum::<usize>());
                    let rest: Vec<Line<'_>> = lines.from(at).collect();
                    prop_assert_eq!(rest.as_slice(), naive.get(at..).unwrap_or_default());
                }
            }
            prop_assert_eq!(lines.len(), naive.len());
            prop_assert_eq!(lines.is_open(), naive.last().is_some_and(|line| line.eol == Eol::None));
        }

        #[test]
        fn pieces_are_those_of_the_standard_library(bytes in "[a\n]{0,9}") {
            let split: Vec<&[u8]> = bytes.as_bytes().split(|byte| *byte == b'\n').collect();
            prop_assert_eq!(pieces(bytes.as_bytes()).collect::<Vec<_>>(), split);
        }

        #[test]
        fn lines_put_together_are_the_file(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..60)) {
            let joined: Vec<u8> = Lines::of(&bytes).from(0).flat_map(|line| [line.text, line.eol.as_bytes()].concat()).collect();
            prop_assert_eq!(joined, bytes);
        }
    }
}
