//! Bytes as lines that remember how they end. Nothing here knows of diffs.

/// Bytes in a line of code, about; only room is made by it.
const USUAL_LENGTH: usize = 32;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eol {
    Lf,
    CrLf,
    /// The last line of a file without a newline.
    None,
}

impl Eol {
    pub(super) fn as_bytes(self) -> &'static [u8] {
        match self {
            Eol::Lf => b"\n",
            Eol::CrLf => b"\r\n",
            Eol::None => b"",
        }
    }
}

/// One line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    pub(super) eol: Eol,
}

impl<'a> Line<'a> {
    /// A line of which everything before the `\n` is given.
    pub(super) fn before_newline(raw: &'a [u8]) -> Line<'a> {
        match raw.strip_suffix(b"\r") {
            Some(text) => Line { text, eol: Eol::CrLf },
            None => Line { text: raw, eol: Eol::Lf },
        }
    }

    /// Length with its end, in bytes.
    pub(super) fn len(self) -> usize {
        self.text.len() + self.eol.as_bytes().len()
    }
}

/// The lines of a file; the last may have no end. No bytes, no lines.
pub(super) fn split(bytes: &[u8]) -> Vec<Line<'_>> {
    let mut lines = Vec::with_capacity(bytes.len() / USUAL_LENGTH);
    let mut next = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        lines.push(Line::before_newline(bytes.get(next..end).unwrap_or_default()));
        next = end + 1;
    }
    let open = bytes.get(next..).unwrap_or_default();
    if !open.is_empty() {
        lines.push(Line { text: open, eol: Eol::None });
    }
    lines
}

/// Text for people, whatever the encoding.
pub(super) fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_put_together_are_the_file(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..60)) {
            let joined: Vec<u8> = split(&bytes).iter().flat_map(|line| [line.text, line.eol.as_bytes()].concat()).collect();
            prop_assert_eq!(joined, bytes);
        }
    }
}
