//! Markdown code fences: opening and closing lines, and a fence glued to the end of a line. Pure.

/// A run of fence characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    byte: u8,
    run: usize,
}

impl Fence {
    /// Returns the fence that `line` begins with.
    pub(crate) fn opening(line: &[u8]) -> Option<Fence> {
        let line = line.trim_ascii_start();
        let byte = *line.first().filter(|byte| b"`~".contains(byte))?;
        let run = line.iter().take_while(|other| **other == byte).count();
        (run >= 3).then_some(Fence { byte, run })
    }

    /// Returns true if `line` closes the fence.
    pub(crate) fn is_closed_by(self, line: &[u8]) -> bool {
        let line = line.trim_ascii_end();
        let is_fence = line.len() >= self.run && line.iter().all(|byte| *byte == self.byte);
        is_fence && !line.is_empty()
    }

    /// Returns `line` without the same fence glued to its end; `None` if it has none, or another one.
    pub(crate) fn unglued(self, line: &[u8]) -> Option<&[u8]> {
        let rest = line.trim_ascii_end();
        let run = rest.iter().rev().take_while(|byte| **byte == self.byte).count();
        let text = rest.get(..rest.len() - run)?;
        let again = text.windows(3).any(|window| window.iter().all(|byte| *byte == self.byte));
        let is_glued = text.len() > 1 && !text.last().is_some_and(u8::is_ascii_whitespace);
        (run == self.run && is_glued && !again).then_some(text)
    }

    /// Returns the info string after the fence that `line` opens.
    pub(crate) fn info(line: &[u8]) -> &[u8] {
        let line = line.trim_ascii();
        let run = line.iter().take_while(|byte| b"`~".contains(byte)).count();
        line.get(run..).unwrap_or_default().trim_ascii_start()
    }

    /// Returns the label: the part of the info string after the language, or all of it if it is a single word.
    pub(crate) fn label(line: &[u8]) -> &[u8] {
        let info = Fence::info(line);
        let end = info.iter().position(|byte| b" :".contains(byte));
        end.and_then(|at| info.get(at + 1..)).map_or(info, <[u8]>::trim_ascii)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_closed_by_one_at_least_as_long() {
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
    fn a_glued_fence_is_removed_only_if_the_line_has_no_other() {
        let fence = Fence::opening(b"```").unwrap();
        assert_eq!(fence.unglued(b"+c```"), Some(&b"+c"[..]));
        for line in ["+```", "+/// ```", "+a ```b```", "+c````", "+c"] {
            assert_eq!(fence.unglued(line.as_bytes()), None, "{line}");
        }
    }
}
