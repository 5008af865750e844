//! The output of a command that the user runs, in lines: the first ones are shown as they arrive, the last ones when the command
//! ends. Pure.

use std::collections::VecDeque;

use tools::count::counted;
use tools::plain::plain_line;

use crate::diff::harmless;

/// Number of lines that are shown as they arrive.
const FIRST: usize = 500;
/// Number of later lines that are shown at the end.
const LAST: usize = 100;
/// Maximum number of bytes of a line that are shown.
const LONGEST: usize = 4_000;

/// The output of a command while it runs.
#[derive(Debug, Default)]
pub struct CommandOutput {
    /// The incomplete line, as far as it is shown.
    open: Vec<u8>,
    /// Number of its bytes that are not shown.
    cut: usize,
    has_open: bool,
    ready: Vec<String>,
    shown: usize,
    last: VecDeque<String>,
    left_out: usize,
}

impl CommandOutput {
    /// Adds output. A chunk may end anywhere.
    pub fn add(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            let room = LONGEST.saturating_sub(self.open.len()).min(text.len());
            let (kept, cut) = text.split_at_checked(room).unwrap_or((text, &[]));
            self.open.extend_from_slice(kept);
            self.cut += cut.len();
            self.has_open = true;
            if text.len() < part.len() {
                self.end_line();
            }
        }
    }

    /// Returns the lines to show now, each once and as plain text. Other control characters are made visible.
    pub fn ready(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ready)
    }

    /// Returns the remaining lines once the command has ended.
    pub fn end(&mut self) -> Vec<String> {
        if self.has_open {
            self.end_line();
        }
        let mut lines = self.ready();
        if self.left_out > 0 {
            lines.push(format!("… {} left out …", counted(self.left_out, "line")));
        }
        lines.extend(std::mem::take(self).last);
        lines
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.open);
        let cut = if self.cut > 0 {
            format!(" … {} left out", counted(self.cut, "byte"))
        } else {
            String::new()
        };
        let line = harmless(&plain_line(&line)) + &cut;
        (self.cut, self.has_open) = (0, false);
        self.open.clear();
        if self.shown < FIRST {
            self.shown += 1;
            return self.ready.push(line);
        }
        self.last.push_back(line);
        if self.last.len() > LAST {
            self.last.pop_front();
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_lines_are_ready_at_once_and_the_rest_at_the_end() {
        let mut output = CommandOutput::default();
        output.add("one\ntw".as_bytes());
        assert_eq!(output.ready(), ["one"]);
        output.add("o\r\n\n10%\r20%\r30%\nä".as_bytes());
        assert_eq!(output.ready(), ["two", "", "30%"]);
        assert_eq!((output.ready(), output.end()), (Vec::new(), vec!["ä".to_owned()]));
        assert_eq!(output.end(), [""; 0]);
    }

    #[test]
    fn output_cannot_control_the_terminal() {
        let mut output = CommandOutput::default();
        output.add(b"a\x1b]52;c;eA==\x07\x01\xe4\x9b\n");
        assert_eq!(output.ready(), ["a\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn long_output_is_shown_by_its_beginning_and_end() {
        let mut output = CommandOutput::default();
        let mut shown = Vec::new();
        for n in 0..10_000 {
            output.add(format!("line {n}\n").as_bytes());
            shown.extend(output.ready());
        }
        output.add(&b"x".repeat(5_000));
        assert_eq!((shown.len(), shown.last().unwrap().as_str()), (FIRST, "line 499"));
        let end = output.end();
        assert_eq!((end.len(), end[0].as_str()), (LAST + 1, "… 9401 lines left out …"));
        assert_eq!(end[1], "line 9901");
        assert!(end[LAST].ends_with("x … 1000 bytes left out"));
    }
}
