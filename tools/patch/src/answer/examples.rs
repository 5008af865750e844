//! Detects diffs that an answer only shows as an example, within another text. Pure.

use crate::answer::fence::Fence;

/// The maximum number of nested fences, with nothing else in them, that are looked into.
const MAX_WRAPS: usize = 3;
/// Languages of fences in which a diff may follow other lines.
const MAY_HOLD_DIFFS: [&[u8]; 9] =
    [b"", b"diff", b"patch", b"udiff", b"sh", b"bash", b"shell", b"console", b"text"];

/// Returns the line, from 0, of a fence around a text that shows a diff: the diff has a fence of its own, or follows
/// other code.
pub(crate) fn example(lines: &[&[u8]]) -> Option<usize> {
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

/// A fenced block.
struct Block<'l, 'a> {
    language: &'a [u8],
    inside: &'l [&'a [u8]],
}

impl<'l, 'a> Block<'l, 'a> {
    /// Returns the block that the line at `at` opens. An unclosed block ends with the answer.
    fn at(lines: &'l [&'a [u8]], at: usize) -> Option<Self> {
        let line = lines.get(at)?;
        let fence = at_the_edge(line)?;
        let rest = lines.get(at + 1..)?;
        let len = rest.iter().position(|line| fence.is_closed_by(line)).unwrap_or(rest.len());
        let language = Fence::info(line).split(|byte| b" :".contains(byte)).next()?;
        Some(Block { language, inside: rest.get(..len)? })
    }

    /// Yields the lines that are not blank, with their indices.
    fn written(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let lines = (0..).zip(self.inside.iter().copied());
        lines.filter(|(_, line)| !line.trim_ascii().is_empty())
    }

    /// Returns the index of the line at which a diff begins.
    fn diff(&self) -> Option<usize> {
        let starts =
            |at: usize, mark: &[u8]| self.inside.get(at).is_some_and(|line| line.starts_with(mark));
        let begins =
            |at: &usize| starts(*at, b"--- ") && starts(at + 1, b"+++ ") || starts(*at, b"@@ ");
        (0..self.inside.len()).find(begins)
    }

    /// Returns true if the block contains nothing but another fenced block.
    fn only_wraps(&self) -> bool {
        let inner = self.written().next().and_then(|(_, line)| at_the_edge(line));
        inner.is_some_and(|inner| {
            let mut from_its_end = self.written().skip_while(|(_, line)| !inner.is_closed_by(line));
            from_its_end.nth(1).is_none()
        })
    }

    /// Returns true if the block only shows the diff that begins at `diff`.
    fn shows(&self, diff: usize) -> bool {
        let mut before = self.written().take_while(|(at, _)| *at < diff).peekable();
        let is_code = before.peek().is_some_and(|(_, line)| {
            !MAY_HOLD_DIFFS.contains(&self.language) && !line.starts_with(b"diff ")
        });
        is_code || before.any(|(_, line)| at_the_edge(line).is_some())
    }
}

/// Returns the fence that an unindented line opens; in hunks, fences come after a marker.
fn at_the_edge(line: &[u8]) -> Option<Fence> {
    Fence::opening(line).filter(|_| !line.starts_with(b" "))
}
