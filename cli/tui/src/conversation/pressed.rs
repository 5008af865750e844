//! Handles keys: they go to the completion menu, the pending question, or the input. Pure.

use std::time::Duration;

use facts::signal::ApprovalAnswer;
use front::answer::{self, Offers, Typed};

use super::{
    Conversation, ConversationAct, ConversationSetting, CurrentWork, DEAF, Facts, Files, TWICE,
};
use crate::completion::{self, CompletionKind, KnownWords, Named};
use crate::composer::Composer;
use crate::keys::Key;

impl Conversation {
    /// Returns true for the second press of a key within [`TWICE`].
    fn is_second(&mut self, key: &Key, at: Duration) -> bool {
        let is_second = self.once.take().is_some_and(|(once, until)| once == *key && at < until);
        if !is_second {
            self.once = Some((key.clone(), at + TWICE));
        }
        is_second
    }

    /// Handles a key and returns the requested effects.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key means anything here")]
    pub(crate) fn key(&mut self, key: Key, at: Duration) -> Vec<ConversationAct> {
        if let Key::Background(background) = key {
            self.paint = self.paint.on(background);
            self.run.set_background(background);
            return Vec::new();
        }
        if self.visit.is_some() {
            return self.visit_key(&key, at);
        }
        if key != Key::Ctrl('c') {
            self.once = None;
        }
        // A notice is about what was pressed before; typing leaves time to read it.
        if !matches!(key, Key::Char(_) | Key::Paste(_)) {
            self.hint = None;
        }
        if std::mem::take(&mut self.ctrl_x) && key == Key::Ctrl('e') {
            return vec![ConversationAct::Edit];
        }
        match key {
            Key::Ctrl('c') => return self.ctrl_c(at),
            Key::Esc => return self.esc(at),
            Key::Ctrl('z') => return vec![ConversationAct::Suspend],
            Key::Ctrl('l') => return vec![ConversationAct::Redraw],
            Key::Ctrl('t') => {
                self.show_transcript(at);
                return Vec::new();
            }
            Key::Ctrl('x') => {
                self.ctrl_x = true;
                return Vec::new();
            }
            _ => {}
        }
        if self.menu.is_some()
            && let Some(acts) = self.menu_key(&key, at)
        {
            return acts;
        }
        if !self.asked.is_empty()
            && let Some(acts) = self.question_key(&key, at)
        {
            return acts;
        }
        self.input_key(key, at)
    }

    /// Handles a key while the menu is open. Returns `None` for keys that go to the input.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key means anything here")]
    fn menu_key(&mut self, key: &Key, at: Duration) -> Option<Vec<ConversationAct>> {
        let menu = self.menu.as_mut()?;
        match key {
            Key::Up | Key::Ctrl('p') => menu.step(-1),
            Key::Down | Key::Ctrl('n') => menu.step(1),
            Key::Ctrl('r') if menu.kind == CompletionKind::Earlier => menu.step(1),
            // A word that may have any value is accepted as typed, unless another was chosen.
            Key::Enter if menu.kind == CompletionKind::Words && !menu.is_moved => return None,
            Key::Tab | Key::Enter => {
                let menu = self.menu.take()?;
                let choice = menu.choice().to_owned();
                match menu.kind {
                    CompletionKind::Earlier => {
                        let draft = self.search.take().map(|draft| draft.text());
                        self.history.extend(draft.filter(|draft| !draft.trim().is_empty()));
                        self.composer.set(&choice);
                    }
                    // A complete command runs at once.
                    CompletionKind::Commands
                        if *key == Key::Enter && self.composer.text() == choice =>
                    {
                        return Some(self.enter(at));
                    }
                    CompletionKind::Commands | CompletionKind::Files | CompletionKind::Words => {
                        self.composer.complete(&format!("{choice} "));
                    }
                }
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Handles a key while a question is pending. Returns `None` for keys that go to the input.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key means anything here")]
    fn question_key(&mut self, key: &Key, at: Duration) -> Option<Vec<ConversationAct>> {
        let has_draft = self.has_draft();
        let asked = self.asked.front_mut()?;
        if let Some(words) = &mut asked.words {
            match key {
                Key::Enter => {
                    let words = words.take();
                    self.answer_in_words(words, at);
                }
                key => edit(words, key),
            }
            return Some(Vec::new());
        }
        if at < asked.since + DEAF {
            return None;
        }
        if asked.wants_words() {
            match key {
                Key::Alt('a') => asked.words = Some(Composer::default()),
                Key::Alt('n') => self.answer_in_words(String::new(), at),
                _ => return None,
            }
            return Some(Vec::new());
        }
        // What is typed answers as a whole, with Enter, so that no letter of a message decides anything.
        let typed = match key {
            Key::Alt(letter) => letter.to_string(),
            Key::Enter if has_draft => self.composer.text(),
            _ => return None,
        };
        let offers = &asked.on_screen.offers;
        match (answer::read_answer(&typed, offers), key) {
            (Typed::Unclear, _) => return None,
            // It holds beyond this question, so it is read before it is given.
            (Typed::Answer(ApprovalAnswer::Always), Key::Alt(_)) if has_draft => {
                self.hint_at("type `always` in an empty input, then press Enter", at);
            }
            (Typed::Answer(ApprovalAnswer::Always), Key::Alt(_)) => self.composer.set("always"),
            (Typed::Answer(ApprovalAnswer::No), _) if *offers != Offers::YesOrNo => {
                if *key == Key::Enter {
                    self.composer.take();
                }
                self.ask_why(Vec::new());
            }
            (said, _) => {
                if *key == Key::Enter {
                    self.composer.take();
                }
                match said {
                    Typed::Answer(answer) => self.answer_question(answer, at),
                    Typed::Review if self.review() => {}
                    Typed::Review | Typed::Show => self.show_question(),
                    Typed::Unclear => {}
                }
            }
        }
        Some(Vec::new())
    }

    /// Shows again what the question is about.
    fn show_question(&mut self) {
        let shown = self.asked.front().map(|asked| asked.on_screen.shown.clone());
        if let Some(shown) = shown.filter(|shown| !shown.is_empty()) {
            self.say(&shown);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key means anything here")]
    fn input_key(&mut self, key: Key, at: Duration) -> Vec<ConversationAct> {
        if self.search.is_some() {
            self.search_key(&key, at);
            return Vec::new();
        }
        match key {
            Key::Enter if self.composer.takes_backslash() => self.composer.insert('\n'),
            Key::Enter => return self.enter(at),
            Key::CtrlEnter => return self.enter_now(at),
            // Only without a text do they switch the mode: whoever presses Tab in a word means the word.
            Key::Tab | Key::BackTab if self.composer.is_empty() => {
                let by = if key == Key::Tab { 1 } else { -1 };
                return vec![ConversationAct::Set(
                    ConversationSetting::Mode,
                    self.facts.next_mode(by).to_owned(),
                )];
            }
            Key::Tab => return self.complete_path(at),
            Key::Up if !self.composer.up() => return self.older(),
            Key::Down if !self.composer.down() => self.newer(),
            Key::Up | Key::Down | Key::BackTab => return Vec::new(),
            Key::Ctrl('p') => return self.older(),
            Key::Ctrl('n') => self.newer(),
            Key::Ctrl('r') => {
                self.search = Some(std::mem::take(&mut self.composer));
                self.menu = completion::earlier(&self.history, "");
                if self.menu.is_none() {
                    self.end_search();
                    self.hint_at("there is no earlier message", at);
                }
                return Vec::new();
            }
            Key::Ctrl('d') if self.composer.is_empty() => return self.ctrl_d(at),
            Key::PageUp | Key::PageDown => {
                self.hint_at(
                    "the terminal scrolls (often Shift-PageUp) · Ctrl-T shows it in pages",
                    at,
                );
            }
            key => {
                edit(&mut self.composer, &key);
                self.back = None;
            }
        }
        self.complete()
    }

    /// Handles a key during a search in earlier messages.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other key is treated alike")]
    fn search_key(&mut self, key: &Key, at: Duration) {
        match key {
            Key::Enter | Key::CtrlEnter | Key::Tab | Key::Up | Key::Down => {
                self.hint_at("no earlier message has this text · Esc restores the input", at);
            }
            key => {
                edit(&mut self.composer, key);
                self.menu = completion::earlier(&self.history, &self.composer.text());
            }
        }
    }

    /// Ends a search and restores the earlier input. Returns false if there is no search.
    fn end_search(&mut self) -> bool {
        let Some(draft) = self.search.take() else { return false };
        self.composer = draft;
        self.menu = None;
        true
    }

    /// Returns true while letters go to the input, because it holds a draft or a search text.
    pub(crate) const fn has_draft(&self) -> bool {
        !self.composer.is_empty() || self.search.is_some()
    }

    /// Completes the path at the cursor, which need not be marked by `@`.
    pub(super) fn complete_path(&mut self, at: Duration) -> Vec<ConversationAct> {
        let (_, word) = self.composer.word();
        if matches!(self.files, Files::Unknown) {
            self.files = Files::WantedByTab;
            return vec![ConversationAct::FindFiles];
        }
        self.menu = completion::paths(&word, self.files.known());
        match &self.menu {
            None => self.hint_at("there is no completion", at),
            Some(menu) if menu.offers.len() == 1 => {
                let choice = menu.choice().to_owned();
                self.menu = None;
                self.composer.complete(&format!("{choice} "));
            }
            Some(_) => {}
        }
        Vec::new()
    }

    /// Opens the menu with completions of the word at the cursor.
    pub(super) fn complete(&mut self) -> Vec<ConversationAct> {
        let (before, word) = self.composer.word();
        if word.starts_with('@') && matches!(self.files, Files::Unknown) {
            self.files = Files::Wanted;
            return vec![ConversationAct::FindFiles];
        }
        let found = Named::after(&before).filter(|named| !self.named.contains_key(named));
        if let Some(named) = found {
            self.named.insert(named, Vec::new());
            return vec![ConversationAct::FindNamed(named)];
        }
        let files = self.files.known();
        let Facts { models, keys, .. } = &self.facts;
        let known = KnownWords { files, models, keys, named: &self.named };
        self.menu = completion::menu(&before, &word, &known);
        Vec::new()
    }

    /// Recalls an earlier message. With an empty input, the last queued request is taken out for editing instead.
    fn older(&mut self) -> Vec<ConversationAct> {
        if self.composer.is_empty()
            && let Some(request) = self.queue.pop_back()
        {
            self.composer.set(&request.text);
            return Vec::new();
        }
        let back = self.back.as_ref().map_or(0, |(back, _)| *back) + 1;
        let message = self.history.len().checked_sub(back).and_then(|at| self.history.get(at));
        if let Some(message) = message.cloned() {
            let typed = self.back.take().map_or_else(|| self.composer.text(), |(_, typed)| typed);
            self.composer.set(&message);
            self.back = Some((back, typed));
        }
        self.menu = None;
        Vec::new()
    }

    fn newer(&mut self) {
        let Some((back, typed)) = self.back.take() else { return };
        let newer = (back - 1, self.history.len().checked_sub(back - 1));
        match newer {
            (1.., Some(at)) => {
                let message = self.history.get(at).cloned().unwrap_or_default();
                self.composer.set(&message);
                self.back = Some((back - 1, typed));
            }
            _ => self.composer.set(&typed),
        }
    }

    /// Handles Esc, which takes away one thing at a time, the topmost first: what is open, the running request, a queued one,
    /// the input. Typed text is never lost.
    fn esc(&mut self, at: Duration) -> Vec<ConversationAct> {
        if self.end_search() {
            return Vec::new();
        }
        if self.menu.take().is_some() {
            return Vec::new();
        }
        if self.put_words_aside(at) {
            return Vec::new();
        }
        match self.work {
            CurrentWork::Busy | CurrentWork::Shell => return self.cancel(),
            CurrentWork::Idle | CurrentWork::Stopping if self.composer.is_empty() => {
                if let Some(request) = self.queue.pop_back() {
                    self.history.push(request.text);
                    self.hint_at("taken out of the queue; Up brings it back", at);
                }
            }
            CurrentWork::Idle | CurrentWork::Stopping => self.clear(at),
        }
        Vec::new()
    }

    fn ctrl_c(&mut self, at: Duration) -> Vec<ConversationAct> {
        if self.end_search() {
            return Vec::new();
        }
        self.menu = None;
        match self.work {
            CurrentWork::Busy | CurrentWork::Shell => return self.cancel(),
            CurrentWork::Stopping => return vec![ConversationAct::StopAtOnce],
            CurrentWork::Idle if !self.composer.is_empty() => self.clear(at),
            CurrentWork::Idle => {
                if self.is_second(&Key::Ctrl('c'), at) {
                    return vec![ConversationAct::Leave];
                }
                self.hint_at("Ctrl-C again or Ctrl-D leaves", at);
            }
        }
        Vec::new()
    }

    fn ctrl_d(&mut self, at: Duration) -> Vec<ConversationAct> {
        if self.work == CurrentWork::Idle {
            return vec![ConversationAct::Leave];
        }
        let what = if self.work.is_a_request() { "request" } else { "command" };
        self.hint_at(format!("a {what} is running; Ctrl-C stops it"), at);
        Vec::new()
    }

    /// Stops what is running: a request gracefully, a shell command at once.
    pub(crate) fn cancel(&mut self) -> Vec<ConversationAct> {
        match self.work {
            CurrentWork::Idle | CurrentWork::Stopping => Vec::new(),
            CurrentWork::Shell => {
                self.ran("stopped");
                vec![ConversationAct::Kill]
            }
            CurrentWork::Busy => {
                // The live rows say so; a line would stand in the middle of an answer that is still arriving.
                self.work = CurrentWork::Stopping;
                vec![ConversationAct::Cancel]
            }
        }
    }

    fn clear(&mut self, at: Duration) {
        let text = self.composer.take();
        self.history.push(text);
        self.hint_at("cleared; Up brings it back", at);
    }
}

/// Applies an editing key to an input.
fn edit(input: &mut Composer, key: &Key) {
    match key {
        Key::Char(c) => input.insert(*c),
        Key::Newline => input.insert('\n'),
        Key::Paste(bytes) => input.paste(&String::from_utf8_lossy(bytes)),
        Key::Backspace | Key::Ctrl('h') => input.backspace(),
        Key::Delete | Key::Ctrl('d') => input.delete(),
        Key::Left | Key::Ctrl('b') => input.left(),
        Key::Right | Key::Ctrl('f') => input.right(),
        Key::WordLeft => input.word_left(),
        Key::WordRight => input.word_right(),
        Key::Home | Key::Ctrl('a') => input.home(),
        Key::End | Key::Ctrl('e') => input.end(),
        Key::Ctrl('w') => input.cut_word(),
        Key::Ctrl('u') => input.cut_to_start(),
        Key::Ctrl('k') => input.cut_to_end(),
        Key::Ctrl('y') => input.yank(),
        Key::Up => drop(input.up()),
        Key::Down => drop(input.down()),
        Key::Enter
        | Key::CtrlEnter
        | Key::Tab
        | Key::BackTab
        | Key::PageUp
        | Key::PageDown
        | Key::WheelUp
        | Key::WheelDown
        | Key::Esc
        | Key::Background(_)
        | Key::Ctrl(_)
        | Key::Alt(_) => {}
    }
}
