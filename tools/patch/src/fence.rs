//! Fences around code in Markdown: what opens one, what closes it, and one that is glued to a line. Pure.

/// A run of fence characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    byte: u8,
    run: usize,
}

impl Fence {
    /// The fence that `line` begins with.
    pub(super) fn opening(line: &[u8]) -> Option<Fence> {
        let line = line.trim_ascii_start();
        let byte = *line.first().filter(|byte| b"`~".contains(byte))?;
        let run = line.iter().take_while(|other| **other == byte).count();
        (run >= 3).then_some(Fence { byte, run })
    }

    /// Whether `line` closes it.
    pub(super) fn is_closed_by(self, line: &[u8]) -> bool {
        let line = line.trim_ascii_end();
        let is_fence = line.len() >= self.run && line.iter().all(|byte| *byte == self.byte);
        is_fence && !line.is_empty()
    }

    /// `line` without the same fence at its end, if it has it only there.
    pub(super) fn unglued(self, line: &[u8]) -> Option<&[u8]> {
        let rest = line.trim_ascii_end();
        let run = rest.iter().rev().take_while(|byte| **byte == self.byte).count();
        let text = rest.get(..rest.len() - run)?;
        let again = text.windows(3).any(|window| window.iter().all(|byte| *byte == self.byte));
        let is_glued = text.len() > 1 && !text.last().is_some_and(u8::is_ascii_whitespace);
        (run == self.run && is_glued && !again).then_some(text)
    }

    /// What stands behind the fence that `line` opens.
    pub(super) fn info(line: &[u8]) -> &[u8] {
        let line = line.trim_ascii();
        let run = line.iter().take_while(|byte| b"`~".contains(byte)).count();
        line.get(run..).unwrap_or_default().trim_ascii_start()
    }

    /// What it is labelled with: behind the language, if there is more than one word.
    pub(super) fn label(line: &[u8]) -> &[u8] {
        let info = Fence::info(line);
        let end = info.iter().position(|byte| b" :".contains(byte));
        end.and_then(|at| info.get(at + 1..)).map_or(info, <[u8]>::trim_ascii)
    }
}

/// The line, from 0, of a fence around a text in which a diff is shown: it has a fence of its own, or is code in which the diff is not
/// first. Nobody asks to apply that.
pub(super) fn example(lines: &[&[u8]]) -> Option<usize> {
    /// Fences around nothing but a fence.
    const MAX_WRAPS: usize = 3;
    const MAY_HOLD_DIFFS: [&[u8]; 9] =
        [b"", b"diff", b"patch", b"udiff", b"sh", b"bash", b"shell", b"console", b"text"];
    let is_diff = |at: usize| {
        let starts =
            |at: usize, mark: &[u8]| lines.get(at).is_some_and(|line| line.starts_with(mark));
        starts(at, b"--- ") && starts(at + 1, b"+++ ") || starts(at, b"@@ ")
    };
    let at_the_edge = |line: &[u8]| Fence::opening(line).filter(|_| !line.starts_with(b" "));
    let (mut at, mut wraps) = (0, 0);
    while let Some(line) = lines.get(at) {
        let Some(fence) = at_the_edge(line) else {
            at += 1;
            continue;
        };
        let inside = lines.get(at + 1..).unwrap_or_default();
        let len = inside.iter().position(|line| fence.is_closed_by(line)).unwrap_or(inside.len());
        let mut diff = (at + 1..at + 1 + len).filter(|at| is_diff(*at));
        let mut inside = (at + 1..)
            .zip(inside.iter().take(len))
            .filter(|(_, line)| !line.trim_ascii().is_empty());
        if let (Some(diff), Some((first, line))) = (diff.next(), inside.next()) {
            let inner = at_the_edge(line);
            let is_wrapped = inner.is_some_and(|inner| {
                let rest = inside.skip_while(|(_, line)| !inner.is_closed_by(line)).nth(1);
                rest.is_none()
            });
            let has_fences =
                (first..diff).any(|at| lines.get(at).is_some_and(|it| at_the_edge(it).is_some()));
            let language = Fence::info(lines.get(at).copied().unwrap_or_default());
            let language = language.split(|byte| b" :".contains(byte)).next().unwrap_or_default();
            let is_code =
                !MAY_HOLD_DIFFS.contains(&language) && first < diff && !line.starts_with(b"diff ");
            if is_wrapped && wraps < MAX_WRAPS {
                (at, wraps) = (at + 1, wraps + 1);
                continue;
            }
            if has_fences || is_code {
                return Some(at);
            }
        }
        at += len + 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_closed_by_one_as_long() {
        let fence = Fence::opening(b"  ````diff").unwrap();
        assert!(fence.is_closed_by(b"```` ") && fence.is_closed_by(b"`````"));
        assert!(
            !fence.is_closed_by(b"```")
                && !fence.is_closed_by(b"````x")
                && !fence.is_closed_by(b"~~~~")
        );
        assert_eq!(Fence::info(b"``` diff x"), b"diff x");
        assert_eq!(Fence::opening(b"``x"), None);
    }

    #[test]
    fn a_glued_fence_is_the_only_one_in_its_line() {
        let fence = Fence::opening(b"```").unwrap();
        assert_eq!(fence.unglued(b"+c```"), Some(&b"+c"[..]));
        for line in ["+```", "+/// ```", "+a ```b```", "+c````", "+c"] {
            assert_eq!(fence.unglued(line.as_bytes()), None, "{line}");
        }
    }
}
