//! Reasoning that a model writes at the beginning of its text, between `<think>` and `</think>`. Pure.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Text that has arrived, told apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SplitText {
    pub(super) reasoning: String,
    pub(super) text: String,
}

/// Tells reasoning from text while they arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct ThoughtSplitter {
    place: Place,
    /// What may be the beginning of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing but blanks, or the beginning of a tag, has arrived.
    #[default]
    Start,
    Thought,
    /// The reasoning has ended, and only blank lines have arrived since.
    Between,
    Text,
}

impl ThoughtSplitter {
    /// Adds a piece of text. Returns what is certain by now.
    pub(super) fn split(&mut self, piece: &str) -> SplitText {
        let mut split = SplitText::default();
        if matches!(self.place, Place::Text | Place::Between) {
            self.text(piece, &mut split);
            return split;
        }
        self.held.push_str(piece);
        if self.place == Place::Start {
            let begun = self.held.trim_start();
            if let Some(thought) = begun.strip_prefix(OPEN) {
                self.held = thought.to_owned();
                self.place = Place::Thought;
            } else if !OPEN.starts_with(begun) {
                self.place = Place::Text;
                split.text = std::mem::take(&mut self.held);
            }
        }
        if self.place == Place::Thought {
            if let Some((thought, text)) = self.held.split_once(CLOSE) {
                thought.clone_into(&mut split.reasoning);
                let text = text.to_owned();
                self.held.clear();
                self.place = Place::Between;
                self.text(&text, &mut split);
            } else {
                let kept = (1..CLOSE.len()).rev().find(|&length| {
                    CLOSE.get(..length).is_some_and(|begun| self.held.ends_with(begun))
                });
                let certain = self.held.len() - kept.unwrap_or(0);
                let held = self.held.split_off(certain);
                split.reasoning = std::mem::replace(&mut self.held, held);
            }
        }
        split
    }

    /// Adds text, without the blank lines between it and the reasoning.
    fn text(&mut self, piece: &str, split: &mut SplitText) {
        let is_first = self.place == Place::Between;
        let piece = if is_first { piece.trim_start_matches(['\r', '\n']) } else { piece };
        if !piece.is_empty() {
            self.place = Place::Text;
            split.text.push_str(piece);
        }
    }

    /// Returns what was held back, at the end of the answer.
    pub(super) fn rest(&mut self) -> SplitText {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Thought => SplitText { reasoning: held, ..SplitText::default() },
            Place::Start | Place::Between | Place::Text => {
                SplitText { text: held, ..SplitText::default() }
            }
        }
    }
}

/// Splits an answer whose reasoning was opened by the prompt: only the end of it is marked, on a line of its own.
pub(super) fn closed_only(answer: &str) -> Option<SplitText> {
    let mut at = 0;
    for line in answer.split_inclusive('\n') {
        let end = at + line.len();
        if line.trim_end() == CLOSE {
            let (reasoning, text) = (answer.get(..at)?.to_owned(), answer.get(end..)?.to_owned());
            return Some(SplitText { reasoning, text });
        }
        at = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut splitter = ThoughtSplitter::default();
        let mut all = SplitText::default();
        let mut add = |it: SplitText| {
            all.reasoning.push_str(&it.reasoning);
            all.text.push_str(&it.text);
        };
        for piece in pieces {
            add(splitter.split(piece));
        }
        add(splitter.rest());
        (all.reasoning, all.text)
    }

    #[test]
    fn reasoning_is_what_the_answer_begins_with_between_tags() {
        for (answer, reasoning, text) in [
            ("<think>a < b</think>yes", "a < b", "yes"),
            ("\n <think>\nhm\n</think>\n\nyes", "\nhm\n", "yes"),
            ("<think></think>yes", "", "yes"),
            ("yes <think>no</think>", "", "yes <think>no</think>"),
            ("<thin", "", "<thin"),
            ("<think>never ends </th", "never ends </th", ""),
            ("<thinking>x", "", "<thinking>x"),
            ("", "", ""),
            (" \n", "", " \n"),
        ] {
            let expected = (reasoning.to_owned(), text.to_owned());
            assert_eq!(split(&[answer]), expected, "{answer:?}");
            let chars: Vec<String> = answer.chars().map(String::from).collect();
            let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
            assert_eq!(split(&chars), expected, "{answer:?} by character");
        }
    }

    #[test]
    fn reasoning_that_the_prompt_opened_ends_with_a_line() {
        let split = closed_only("hm\nso\n</think>\nyes\n").unwrap();
        assert_eq!((split.reasoning.as_str(), split.text.as_str()), ("hm\nso\n", "yes\n"));
        assert_eq!(closed_only("+</think>\n the tag </think> inside\n"), None);
    }
}
