//! Formats the Markdown of an answer line by line, so that printed lines never change. Only a table is held back until it is
//! complete, because its last row can widen the first. Pure.

mod inline;
mod table;

use anstyle::{AnsiColor, Style};
use front::paint::Paint;

use self::inline::inline;
use self::table::Table;

/// What text is formatted for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) paint: Paint,
    /// Columns of the terminal. Only tables are laid out; the terminal wraps all other lines.
    pub(crate) width: usize,
}

/// What the next line of a text belongs to.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Prose,
    Code(Fence),
    /// After this line, which is the header of a table if a delimiter row follows.
    Header(String),
    Table(Table),
}

/// The opening fence of a code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: char,
    count: usize,
    /// The number of block quotes around it.
    depth: usize,
}

/// What was printed last.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    #[default]
    Blank,
    Text,
    Code,
}

/// A text that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    place: Place,
    last: Last,
    /// The line that is not complete yet.
    open: String,
}

impl Markdown {
    /// Adds a piece and returns the lines that it completes, formatted, each with its newline.
    pub(crate) fn take_in(&mut self, piece: &str, page: Page) -> String {
        self.open.push_str(piece);
        let mut done = String::new();
        while let Some((line, rest)) = self.open.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            done.push_str(&self.line(&line, page));
            self.open = rest;
        }
        done
    }

    /// Returns what is not printed yet, unformatted: the lines of an incomplete table, and the incomplete line.
    pub(crate) fn open(&self) -> String {
        match &self.place {
            Place::Prose | Place::Code(_) => self.open.clone(),
            Place::Header(header) => format!("{header}\n{}", self.open),
            Place::Table(table) => format!("{}\n{}", table.source(), self.open),
        }
    }

    /// Ends the text and returns its last lines, formatted; empty if there are none.
    pub(crate) fn end(&mut self, page: Page) -> String {
        let mut rest = if self.open.is_empty() { String::new() } else { self.take_in("\n", page) };
        rest.push_str(&match std::mem::take(&mut self.place) {
            Place::Prose | Place::Code(_) => String::new(),
            Place::Header(header) => self.text(&header, page),
            Place::Table(table) => self.table(&table, page),
        });
        *self = Self::default();
        rest
    }

    /// Returns the lines that a complete line completes.
    fn line(&mut self, line: &str, page: Page) -> String {
        match std::mem::take(&mut self.place) {
            Place::Prose => self.begin(line, page),
            Place::Code(fence) => self.code(fence, line, page),
            Place::Header(header) => match Table::new(&header, line) {
                Some(table) => {
                    self.place = Place::Table(table);
                    String::new()
                }
                None => self.text(&header, page) + &self.begin(line, page),
            },
            Place::Table(mut table) => {
                if table.take_in(line) {
                    self.place = Place::Table(table);
                    return String::new();
                }
                self.table(&table, page) + &self.begin(line, page)
            }
        }
    }

    /// Handles a line outside code blocks and tables.
    fn begin(&mut self, line: &str, page: Page) -> String {
        let (depth, rest) = unquoted(line, usize::MAX);
        if let Some((mark, count, _)) = fence(rest) {
            self.place = Place::Code(Fence { mark, count, depth });
            let gap = if self.last == Last::Blank { "" } else { "\n" };
            self.last = Last::Code;
            return if page.paint.is_coloured() { gap.to_owned() } else { format!("{line}\n") };
        }
        if table::is_row(rest) {
            self.place = Place::Header(line.to_owned());
            return String::new();
        }
        self.text(line, page)
    }

    /// Handles a line after an opening fence. Colours tell code from prose; without them the fences are printed.
    fn code(&mut self, fence: Fence, line: &str, page: Page) -> String {
        let (depth, rest) = unquoted(line, fence.depth);
        if depth < fence.depth {
            return self.begin(line, page);
        }
        let is_end = self::fence(rest).is_some_and(|(mark, count, info)| {
            mark == fence.mark && count >= fence.count && info.is_empty()
        });
        if !is_end {
            self.place = Place::Code(fence);
        }
        if !page.paint.is_coloured() {
            return format!("{line}\n");
        }
        if is_end {
            String::new()
        } else {
            format!("{}{}\n", quote(depth, page), code(rest, page.paint))
        }
    }

    /// Formats a line of text.
    fn text(&mut self, line: &str, page: Page) -> String {
        let is_blank = line.trim().is_empty();
        let gap = if is_blank { "" } else { self.gap(page) };
        self.last = if is_blank { Last::Blank } else { Last::Text };
        format!("{gap}{}\n", prose(line, page))
    }

    fn table(&mut self, table: &Table, page: Page) -> String {
        let gap = self.gap(page);
        self.last = Last::Text;
        format!("{gap}{}", table.laid_out(page))
    }

    /// Returns the empty line that takes the place of a closing fence before text.
    fn gap(&self, page: Page) -> &'static str {
        if self.last == Last::Code && page.paint.is_coloured() { "\n" } else { "" }
    }
}

/// Splits off at most this many marks of block quotes; returns how many there are, and the rest.
fn unquoted(line: &str, most: usize) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while depth < most
        && let Some(inner) = rest.trim_start().strip_prefix('>')
    {
        depth += 1;
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    (depth, rest)
}

/// Returns the marks of this many block quotes.
fn quote(depth: usize, page: Page) -> String {
    if depth == 0 {
        return String::new();
    }
    page.paint.with(Style::new().dimmed(), &"│ ".repeat(depth))
}

/// Returns the character and the length of a code fence, and the text after it; `None` if the line is not one.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let count = line.len() - rest.len();
    // "```x```" is a code span.
    (count >= 3 && (mark != '`' || !rest.contains('`'))).then_some((mark, count, rest))
}

/// Formats code.
fn code(text: &str, paint: Paint) -> String {
    if text.is_empty() {
        return String::new();
    }
    paint.with(Style::new().fg_color(Some(AnsiColor::Cyan.into())), text)
}

/// Formats a line outside code blocks and tables. Without colours it is unchanged.
fn prose(line: &str, page: Page) -> String {
    if !page.paint.is_coloured() {
        return line.to_owned();
    }
    let (depth, rest) = unquoted(line, usize::MAX);
    let text = rest.trim_start();
    let indent = rest.strip_suffix(text).unwrap_or_default();
    let marks = quote(depth, page);
    if is_rule(text) {
        return marks + &page.paint.with(Style::new().dimmed(), "────────");
    }
    if let Some(title) = title(text) {
        return marks + &inline(title, Style::new().bold(), page.paint);
    }
    let item = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark));
    let (bullet, text) = item.map_or(("", text), |item| ("• ", item));
    format!("{marks}{indent}{bullet}{}", inline(text, Style::new(), page.paint))
}

/// Returns the text of a heading; `None` if the line is not one.
fn title(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let is_heading = (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ');
    is_heading.then(|| rest.trim().trim_end_matches(" #"))
}

/// Returns true for a thematic break: three or more of the same mark, and nothing else.
fn is_rule(line: &str) -> bool {
    let is_of =
        |mark: char| line.chars().all(|c| c == mark || c == ' ') && line.matches(mark).count() >= 3;
    ['-', '*', '_'].into_iter().any(is_of)
}

#[cfg(test)]
mod tests;
