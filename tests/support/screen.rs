//! A terminal emulator: its screen and its scrollback.

use std::num::NonZero;
use std::time::Duration;

use super::program::{Program, wait_until};
use super::terminal::Terminal;

/// A program that shows nothing for this long hangs.
const HANGS: Duration = Duration::from_mins(1);
const HISTORY: usize = 10_000;

/// A terminal whose output is rendered to a screen.
pub(crate) struct Screen {
    pub(crate) terminal: Terminal,
    parser: vt100::Parser,
    read: usize,
}

impl Screen {
    /// Starts a program at a terminal of this size.
    pub(crate) fn start(program: &mut Program, rows: u16, columns: u16) -> Self {
        let terminal = Terminal::start_in(program, rows, columns);
        Self { terminal, parser: vt100::Parser::new(some(rows), some(columns), HISTORY), read: 0 }
    }

    fn look(&mut self) {
        let new = self.terminal.shown_since(self.read);
        self.read += new.len();
        self.parser.process(&new);
    }

    /// Returns the rows of the screen, without trailing blanks and without empty rows at the end.
    pub(crate) fn rows(&mut self) -> Vec<String> {
        self.look();
        let (_, columns) = self.parser.screen().size();
        trimmed(self.parser.screen().rows(0, columns.get()).collect())
    }

    /// Returns all rows, from the first row of the scrollback.
    pub(crate) fn all(&mut self) -> Vec<String> {
        self.look();
        let screen = self.parser.screen_mut();
        let (_, columns) = screen.size();
        screen.set_scrollback(HISTORY);
        let mut rows = Vec::new();
        for at in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(at);
            rows.extend(screen.rows(0, columns.get()).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, columns.get()));
        trimmed(rows)
    }

    /// Returns the row and column of the cursor.
    pub(crate) fn cursor(&mut self) -> (u16, u16) {
        self.look();
        self.parser.screen().cursor_position()
    }

    /// Waits until `is_so` accepts the rows. `what` is the message of the panic after a timeout.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        let seen = wait_until(HANGS, || is_so(&self.rows()).then_some(()));
        assert!(seen.is_some(), "{what}:\n{}", self.rows().join("\n"));
    }

    /// Waits until `text` is on the screen.
    pub(crate) fn until_shown(&mut self, text: &str) {
        self.until(&format!("{text:?} is not shown"), |rows| {
            rows.iter().any(|row| row.contains(text))
        });
    }

    /// Waits until the frame that is being drawn is complete.
    pub(crate) fn is_complete(&self) {
        let is_complete = || {
            let shown = self.terminal.shown();
            shown.trim_end_matches('\x07').ends_with("\x1b[?2026l").then_some(())
        };
        wait_until(HANGS, is_complete).unwrap();
    }

    /// Waits for new output, but only briefly.
    pub(crate) fn rests(&self) {
        const MOMENT: Duration = Duration::from_millis(50);
        wait_until(MOMENT, || (!self.terminal.shown_since(self.read).is_empty()).then_some(()));
    }

    /// Types `text`.
    pub(crate) fn types(&mut self, text: &str) {
        self.terminal.types(text);
    }

    /// Presses keys repeatedly until `what` is shown, because a question ignores keys until it has been drawn.
    pub(crate) fn presses(&mut self, keys: &str, what: &str) {
        for _ in 0..400 {
            if self.rows().iter().any(|row| row.contains(what)) {
                return;
            }
            self.types(keys);
            self.rests();
        }
        panic!("{keys:?} does not lead to {what:?}:\n{}", self.rows().join("\n"));
    }

    /// Resizes the terminal. This kind of terminal cuts rows that are too long.
    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        self.look();
        self.parser.screen_mut().set_size(some(rows), some(columns));
        self.terminal.resize(rows, columns);
    }
}

fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn trimmed(mut rows: Vec<String>) -> Vec<String> {
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}
