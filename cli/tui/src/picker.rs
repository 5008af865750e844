//! The list of sessions to resume, with a search. Pure.

use anstyle::AnsiColor;
use front::diff::harmless;
use front::paint::Paint;
use tools::ids::short_id;

use crate::keys::Key;
use crate::screen::ScreenSize;
use crate::visit::{Does, coloured};

/// An earlier session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSession {
    /// Its id.
    pub id: String,
    /// Its first request.
    pub title: String,
    /// How long ago it was used, in words.
    pub age: String,
    /// How its last request ended.
    pub outcome: String,
}

/// The sessions, the search, and the chosen match.
#[derive(Debug)]
pub(crate) struct Picker {
    kept: Vec<KeptSession>,
    search: String,
    chosen: usize,
}

impl Picker {
    /// Creates a list of these sessions, newest first.
    pub(crate) const fn new(kept: Vec<KeptSession>) -> Self {
        Self { kept, search: String::new(), chosen: 0 }
    }

    /// Returns the sessions that contain every word of the search in their id, outcome or title.
    fn found(&self) -> Vec<&KeptSession> {
        let search = self.search.to_lowercase();
        let has = |kept: &&KeptSession| {
            let text = format!("{} {} {}", kept.id, kept.outcome, kept.title).to_lowercase();
            search.split_whitespace().all(|word| text.contains(word))
        };
        self.kept.iter().filter(has).collect()
    }

    pub(crate) fn rows(&self, size: ScreenSize, paint: Paint) -> Vec<String> {
        let found = self.found();
        let room = page(size);
        let first = (self.chosen + 1).saturating_sub(room);
        let row = |(at, KeptSession { id, title, age, outcome }): (usize, &&KeptSession)| {
            let row = format!("{}  {age:>8}  {outcome:<12}  {}", short_id(id), harmless(title));
            if at == self.chosen {
                coloured(paint, AnsiColor::Cyan, &format!("❯ {row}"))
            } else {
                format!("  {row}")
            }
        };
        let mut rows = vec![
            "resume a session: type to search, Enter resumes, Esc goes back".to_owned(),
            format!("› {}", harmless(&self.search)).trim_end().to_owned(),
        ];
        rows.extend(found.iter().enumerate().skip(first).take(room).map(row));
        if found.is_empty() {
            rows.push("  no session matches".to_owned());
        }
        rows
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key means anything here")]
    pub(crate) fn key(&mut self, key: &Key, size: ScreenSize) -> Does {
        match key {
            Key::Up | Key::Ctrl('p') => self.chosen = self.chosen.saturating_sub(1),
            Key::Down | Key::Ctrl('n') => self.chosen += 1,
            Key::PageUp => self.chosen = self.chosen.saturating_sub(page(size)),
            Key::PageDown => self.chosen += page(size),
            Key::Char(c) => self.search.push(*c),
            Key::Backspace => drop(self.search.pop()),
            Key::Ctrl('u') => self.search.clear(),
            Key::Enter => {
                let found = self.found().get(self.chosen).map(|kept| kept.id.clone());
                return found.map_or(Does::Stays, Does::Resumes);
            }
            Key::Esc | Key::Ctrl('c' | 'd') => return Does::Leaves,
            _ => {}
        }
        self.chosen = self.chosen.min(self.found().len().saturating_sub(1));
        Does::Stays
    }
}

/// Returns the number of rows for sessions.
fn page(size: ScreenSize) -> usize {
    const HEAD: usize = 2;
    usize::from(size.rows).saturating_sub(HEAD).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_by_words_of_their_id_outcome_and_title() {
        let kept = |id: &str, title: &str, outcome: &str| KeptSession {
            id: id.to_owned(),
            title: title.to_owned(),
            age: "2 h ago".to_owned(),
            outcome: outcome.to_owned(),
        };
        let mut picker = Picker::new(vec![
            kept("01m80aa9hr33yegy", "Fix the parser", "delivered"),
            kept("01m80ac8a905x0nj", "Why is it slow?", "answered"),
            kept("01m80ac8a9aaaaaa", "Fix the lexer", "failed"),
        ]);
        let size = ScreenSize { columns: 80, rows: 10 };
        insta::assert_snapshot!(picker.rows(size, Paint::Plain).join("\n"), @"
        resume a session: type to search, Enter resumes, Esc goes back
        ›
        ❯ 33yegy   2 h ago  delivered     Fix the parser
          05x0nj   2 h ago  answered      Why is it slow?
          aaaaaa   2 h ago  failed        Fix the lexer
        ");
        for c in "fix FAIL".chars() {
            picker.key(&Key::Char(c), size);
        }
        assert_eq!(picker.key(&Key::Enter, size), Does::Resumes("01m80ac8a9aaaaaa".to_owned()));
        picker.key(&Key::Char('x'), size);
        assert_eq!(picker.key(&Key::Enter, size), Does::Stays);
        assert!(picker.rows(size, Paint::Plain)[2].contains("no session matches"));
        picker.key(&Key::Ctrl('u'), size);
        for _ in 0..9 {
            picker.key(&Key::Down, size);
        }
        assert!(picker.rows(size, Paint::Plain)[4].starts_with('❯'));
        let low = ScreenSize { columns: 80, rows: 4 };
        for (key, id) in [(Key::PageUp, "33yegy"), (Key::PageDown, "aaaaaa")] {
            picker.key(&key, low);
            let rows = picker.rows(low, Paint::Plain);
            assert!(rows.iter().any(|row| row.starts_with(&format!("❯ {id}"))), "{rows:#?}");
        }
    }
}
