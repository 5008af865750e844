//! Computes the bytes that bring the live rows at the bottom of the terminal from one frame to the next. Only these rows are ever
//! erased; the text printed above them belongs to the terminal. Pure.

use std::cmp::Ordering;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use unicode_width::UnicodeWidthStr as _;

use crate::styled;

/// Synchronized output: terminals that support it show a frame as a whole.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
/// Disables wrapping, so that a row that is too long is cut off even if the terminal was resized in the meantime.
const CUT: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// What a terminal does with rows that become too long when it is narrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowing {
    /// It wraps them into the next row.
    Wraps,
    /// It cuts them off.
    Cuts,
}

/// The size of a terminal in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// The live rows to show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The painted rows, from top to bottom.
    pub(crate) rows: Vec<String>,
    /// Column and row of the cursor, relative to the live rows.
    pub(crate) cursor: (u16, u16),
}

/// The live rows as last drawn.
#[derive(Debug)]
struct Drawn {
    buffer: Buffer,
    cursor: (u16, u16),
}

/// The rows of the terminal that belong to the program.
#[derive(Debug)]
pub(crate) struct Screen {
    narrowing: Narrowing,
    drawn: Option<Drawn>,
}

impl Screen {
    /// Creates an empty screen; the first frame starts at the cursor.
    pub(crate) const fn new(narrowing: Narrowing) -> Self {
        Self { narrowing, drawn: None }
    }

    /// Returns the bytes that print `above`, whose lines end with a newline, and show `frame` below it. Empty if nothing changes.
    pub(crate) fn show(&mut self, above: &str, frame: &Frame, size: ScreenSize) -> String {
        let buffer = buffer(&frame.rows, size);
        let height = buffer.area.height;
        let cursor = (
            frame.cursor.0.min(size.columns.saturating_sub(1)),
            frame.cursor.1.min(height.saturating_sub(1)),
        );
        let mut out = String::new();
        match &self.drawn {
            Some(drawn) if above.is_empty() && drawn.buffer.area == buffer.area => {
                let mut row = drawn.cursor.1;
                for y in (0..height).filter(|y| line(&drawn.buffer, *y) != line(&buffer, *y)) {
                    out.push_str(&vertical(row, y));
                    out.push_str(&format!("\r{}", erasing_line(&buffer, y)));
                    row = y;
                }
                if out.is_empty() && drawn.cursor == cursor {
                    return out;
                }
                out = format!("{CUT}{out}{WRAP}{}", vertical(row, cursor.1));
            }
            _ => {
                out.push_str(&self.erase(size));
                for line in above.lines() {
                    out.push_str(line);
                    out.push_str("\r\n");
                }
                out.push_str(CUT);
                let rows: Vec<String> = (0..height).map(|y| line(&buffer, y)).collect();
                out.push_str(&rows.join("\r\n"));
                out.push_str(WRAP);
                out.push_str(&vertical(height.saturating_sub(1), cursor.1));
            }
        }
        out.push('\r');
        if cursor.0 > 0 {
            out.push_str(&format!("\x1b[{}C", cursor.0));
        }
        self.drawn = Some(Drawn { buffer, cursor });
        format!("{BEGIN}{out}{END}")
    }

    /// Returns the bytes that erase the live rows and leave the cursor where they started.
    pub(crate) fn leave(&mut self, size: ScreenSize) -> String {
        let out = self.erase(size);
        self.drawn = None;
        out
    }

    /// Forgets the live rows; the next frame starts at the cursor.
    pub(crate) fn forget(&mut self) {
        self.drawn = None;
    }

    /// Returns the bytes that move to the first live row and erase everything from there on.
    fn erase(&self, size: ScreenSize) -> String {
        let Some(drawn) = &self.drawn else { return "\r".to_owned() };
        let up = self.rows_above_cursor(drawn, size.columns);
        let up = if up == 0 { String::new() } else { format!("\x1b[{up}A") };
        format!("\r{up}\x1b[J")
    }

    /// Returns the number of live rows above the cursor. If the terminal wraps rows again, the cursor moves with the text.
    fn rows_above_cursor(&self, drawn: &Drawn, columns: u16) -> u16 {
        let (x, y) = drawn.cursor;
        if self.narrowing == Narrowing::Cuts || columns >= drawn.buffer.area.width || columns == 0 {
            return y;
        }
        let taken = |row: u16| filled(&drawn.buffer, row).max(1).div_ceil(columns);
        (0..y).map(taken).sum::<u16>() + x / columns
    }
}

/// Returns the bytes that fill the alternate screen with these rows.
pub(crate) fn whole(rows: &[String], size: ScreenSize) -> String {
    let buffer = buffer(rows, size);
    let height = buffer.area.height;
    let rows: Vec<String> = (0..height).map(|y| erasing_line(&buffer, y)).collect();
    // Erase from the next row on: the last one may be full.
    let rest = if height < size.rows { "\r\n\x1b[J" } else { "" };
    format!("{BEGIN}{CUT}\x1b[H{}{rest}{WRAP}{END}", rows.join("\r\n"))
}

/// Returns the rows as cells. If there are more rows than the terminal has, the first ones are left out.
fn buffer(rows: &[String], size: ScreenSize) -> Buffer {
    let left_out = rows.len().saturating_sub(usize::from(size.rows));
    let rows = rows.get(left_out..).unwrap_or_default();
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.columns, height));
    for (row, y) in rows.iter().zip(0..) {
        buffer.set_line(0, y, &styled::styled_line(row), size.columns);
    }
    buffer
}

/// Returns how many cells of a row are in use. A wide character at its end counts in full.
fn filled(buffer: &Buffer, y: u16) -> u16 {
    let used = |x: u16| {
        let cell = buffer.cell((x, y))?;
        let is_used = cell.symbol() != " " || cell.style() != blank();
        is_used.then(|| x + u16::try_from(cell.symbol().width()).unwrap_or(1).max(1))
    };
    (0..buffer.area.width).rev().find_map(used).unwrap_or(0).min(buffer.area.width)
}

fn blank() -> Style {
    ratatui_core::buffer::Cell::EMPTY.style()
}

/// Returns the bytes that write a row over another one. After a full row the cursor is still on its last cell, which an erase
/// would clear.
fn erasing_line(buffer: &Buffer, y: u16) -> String {
    let line = line(buffer, y);
    if filled(buffer, y) < buffer.area.width { line + "\x1b[K" } else { line }
}

/// Returns the bytes of a row, without trailing blanks.
fn line(buffer: &Buffer, y: u16) -> String {
    let mut out = String::new();
    let mut current = String::new();
    let mut x = 0;
    let end = filled(buffer, y);
    while let Some(cell) = buffer.cell((x, y)).filter(|_| x < end) {
        let style = styled::begins(cell.style());
        if style != current {
            if !current.is_empty() {
                out.push_str("\x1b[0m");
            }
            out.push_str(&style);
            current = style;
        }
        out.push_str(cell.symbol());
        x += u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
    }
    if !current.is_empty() {
        out.push_str("\x1b[0m");
    }
    out
}

/// Returns the bytes that move the cursor from one row to another.
fn vertical(from: u16, to: u16) -> String {
    match from.cmp(&to) {
        Ordering::Equal => String::new(),
        Ordering::Greater => format!("\x1b[{}A", from - to),
        Ordering::Less => format!("\x1b[{}B", to - from),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    const SIZE: ScreenSize = ScreenSize { columns: 30, rows: 8 };

    fn frame(rows: &[&str], cursor: (u16, u16)) -> Frame {
        Frame { rows: rows.iter().map(|row| (*row).to_owned()).collect(), cursor }
    }

    fn some(number: u16) -> NonZero<u16> {
        NonZero::new(number).unwrap()
    }

    fn sized(rows: u16, columns: u16) -> vt100::Parser {
        vt100::Parser::new(some(rows), some(columns), 10_000)
    }

    fn terminal() -> vt100::Parser {
        sized(SIZE.rows, SIZE.columns)
    }

    /// Returns all lines of the terminal, from the start of its scrollback.
    fn whole(terminal: &mut vt100::Parser) -> Vec<String> {
        let screen = terminal.screen_mut();
        let (_, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let back = screen.scrollback();
        let mut lines = Vec::new();
        for at in (1..=back).rev() {
            screen.set_scrollback(at);
            lines.extend(screen.rows(0, columns.get()).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns.get()));
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Processes bytes like terminals whose cursor stays on the last cell after a full row, so that an erase clears that cell.
    fn show_strictly(terminal: &mut vt100::Parser, bytes: &str) {
        let mut rest = bytes;
        while let Some(at) = ["\x1b[K", "\x1b[J"].iter().filter_map(|it| rest.find(it)).min() {
            let (before, erase) = rest.split_at(at);
            terminal.process(before.as_bytes());
            let columns = terminal.screen().size().1.get();
            if terminal.screen().cursor_position().1 >= columns {
                terminal.process(format!("\r\x1b[{}C", columns - 1).as_bytes());
            }
            let (erase, after) = erase.split_at(3);
            terminal.process(erase.as_bytes());
            rest = after;
        }
        terminal.process(rest.as_bytes());
    }

    /// Returns the rows of the screen without trailing empty ones.
    fn shown(terminal: &vt100::Parser) -> Vec<String> {
        let columns = terminal.screen().size().1.get();
        let mut rows: Vec<String> = terminal.screen().rows(0, columns).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    #[test]
    fn text_printed_above_is_in_the_scrollback_once() {
        for rows in [24, 12, 5] {
            let mut terminal = sized(rows, 30);
            let size = ScreenSize { columns: 30, rows };
            let mut screen = Screen::new(Narrowing::Wraps);
            for n in 0..1_000 {
                let live = frame(&["live", "", "> input"][n % 2..], (2, 2));
                let above = if n % 3 == 0 { String::new() } else { format!("line {n}\n") };
                terminal.process(screen.show(&above, &live, size).as_bytes());
            }
            terminal.process(screen.leave(size).as_bytes());
            let expected: Vec<String> =
                (0..1_000).filter(|n| n % 3 != 0).map(|n| format!("line {n}")).collect();
            assert_eq!(whole(&mut terminal), expected, "{rows} rows");
        }
    }

    #[test]
    fn only_rows_that_differ_are_written_and_the_cursor_ends_in_the_input() {
        let mut terminal = terminal();
        let mut screen = Screen::new(Narrowing::Wraps);
        terminal.process(
            screen.show("", &frame(&["one", "› 你好", "status"], (6, 1)), SIZE).as_bytes(),
        );
        let unchanged = screen.show("", &frame(&["one", "› 你好", "status"], (6, 1)), SIZE);
        assert_eq!(unchanged, "");
        let written = screen.show("", &frame(&["two", "› 你好", "status"], (6, 1)), SIZE);
        assert!(written.contains("two") && !written.contains("status"), "{written:?}");
        assert!(written.starts_with(BEGIN) && written.ends_with(END));
        terminal.process(written.as_bytes());
        assert_eq!(whole(&mut terminal), ["two", "› 你好", "status"]);
        assert_eq!(terminal.screen().cursor_position(), (1, 6));
    }

    #[test]
    fn forty_resizes_leave_no_stale_row() {
        let mut terminal = terminal();
        let mut screen = Screen::new(Narrowing::Cuts);
        let live = frame(&["a status that is rather long", "› input"], (4, 1));
        terminal.process(b"before\r\n");
        for n in 0..40_u16 {
            let size = ScreenSize { columns: 12 + n * 7 % 19, rows: 5 + n % 4 };
            terminal.screen_mut().set_size(some(size.rows), some(size.columns));
            terminal.process(screen.show(&format!("{n}\n"), &live, size).as_bytes());
        }
        let all = whole(&mut terminal);
        for ours in ["a status", "› input"] {
            let count = all.iter().filter(|line| line.starts_with(ours)).count();
            assert_eq!(count, 1, "{ours}: {all:#?}");
        }
        assert_eq!(all.iter().filter(|line| line.as_str() == "before").count(), 1, "{all:#?}");
    }

    #[test]
    fn rows_that_the_terminal_wrapped_again_are_erased() {
        let mut screen = Screen::new(Narrowing::Wraps);
        screen.show("", &frame(&["123456789012", "", "12345678"], (7, 2)), SIZE);
        let narrow = ScreenSize { columns: 5, rows: 8 };
        // Above the cursor are three rows of the first, one of the second, and one of the third.
        assert_eq!(screen.leave(narrow), "\r\x1b[5A\x1b[J");
    }

    #[test]
    fn a_full_row_keeps_its_last_cell() {
        let full = "abcdefghijklmnopqrstuvwxyz1234";
        let wide = "abcdefghijklmnopqrstuvwxyz12你";
        let both = [full, wide, full, wide];
        let mut there = terminal();
        let mut screen = Screen::new(Narrowing::Wraps);
        show_strictly(&mut there, &screen.show("", &frame(&["a", "b", "c", "d"], (0, 0)), SIZE));
        show_strictly(&mut there, &screen.show("", &frame(&both, (0, 0)), SIZE));
        assert_eq!(shown(&there), both);
        show_strictly(
            &mut there,
            &screen.show(&format!("{full}\n{wide}\n"), &frame(&both, (0, 0)), SIZE),
        );
        assert_eq!(shown(&there), [full, wide, full, wide, full, wide]);
        // On the alternate screen, with rows left below and without.
        for count in [2, 8] {
            let mut away = terminal();
            let rows: Vec<String> =
                both.iter().cycle().take(count).map(|&row| row.to_owned()).collect();
            away.process(b"old\r\nold\r\nold\r\nold");
            show_strictly(&mut away, &super::whole(&rows, SIZE));
            assert_eq!(shown(&away), rows);
        }
    }

    #[test]
    fn only_live_rows_are_erased() {
        let mut screen = Screen::new(Narrowing::Wraps);
        let many = vec!["row"; 20];
        for above in ["", "a\nb\n"] {
            for n in 1..20 {
                let out = screen.show(above, &frame(&many[..n], (0, 0)), SIZE);
                for never in ["\x1b[3J", "\x1b[2J", "\x1b[r"] {
                    assert!(!out.contains(never), "{out:?}");
                }
            }
        }
    }
}
