//! Lays out a table in aligned columns, or as `header: value` lines where these would be too narrow to read. Pure.

use anstyle::Style;
use front::paint::Paint;

use super::inline::inline;
use super::{Page, quote, unquoted};
use crate::styled;

/// The columns between two cells of a row.
const BETWEEN: usize = 3;
/// No column is made narrower than this.
const MIN_WIDTH: usize = 8;

/// Where the text of a cell stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Centre,
    Right,
}

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    /// The lines it was read from.
    lines: Vec<String>,
    /// The number of block quotes around it, and the blanks before it.
    depth: usize,
    indent: String,
    columns: Vec<Align>,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads the first two lines of a table; `None` if they do not begin one.
    pub(super) fn new(header: &str, delimiters: &str) -> Option<Self> {
        let (depth, first) = unquoted(header, usize::MAX);
        let (same_depth, second) = unquoted(delimiters, usize::MAX);
        let cells = cells(first);
        let columns = cells_of_delimiters(second)?;
        (depth == same_depth && cells.len() == columns.len()).then(|| Self {
            lines: vec![header.to_owned(), delimiters.to_owned()],
            depth,
            indent: " ".repeat(first.len() - first.trim_start().len()),
            columns,
            header: cells,
            rows: Vec::new(),
        })
    }

    /// Adds a row. Returns false if the line is not one, which ends the table.
    pub(super) fn take_in(&mut self, line: &str) -> bool {
        let (depth, rest) = unquoted(line, usize::MAX);
        if depth != self.depth || !is_row(rest) {
            return false;
        }
        self.lines.push(line.to_owned());
        let mut row = cells(rest);
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
        true
    }

    /// Returns the lines it was read from.
    pub(super) fn source(&self) -> String {
        self.lines.join("\n")
    }

    /// Returns the lines of the table, each with its newline.
    pub(super) fn laid_out(&self, page: Page) -> String {
        let before = quote(self.depth, page) + &self.indent;
        let bold = |cell: &String| inline(cell, Style::new().bold(), page.paint);
        let header: Vec<String> = self.header.iter().map(bold).collect();
        let plain = |cell: &String| inline(cell, Style::new(), page.paint);
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(plain).collect()).collect();
        let between = BETWEEN * self.columns.len().saturating_sub(1);
        let room = page.width.saturating_sub(styled::width(&before) + between);
        let natural = (0..self.columns.len()).map(|at| {
            let cells = std::iter::once(&header).chain(&rows).filter_map(|row| row.get(at));
            cells.map(|cell| styled::width(cell)).max().unwrap_or_default()
        });
        let lines = match fitted(&natural.collect::<Vec<_>>(), room) {
            Some(widths) => self.in_columns(&header, &rows, &widths, page.paint),
            None => as_records(&header, &rows),
        };
        let lines: Vec<String> = lines.iter().map(|line| format!("{before}{line}")).collect();
        lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
    }

    fn in_columns(
        &self,
        header: &[String],
        rows: &[Vec<String>],
        widths: &[usize],
        paint: Paint,
    ) -> Vec<String> {
        let dim = |text: &str| paint.with(Style::new().dimmed(), text);
        let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let line = |row: &[String]| self.lines_of(row, widths, &dim(" │ "));
        let mut lines = line(header);
        lines.push(dim(&rules.join("─┼─")));
        lines.extend(rows.iter().flat_map(|row| line(row)));
        lines
    }

    /// Returns the lines of a row. Its cells are wrapped to the widths of their columns.
    fn lines_of(&self, row: &[String], widths: &[usize], between: &str) -> Vec<String> {
        let cells: Vec<Vec<String>> =
            row.iter().zip(widths).map(|(cell, width)| styled::wrapped(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        let line = |at: usize| {
            let columns = cells.iter().zip(widths).zip(&self.columns);
            let parts = columns.map(|((cell, width), align)| {
                placed(cell.get(at).map_or("", String::as_str), *width, *align)
            });
            parts.collect::<Vec<_>>().join(between)
        };
        (0..height).map(line).collect()
    }
}

/// Returns true if a line can be a row of a table, or its header.
pub(super) fn is_row(line: &str) -> bool {
    cells(line).len() > 1 || line.trim_start().starts_with('|')
}

/// Splits a row into its cells. `\|` is a bar within a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for c in line.chars() {
        match cells.last_mut() {
            Some(cell) if c != '|' => cell.push(c),
            Some(cell) if is_escaped => {
                cell.pop();
                cell.push(c);
            }
            Some(_) | None => cells.push(String::new()),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    if line.ends_with('|') && !line.ends_with("\\|") {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Reads the row below the header, such as `|---|:-:|`; `None` if the line is not one.
fn cells_of_delimiters(line: &str) -> Option<Vec<Align>> {
    let align = |cell: &String| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        let is_one = !dashes.is_empty()
            && dashes.chars().all(|c| c == '-')
            && cell.len() - dashes.len() <= 2;
        is_one.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Align::Centre,
            (false, true) => Align::Right,
            (_, false) => Align::Left,
        })
    };
    if line.contains('|') { cells(line).iter().map(align).collect() } else { None }
}

/// Returns the widths of columns whose cells would take these widths, so that they fit. Wide columns are narrowed first. `None` if
/// some would be too narrow.
fn fitted(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().sum::<usize>() <= room {
        return Some(natural.to_vec());
    }
    let mut by_width: Vec<usize> = (0..natural.len()).collect();
    by_width.sort_by_key(|at| natural.get(*at));
    let mut widths = natural.to_vec();
    let (mut left, mut columns) = (room, natural.len());
    for at in by_width {
        let width = widths.get_mut(at)?;
        let share = left / columns;
        if *width > share && share < MIN_WIDTH {
            return None;
        }
        *width = share.min(*width);
        left -= *width;
        columns -= 1;
    }
    Some(widths)
}

/// Returns a line for each cell, with its header, and an empty line between rows.
fn as_records(header: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let filled = header.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        lines.extend(filled.map(|(name, cell)| match name.as_str() {
            "" => cell.clone(),
            name => format!("{name}: {cell}"),
        }));
    }
    if rows.is_empty() { header.to_vec() } else { lines }
}

/// Places the text of a cell in its column. Its style ends with it.
fn placed(text: &str, width: usize, align: Align) -> String {
    let blank = width.saturating_sub(styled::width(text));
    let before = match align {
        Align::Left => 0,
        Align::Centre => blank / 2,
        Align::Right => blank,
    };
    let end = if text.contains('\x1b') && !text.ends_with("\x1b[0m") { "\x1b[0m" } else { "" };
    format!("{}{text}{end}{}", " ".repeat(before), " ".repeat(blank - before))
}
