//! What a conversation prints above the live rows: finished lines, and the answer that is still arriving. Pure.

use front::run_view::ViewItem;

use crate::markdown::{Markdown, Page};

/// The output of a conversation.
#[derive(Debug, Default)]
pub(crate) struct ShellOutput {
    /// All lines printed so far.
    printed: Vec<String>,
    /// Finished text that has not been printed yet, in complete lines.
    unprinted: String,
    /// The part of an answer that is not finished.
    pub(crate) answer: Markdown,
}

impl ShellOutput {
    /// Adds lines.
    pub(crate) fn say(&mut self, text: &str) {
        self.line(text.trim_end_matches('\n'));
    }

    /// Adds a line, even if it is empty.
    pub(crate) fn line(&mut self, line: &str) {
        self.unprinted.push_str(line);
        self.unprinted.push('\n');
    }

    /// Adds the text of a run. Answers are formatted for `page`.
    pub(crate) fn add(&mut self, items: Vec<ViewItem>, page: Page) {
        for item in items {
            match item {
                ViewItem::Line(text) => {
                    self.end_answer(page);
                    self.say(&text);
                }
                ViewItem::Piece(text) => {
                    let lines = self.answer.take_in(&text, page);
                    self.unprinted.push_str(&lines);
                }
            }
        }
    }

    /// Adds the rest of an answer that has ended.
    pub(crate) fn end_answer(&mut self, page: Page) {
        let rest = self.answer.end(page);
        self.unprinted.push_str(&rest);
    }

    /// Returns the text to print: what was added since the last call.
    pub(crate) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.unprinted);
        self.printed.extend(text.lines().map(str::to_owned));
        text
    }

    /// Takes in what a command printed itself.
    pub(crate) fn was_printed(&mut self, text: &str) {
        self.printed.extend(text.lines().map(str::to_owned));
    }

    /// Returns all lines, printed or not.
    pub(crate) fn lines(&self) -> Vec<String> {
        let unprinted = self.unprinted.lines().map(str::to_owned);
        self.printed.iter().cloned().chain(unprinted).collect()
    }
}
