//! The input: text in pieces that the cursor steps over, edited as in a shell. Pure.

use tools::count::counted;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A paste with more lines than this, or more bytes, is shown as a label.
const SHOWN_LINES: usize = 8;
const SHOWN_BYTES: usize = 1_000;

/// A piece of text that the cursor steps over at once.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// A grapheme cluster.
    Grapheme(String),
    /// A long paste, shown as a label with its size.
    Paste(String),
}

impl Piece {
    fn text(&self) -> &str {
        match self {
            Self::Grapheme(text) | Self::Paste(text) => text,
        }
    }

    fn is_newline(&self) -> bool {
        matches!(self, Self::Grapheme(text) if text == "\n")
    }

    fn is_blank(&self) -> bool {
        matches!(self, Self::Grapheme(text) if text.trim().is_empty())
    }

    fn shown(&self) -> String {
        match self {
            Self::Grapheme(text) if text == "\t" => "    ".to_owned(),
            Self::Grapheme(text) => text.clone(),
            Self::Paste(text) => {
                let lines = text.lines().count();
                format!("[pasted: {}, {}]", counted(lines, "line"), counted(text.len(), "byte"))
            }
        }
    }
}

/// The input and its cursor.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    pieces: Vec<Piece>,
    /// Number of pieces before the cursor.
    at: usize,
    /// The pieces that were cut last.
    cut: Vec<Piece>,
}

/// The input laid out in rows of a given width.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Laid {
    pub(crate) rows: Vec<String>,
    /// Column and row of the cursor.
    pub(crate) cursor: (usize, usize),
}

impl Composer {
    /// Returns the text as it is sent.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(Piece::text).collect()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Removes and returns the text.
    pub(crate) fn take(&mut self) -> String {
        let text = self.text();
        self.pieces.clear();
        self.at = 0;
        text
    }

    /// Replaces the text and moves the cursor to the end.
    pub(crate) fn set(&mut self, text: &str) {
        self.pieces.clear();
        self.at = 0;
        self.paste(text);
    }

    /// Inserts a character.
    pub(crate) fn insert(&mut self, c: char) {
        // A combining accent, or the second half of a flag, joins the previous piece.
        if let Some(Piece::Grapheme(before)) =
            self.at.checked_sub(1).and_then(|at| self.pieces.get_mut(at))
        {
            let joined = format!("{before}{c}");
            if before != "\n" && joined.graphemes(true).count() == 1 {
                *before = joined;
                return;
            }
        }
        self.put(Piece::Grapheme(c.to_string()));
    }

    /// Inserts pasted text, as a label if it is long.
    pub(crate) fn paste(&mut self, text: &str) {
        // Terminals send newlines as carriage returns.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.lines().count() > SHOWN_LINES || text.len() > SHOWN_BYTES {
            self.put(Piece::Paste(text));
            return;
        }
        for grapheme in text.graphemes(true) {
            self.put(Piece::Grapheme(grapheme.to_owned()));
        }
    }

    fn put(&mut self, piece: Piece) {
        self.pieces.insert(self.at, piece);
        self.at += 1;
    }

    pub(crate) fn backspace(&mut self) {
        if self.at > 0 {
            self.at -= 1;
            self.pieces.remove(self.at);
        }
    }

    pub(crate) fn delete(&mut self) {
        if self.at < self.pieces.len() {
            self.pieces.remove(self.at);
        }
    }

    pub(crate) const fn left(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    pub(crate) fn right(&mut self) {
        self.at = (self.at + 1).min(self.pieces.len());
    }

    pub(crate) fn word_left(&mut self) {
        self.at = self.before_word();
    }

    pub(crate) fn word_right(&mut self) {
        let rest = self.pieces.iter().skip(self.at);
        let blanks = rest.clone().take_while(|piece| piece.is_blank()).count();
        let word = rest.skip(blanks).take_while(|piece| !piece.is_blank()).count();
        self.at += blanks + word;
    }

    fn before_word(&self) -> usize {
        let before = self.pieces.iter().take(self.at).rev();
        let blanks = before.clone().take_while(|piece| piece.is_blank()).count();
        let word = before.skip(blanks).take_while(|piece| !piece.is_blank()).count();
        self.at - blanks - word
    }

    /// Moves to the start of the line.
    pub(crate) fn home(&mut self) {
        self.at = self.line_start();
    }

    /// Moves to the end of the line.
    pub(crate) fn end(&mut self) {
        self.at = self.line_end();
    }

    fn line_start(&self) -> usize {
        let before = self.pieces.iter().take(self.at).rev();
        self.at - before.take_while(|piece| !piece.is_newline()).count()
    }

    fn line_end(&self) -> usize {
        let rest = self.pieces.iter().skip(self.at);
        self.at + rest.take_while(|piece| !piece.is_newline()).count()
    }

    /// Cuts the word before the cursor.
    pub(crate) fn cut_word(&mut self) {
        let from = self.before_word();
        self.cut_out(from, self.at);
    }

    /// Cuts the line up to the cursor.
    pub(crate) fn cut_to_start(&mut self) {
        let from = self.line_start();
        self.cut_out(from, self.at);
    }

    /// Cuts the rest of the line.
    pub(crate) fn cut_to_end(&mut self) {
        let to = self.line_end();
        self.cut_out(self.at, to);
    }

    fn cut_out(&mut self, from: usize, to: usize) {
        if from < to {
            self.cut = self.pieces.drain(from..to).collect();
            self.at = from;
        }
    }

    /// Inserts what was cut last.
    pub(crate) fn yank(&mut self) {
        for piece in self.cut.clone() {
            self.put(piece);
        }
    }

    /// Moves up a line. Returns false if there is none.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.line_start();
        let column = self.at - start;
        let Some(end) = start.checked_sub(1) else { return false };
        self.at = end;
        let above = self.line_start();
        self.at = (above + column).min(end);
        true
    }

    /// Moves down a line. Returns false if there is none.
    pub(crate) fn down(&mut self) -> bool {
        let column = self.at - self.line_start();
        let end = self.line_end();
        if end == self.pieces.len() {
            return false;
        }
        self.at = end + 1;
        self.at = (self.at + column).min(self.line_end());
        true
    }

    /// Removes a `\` before the cursor if it is the last character. Returns true if it did.
    pub(crate) fn takes_backslash(&mut self) -> bool {
        let backslash = Piece::Grapheme("\\".to_owned());
        let is_last = self.at == self.pieces.len() && self.pieces.last() == Some(&backslash);
        if is_last {
            self.backspace();
        }
        is_last
    }

    /// Returns the text before the word that ends at the cursor, and that word.
    pub(crate) fn word(&self) -> (String, String) {
        let before = self.pieces.get(..self.at).unwrap_or_default();
        let (rest, word) = before.split_at(self.at - self.word_length());
        let text = |pieces: &[Piece]| pieces.iter().map(Piece::text).collect();
        (text(rest), text(word))
    }

    fn word_length(&self) -> usize {
        let before = self.pieces.iter().take(self.at).rev();
        before.take_while(|piece| !piece.is_blank()).count()
    }

    /// Replaces the word that ends at the cursor.
    pub(crate) fn complete(&mut self, text: &str) {
        for _ in 0..self.word_length() {
            self.backspace();
        }
        self.paste(text);
    }

    /// Lays out the input in rows of `width` cells, broken between words. The first row starts with `first`; the others are
    /// indented by its width.
    pub(crate) fn laid(&self, width: usize, first: &str) -> Laid {
        let indent = first.width();
        let ends = self.row_starts(width.saturating_sub(1).saturating_sub(indent));
        let (mut rows, mut cursor) = (Vec::new(), (indent, 0));
        for (number, from) in ends.iter().enumerate() {
            let to = ends.get(number + 1).copied().unwrap_or(self.pieces.len());
            let mut row = if number == 0 { first.to_owned() } else { " ".repeat(indent) };
            let mut column = indent;
            for (at, piece) in self.pieces.iter().enumerate().take(to).skip(*from) {
                if at == self.at {
                    cursor = (column, number);
                }
                if !piece.is_newline() {
                    let shown = piece.shown();
                    column += shown.width();
                    row.push_str(&shown);
                }
            }
            if self.at == self.pieces.len() {
                cursor = (column, number);
            }
            rows.push(row);
        }
        Laid { rows, cursor: (cursor.0.min(width.saturating_sub(1)), cursor.1) }
    }

    /// Returns the index of the first piece of each row, for rows of `room` cells.
    fn row_starts(&self, room: usize) -> Vec<usize> {
        let mut starts = vec![0];
        let (mut start, mut column) = (0, 0);
        // The piece after the last blank of the row, and the number of cells before it.
        let mut gap: Option<(usize, usize)> = None;
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.is_newline() {
                (start, column, gap) = (at + 1, 0, None);
                starts.push(start);
                continue;
            }
            let wide = piece.shown().width();
            // A blank may extend past the end, so that the next row starts with a word.
            if column + wide > room && at > start && !piece.is_blank() {
                let (next, before) = gap.take().unwrap_or((at, column));
                start = next;
                column -= before;
                starts.push(start);
            }
            column += wide;
            if piece.is_blank() {
                gap = Some((at + 1, column));
            }
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composer(text: &str) -> Composer {
        let mut composer = Composer::default();
        text.chars().for_each(|c| composer.insert(c));
        composer
    }

    #[test]
    fn the_cursor_steps_over_grapheme_clusters() {
        let mut input = composer("a👨‍👩‍👧e\u{301}你");
        input.backspace();
        input.left();
        input.backspace();
        assert_eq!(input.text(), "ae\u{301}");
        assert_eq!(composer("你好").laid(20, "› ").cursor, (6, 0));
    }

    #[test]
    fn words_and_lines_are_cut_and_yanked() {
        let mut input = composer("fix the test");
        input.cut_word();
        assert_eq!(input.text(), "fix the ");
        input.yank();
        input.home();
        input.word_right();
        input.cut_to_end();
        assert_eq!(input.text(), "fix");
        input.cut_to_start();
        assert!(input.is_empty());
    }

    #[test]
    fn the_cursor_moves_up_and_down_lines() {
        let mut input = composer("long line\nab\nlonger");
        assert!(input.up());
        input.insert('!');
        assert_eq!(input.text(), "long line\nab!\nlonger");
        assert!(input.up() && !input.up());
        assert!(input.down() && input.down() && !input.down());
    }

    #[test]
    fn a_long_paste_is_shown_as_a_label_and_sent_unchanged() {
        let mut input = composer("see ");
        let pasted = "$1 line\n".repeat(200);
        input.paste(&pasted.replace('\n', "\r"));
        input.insert('.');
        assert_eq!(input.laid(80, "› ").rows, ["› see [pasted: 200 lines, 1600 bytes]."]);
        assert_eq!(input.text(), format!("see {pasted}."));
        input.left();
        input.backspace();
        assert_eq!(input.text(), "see .");
    }

    #[test]
    fn the_input_is_laid_out_in_rows_of_the_given_width() {
        let laid = composer("abcdef\n你好吗").laid(6, "› ");
        assert_eq!(laid.rows, ["› abc", "  def", "  你", "  好", "  吗"]);
        assert_eq!(laid.cursor, (4, 4));
        assert_eq!(composer("").laid(1, "› ").rows.len(), 1);
        let mut input = composer("one two three averylongword");
        assert_eq!(input.laid(10, "› ").rows, ["› one two ", "  three ", "  averylo", "  ngword"]);
        input.home();
        input.word_right();
        input.word_right();
        assert_eq!(input.laid(10, "› ").cursor, (9, 0));
        input.right();
        assert_eq!(input.laid(10, "› ").cursor, (2, 1));
    }

    #[test]
    fn the_word_at_the_cursor_is_completed() {
        let mut input = composer("look at @src/l");
        assert_eq!(input.word(), ("look at ".to_owned(), "@src/l".to_owned()));
        input.complete("@src/lib.rs ");
        assert_eq!(input.text(), "look at @src/lib.rs ");
    }
}
