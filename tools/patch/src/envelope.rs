//! What surrounds a diff in an answer: byte order mark, reasoning, indentation, CRLF. It does not read the diff.

use super::lines::pieces;
use super::refuse::{PatchMismatch, Reason, Refusal};
use super::tolerance::{Repair, Tolerance, Tolerances};

/// An answer freed of its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opened<'a> {
    /// Its lines, without what ends them; those of reasoning are blank, so that lines keep their numbers.
    pub(super) lines: Vec<&'a [u8]>,
    /// Whether the last line ended in a newline.
    pub(super) complete: bool,
    /// Whether carriage returns were taken off, so that line ends say nothing about the file.
    pub(super) crlf: bool,
    pub(super) repairs: Vec<Repair>,
}

/// Takes the envelope off `answer`.
pub(super) fn open(answer: &[u8], allowed: Tolerances) -> Result<Opened<'_>, Refusal> {
    if memchr::memchr(0, answer).is_some() {
        return Err(PatchMismatch::answer(Reason::BinaryContent).into());
    }
    let mut repairs = Vec::new();
    let mut repaired = |tolerance| {
        repairs.push(Repair::answer(tolerance));
    };
    let mut rest = answer;
    let newlines = memchr::memchr_iter(b'\n', answer).count();
    let mut lines: Vec<&[u8]> = Vec::with_capacity(newlines + 1);
    if allowed.allow(Tolerance::Preamble) {
        let opened = without_preamble(answer)?;
        if opened.len() < answer.len() {
            repaired(Tolerance::Preamble);
            let skipped = answer.strip_suffix(opened).unwrap_or_default();
            lines.extend(pieces(skipped).skip(1).map(|_| &b""[..]));
        }
        rest = opened;
    }
    let complete = rest.ends_with(b"\n") || rest.is_empty();
    lines.extend(pieces(rest.strip_suffix(b"\n").unwrap_or(rest)));
    if allowed.allow(Tolerance::Indented)
        && let Some(indentation) = common_indentation(&lines)
    {
        repaired(Tolerance::Indented);
        for line in &mut lines {
            *line = line.strip_prefix(indentation.as_slice()).unwrap_or(line);
        }
    }
    let crlf = allowed.allow(Tolerance::CrlfAnswer) && is_crlf(&lines);
    if crlf {
        repaired(Tolerance::CrlfAnswer);
        for line in &mut lines {
            *line = line.strip_suffix(b"\r").unwrap_or(line);
        }
    }
    Ok(Opened { lines, complete, crlf, repairs })
}

/// Skips a byte order mark and a leading block of reasoning.
fn without_preamble(answer: &[u8]) -> Result<&[u8], Refusal> {
    const CLOSE: &[u8] = b"</think>";
    let rest = answer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(answer);
    let Some(thought) = rest.trim_ascii_start().strip_prefix(b"<think>") else {
        return Ok(rest);
    };
    match thought.windows(CLOSE.len()).position(|window| window == CLOSE) {
        Some(end) => Ok(thought.get(end + CLOSE.len()..).unwrap_or_default()),
        None => Err(PatchMismatch::answer(Reason::TruncatedDiff).into()),
    }
}

/// Lines a diff cannot do without; their line ends and indentation speak for the whole answer.
fn is_structural(line: &[u8]) -> bool {
    line.starts_with(b"diff --git ")
        || line.starts_with(b"@@")
        || (line.starts_with(b"--- ") || line.starts_with(b"+++ ")) && line.len() > 4
}

/// Whether every structural line ends in CR. A diff of a CRLF file has CR in its bodies only.
fn is_crlf(lines: &[&[u8]]) -> bool {
    let mut structural = lines.iter().filter(|line| is_structural(line)).peekable();
    // The very last line may have lost its end.
    structural.peek().is_some() && structural.all(|line| line.ends_with(b"\r"))
}

/// What stands before the first structural line and all others, if none is at the start of a line.
fn common_indentation(lines: &[&[u8]]) -> Option<Vec<u8>> {
    if lines.iter().any(|line| is_structural(line)) {
        return None;
    }
    let mut structural =
        lines.iter().filter(|line| is_structural(line.trim_ascii_start())).peekable();
    let first = structural.peek()?;
    let indentation = first.get(..first.len() - first.trim_ascii_start().len())?;
    // Content may look like a header, further in.
    structural.all(|line| line.starts_with(indentation)).then(|| indentation.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &str) -> String {
        let opened = open(answer.as_bytes(), Tolerances::ALL).unwrap();
        String::from_utf8(opened.lines.join(&b'\n')).unwrap()
    }

    #[test]
    fn envelopes_come_off() {
        assert_eq!(text("\u{feff}--- a/x\n"), "--- a/x");
        assert_eq!(text("<think>\n--- a/y\n</think>\n--- a/x\n"), "\n\n\n--- a/x");
        assert_eq!(
            text("  --- a/x\n  +++ b/x\n  @@ -1 +1 @@\n  -a\n  +b\n"),
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b"
        );
        assert_eq!(text("  --- a/x\r\n  @@ @@\r\n  -a\r\n"), "--- a/x\n@@ @@\n-a");
        assert_eq!(
            text("--- a/x\r\n+++ b/x\r\n@@ @@\r\n-a\r\n+b\r\n"),
            "--- a/x\n+++ b/x\n@@ @@\n-a\n+b"
        );
    }

    #[test]
    fn content_further_in_may_look_like_a_header() {
        assert_eq!(
            text("  --- a/x\n  +++ b/x\n  @@ @@\n     --- y\n"),
            "--- a/x\n+++ b/x\n@@ @@\n   --- y"
        );
    }

    #[test]
    fn a_diff_of_a_crlf_file_keeps_its_carriage_returns() {
        let diff = "--- a/x\n+++ b/x\n@@ @@\n-a\r\n+b\r";
        assert_eq!(text(diff), diff);
    }

    #[test]
    fn indentation_stays_if_anything_is_at_column_zero() {
        let diff = "--- a/x\n  +++ b/x\n  @@ @@";
        assert_eq!(text(diff), diff);
    }

    #[test]
    fn each_can_be_switched_off() {
        let kept = open(b"\xef\xbb\xbf  @@ @@\r\n", Tolerances::NONE).unwrap();
        assert_eq!(kept.lines, [b"\xef\xbb\xbf  @@ @@\r"]);
        assert!(kept.repairs.is_empty());
    }

    #[test]
    fn refuses_binary_and_endless_thought() {
        assert_eq!(
            open(b"a\0b", Tolerances::ALL).unwrap_err().mismatches[0].reason,
            Reason::BinaryContent
        );
        assert_eq!(
            open(b"<think>--- a/x", Tolerances::ALL).unwrap_err().mismatches[0].reason,
            Reason::TruncatedDiff
        );
    }
}
