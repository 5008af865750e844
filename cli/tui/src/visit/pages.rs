//! Lines shown page by page. Pure.

use crate::keys::Key;
use crate::screen::ScreenSize;
use crate::styled::wrapped;

use super::Does;

/// Lines shown page by page.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    lines: Vec<String>,
    /// The first line on the screen.
    pub(super) top: usize,
    /// The last line that may be the first on the screen even if less than a page follows.
    furthest: usize,
}

impl Pages {
    /// Starts at the first line.
    pub(crate) const fn new(lines: Vec<String>) -> Self {
        Self { lines, top: 0, furthest: 0 }
    }

    /// Starts at the first line. Any line up to `furthest` may be the first on the screen.
    pub(super) const fn up_to(lines: Vec<String>, furthest: usize) -> Self {
        Self { lines, top: 0, furthest }
    }

    /// Starts at the last page.
    pub(crate) fn at_end(lines: Vec<String>, size: ScreenSize) -> Self {
        let mut pages = Self::new(lines);
        pages.top = pages.last_top(size);
        pages
    }

    pub(super) fn rows(&self, size: ScreenSize, bar: &str) -> Vec<String> {
        let (width, height) = (usize::from(size.columns), page(size));
        let shown = self.lines.iter().skip(self.top).flat_map(|line| wrapped(line, width));
        let mut rows: Vec<String> = shown.take(height).collect();
        rows.resize(height, String::new());
        rows.push(bar.to_owned());
        rows
    }

    /// Returns the last useful top line, at which the end is on the screen; keys that scroll stop there.
    pub(super) fn last_top(&self, size: ScreenSize) -> usize {
        let mut room = page(size);
        let taken = |line: &String| wrapped(line, usize::from(size.columns)).len();
        let fits = self.lines.iter().rev().take_while(|line| {
            let rows = taken(line);
            let fits = rows <= room;
            room = room.saturating_sub(rows);
            fits
        });
        self.lines.len().saturating_sub(fits.count().max(1))
    }

    pub(super) fn go(&mut self, to: usize, size: ScreenSize) {
        self.top = to.min(self.last_top(size).max(self.furthest));
    }

    /// Returns the number of lines that are on the screen as a whole, at least one. Long lines take several rows, so there are
    /// fewer of them.
    pub(super) fn shown(&self, size: ScreenSize) -> usize {
        let width = usize::from(size.columns);
        let mut room = page(size);
        let shown = self.lines.iter().skip(self.top).take_while(|line| {
            let rows = wrapped(line, width).len();
            let fits = rows <= room;
            room = room.saturating_sub(rows);
            fits
        });
        shown.count().max(1)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key means anything here")]
    pub(super) fn key(&mut self, key: &Key, size: ScreenSize) -> Does {
        // No line may be skipped.
        let page = self.shown(size);
        match key {
            Key::Up | Key::Char('k') | Key::Ctrl('p') => self.go(self.top.saturating_sub(1), size),
            Key::Down | Key::Char('j') | Key::Ctrl('n') => self.go(self.top + 1, size),
            Key::Char(' ') | Key::PageDown => self.go(self.top + page, size),
            Key::Char('b') | Key::PageUp => self.go(self.top.saturating_sub(page), size),
            Key::Home | Key::Char('g') => self.go(0, size),
            Key::End | Key::Char('G') => self.go(usize::MAX, size),
            Key::Esc | Key::Char('q') | Key::Ctrl('c' | 'd' | 't') => return Does::Leaves,
            _ => {}
        }
        Does::Stays
    }
}

/// Returns the number of rows for lines; one is for the bar.
pub(super) fn page(size: ScreenSize) -> usize {
    usize::from(size.rows).saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ScreenSize = ScreenSize { columns: 60, rows: 6 };

    #[test]
    fn pages_are_turned_by_their_own_keys() {
        let mut pages = Pages::new((0..40).map(|n| format!("line {n}")).collect());
        for (key, top) in [(b"\x1b[6~", 5), (b"\x1b[6~", 10), (b"\x1b[5~", 5)] {
            for key in crate::keys::Keys::default().feed(key) {
                pages.key(&key, SIZE);
            }
            assert_eq!(pages.top, top);
        }
    }

    #[test]
    fn paging_reaches_every_line_even_if_lines_are_long() {
        let lines: Vec<String> =
            (0..40).map(|n| format!("line {n} {}", "x".repeat(n * 7))).collect();
        let mut pages = Pages::new(lines);
        let mut seen = String::new();
        for _ in 0..60 {
            seen.push_str(&pages.rows(SIZE, "").concat());
            pages.key(&Key::Char(' '), SIZE);
        }
        for n in 0..40 {
            assert!(seen.contains(&format!("line {n} ")), "{n}");
        }
        let end = pages.top;
        assert_eq!(Pages::at_end(pages.lines, SIZE).top, end);
    }
}
