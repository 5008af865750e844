//! Diffs that an answer only shows, within another text. Pure.

use super::fence::Fence;

/// Fences around nothing but a fence that are looked into.
const MAX_WRAPS: usize = 3;
/// Languages of fences in which a diff may stand behind other lines.
const MAY_HOLD_DIFFS: [&[u8]; 9] =
    [b"", b"diff", b"patch", b"udiff", b"sh", b"bash", b"shell", b"console", b"text"];

/// The line, from 0, of a fence around a text in which a diff is shown: it has a fence of its own, or is code in which the diff is
/// not first.
pub(super) fn example(lines: &[&[u8]]) -> Option<usize> {
    let (mut at, mut wraps) = (0, 0);
    while at < lines.len() {
        let Some(block) = Block::at(lines, at) else {
            at += 1;
            continue;
        };
        match block.diff() {
            Some(_) if block.only_wraps() && wraps < MAX_WRAPS => (at, wraps) = (at + 1, wraps + 1),
            Some(diff) if block.shows(diff) => return Some(at),
            Some(_) | None => at += block.inside.len() + 2,
        }
    }
    None
}

/// A fence, with the lines in it.
struct Block<'l, 'a> {
    language: &'a [u8],
    inside: &'l [&'a [u8]],
}

impl<'l, 'a> Block<'l, 'a> {
    /// What the line at `at` opens. It ends with the answer if nothing closes it.
    fn at(lines: &'l [&'a [u8]], at: usize) -> Option<Self> {
        let line = lines.get(at)?;
        let fence = at_the_edge(line)?;
        let rest = lines.get(at + 1..)?;
        let len = rest.iter().position(|line| fence.is_closed_by(line)).unwrap_or(rest.len());
        let language = Fence::info(line).split(|byte| b" :".contains(byte)).next()?;
        Some(Block { language, inside: rest.get(..len)? })
    }

    /// The lines that are not blank.
    fn written(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let lines = (0..).zip(self.inside.iter().copied());
        lines.filter(|(_, line)| !line.trim_ascii().is_empty())
    }

    /// Where a diff begins in it.
    fn diff(&self) -> Option<usize> {
        let starts =
            |at: usize, mark: &[u8]| self.inside.get(at).is_some_and(|line| line.starts_with(mark));
        let begins =
            |at: &usize| starts(*at, b"--- ") && starts(at + 1, b"+++ ") || starts(*at, b"@@ ");
        (0..self.inside.len()).find(begins)
    }

    /// Whether there is nothing in it but another fence.
    fn only_wraps(&self) -> bool {
        let inner = self.written().next().and_then(|(_, line)| at_the_edge(line));
        inner.is_some_and(|inner| {
            let mut from_its_end = self.written().skip_while(|(_, line)| !inner.is_closed_by(line));
            from_its_end.nth(1).is_none()
        })
    }

    /// Whether it only shows the diff that begins at `diff`.
    fn shows(&self, diff: usize) -> bool {
        let mut before = self.written().take_while(|(at, _)| *at < diff).peekable();
        let is_code = before.peek().is_some_and(|(_, line)| {
            !MAY_HOLD_DIFFS.contains(&self.language) && !line.starts_with(b"diff ")
        });
        is_code || before.any(|(_, line)| at_the_edge(line).is_some())
    }
}

/// The fence that a line opens without a blank before it; lines of hunks have theirs behind a marker.
fn at_the_edge(line: &[u8]) -> Option<Fence> {
    Fence::opening(line).filter(|_| !line.starts_with(b" "))
}
