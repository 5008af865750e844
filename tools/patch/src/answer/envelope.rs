//! Removes what surrounds a diff in an answer: byte order mark, reasoning, indentation, CRLF. The diff is not parsed
//! here.

use std::borrow::Cow;

use crate::answer::fence::Fence;
use crate::answer::leak;
use crate::diff::headers::is_structural;
use crate::diff::lines::pieces;
use crate::plan::tolerance::{Repair, Tolerance, Tolerances};
use crate::refusal::reasons::{PatchMismatch, Reason, Refusal};

/// An answer without its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened<'a> {
    /// The lines, without line ends. Lines of reasoning are blank, so that all lines keep their numbers.
    pub(crate) lines: Vec<&'a [u8]>,
    /// True if the last line ended in a newline.
    pub(crate) complete: bool,
    /// True if carriage returns were removed, so that line ends carry no information about the file.
    pub(crate) crlf: bool,
    /// A template token that was removed from the end, which could also be content of the files.
    pub(crate) token: Option<&'a [u8]>,
    pub(crate) repairs: Vec<Repair>,
}

/// Returns `answer` without escape codes, or without invisible characters at the start of every diff line, if no line
/// of a diff can begin with them.
pub(crate) fn without_escapes(answer: &[u8], allowed: Tolerances) -> Cow<'_, [u8]> {
    if !allowed.allow(Tolerance::Leaked) {
        return Cow::Borrowed(answer);
    }
    let has_escape = memchr::memchr(leak::ESCAPE, answer).is_some();
    if has_escape && pieces(answer).any(|line| line.first() == Some(&leak::ESCAPE)) {
        return Cow::Owned(leak::without_escapes(answer));
    }
    let is_hidden = |line: &[u8]| is_structural(leak::without_zero_width(line));
    if pieces(answer).any(is_structural) || !pieces(answer).any(is_hidden) {
        return Cow::Borrowed(answer);
    }
    let lines: Vec<&[u8]> = pieces(answer).map(leak::without_zero_width).collect();
    Cow::Owned(lines.join(&b'\n'))
}

/// Removes the envelope of `answer`.
pub(crate) fn open(answer: &[u8], allowed: Tolerances) -> Result<Opened<'_>, Refusal> {
    if memchr::memchr(0, answer).is_some() {
        return Err(PatchMismatch::answer(Reason::BinaryContent).into());
    }
    let mut repairs = Vec::new();
    let mut repaired = |tolerance| repairs.push(Repair::of(tolerance));
    let (mut rest, mut token) = (answer, None);
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
    while allowed.allow(Tolerance::Leaked)
        && let Some((before, found)) = leak::at_end(rest)
    {
        // After a marker alone, the token could also be the added text.
        if matches!(pieces(before).last(), Some([b'+' | b'-' | b' '])) {
            return Err(PatchMismatch::answer(Reason::StrayLine).into());
        }
        if token.is_none() {
            repaired(Tolerance::Leaked);
        }
        (rest, token) = (before, Some(found));
    }
    let complete = rest.ends_with(b"\n") || rest.is_empty() || token.is_some();
    lines.extend(pieces(rest.strip_suffix(b"\n").unwrap_or(rest)));
    if allowed.allow(Tolerance::Indented)
        && let Some(indentation) = common_indentation(&lines)
    {
        repaired(Tolerance::Indented);
        for line in &mut lines {
            let bare = line.strip_prefix(indentation.as_slice());
            // Quoted with less indentation.
            let quoted = || line.strip_prefix(b"> ").or(line.strip_prefix(b">"));
            let is_quote = indentation.starts_with(b">");
            *line = bare.or_else(|| quoted().filter(|_| is_quote)).unwrap_or(line);
        }
    }
    if ends_in_a_second_end(&lines) {
        return Err(PatchMismatch::answer(Reason::StrayLine).into());
    }
    if allowed.allow(Tolerance::Leaked)
        && let Some(last) = lines.iter().rposition(|line| !line.is_empty())
        && let Some(open) = open_fence(&lines).or_else(|| token.and(fence_of_prompt(&lines)))
        && let Some(line) = lines.get_mut(last)
        && let Some(text) = open.unglued(line)
    {
        repaired(Tolerance::Leaked);
        let end = line.get(text.len()..).unwrap_or_default();
        *line = text;
        lines.insert(last + 1, end);
    }
    let crlf = allowed.allow(Tolerance::CrlfAnswer) && is_crlf(&lines);
    if crlf {
        repaired(Tolerance::CrlfAnswer);
        for line in &mut lines {
            *line = line.strip_suffix(b"\r").unwrap_or(line);
        }
    }
    Ok(Opened { lines, complete, crlf, token, repairs })
}

/// Returns the fence that is open at the end. Lines of a hunk have their markers before any fence.
fn open_fence(lines: &[&[u8]]) -> Option<Fence> {
    lines.iter().fold(None, |open: Option<Fence>, line| match open {
        Some(fence) if fence.is_closed_by(line) => None,
        Some(fence) => Some(fence),
        None => Fence::opening(line).filter(|_| !line.starts_with(b" ")),
    })
}

/// Returns the fence that the prompt may have opened, if no line of the answer is one.
fn fence_of_prompt(lines: &[&[u8]]) -> Option<Fence> {
    let is_fence = |line: &&[u8]| Fence::opening(line).is_some() && !line.starts_with(b" ");
    Fence::opening(b"```").filter(|_| !lines.iter().any(is_fence))
}

/// Returns true if the last line looks like one of a hunk and has a closing fence glued to it, although no fence is
/// open: the one that was closed before was then part of the text.
fn ends_in_a_second_end(lines: &[&[u8]]) -> bool {
    let last = lines.iter().rfind(|line| !line.is_empty());
    let first = lines.iter().find_map(|line| Fence::opening(line));
    let is_glued = last
        .zip(first)
        .is_some_and(|(line, fence)| line.starts_with(b" ") && fence.unglued(line).is_some());
    is_glued && open_fence(lines).is_none()
}

/// Skips a byte order mark and reasoning before the answer itself.
pub(crate) fn without_preamble(answer: &[u8]) -> Result<&[u8], Refusal> {
    let mut rest = answer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(answer);
    while let Some(after) = after_reasoning(rest)? {
        rest = after;
    }
    Ok(rest)
}

/// Returns what follows a block of reasoning, whose opening tag the model's template may have kept; `None` if there is
/// no such block. Any other tag is text above the diff.
fn after_reasoning(rest: &[u8]) -> Result<Option<&[u8]>, Refusal> {
    const NAMES: [&str; 3] = ["think", "thinking", "reasoning"];
    for name in NAMES {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let after = |at: usize| rest.get(at + close.len()..).unwrap_or_default();
        let text = rest.trim_ascii_start();
        let opened = text.get(..open.len()).filter(|tag| tag.eq_ignore_ascii_case(open.as_bytes()));
        if opened.is_some() {
            let lower = rest.to_ascii_lowercase();
            let end = memchr::memmem::find(&lower, close.as_bytes()).ok_or_else(|| {
                let note = format!("The answer begins with `{open}`, which is never closed.");
                PatchMismatch::answer(Reason::TruncatedDiff).note(note)
            })?;
            return Ok(Some(after(end)));
        }
        // Searching forwards is much faster, and almost no answer has the tag.
        let Some(_) = memchr::memmem::find(rest, close.as_bytes()) else { continue };
        let Some(at) = memchr::memmem::rfind(rest, close.as_bytes()) else { continue };
        let before = rest.get(..at).unwrap_or_default();
        let line = pieces(before).last().unwrap_or_default();
        let is_of_a_diff = line.first().is_some_and(|byte| b" +-\t".contains(byte));
        // Everything before a closing tag at the end of a line is reasoning. If it was opened in the answer, a diff
        // before it must not be lost.
        let ends_its_line = pieces(after(at)).next().is_none_or(|it| it.trim_ascii().is_empty());
        let is_lost = memchr::memmem::find(before, open.as_bytes())
            .is_some_and(|at| pieces(before.get(..at).unwrap_or_default()).any(is_structural));
        if (line.is_empty() || ends_its_line) && !is_of_a_diff && !is_lost {
            return Ok(Some(after(at)));
        }
    }
    Ok(None)
}

/// Returns true if every structural line ends in CR. A diff of a CRLF file has CR in its bodies only.
fn is_crlf(lines: &[&[u8]]) -> bool {
    let mut structural = lines.iter().filter(|line| is_structural(line)).peekable();
    // The very last line may have lost its line end.
    structural.peek().is_some() && structural.all(|line| line.ends_with(b"\r"))
}

/// Returns the white space or quote mark before the first structural line and all others, if none is at the start of a
/// line. All lines between them must have it if it is a quote mark.
fn common_indentation(lines: &[&[u8]]) -> Option<Vec<u8>> {
    if lines.iter().any(|line| is_structural(line)) {
        return None;
    }
    let bare = |line: &[u8]| match line.trim_ascii_start() {
        [b'>', rest @ ..] => rest.trim_ascii_start().len(),
        rest => rest.len(),
    };
    let text = |line: &'_ [u8]| line.get(line.len() - bare(line)..).unwrap_or_default().to_vec();
    let is_indented = |line: &&&[u8]| is_structural(&text(line));
    let first = lines.iter().position(|line| is_indented(&line))?;
    let line = lines.get(first)?;
    let indentation = line.get(..line.len() - bare(line))?;
    let has_it = |line: &&&[u8]| line.starts_with(indentation.trim_ascii_end());
    // Content with more indentation may look like a header.
    let mut structural = lines.iter().filter(is_indented);
    let last = lines.iter().rposition(|line| is_indented(&line))?;
    let quoted = indentation.contains(&b'>');
    let is_quote = lines.get(first..=last)?.iter().all(|line| has_it(&line));
    let agrees = structural.all(|line| line.starts_with(indentation)) && (!quoted || is_quote);
    agrees.then(|| indentation.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &str) -> String {
        let opened = open(answer.as_bytes(), Tolerances::ALL).unwrap();
        String::from_utf8(opened.lines.join(&b'\n')).unwrap()
    }

    #[test]
    fn envelopes_are_removed() {
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
    fn content_with_more_indentation_may_look_like_a_header() {
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
    fn binary_answers_and_unfinished_reasoning_are_refused() {
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
