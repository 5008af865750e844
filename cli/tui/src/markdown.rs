//! Formats the Markdown of an answer line by line, so that printed lines never change. Pure.

use anstyle::{AnsiColor, Style};
use front::paint::Paint;

/// What the next line of a text belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Prose,
    /// A code block whose opening fence has this character, this many times.
    Code(char, usize),
}

/// A text that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    place: Place,
    /// The line that is not complete yet.
    open: String,
}

impl Markdown {
    /// Adds a piece and returns the lines that it completes, formatted, each with its newline.
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

    /// Returns the incomplete line, unformatted.
    pub(crate) fn open(&self) -> &str {
        &self.open
    }

    /// Ends the text and returns its last line, formatted; empty if there is none.
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

/// Returns the character and the length of a code fence; `None` if the line is not one.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// Formats a line outside code blocks: headings and bold text are bold, code is coloured. Without colours it is unchanged.
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
        // A last backtick without a partner is literal.
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
        // The pieces do not matter: here, each is one character.
        let mut out: String = text
            .chars()
            .map(|c| markdown.take_in(c.encode_utf8(&mut [0; 4]), Paint::Colour))
            .collect();
        out.push_str(&markdown.end(Paint::Colour));
        out
    }

    #[test]
    fn headings_code_and_bold_text_are_formatted() {
        assert_eq!(painted("# Title"), "\x1b[1mTitle\x1b[0m\n");
        assert_eq!(painted("a `b` **c** d\n"), "a \x1b[36mb\x1b[0m \x1b[1mc\x1b[0m d\n");
        assert_eq!(painted("2 ** 3 and a ` b"), "2 ** 3 and a ` b\n");
        let code = painted("```rust\n# no title `x`\n```\nend");
        assert!(code.contains("\x1b[36m# no title `x`\x1b[0m\n"), "{code:?}");
        assert!(code.ends_with("\nend\n"), "{code:?}");
    }
}
