//! What a command of the user prints, in lines that can be shown as they come: the first ones at once, the last ones at its end.
//! Pure.

use std::collections::VecDeque;

use crate::diff::harmless;

/// Lines that are shown as they come.
const FIRST: usize = 500;
/// Lines that are shown at the end, of those that came after.
const LAST: usize = 100;
/// Bytes of a line that are shown.
const LONGEST: usize = 4_000;

/// The output of a command while it runs.
#[derive(Debug, Default)]
pub struct Heard {
    /// The line that has not ended, as far as it is shown.
    open: Vec<u8>,
    /// Bytes of it that are not shown.
    cut: usize,
    has_open: bool,
    ready: Vec<String>,
    shown: usize,
    last: VecDeque<String>,
    left_out: usize,
}

impl Heard {
    /// Takes in what was printed, wherever it was cut.
    pub fn take_in(&mut self, bytes: &[u8]) {
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

    /// The lines that can be shown now and were not before. Control characters are made visible.
    pub fn ready(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ready)
    }

    /// What is left to be shown once the command has ended.
    pub fn end(&mut self) -> Vec<String> {
        if self.has_open {
            self.end_line();
        }
        let mut lines = self.ready();
        if self.left_out > 0 {
            lines.push(format!("… {} lines left out …", self.left_out));
        }
        lines.extend(std::mem::take(self).last);
        lines
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.open);
        // What a program writes over itself, such as its progress, is shown as it stood last.
        let line = line.trim_end_matches('\r');
        let line = line.rsplit('\r').next().unwrap_or(line);
        let cut =
            if self.cut > 0 { format!(" … {} bytes left out", self.cut) } else { String::new() };
        let line = harmless(line) + &cut;
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
    fn whole_lines_come_at_once_and_the_rest_at_the_end() {
        let mut heard = Heard::default();
        heard.take_in("one\ntw".as_bytes());
        assert_eq!(heard.ready(), ["one"]);
        heard.take_in("o\r\n\n10%\r20%\r30%\nä".as_bytes());
        assert_eq!(heard.ready(), ["two", "", "30%"]);
        assert_eq!((heard.ready(), heard.end()), (Vec::new(), vec!["ä".to_owned()]));
        assert_eq!(heard.end(), [""; 0]);
    }

    #[test]
    fn text_of_a_command_cannot_drive_the_terminal() {
        let mut heard = Heard::default();
        heard.take_in(b"\x1b]52;c;eA==\x07\xe4\x9b\n");
        assert_eq!(heard.ready(), ["\u{fffd}]52;c;eA==\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn what_is_shown_of_much_is_its_beginning_and_its_end() {
        let mut heard = Heard::default();
        let mut shown = Vec::new();
        for n in 0..10_000 {
            heard.take_in(format!("line {n}\n").as_bytes());
            shown.extend(heard.ready());
        }
        heard.take_in(&b"x".repeat(5_000));
        assert_eq!((shown.len(), shown.last().unwrap().as_str()), (FIRST, "line 499"));
        let end = heard.end();
        assert_eq!((end.len(), end[0].as_str()), (LAST + 1, "… 9401 lines left out …"));
        assert_eq!(end[1], "line 9901");
        assert!(end[LAST].ends_with("x … 1000 bytes left out"));
    }
}
