//! Markdown of an answer, painted line by line, so that what is printed is never printed again. Pure.

use anstyle::{AnsiColor, Style};
use front::paint::Paint;

/// Where in a text the next line stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Prose,
    /// In a block of code that began with so many of this character.
    Code(char, usize),
}

/// A text that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    place: Place,
    /// The line that has not ended.
    open: String,
}

impl Markdown {
    /// Takes in a piece, and gives the lines that are finished by it, painted, each with its end.
    pub(crate) fn take_in(&mut self, piece: &str, paint: Paint) -> String {
        self.open.push_str(piece);
        let mut done = String::new();
        while let Some((line, rest)) = self.open.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            done.push_str(&self.line(&line, paint));
            done.push('\n');
            self.open = rest;
        }
        done
    }

    /// The line that has not ended, as it is.
    pub(crate) fn open(&self) -> &str {
        &self.open
    }

    /// The text has ended: what is left of it.
    pub(crate) fn end(&mut self, paint: Paint) -> String {
        let rest = if self.open.is_empty() { String::new() } else { self.take_in("\n", paint) };
        *self = Self::default();
        rest
    }

    fn line(&mut self, line: &str, paint: Paint) -> String {
        let fence = fence(line);
        let code = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        match (self.place, fence) {
            (Place::Prose, Some((mark, count))) => {
                self.place = Place::Code(mark, count);
                paint.with(Style::new().dimmed(), line)
            }
            (Place::Code(mark, count), Some((other, many))) if other == mark && many >= count => {
                self.place = Place::Prose;
                paint.with(Style::new().dimmed(), line)
            }
            (Place::Code(..), _) => paint.with(code, line),
            (Place::Prose, None) => prose(line, paint, code),
        }
    }
}

/// The mark of a line that begins or ends a block of code.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// A line outside of code: headings and bold text are bold, code is coloured. Where colours are off, it stays as it is.
fn prose(line: &str, paint: Paint, code: Style) -> String {
    if !paint.is_coloured() {
        return line.to_owned();
    }
    let level = line.chars().take_while(|c| *c == '#').count();
    if let Some(title) = line.get(level..).filter(|rest| level > 0 && rest.starts_with(' ')) {
        return paint.with(Style::new().bold(), title.trim_start());
    }
    let mut out = String::new();
    for (at, part) in line.split('`').enumerate() {
        // A last mark without its partner is no mark.
        let is_code = at % 2 == 1 && at < line.matches('`').count();
        if is_code {
            out.push_str(&paint.with(code, part));
        } else {
            if at % 2 == 1 {
                out.push('`');
            }
            out.push_str(&bold(part, paint));
        }
    }
    out
}

fn bold(text: &str, paint: Paint) -> String {
    let marks = text.matches("**").count();
    let mut out = String::new();
    for (at, part) in text.split("**").enumerate() {
        if at % 2 == 1 && at < marks {
            out.push_str(&paint.with(Style::new().bold(), part));
        } else {
            if at % 2 == 1 {
                out.push_str("**");
            }
            out.push_str(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(text: &str) -> String {
        let mut markdown = Markdown::default();
        // However it is cut.
        let mut out: String = text
            .chars()
            .map(|c| markdown.take_in(c.encode_utf8(&mut [0; 4]), Paint::Colour))
            .collect();
        out.push_str(&markdown.end(Paint::Colour));
        out
    }

    #[test]
    fn lines_are_painted_by_what_they_are() {
        assert_eq!(painted("# Title"), "\x1b[1mTitle\x1b[0m\n");
        assert_eq!(painted("a `b` **c** d\n"), "a \x1b[36mb\x1b[0m \x1b[1mc\x1b[0m d\n");
        assert_eq!(painted("2 ** 3 and a ` b"), "2 ** 3 and a ` b\n");
        let code = painted("```rust\n# no title `x`\n```\nend");
        assert!(code.contains("\x1b[36m# no title `x`\x1b[0m\n"), "{code:?}");
        assert!(code.ends_with("\nend\n"), "{code:?}");
    }
}
