//! The state of a conversation (input, queue, questions, the view of the run), and what each key does to it. It has no effects of
//! its own and returns them as [`Act`]s; callers pass the time.

mod act;
mod lines;
mod output;
mod pressed;
mod settings;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use facts::signal::{ApprovalAnswer, ApprovalQuestion, OpenQuestion};
use front::answer::{self, ShownQuestion, Typed};
use front::command_output::CommandOutput;
use front::diff::{harmless, harmless_text};
use front::paint::Paint;
use front::run_view::{Accounts, CommandsGiven, Detail, RunView, Streams, ViewItem, ViewOptions};
use orchestrator::request::Request;
use tokio::sync::oneshot;
use tools::count::counted;

use crate::completion::{Completion, Menu, Named};
use crate::composer::Composer;
use crate::keys::Key;
use crate::markdown::Page;
use crate::picker::{KeptSession, Picker};
use crate::screen::ScreenSize;
use crate::visit::{Does, Pages, PatchReview, Visit};

pub(crate) use self::act::{ConversationAct, CurrentWork};
use self::output::ShellOutput;
pub(crate) use self::settings::YOLO;
pub use self::settings::{AlternateScreen, ConversationSetting, Facts, UserCall};

/// Keys are not taken as the answer to a question that appeared less than this ago.
const DEAF: Duration = Duration::from_millis(300);
/// The time within which a key must be pressed again, where it has to be pressed twice. Hints are shown for as long.
const TWICE: Duration = Duration::from_secs(2);

/// Maximum number of lines of a message that are printed; the journal has all of them.
const SHOWN: usize = 12;

/// A pending question.
#[derive(Debug)]
pub(crate) struct PendingQuestion {
    question: Waiting,
    pub(crate) on_screen: ShownQuestion,
    since: Duration,
    /// The answer while it is typed: the reason for a no, or the reply to a model.
    pub(crate) words: Option<Composer>,
    /// The files to apply if others are left out; otherwise empty.
    pub(crate) only: Vec<String>,
}

/// The files of the workspace, for completion.
#[derive(Debug)]
enum Files {
    Unknown,
    /// They are being listed for a mention.
    Wanted,
    /// They are being listed because Tab was pressed in a word.
    WantedByTab,
    Known(Vec<String>),
}

impl Files {
    fn known(&self) -> &[String] {
        match self {
            Self::Known(files) => files,
            Self::Unknown | Self::Wanted | Self::WantedByTab => &[],
        }
    }
}

/// Where the answer goes: to a request for approval, or to a model or a server.
#[derive(Debug)]
enum Waiting {
    ForApproval(oneshot::Sender<ApprovalAnswer>),
    ForWords(OpenQuestion),
}

impl PendingQuestion {
    /// Returns true for a question that is answered in words.
    pub(crate) const fn wants_words(&self) -> bool {
        matches!(self.question, Waiting::ForWords(_))
    }

    /// Returns what an empty answer in words means.
    pub(crate) fn if_empty(&self) -> &str {
        match &self.question {
            Waiting::ForWords(question) => &question.if_empty,
            Waiting::ForApproval(_) => "",
        }
    }

    fn is_withdrawn(&self) -> bool {
        match &self.question {
            Waiting::ForApproval(answer) => answer.is_closed(),
            Waiting::ForWords(question) => question.answer.is_closed(),
        }
    }
}

/// The state of a conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) facts: Facts,
    pub(crate) paint: Paint,
    pub(crate) run: RunView,
    pub(crate) work: CurrentWork,
    pub(crate) composer: Composer,
    pub(crate) menu: Option<Menu>,
    /// The full-screen view, if one is open.
    pub(crate) visit: Option<Visit>,
    /// The size of the terminal at the last repaint.
    pub(crate) size: ScreenSize,
    pub(crate) output: ShellOutput,
    pub(crate) asked: VecDeque<PendingQuestion>,
    pub(crate) queue: VecDeque<Request>,
    /// Messages to the running request that no model has received yet.
    steering: VecDeque<String>,
    /// True if the queue waits until the user continues it.
    pub(crate) paused: bool,
    /// True if there is only a question, without the row of settings, and without the input while nothing is typed.
    pub(crate) is_alone: bool,
    /// The output of the shell command.
    pub(crate) shell_output: Arc<Mutex<CommandOutput>>,
    /// A hint to show, and until when.
    hint: Option<(String, Duration)>,
    files: Files,
    /// What arguments can name, as far as it was listed since the last line was entered.
    named: BTreeMap<Named, Vec<Completion>>,
    history: Vec<String>,
    /// The input before the search in earlier messages, during one; the input then holds the search text.
    pub(crate) search: Option<Composer>,
    /// The index of the recalled message, counted from the newest, and the input before it.
    back: Option<(usize, String)>,
    /// The key that was pressed once of two times, and until when this counts.
    once: Option<(Key, Duration)>,
    ctrl_x: bool,
    rings: Option<&'static str>,
}

impl Conversation {
    pub(crate) fn new(facts: Facts, paint: Paint, history: Vec<String>) -> Self {
        let options = ViewOptions {
            paint,
            detail: Detail::Beside,
            streams: Streams::AsItComes,
            accounts: Accounts::InALine,
            commands: CommandsGiven::OfTheConversation,
            commits: facts.commits,
        };
        let run = RunView::new(options, Duration::ZERO);
        Self {
            facts,
            paint,
            run,
            work: CurrentWork::Idle,
            composer: Composer::default(),
            menu: None,
            visit: None,
            size: ScreenSize { columns: 80, rows: 24 },
            output: ShellOutput::default(),
            asked: VecDeque::new(),
            queue: VecDeque::new(),
            steering: VecDeque::new(),
            paused: false,
            is_alone: false,
            shell_output: Arc::default(),
            hint: None,
            files: Files::Unknown,
            named: BTreeMap::new(),
            history,
            search: None,
            back: None,
            once: None,
            ctrl_x: false,
            rings: None,
        }
    }

    /// Creates the state for a single question outside of a conversation.
    pub(crate) fn for_a_question(
        facts: Facts,
        paint: Paint,
        on_screen: ShownQuestion,
        answer: oneshot::Sender<ApprovalAnswer>,
    ) -> Self {
        let mut alone = Self::new(facts, paint, Vec::new());
        alone.is_alone = true;
        alone.asks(Waiting::ForApproval(answer), on_screen, Duration::ZERO);
        alone
    }

    /// Prints lines above the live rows.
    pub(crate) fn say(&mut self, text: &str) {
        self.output.say(text);
    }

    /// Shows all printed lines, scrolled to the end.
    pub(super) fn show_transcript(&mut self, at: Duration) {
        if !self.facts.alternate_screen.is_allowed() {
            return self.hint_at("use the scrollback of the terminal", at);
        }
        self.visit = Some(Visit::Transcript(Pages::at_end(self.output.lines(), self.size)));
    }

    /// Shows the change in question on the alternate screen. Returns false if there is no such change or no alternate screen.
    pub(super) fn review(&mut self) -> bool {
        let asked = self.asked.front().filter(|_| self.facts.alternate_screen.is_allowed());
        let review = asked
            .and_then(|asked| PatchReview::of(&asked.on_screen.shown, asked.on_screen.change?));
        self.visit = review.map(Visit::Review);
        self.visit.is_some()
    }

    /// Lets the user choose one of these sessions.
    pub(crate) fn offer_sessions(&mut self, kept: Vec<KeptSession>) {
        self.visit = Some(Visit::Sessions(Picker::new(kept)));
    }

    /// Handles a key while a full-screen view is open.
    fn visit_key(&mut self, key: &Key, at: Duration) -> Vec<ConversationAct> {
        let Some(visit) = &mut self.visit else { return Vec::new() };
        match visit.key(key, self.size) {
            Does::Stays => return Vec::new(),
            Does::Leaves => {}
            Does::Answers(ApprovalAnswer::No) => self.ask_why(Vec::new()),
            Does::Answers(ApprovalAnswer::Only { paths, .. }) => self.ask_why(paths),
            Does::Answers(answer) => self.answer_question(answer, at),
            Does::Resumes(id) => {
                self.visit = None;
                return vec![ConversationAct::Resume(id)];
            }
        }
        self.visit = None;
        Vec::new()
    }

    /// Returns true if Enter answers the question with what is typed.
    pub(crate) fn is_answered_by_the_input(&self) -> bool {
        let read = |asked: &PendingQuestion| {
            answer::read_answer(&self.composer.text(), &asked.on_screen.offers)
        };
        self.visit.is_none()
            && self.has_draft()
            && self
                .asked
                .front()
                .filter(|asked| asked.words.is_none())
                .is_some_and(|asked| !asked.wants_words() && read(asked) != Typed::Unclear)
    }

    /// Asks the user for the reason against the change, or against the files other than these.
    fn ask_why(&mut self, only: Vec<String>) {
        let Some(asked) = self.asked.front_mut() else { return };
        (asked.words, asked.only) = (Some(Composer::default()), only);
    }

    /// Returns why to call the user since the last call of this function; `None` if there is no reason.
    pub(crate) const fn take_ring(&mut self) -> Option<&'static str> {
        self.rings.take()
    }

    /// Returns what answers are formatted for.
    fn page(&self) -> Page {
        Page { paint: self.paint, width: usize::from(self.size.columns) }
    }

    /// Prints the text of the run.
    pub(crate) fn print(&mut self, shown: Vec<ViewItem>) {
        self.output.add(shown, self.page());
    }

    /// Shows that a request starts at this time.
    pub(crate) fn begun(&mut self, text: &str, at: Duration) {
        self.work = CurrentWork::Busy;
        self.run.submitted(at);
        let mut shown = harmless_text(text);
        if shown.lines().count() > SHOWN {
            let more = shown.lines().count() - SHOWN;
            let first: Vec<&str> = shown.lines().take(SHOWN).collect();
            shown = format!("{}\n… {}", first.join("\n"), counted(more, "more line"));
        }
        self.say(&format!("› {}", shown.replace('\n', "\n  ")));
    }

    /// Records a message that the running request has accepted.
    pub(crate) fn steers(&mut self, words: String) {
        self.steering.push_back(words);
    }

    /// Queues a message that the running request could not accept.
    pub(crate) fn not_steered(&mut self, words: &str, why: &str) {
        self.say(&format!("  {why}: queued"));
        self.queue.push_back(Request::new(words, self.facts.intent));
    }

    /// Removes messages that a model has received.
    pub(crate) fn steered(&mut self, count: usize) {
        self.steering.drain(..count.min(self.steering.len()));
    }

    /// Ends the running request. Messages that no model received are queued first. The queue is paused if the user stopped the
    /// request.
    pub(crate) fn ended(&mut self) {
        for words in std::mem::take(&mut self.steering).into_iter().rev() {
            self.say("  the request ended before this could be sent: it is queued");
            self.queue.push_front(Request::new(words, self.facts.intent));
        }
        self.output.end_answer(self.page());
        self.paused = self.work == CurrentWork::Stopping && !self.queue.is_empty();
        self.work = CurrentWork::Idle;
        self.put_words_aside(Duration::ZERO);
        self.asked.clear();
        // What is hinted at is about the request: that it runs, or how to stop it.
        self.hint = None;
        self.rings = Some("the request has ended");
    }

    /// Shows the output of the shell command since the last call.
    pub(crate) fn print_shell_output(&mut self) {
        let lines = self.shell_output.lock().unwrap_or_else(PoisonError::into_inner).ready();
        for line in &lines {
            self.output.line(line);
        }
    }

    /// Ends the shell command with this message, which may be empty, and shows the rest of its output.
    pub(crate) fn ran(&mut self, message: &str) {
        self.work = CurrentWork::Idle;
        self.hint = None;
        let lines = std::mem::take(&mut self.shell_output);
        let lines = lines.lock().unwrap_or_else(PoisonError::into_inner).end();
        for line in &lines {
            self.output.line(line);
        }
        if !message.is_empty() {
            self.say(&harmless_text(message));
        }
    }

    /// Takes the next request from the queue, if one may start.
    pub(crate) fn next(&mut self) -> Option<Request> {
        if self.work == CurrentWork::Idle && !self.paused { self.queue.pop_front() } else { None }
    }

    /// Adds a request for approval.
    pub(crate) fn ask(&mut self, question: ApprovalQuestion, at: Duration) {
        let on_screen = self.run.question(&question);
        self.asks(Waiting::ForApproval(question.answer), on_screen, at);
    }

    /// Adds a question of a model or a server.
    pub(crate) fn ask_for_words(&mut self, question: OpenQuestion, at: Duration) {
        let on_screen = RunView::open_question(&question);
        self.asks(Waiting::ForWords(question), on_screen, at);
    }

    fn asks(&mut self, question: Waiting, on_screen: ShownQuestion, at: Duration) {
        let is_first = self.asked.is_empty();
        let (words, only) = (None, Vec::new());
        self.asked.push_back(PendingQuestion { question, on_screen, since: at, words, only });
        if is_first {
            self.present(at);
        }
    }

    /// Shows the first question.
    fn present(&mut self, at: Duration) {
        let Some(asked) = self.asked.front_mut() else { return };
        asked.since = at;
        // Keys still go to a draft.
        if asked.wants_words() && self.composer.is_empty() {
            asked.words = Some(Composer::default());
        }
        let ShownQuestion { who, shown, asks, .. } = asked.on_screen.clone();
        if !shown.is_empty() {
            self.say(&shown);
        }
        // A question too long for the live rows is printed in full above them.
        if !crate::paint::has_room_for(&format!("{who}{asks}"), self.size) {
            self.say(&format!("? {who}{asks}"));
        }
        self.rings = Some("a question is waiting");
    }

    /// Removes questions that were withdrawn.
    pub(crate) fn drop_withdrawn(&mut self, at: Duration) {
        let front_is_gone = self.asked.front().is_some_and(PendingQuestion::is_withdrawn);
        if front_is_gone {
            self.put_words_aside(at);
        }
        self.asked.retain(|asked| !asked.is_withdrawn());
        if front_is_gone {
            // The change under review belongs to the withdrawn question.
            self.visit.take_if(|visit| matches!(visit, Visit::Review(_)));
            self.present(at);
        }
    }

    /// Ends the typing of an answer without sending it, so that it can be recalled. Returns false if none is being typed.
    fn put_words_aside(&mut self, at: Duration) -> bool {
        let typed = self.asked.front_mut().and_then(|asked| asked.words.take());
        let Some(typed) = typed.map(|words| words.text()) else { return false };
        if !typed.trim().is_empty() {
            self.history.push(typed);
            self.hint_at("the answer was not sent; Up brings it back", at);
        }
        true
    }

    pub(crate) fn answer_question(&mut self, answer: ApprovalAnswer, at: Duration) {
        let Some(asked) = self.asked.pop_front() else { return };
        let said = match &answer {
            ApprovalAnswer::Yes => "yes".to_owned(),
            ApprovalAnswer::Always => {
                let lasting = asked.on_screen.offers.lasting(&answer).unwrap_or_default();
                format!("always: {lasting}")
            }
            ApprovalAnswer::No => "no".to_owned(),
            ApprovalAnswer::Because(why) => format!("no{}", because(why)),
            ApprovalAnswer::Only { paths, why } => {
                let why = why.as_deref().map(because).unwrap_or_default();
                format!("only {}{why}", harmless(&paths.join(", ")))
            }
        };
        self.answered(&asked.on_screen, &said);
        if let Waiting::ForApproval(wants) = asked.question {
            // A question that was withdrawn needs no answer.
            wants.send(answer).ok();
        }
        self.present(at);
    }

    /// Sends the typed answer.
    fn answer_in_words(&mut self, words: String, at: Duration) {
        match self.asked.front() {
            Some(PendingQuestion { question: Waiting::ForWords(_), .. }) => {}
            Some(PendingQuestion { only, .. }) if !only.is_empty() => {
                let why = Some(words.trim().to_owned()).filter(|why| !why.is_empty());
                let only = ApprovalAnswer::Only { paths: only.clone(), why };
                return self.answer_question(only, at);
            }
            _ if words.trim().is_empty() => return self.answer_question(ApprovalAnswer::No, at),
            _ => return self.answer_question(ApprovalAnswer::Because(words.trim().to_owned()), at),
        }
        let Some(asked) = self.asked.pop_front() else { return };
        if let Waiting::ForWords(OpenQuestion { if_empty, answer, .. }) = asked.question {
            let said = if words.trim().is_empty() { &if_empty } else { words.trim() };
            self.answered(&asked.on_screen, &harmless_text(said));
            answer.send(words).ok();
        }
        self.present(at);
    }

    fn answered(&mut self, ShownQuestion { who, asks, .. }: &ShownQuestion, said: &str) {
        self.say(&format!("  {who}{asks} {said}"));
    }

    /// Sets the files of the workspace, for completion.
    pub(crate) fn know_files(&mut self, files: Vec<String>, at: Duration) {
        match std::mem::replace(&mut self.files, Files::Known(files)) {
            Files::WantedByTab => drop(self.complete_path(at)),
            Files::Unknown | Files::Wanted | Files::Known(_) => drop(self.complete()),
        }
    }

    /// Sets what an argument can name, for completion.
    pub(crate) fn know_named(&mut self, named: Named, candidates: Vec<Completion>) {
        self.named.insert(named, candidates);
        self.complete();
    }

    /// Returns the hint to show at this time.
    pub(crate) fn hint(&self, at: Duration) -> Option<&str> {
        self.hint.as_ref().filter(|(_, until)| at < *until).map(|(hint, _)| hint.as_str())
    }

    pub(super) fn hint_at(&mut self, hint: impl Into<String>, at: Duration) {
        self.hint = Some((hint.into(), at + TWICE));
    }

    /// Returns when the screen next changes by itself; `None` if it does not.
    pub(crate) fn wakes(&self, at: Duration) -> Option<Duration> {
        const TICK: Duration = Duration::from_millis(125);
        let hint = self.hint.as_ref().map(|(_, until)| *until).filter(|until| at < *until);
        let moves = self.work != CurrentWork::Idle && self.asked.is_empty();
        let work = moves.then(|| at + TICK);
        hint.into_iter().chain(work).min()
    }
}

/// Adds a reason to an answer.
fn because(why: &str) -> String {
    let why = harmless_text(why);
    format!(", because {}", why.strip_prefix("because ").unwrap_or(&why))
}

#[cfg(test)]
mod tests;
