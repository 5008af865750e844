//! Converts text that was painted for a terminal into styled spans for a buffer, and wraps it. Pure.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Converts a painted line. Only escape sequences for colours and styles are expected in it.
pub(crate) fn styled_line(painted: &str) -> Line<'static> {
    let mut spans = Vec::new();
    let mut style = Style::new();
    for (at, part) in painted.split("\x1b[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if at > 0 => {
                style = painted_as(style, codes);
                text
            }
            Some(_) | None => part,
        };
        if !text.is_empty() {
            spans.push(Span::styled(text.replace('\t', "    "), style));
        }
    }
    Line::from(spans)
}

/// Returns how many cells a painted line takes.
pub(crate) fn width(painted: &str) -> usize {
    let mut parts = painted.split("\x1b[");
    let first = parts.next().unwrap_or_default().width();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text).width());
    first + rest.sum::<usize>()
}

/// A row that is being filled.
#[derive(Default)]
struct Filling {
    rows: Vec<String>,
    row: String,
    column: usize,
    /// The escape sequences in effect.
    style: String,
    has_word: bool,
    /// Where the row can be broken: the bytes and columns before it, and the escape sequences in effect there.
    gap: Option<(usize, usize, String)>,
}

impl Filling {
    fn put(&mut self, c: char, width: usize) {
        let wide = c.width().unwrap_or_default();
        if self.column + wide > width {
            // A blank at a break is not shown.
            if c == ' ' && self.has_word {
                return self.gap = Some((self.row.len(), self.column, self.style.clone()));
            }
            self.end_row();
        }
        self.column += wide;
        self.row.push(c);
        if c != ' ' {
            self.has_word = true;
        } else if self.has_word {
            self.gap = Some((self.row.len(), self.column, self.style.clone()));
        }
    }

    /// Ends the row between two words, or where it is full if it has only one word.
    fn end_row(&mut self) {
        let (bytes, columns, style) =
            self.gap.take().unwrap_or_else(|| (self.row.len(), self.column, self.style.clone()));
        let rest = self.row.split_off(bytes);
        self.rows.push(std::mem::replace(&mut self.row, style + &rest));
        self.column -= columns;
        self.has_word = self.column > 0;
    }
}

/// Wraps a painted line into rows of this width, between words. A word that is longer than a row is broken at the end of the row.
/// Each row continues the style of the previous one.
pub(crate) fn wrapped(painted: &str, width: usize) -> Vec<String> {
    let mut it = Filling::default();
    for (at, part) in painted.split("\x1b[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if at > 0 => {
                let sequence = format!("\x1b[{codes}m");
                it.row.push_str(&sequence);
                if codes == "0" {
                    it.style.clear();
                } else {
                    it.style.push_str(&sequence);
                }
                text
            }
            Some(_) | None => part,
        };
        for c in text.replace('\t', "    ").chars() {
            it.put(c, width.max(1));
        }
    }
    it.rows.push(it.row);
    it.rows
}

/// Adds escape codes to a style.
fn painted_as(style: Style, codes: &str) -> Style {
    codes.split(';').fold(style, with)
}

fn with(style: Style, code: &str) -> Style {
    const COLOURS: [Color; 8] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
    ];
    const BRIGHT: [Color; 8] = [
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    let colour = |colours: &[Color; 8], at: usize| colours.get(at).copied().unwrap_or_default();
    match code.parse::<usize>().unwrap_or_default() {
        0 => Style::new(),
        1 => style.add_modifier(Modifier::BOLD),
        2 => style.add_modifier(Modifier::DIM),
        3 => style.add_modifier(Modifier::ITALIC),
        4 => style.add_modifier(Modifier::UNDERLINED),
        7 => style.add_modifier(Modifier::REVERSED),
        code @ 30..=37 => style.fg(colour(&COLOURS, code - 30)),
        code @ 90..=97 => style.fg(colour(&BRIGHT, code - 90)),
        _ => style,
    }
}

/// Returns the escape sequence that sets this style; empty for the default style.
pub(crate) fn begins(style: Style) -> String {
    let mut codes = Vec::new();
    for (modifier, code) in [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ] {
        if style.add_modifier.contains(modifier) {
            codes.push(code);
        }
    }
    let colour = match style.fg {
        Some(Color::Black) => "30",
        Some(Color::Red) => "31",
        Some(Color::Green) => "32",
        Some(Color::Yellow) => "33",
        Some(Color::Blue) => "34",
        Some(Color::Magenta) => "35",
        Some(Color::Cyan) => "36",
        Some(Color::Gray) => "37",
        Some(Color::DarkGray) => "90",
        Some(Color::LightRed) => "91",
        Some(Color::LightGreen) => "92",
        Some(Color::LightYellow) => "93",
        Some(Color::LightBlue) => "94",
        Some(Color::LightMagenta) => "95",
        Some(Color::LightCyan) => "96",
        Some(Color::White) => "97",
        Some(Color::Reset | Color::Indexed(_) | Color::Rgb(..)) | None => "",
    };
    codes.extend(Some(colour).filter(|code| !code.is_empty()));
    if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_row_continues_the_style() {
        assert_eq!(
            wrapped("ab\x1b[31mcdef\x1b[0mg", 3),
            ["ab\x1b[31mc", "\x1b[31mdef\x1b[0m", "g"]
        );
        assert_eq!(wrapped("你好吗", 4), ["你好", "吗"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn a_row_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two   three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a verylongword b", 6), ["a ", "verylo", "ngword", "b"]);
        assert_eq!(wrapped("    indented", 6), ["    in", "dented"]);
        assert_eq!(wrapped("你好 你好吗", 6), ["你好 ", "你好吗"]);
        assert_eq!(
            wrapped("one \x1b[1mtwo three\x1b[0m", 8),
            ["one \x1b[1mtwo ", "\x1b[1mthree\x1b[0m"]
        );
        for width in 1..30 {
            let rows = wrapped("+    let x = compute(a, b) + \x1b[32mother(c)\x1b[0m;", width);
            let text: String = rows.iter().flat_map(|row| row.split_inclusive('m')).collect();
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            for word in ["let", "compute(a,", "other(c)"] {
                let plain = text.replace("\x1b[32m", "").replace("\x1b[0m", "");
                assert!(letters(&plain).contains(word), "{width}: {rows:?}");
            }
        }
    }

    #[test]
    fn painted_text_keeps_its_styles() {
        let line = styled_line("\x1b[1m\x1b[34m● plan\x1b[0m two\tthree");
        let text: Vec<&str> = line.spans.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(text, ["● plan", " two    three"]);
        assert_eq!(begins(line.spans[0].style), "\x1b[1;34m");
        assert_eq!(begins(line.spans[1].style), "");
    }
}
