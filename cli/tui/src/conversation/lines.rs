//! Interprets a line that the user entered: a request, a command, or a shell command. Pure.

use std::time::Duration;

use front::diff::harmless_text;
use orchestrator::request::Request;
use orchestrator::request::intent::RequestIntent;

use super::{Conversation, ConversationAct, ConversationSetting, CurrentWork};
use crate::commands::{self, What};

impl Conversation {
    /// Handles Enter: the input is complete.
    pub(super) fn enter(&mut self, at: Duration) -> Vec<ConversationAct> {
        self.menu = None;
        self.back = None;
        // What the line does may add to it.
        self.named.clear();
        if self.composer.text().trim().is_empty() {
            self.composer.take();
            if self.paused {
                self.paused = false;
            } else if !self.asked.is_empty() {
                self.hint_to_answer(at);
            }
            return Vec::new();
        }
        let text = self.composer.take();
        self.history.push(text.clone());
        let mut acts = vec![ConversationAct::Keep(text.clone())];
        acts.extend(self.say_or_do(text.trim(), at));
        acts
    }

    /// Says which keys answer the question.
    pub(crate) fn hint_to_answer(&mut self, at: Duration) {
        let keys = if self.has_draft() { "Alt-y or Alt-n" } else { "y or n" };
        self.hint_at(format!("answer the question above first: {keys}"), at);
    }

    /// Handles a complete line.
    fn say_or_do(&mut self, text: &str, at: Duration) -> Vec<ConversationAct> {
        if let Some(line) = text.strip_prefix('!') {
            return self.alone(ConversationAct::Shell(line.trim().to_owned()), text, at);
        }
        if let Some(question) = text.strip_prefix("? ") {
            return self.request(question, Some(RequestIntent::Answer));
        }
        if commands::is_word_of_leaving(text) {
            return vec![ConversationAct::Leave];
        }
        if !text.starts_with('/') {
            return self.request(text, self.facts.intent);
        }
        match commands::read_slash_command(text) {
            Ok((what, rest)) => self.command(what, rest, text, at),
            Err(_) if commands::is_path(text) => self.request(text, self.facts.intent),
            // The line is removed so that the next input is not appended to it.
            Err(why) => {
                self.hint_at(format!("{} · Up brings it back", harmless_text(&why)), at);
                Vec::new()
            }
        }
    }

    /// Sends the text to the running request, or starts a new one if none is running.
    fn steer(&mut self, text: &str) -> Vec<ConversationAct> {
        if self.work != CurrentWork::Busy {
            return self.request(text, self.facts.intent);
        }
        self.say(&format!("› {}", harmless_text(text).replace('\n', "\n  ")));
        vec![ConversationAct::Steer(text.to_owned())]
    }

    /// Handles Ctrl-Enter: the input is for the running request.
    pub(super) fn enter_now(&mut self, at: Duration) -> Vec<ConversationAct> {
        if self.composer.text().trim().is_empty() {
            return Vec::new();
        }
        let text = self.composer.text().trim().to_owned();
        if text.starts_with(['/', '!']) || text.starts_with("? ") {
            return self.enter(at);
        }
        self.menu = None;
        self.back = None;
        self.composer.take();
        self.history.push(text.clone());
        let mut acts = vec![ConversationAct::Keep(text.clone())];
        acts.extend(self.steer(&text));
        acts
    }

    fn command(
        &mut self,
        what: What,
        rest: &str,
        text: &str,
        at: Duration,
    ) -> Vec<ConversationAct> {
        match what {
            What::Help => self.say(&commands::help()),
            What::Exit => return vec![ConversationAct::Leave],
            What::Plan if rest.is_empty() => {
                return vec![ConversationAct::Set(ConversationSetting::Mode, "plan".to_owned())];
            }
            What::Edit | What::Ask if rest.is_empty() => {
                self.composer.set(&format!("{text} "));
                self.hint_at("type the task or the question, then press Enter", at);
            }
            What::Edit => return self.request(rest, Some(RequestIntent::Edit)),
            What::Ask => return self.request(rest, Some(RequestIntent::Answer)),
            What::Plan => return self.request(rest, Some(RequestIntent::Plan)),
            What::Review => return vec![ConversationAct::Review(rest.to_owned())],
            What::Set(setting) if rest.is_empty() => {
                self.composer.set(&format!("{text} "));
                self.hint_at(setting.takes(), at);
                return self.complete();
            }
            What::Set(setting) => return vec![ConversationAct::Set(setting, rest.to_owned())],
            What::Now if rest.is_empty() => {
                self.composer.set("/now ");
                self.hint_at("type the message for the running request, then press Enter", at);
            }
            What::Now => return self.steer(rest),
            What::Queue => self.change_queue(rest, at),
            What::Status => self.status(),
            What::Compact => return self.alone(ConversationAct::Compact, text, at),
            What::Context => return vec![ConversationAct::Context],
            What::Redraw => return vec![ConversationAct::Redraw],
            What::Transcript => self.show_transcript(at),
            What::Resume | What::Clear if self.work != CurrentWork::Idle => {
                self.wait_with(text, at);
            }
            What::Resume if !rest.is_empty() => {
                return vec![ConversationAct::Resume(rest.to_owned())];
            }
            What::Resume if !self.facts.alternate_screen.is_allowed() => {
                self.hint_at("usage: /resume ID; /sessions lists them", at);
            }
            What::Resume => return vec![ConversationAct::FindSessions],
            What::Clear => return vec![ConversationAct::Clear],
            What::Undo => match self.run.undo_start() {
                Some(checkpoint) => {
                    let words = vec!["rewind".to_owned(), checkpoint.to_string()];
                    return self.program(words, text, at);
                }
                None => self.hint_at(
                    "no request has changed anything here yet; /rewind lists checkpoints",
                    at,
                ),
            },
            What::Program(words) => match commands::of_the_program(words, rest) {
                Ok(words) => return self.program(words, text, at),
                Err(why) => {
                    self.composer.set(&format!("{text} "));
                    self.hint_at(why, at);
                }
            },
        }
        Vec::new()
    }

    /// Runs a command of the program. It needs the terminal and the workspace for itself.
    fn program(&mut self, words: Vec<String>, text: &str, at: Duration) -> Vec<ConversationAct> {
        let also = commands::also_sets(&words);
        let mut acts = self.alone(ConversationAct::Program(words), text, at);
        if !acts.is_empty() {
            acts.extend(also.map(|(setting, value)| ConversationAct::Set(setting, value)));
        }
        acts
    }

    /// Starts what cannot run at the same time as anything else.
    fn alone(&mut self, act: ConversationAct, text: &str, at: Duration) -> Vec<ConversationAct> {
        if self.work != CurrentWork::Idle {
            self.wait_with(text, at);
            return Vec::new();
        }
        self.say(&format!("› {}", harmless_text(text)));
        if matches!(act, ConversationAct::Shell(_)) {
            self.work = CurrentWork::Shell;
        }
        vec![act]
    }

    /// Puts the text back into the input, because a request or command is still running.
    fn wait_with(&mut self, text: &str, at: Duration) {
        self.composer.set(text);
        let what = if self.work.is_a_request() { "a request" } else { "a command" };
        let hint = format!("{what} is running: wait until it ends, or stop it with Ctrl-C");
        self.hint_at(hint, at);
    }

    /// Starts a request, or queues it while another one is running.
    fn request(&mut self, text: &str, intent: Option<RequestIntent>) -> Vec<ConversationAct> {
        self.unless_queued(Request::new(text, intent))
            .map(ConversationAct::Begin)
            .into_iter()
            .collect()
    }

    /// Returns the request for a review, or queues it and returns `None`.
    pub(crate) fn review_request(&mut self, what: &str) -> Option<Request> {
        let text = format!("review {what}");
        self.unless_queued(Request::new(text.trim_end(), Some(RequestIntent::Review)))
    }

    /// Returns the request if it can start now; otherwise queues it and returns `None`.
    fn unless_queued(&mut self, request: Request) -> Option<Request> {
        if self.work == CurrentWork::Idle && self.queue.is_empty() {
            return Some(request);
        }
        self.queue.push_back(request);
        None
    }

    fn change_queue(&mut self, rest: &str, at: Duration) {
        let (word, number) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "go" => self.paused = false,
            "clear" => self.queue.clear(),
            "drop" => {
                let at_number = number.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                if at_number.and_then(|n| self.queue.remove(n)).is_none() {
                    self.hint_at("usage: /queue drop NUMBER", at);
                }
            }
            _ if self.queue.is_empty() => self.hint_at("nothing is queued", at),
            _ => {
                let lines = self.queue.iter().zip(1..);
                let lines: Vec<String> = lines
                    .map(|(request, n)| format!("  {n}. {}", harmless_text(&request.text)))
                    .collect();
                self.say(&lines.join("\n"));
            }
        }
        if self.queue.is_empty() {
            self.paused = false;
        }
    }

    fn status(&mut self) {
        self.say(&self.facts.lines());
    }
}
