//! A terminal that is looked at: what stands on its screen, and what went into its history.

use std::num::NonZero;
use std::time::Duration;

use super::program::{Program, wait_until};
use super::terminal::Terminal;

/// Longer than anything takes that does not hang.
const HANGS: Duration = Duration::from_mins(1);
const HISTORY: usize = 10_000;

/// A terminal with a screen.
pub(crate) struct Screen {
    pub(crate) terminal: Terminal,
    parser: vt100::Parser,
    read: usize,
}

impl Screen {
    /// Starts a program at a terminal of so many rows and columns.
    pub(crate) fn start(program: &mut Program, rows: u16, columns: u16) -> Self {
        let terminal = Terminal::start_in(program, rows, columns);
        Self { terminal, parser: vt100::Parser::new(some(rows), some(columns), HISTORY), read: 0 }
    }

    fn look(&mut self) {
        let new = self.terminal.shown_since(self.read);
        self.read += new.len();
        self.parser.process(&new);
    }

    /// The rows of the screen, without blanks at their ends, and without empty rows at the end.
    pub(crate) fn rows(&mut self) -> Vec<String> {
        self.look();
        let (_, columns) = self.parser.screen().size();
        trimmed(self.parser.screen().rows(0, columns.get()).collect())
    }

    /// Everything there is, from the first row of the history.
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

    /// Row and column of the cursor.
    pub(crate) fn cursor(&mut self) -> (u16, u16) {
        self.look();
        self.parser.screen().cursor_position()
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        let seen = wait_until(HANGS, || is_so(&self.rows()).then_some(()));
        assert!(seen.is_some(), "{what}:\n{}", self.rows().join("\n"));
    }

    /// Waits until this stands on the screen.
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

    /// Waits until it shows something new, or for a moment.
    pub(crate) fn rests(&self) {
        const MOMENT: Duration = Duration::from_millis(50);
        wait_until(MOMENT, || (!self.terminal.shown_since(self.read).is_empty()).then_some(()));
    }

    /// Types these characters.
    pub(crate) fn types(&mut self, text: &str) {
        self.terminal.types(text);
    }

    /// Presses keys until this is shown: a question takes none of them before it was seen.
    pub(crate) fn presses(&mut self, keys: &str, what: &str) {
        for _ in 0..10_000 {
            if self.rows().iter().any(|row| row.contains(what)) {
                return;
            }
            self.types(keys);
            self.rests();
        }
        panic!("{keys:?} does not lead to {what:?}:\n{}", self.rows().join("\n"));
    }

    /// Has another size from now on. A terminal of this kind cuts rows that are too long.
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
