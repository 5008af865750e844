//! Detects bytes in added lines that do not fit the file: a second carriage return, and UTF-8 in a file in another
//! encoding. Pure.

use super::body::{HunkLine, Kind};
use super::file_style::FileStyle;
use super::lines::Eol;

/// Returns an added line with bytes that do not fit the file, and their description.
pub(super) fn found<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    let has_second = |line: &&HunkLine<'_>| line.eol == Eol::CrLf && line.text.ends_with(b"\r");
    let is_wide = |line: &&HunkLine<'_>| !line.text.is_ascii();
    let mut added = body.iter().filter(|line| line.kind == Kind::Added);
    let line = added.find(|line| has_second(line) || is_wide(line))?;
    if has_second(&line) {
        let is_usual = body.iter().any(|line| line.is_old() && line.text.ends_with(b"\r"));
        return (!is_usual).then_some((line, "ends in two carriage returns"));
    }
    let is_utf8 = std::str::from_utf8(line.text).is_ok();
    let has = "has characters in UTF-8, but the file is in another encoding";
    (is_utf8 && style.is_in_another_encoding()).then_some((line, has))
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    fn is_foreign(file: &[u8], hunk: &[&[u8]]) -> bool {
        found(&FileStyle::of(file, "a.py"), &read_all(hunk, 1)).is_some()
    }

    #[test]
    fn bytes_that_do_not_fit_are_found() {
        assert!(is_foreign(b"a\r\n", &[b" a\r", b"+b\r\r"]));
        assert!(!is_foreign(b"a\r\r\n", &[b" a\r\r", b"+b\r\r"]), "the file has them");
        assert!(!is_foreign(b"a\r\n", &[b" a\r", b"+b\r"]));
        let added = "+caf\u{e9}".as_bytes();
        assert!(is_foreign(b"caf\xe9\n", &[added]));
        assert!(!is_foreign(b"caf\xe9\n", &[b"+tea\xe9"]), "in the encoding of the file");
        assert!(!is_foreign(b"caf\xe9 \xc3\xa9\n", &[added]), "the file has UTF-8 too");
        assert!(!is_foreign(b"cafe\n", &[added]));
        assert!(!is_foreign(b"caf\xe9\n", &[b"+tea"]));
    }
}
