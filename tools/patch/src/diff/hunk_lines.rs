//! The lines of one hunk, and the ways to decide where they end. The file is not known here.

use crate::diff::headers::Numbers;
use crate::diff::lines::{Eol, Line};

/// The kind of a line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Context,
    Removed,
    Added,
}

/// A line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HunkLine<'a> {
    pub(crate) kind: Kind,
    /// The text after the marker.
    pub(crate) text: &'a [u8],
    pub(crate) eol: Eol,
    /// For context: the line including the first character, in case the marker was lost.
    pub(crate) raw: &'a [u8],
    /// The line of the answer, from 1.
    pub(crate) at: usize,
}

impl<'a> HunkLine<'a> {
    /// Reads `raw`; a line without a marker is context. `at` counts from 1.
    pub(crate) fn read(raw: &'a [u8], at: usize) -> HunkLine<'a> {
        let (kind, rest) = match raw.split_first() {
            Some((b'+', rest)) => (Kind::Added, rest),
            Some((b'-', rest)) => (Kind::Removed, rest),
            Some((b' ', rest)) => (Kind::Context, rest),
            Some(_) | None => (Kind::Context, raw),
        };
        let line = Line::before_newline(rest);
        HunkLine { kind, text: line.text, eol: line.eol, raw: Line::before_newline(raw).text, at }
    }

    /// Returns the line, marked as the end of a file without a newline: a CR before the end is content.
    fn unended(self, raw: &'a [u8]) -> HunkLine<'a> {
        let text = if self.is_bare() { raw } else { raw.get(1..).unwrap_or_default() };
        HunkLine { text, eol: Eol::None, ..self }
    }

    /// Returns true if the line must be in the file before the change.
    pub(crate) fn is_old(&self) -> bool {
        self.kind != Kind::Added
    }

    /// Returns true if the line is in the file after the change.
    pub(crate) fn is_new(&self) -> bool {
        self.kind != Kind::Removed
    }

    /// Returns true if the line has nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }

    /// Returns true if the line lacks a marker and is not blank, which needs none.
    pub(crate) fn is_bare(&self) -> bool {
        self.kind == Kind::Context && !self.raw.is_empty() && !self.raw.starts_with(b" ")
    }
}

/// The number of old lines by which a hunk may be miscounted.
pub(crate) const MISCOUNTED: usize = 2;
/// The usual number of context lines above and below a change.
pub(crate) const CONTEXT: usize = 3;

/// One reading of the body of a hunk.
pub(crate) type Body<'a> = Vec<HunkLine<'a>>;

/// Returns true if a body changes anything.
pub(crate) fn has_change(body: &[HunkLine<'_>]) -> bool {
    body.iter().any(|line| line.kind != Kind::Context)
}

/// Returns the lines of a body that must be in the file before the change.
pub(crate) fn old_lines<'h, 'a>(body: &'h [HunkLine<'a>]) -> Vec<&'h HunkLine<'a>> {
    body.iter().filter(|line| line.is_old()).collect()
}

/// Returns the lines of a body that are in the file after the change.
pub(crate) fn new_lines<'h, 'a>(body: &'h [HunkLine<'a>]) -> Vec<&'h HunkLine<'a>> {
    body.iter().filter(|line| line.is_new()).collect()
}

/// Yields the lines that a body adds.
pub(crate) fn added_lines<'h, 'a>(
    body: &'h [HunkLine<'a>],
) -> impl Iterator<Item = &'h HunkLine<'a>> + Clone {
    body.iter().filter(|line| line.kind == Kind::Added)
}

/// Returns the number of old and new lines of a body.
pub(crate) fn counts(body: &[HunkLine<'_>]) -> (usize, usize) {
    let of = |kind| body.iter().filter(|line| line.kind == kind).count();
    let context = of(Kind::Context);
    (context + of(Kind::Removed), context + of(Kind::Added))
}

/// Returns the number of context lines above and below all changes of a body.
pub(crate) fn context(body: &[HunkLine<'_>]) -> (usize, usize) {
    let is_context = |line: &&HunkLine<'_>| line.kind == Kind::Context;
    let above = body.iter().take_while(is_context).count();
    (above, body.iter().rev().take_while(is_context).count())
}

/// Returns true if a body has as many lines as its header says.
pub(crate) fn holds(body: &[HunkLine<'_>], numbers: Option<Numbers>) -> bool {
    numbers.is_some_and(|numbers| counts(body) == (numbers.old_count, numbers.new_count))
}

/// Returns true if a body has fewer lines than its header says, and not more of either side.
pub(crate) fn lacks(body: &[HunkLine<'_>], numbers: Option<Numbers>) -> bool {
    let (old, new) = counts(body);
    numbers.is_some_and(|numbers| {
        old <= numbers.old_count && new <= numbers.new_count && !holds(body, Some(numbers))
    })
}

/// Returns true if a body is complete although its lines are miscounted: it ends in context and has all old lines that its
/// header announces, or in the usual context and lacks few.
pub(crate) fn is_complete(body: &[HunkLine<'_>], numbers: Option<Numbers>) -> bool {
    let Some(numbers) = numbers else { return false };
    let old = counts(body).0;
    let (_, below) = context(body);
    let is_usual = below == CONTEXT && numbers.old_count.abs_diff(old) <= MISCOUNTED;
    let ends_in_context = below > 0 && body.last().is_some_and(|line| !line.is_bare());
    ends_in_context && (old == numbers.old_count || is_usual)
}

/// Returns true if the lines from `len` on, whatever their markers were, are exactly the ones that the header still
/// announces, and some of them new.
pub(crate) fn is_counted(body: &[HunkLine<'_>], len: usize, numbers: Option<Numbers>) -> bool {
    let (Some(numbers), Some((rest, tail))) = (numbers, body.split_at_checked(len)) else {
        return false;
    };
    let (old, new) = counts(rest);
    let is_blank = |line: &&HunkLine<'_>| line.raw.is_empty();
    let blank = tail.iter().rev().take_while(is_blank).count();
    let blank = blank + tail.iter().take_while(is_blank).count();
    let to_come = [numbers.old_count.checked_sub(old), numbers.new_count.checked_sub(new)];
    let [Some(old), Some(new)] = to_come else { return false };
    // Old lines are compared with the file anyway.
    let fits =
        |lines: usize| old.max(new) <= lines && lines <= old.saturating_add(new) && old < lines;
    (old > 0 || new > 0) && (tail.len().saturating_sub(blank)..=tail.len()).any(fits)
}

/// A body read according to the counts of its header.
pub(crate) struct Counted<'a> {
    pub(crate) body: Body<'a>,
    /// The number of lines of the answer that it takes up.
    pub(crate) taken: usize,
    /// The number of blank context lines supplied at the end of the answer.
    pub(crate) supplied: usize,
}

/// Reads a body that begins at `lines[start]` according to its counts; `None` if they do not hold.
///
/// `cut` is set if the answer does not end in a newline, so that blank lines may be missing at its end.
pub(crate) fn read_counted<'a>(
    lines: &[&'a [u8]],
    start: usize,
    numbers: Numbers,
    cut: bool,
) -> Option<Counted<'a>> {
    let (mut old, mut new) = (numbers.old_count, numbers.new_count);
    let left = lines.len().saturating_sub(start);
    let mut body: Body<'a> = Vec::with_capacity(old.saturating_add(new).min(left));
    let mut index = start;
    while old > 0 || new > 0 {
        let Some(raw) = lines.get(index) else { break };
        if is_end(raw, &body) {
            end_file(&mut body, lines, index)?;
        } else {
            let line = HunkLine::read(raw, index + 1);
            if line.is_bare() {
                return None;
            }
            old = old.checked_sub(usize::from(line.is_old()))?;
            new = new.checked_sub(usize::from(line.is_new()))?;
            body.push(line);
        }
        index += 1;
    }
    // After all counted lines, the marker may be indented by one column.
    let is_after = |raw: &&[u8]| is_end(raw.strip_prefix(b" ").unwrap_or(raw), &body);
    if lines.get(index).is_some_and(is_after) {
        end_file(&mut body, lines, index)?;
        index += 1;
    }
    let supplied = old;
    let may_supply = cut && supplied <= 3 && ends_whole(&body);
    if old != new || supplied > 0 && !may_supply || body.is_empty() {
        return None;
    }
    body.extend((0..supplied).map(|_| HunkLine::read(b"", lines.len())));
    Some(Counted { body, taken: index - start, supplied })
}

/// Applies the no-newline marker at `lines[index]` to the last line of `body`, which directly precedes it.
fn end_file<'a>(body: &mut Body<'a>, lines: &[&'a [u8]], index: usize) -> Option<()> {
    let (last, raw) = (body.last_mut()?, lines.get(index.checked_sub(1)?)?);
    *last = last.unended(raw);
    Some(())
}

/// Returns true if `raw` says that the file has no newline at its end, with or without a marker of its own. In a diff
/// of diffs, it is text.
fn is_end(raw: &[u8], body: &[HunkLine<'_>]) -> bool {
    let says_so = |text: &[u8]| {
        let text = text.strip_prefix(b"\\").map(<[u8]>::trim_ascii_start);
        text.is_some_and(|text| {
            text.get(..END.len()).is_some_and(|start| start.eq_ignore_ascii_case(END))
        })
    };
    let is_diff = |line: &HunkLine<'_>| line.text.starts_with(b"@@ -") || says_so(line.text);
    let is_marked = || {
        raw.strip_prefix(b"+").is_some_and(says_so)
            && !body.iter().any(is_diff)
            && body.last().is_some_and(|line| line.kind == Kind::Added || is_whole_mark(raw, line))
    };
    // Without its backslash it is still the no-newline marker, unless the hunk is about diffs.
    let is_bare =
        || raw == b"No newline at end of file" && !body.is_empty() && !body.iter().any(is_diff);
    raw.starts_with(b"\\ ") || says_so(raw) || is_marked() || is_bare()
}

/// Returns true if a line with a marker has the whole text of the no-newline marker, below a line that is not itself a
/// line of a diff.
fn is_whole_mark(raw: &[u8], above: &HunkLine<'_>) -> bool {
    let is_of_a_diff = match above.text {
        [b'+', ..] => true,
        [b'-', next, ..] => !b" -".contains(next),
        _ => false,
    };
    raw.trim_ascii_end() == b"+\\ No newline at end of file" && !is_of_a_diff
}

/// The shortest text of a no-newline marker.
const END: &[u8] = b"No newline";

/// Returns true if the last line of a body that was cut off after it seems to be complete.
///
/// Old lines are compared with the file anyway. An added line that replaces another should end like it.
fn ends_whole(body: &[HunkLine<'_>]) -> bool {
    let end = |line: &HunkLine<'_>| line.text.last().copied();
    let run = || body.iter().rev().take_while(|line| line.kind != Kind::Context);
    let replaced = run().find(|line| line.kind == Kind::Removed);
    let last = body.last().filter(|line| line.kind == Kind::Added);
    // A line with nothing but indentation has only begun.
    let is_begun = body.last().is_some_and(|line| !line.text.is_empty() && line.is_blank());
    !is_begun && last.is_none_or(|last| replaced.is_none_or(|replaced| end(replaced) == end(last)))
}

/// Reads all of `lines` as a body; the first is line `at` of the answer.
pub(crate) fn read_all<'a>(lines: &[&'a [u8]], at: usize) -> Body<'a> {
    let mut body: Body<'a> = Vec::new();
    for (index, raw) in lines.iter().enumerate() {
        let ends = is_end(raw, &body);
        if !ends || end_file(&mut body, lines, index).is_none() {
            body.push(HunkLine::read(raw, at + index));
        }
    }
    body
}

/// Returns how many lines of `body` remain without the blank lines or prose after it; `None` if nothing is removed.
///
/// Prose begins after a blank line: a line without a marker directly after the last one may be code that lost it.
pub(crate) fn without_tail(body: &[HunkLine<'_>]) -> Option<usize> {
    let is_loose =
        |line: &HunkLine<'_>| line.kind == Kind::Context && (line.raw.is_empty() || line.is_bare());
    let run = body.len() - body.iter().rev().take_while(|line| is_loose(line)).count();
    let tail = body.get(run..)?.iter().position(|line| line.raw.is_empty())?;
    let is_lost = body.get(run..)?.iter().any(|line| has_look_alike_marker(line.raw));
    (!is_lost).then_some(run + tail)
}

/// Characters that look like a marker.
pub(crate) const FALSE_MARKERS: &str = "\u{2212}\u{ff0b}\u{ff0d}\u{fe62}\u{fe63}\u{2795}\u{2796}\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{a0}\u{200b}";

/// Returns true if a line begins with a character that looks like a marker, directly before its text.
pub(crate) fn has_look_alike_marker(line: &[u8]) -> bool {
    let text = str::from_utf8(line).unwrap_or_default();
    let rest = text.strip_prefix(|c| FALSE_MARKERS.contains(c));
    rest.is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static str) -> Vec<&'static [u8]> {
        text.lines().map(str::as_bytes).collect()
    }

    fn counted(
        text: &'static str,
        old_count: usize,
        new_count: usize,
        cut: bool,
    ) -> Option<(usize, usize)> {
        let numbers = Numbers { old: 1, old_count, new: 1, new_count };
        read_counted(&lines(text), 0, numbers, cut).map(|counted| (counted.taken, counted.supplied))
    }

    #[test]
    fn counts_determine_the_kinds_of_lines() {
        assert_eq!(counted(" a\n--- x\n+++ y\n b", 3, 3, false), Some((4, 0)));
        assert_eq!(
            counted(" a\n-x\n\\ No newline\n+y\n\\ No newline\n", 2, 2, false),
            Some((5, 0))
        );
        assert_eq!(counted(" a\n-x\n\n", 3, 2, false), Some((3, 0)));
    }

    #[test]
    fn a_marker_for_the_end_may_have_a_marker_of_its_own() {
        let ends = |text| read_all(&lines(text), 1).iter().map(|it| it.eol).collect::<Vec<_>>();
        for text in [
            "-a\n+\\ No newline at end of file\n+b",
            "- - a\n+\\ No newline at end of file\n+b",
            " a\n+\\ No newline at end of file\n+b",
        ] {
            assert_eq!(ends(text), [Eol::None, Eol::Lf], "{text}");
        }
        for text in [
            "--a\n+\\ No newline at end of file\n+b",
            "-+a\n+\\ No newline at end of file\n+b",
            "-a\n+\\ No newline at end of file is printed\n+b",
        ] {
            assert_eq!(ends(text), [Eol::Lf; 3], "{text}");
        }
    }

    #[test]
    fn counts_that_do_not_hold() {
        assert_eq!(counted(" a\n-x\n b", 2, 2, false), None, "the new side overruns");
        assert_eq!(counted("", 0, 0, false), None, "there are no lines");
        assert_eq!(counted(" a\nx\n-b", 3, 2, false), None, "a line without marker");
        assert_eq!(counted(" a\n-x\n", 4, 3, false), None, "too short");
        assert_eq!(counted(" a\n-x", 4, 3, true), Some((2, 2)));
        assert_eq!(counted("-x", usize::MAX, usize::MAX, true), None);
    }

    #[test]
    fn tails() {
        let tail = |text| without_tail(&read_all(&lines(text), 1));
        assert_eq!(tail("-a\n b\n\nThat was it."), Some(2));
        assert_eq!(tail("-a\nlost\n\n"), Some(2));
        assert_eq!(tail("-a\nlost"), None);
        assert_eq!(tail("-a\n b"), None);
        assert_eq!(tail("-a\n\n- item"), None);
    }
}
