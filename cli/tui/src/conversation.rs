//! The state of a conversation: the input, the queue, what is asked, what is known of the run; and what a key does to them.
//! It decides and has no effects: those it wants are [`Act`]s. Pure: times are given.

mod facts;
mod lines;
mod pressed;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actors::publisher::{Answer, OpenQuestion, Question};
use front::answer::OnScreen;
use front::diff::{harmless, harmless_text};
use front::heard::Heard;
use front::paint::Paint;
use front::run_view::{Accounts, CommandsGiven, Detail, RunView, Shows, Streams, Told};
use orchestrator::request::Request;
use tokio::sync::oneshot;

use crate::completion::Menu;
use crate::composer::Composer;
use crate::keys::Key;
use crate::markdown::Markdown;
use crate::picker::{KeptSession, Picker};
use crate::screen::Size;
use crate::visit::{Does, Pages, Review, Visit};

pub use self::facts::{Calls, Facts, Setting, Visits};

/// Keys that were on their way when a question appeared are no answer to it.
const DEAF: Duration = Duration::from_millis(300);
/// The second press of a key that has to be pressed twice comes within this.
const TWICE: Duration = Duration::from_secs(2);

/// So many lines of a message are printed; the rest is in the journal.
const SHOWN: usize = 12;

/// What the conversation wants done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Take this request to its end.
    Begin(Request),
    /// Have changes reviewed, if they can be.
    Review(String),
    /// Tell the request in hand.
    Steer(String),
    /// Stop the request in hand.
    Cancel,
    /// Stop everything, whatever is at work.
    StopAtOnce,
    Leave,
    /// Let the shell have the terminal for a while.
    Suspend,
    /// Run a command of the program at the terminal.
    Program(Vec<String>),
    /// Run a line of shell, behind walls.
    Shell(String),
    /// End the line of shell that runs.
    Kill,
    /// Change the configuration of the requests that follow.
    Set(Setting, String),
    /// Open the input in the user's editor.
    Edit,
    /// Find out which files there are.
    FindFiles,
    /// Paint everything again.
    Redraw,
    /// Find out which sessions there are.
    FindSessions,
    /// Leave this session for another.
    Resume(String),
    /// Leave it for a new one.
    Clear,
    /// Keep a message for later conversations.
    Keep(String),
}

/// What is in hand: a request, or a line of shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Idle,
    /// A line of shell runs.
    Shell,
    /// A request is at work.
    Busy,
    /// It was told to stop.
    Stopping,
}

impl Work {
    /// Whether it is a request.
    pub(crate) const fn is_a_request(self) -> bool {
        matches!(self, Self::Busy | Self::Stopping)
    }
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    question: Waiting,
    pub(crate) on_screen: OnScreen,
    since: Duration,
    /// The words of the answer, while they are typed: why not, or what a model wants to know.
    pub(crate) words: Option<Composer>,
    /// The files of the change that are wanted, where others are not.
    pub(crate) only: Vec<String>,
}

/// Who waits for what.
#[derive(Debug)]
enum Waiting {
    ForApproval(oneshot::Sender<Answer>),
    ForWords(OpenQuestion),
}

impl Asked {
    /// Whether it is answered in words only.
    pub(crate) const fn wants_words(&self) -> bool {
        matches!(self.question, Waiting::ForWords(_))
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
    pub(crate) work: Work,
    pub(crate) composer: Composer,
    pub(crate) menu: Option<Menu>,
    /// What has the whole screen, for as long as the user wants.
    pub(crate) visit: Option<Visit>,
    /// The terminal as it was when it was painted last.
    pub(crate) size: Size,
    /// Everything that was printed.
    printed: Vec<String>,
    pub(crate) asked: VecDeque<Asked>,
    pub(crate) queue: VecDeque<Request>,
    /// What was said to the request at work, and no model was told yet.
    steering: VecDeque<String>,
    /// Whether what is queued waits until the user says so.
    pub(crate) paused: bool,
    /// Whether there is only a question, with no input and no settings below it.
    pub(crate) is_alone: bool,
    pub(crate) answer: Markdown,
    /// What the line of shell prints.
    pub(crate) heard: Arc<Mutex<Heard>>,
    /// Something to be told for a moment, and until when.
    hint: Option<(String, Duration)>,
    /// Finished text that has not been printed, in whole lines.
    above: String,
    files: Option<Vec<String>>,
    history: Vec<String>,
    /// The input as it was before a search among earlier messages, while there is one: what is searched for has its place.
    pub(crate) search: Option<Composer>,
    /// How many messages back the input is from, and what was typed before.
    back: Option<(usize, String)>,
    /// The key that was pressed once and has to be pressed twice, and until when that counts.
    once: Option<(Key, Duration)>,
    ctrl_x: bool,
    rings: Option<&'static str>,
}

impl Conversation {
    pub(crate) fn new(facts: Facts, paint: Paint, history: Vec<String>) -> Self {
        let shows = Shows {
            paint,
            detail: Detail::Beside,
            streams: Streams::AsItComes,
            accounts: Accounts::InALine,
            commands: CommandsGiven::OfTheConversation,
            commits: facts.commits,
        };
        let run = RunView::new(shows, Duration::ZERO);
        Self {
            facts,
            paint,
            run,
            work: Work::Idle,
            composer: Composer::default(),
            menu: None,
            visit: None,
            size: Size { columns: 80, rows: 24 },
            printed: Vec::new(),
            asked: VecDeque::new(),
            queue: VecDeque::new(),
            steering: VecDeque::new(),
            paused: false,
            is_alone: false,
            answer: Markdown::default(),
            heard: Arc::default(),
            hint: None,
            above: String::new(),
            files: None,
            history,
            search: None,
            back: None,
            once: None,
            ctrl_x: false,
            rings: None,
        }
    }

    /// Nothing but this question, for whoever has no conversation.
    pub(crate) fn for_a_question(
        facts: Facts,
        paint: Paint,
        on_screen: OnScreen,
        answer: oneshot::Sender<Answer>,
    ) -> Self {
        let mut alone = Self::new(facts, paint, Vec::new());
        alone.is_alone = true;
        alone.asks(Waiting::ForApproval(answer), on_screen, Duration::ZERO);
        alone
    }

    /// Prints lines above the live rows.
    pub(crate) fn say(&mut self, text: &str) {
        self.above.push_str(text.trim_end_matches('\n'));
        self.above.push('\n');
    }

    /// Prints a line above the live rows, also an empty one.
    fn say_line(&mut self, line: &str) {
        self.above.push_str(line);
        self.above.push('\n');
    }

    /// The finished text since the last time.
    pub(crate) fn take_above(&mut self) -> String {
        let above = std::mem::take(&mut self.above);
        self.printed.extend(above.lines().map(str::to_owned));
        above
    }

    /// Shows everything that was printed, its end first.
    pub(super) fn show_transcript(&mut self, at: Duration) {
        if self.facts.visits == Visits::Never {
            return self.hint_at("the terminal's own history has it", at);
        }
        let mut lines = self.printed.clone();
        lines.extend(self.above.lines().map(str::to_owned));
        self.visit = Some(Visit::Transcript(Pages::at_end(lines, self.size)));
    }

    /// Shows the change that is asked about on a screen of its own. Whether there is one.
    pub(super) fn review(&mut self) -> bool {
        let asked = self.asked.front().filter(|_| self.facts.visits == Visits::Allowed);
        let review =
            asked.and_then(|asked| Review::of(&asked.on_screen.shown, asked.on_screen.change?));
        self.visit = review.map(Visit::Review);
        self.visit.is_some()
    }

    /// Lets the user choose one of these sessions.
    pub(crate) fn offer_sessions(&mut self, kept: Vec<KeptSession>) {
        self.visit = Some(Visit::Sessions(Picker::new(kept)));
    }

    /// A key while something has the whole screen.
    fn visit_key(&mut self, key: &Key, at: Duration) -> Vec<Act> {
        let Some(visit) = &mut self.visit else { return Vec::new() };
        match visit.key(key, self.size) {
            Does::Stays => return Vec::new(),
            Does::Leaves => {}
            Does::Answers(Answer::No) => self.ask_why(Vec::new()),
            Does::Answers(Answer::Only { paths, .. }) => self.ask_why(paths),
            Does::Answers(answer) => self.answer_question(answer, at),
            Does::Resumes(id) => {
                self.visit = None;
                return vec![Act::Resume(id)];
            }
        }
        self.visit = None;
        Vec::new()
    }

    /// Has the user say what is wrong: with the change, or with what is not among these paths.
    fn ask_why(&mut self, only: Vec<String>) {
        let Some(asked) = self.asked.front_mut() else { return };
        (asked.words, asked.only) = (Some(Composer::default()), only);
    }

    /// Why the user is to be called since the last time, if so.
    pub(crate) const fn take_ring(&mut self) -> Option<&'static str> {
        self.rings.take()
    }

    /// Takes in what the run has told.
    pub(crate) fn tell(&mut self, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Line(text) => {
                    let rest = self.answer.end(self.paint);
                    self.above.push_str(&rest);
                    self.say(&text);
                }
                Told::Piece(text) => {
                    let lines = self.answer.take_in(&text, self.paint);
                    self.above.push_str(&lines);
                }
            }
        }
    }

    /// A request has begun at this time.
    pub(crate) fn begun(&mut self, text: &str, at: Duration) {
        self.work = Work::Busy;
        self.run.submitted(at);
        let mut shown = harmless_text(text);
        if shown.lines().count() > SHOWN {
            let more = shown.lines().count() - SHOWN;
            let first: Vec<&str> = shown.lines().take(SHOWN).collect();
            shown = format!("{}\n… {more} more lines", first.join("\n"));
        }
        self.say(&format!("› {}", shown.replace('\n', "\n  ")));
    }

    /// The request at work will be told.
    pub(crate) fn steers(&mut self, words: String) {
        self.steering.push_back(words);
    }

    /// It cannot be: what was said comes behind it.
    pub(crate) fn not_steered(&mut self, words: &str, why: &str) {
        self.say(&format!("  {why}: queued"));
        self.queue.push_back(Request::new(words, self.facts.intent));
    }

    /// So much of what was said has been told.
    pub(crate) fn steered(&mut self, count: usize) {
        self.steering.drain(..count.min(self.steering.len()));
    }

    /// The request in hand has ended. What no model was told of it any more comes next, then what is queued, unless the user
    /// stopped it.
    pub(crate) fn ended(&mut self) {
        for words in std::mem::take(&mut self.steering).into_iter().rev() {
            self.say("  it ended before a model could be told: queued");
            self.queue.push_front(Request::new(words, self.facts.intent));
        }
        let rest = self.answer.end(self.paint);
        self.above.push_str(&rest);
        self.paused = self.work == Work::Stopping && !self.queue.is_empty();
        self.work = Work::Idle;
        self.asked.clear();
        // What is hinted at is about the request: that it runs, or how to stop it.
        self.hint = None;
        self.rings = Some("the request has ended");
    }

    /// Shows what the line of shell has printed since the last time.
    pub(crate) fn hear(&mut self) {
        let lines = self.heard.lock().unwrap_or_else(PoisonError::into_inner).ready();
        lines.iter().for_each(|line| self.say_line(line));
    }

    /// The line of shell has ended, so: what it printed is kept.
    pub(crate) fn ran(&mut self, told: &str) {
        self.work = Work::Idle;
        self.hint = None;
        let lines = std::mem::take(&mut self.heard);
        let lines = lines.lock().unwrap_or_else(PoisonError::into_inner).end();
        lines.iter().for_each(|line| self.say_line(line));
        if !told.is_empty() {
            self.say(&harmless_text(told));
        }
    }

    /// The request that is next, if one may begin.
    pub(crate) fn next(&mut self) -> Option<Request> {
        if self.work == Work::Idle && !self.paused { self.queue.pop_front() } else { None }
    }

    /// A question came up.
    pub(crate) fn ask(&mut self, question: Question, at: Duration) {
        let on_screen = self.run.question(&question);
        self.asks(Waiting::ForApproval(question.answer), on_screen, at);
    }

    /// A model wants to know something.
    pub(crate) fn ask_for_words(&mut self, question: OpenQuestion, at: Duration) {
        let on_screen = RunView::open_question(&question);
        self.asks(Waiting::ForWords(question), on_screen, at);
    }

    fn asks(&mut self, question: Waiting, on_screen: OnScreen, at: Duration) {
        let is_first = self.asked.is_empty();
        let (words, only) = (None, Vec::new());
        self.asked.push_back(Asked { question, on_screen, since: at, words, only });
        if is_first {
            self.present(at);
        }
    }

    /// The question in front stands on the screen from now on.
    fn present(&mut self, at: Duration) {
        let Some(asked) = self.asked.front_mut() else { return };
        asked.since = at;
        // A draft keeps the keys.
        if asked.wants_words() && self.composer.is_empty() {
            asked.words = Some(Composer::default());
        }
        let OnScreen { who, shown, asks, .. } = asked.on_screen.clone();
        if !shown.is_empty() {
            self.say(&shown);
        }
        // What the live rows have no room for is read in the history.
        if !crate::paint::has_room_for(&format!("{who}{asks}"), self.size) {
            self.say(&format!("? {who}{asks}"));
        }
        self.rings = Some("a question waits");
    }

    /// Drops questions whose answer is not wanted any more.
    pub(crate) fn drop_withdrawn(&mut self, at: Duration) {
        let front_is_gone = self.asked.front().is_some_and(Asked::is_withdrawn);
        self.asked.retain(|asked| !asked.is_withdrawn());
        if front_is_gone {
            // What was reviewed is not asked any more.
            self.visit.take_if(|visit| matches!(visit, Visit::Review(_)));
            self.present(at);
        }
    }

    pub(crate) fn answer_question(&mut self, answer: Answer, at: Duration) {
        let Some(asked) = self.asked.pop_front() else { return };
        let said = match &answer {
            Answer::Yes => "yes".to_owned(),
            Answer::Always => "always".to_owned(),
            Answer::No => "no".to_owned(),
            Answer::Because(why) => format!("no, because {}", harmless_text(why)),
            Answer::Only { paths, why } => {
                let because = why.as_ref().map(|why| format!(", because {}", harmless_text(why)));
                format!("only {}{}", harmless(&paths.join(", ")), because.unwrap_or_default())
            }
        };
        self.answered(&asked.on_screen, &said);
        if let Waiting::ForApproval(wants) = asked.question {
            // A question that was withdrawn needs no answer.
            wants.send(answer).ok();
        }
        self.present(at);
    }

    /// The words of an answer are complete.
    fn answer_in_words(&mut self, words: String, at: Duration) {
        match self.asked.front() {
            Some(Asked { question: Waiting::ForWords(_), .. }) => {}
            Some(Asked { only, .. }) if !only.is_empty() => {
                let why = Some(words.trim().to_owned()).filter(|why| !why.is_empty());
                let only = Answer::Only { paths: only.clone(), why };
                return self.answer_question(only, at);
            }
            _ if words.trim().is_empty() => return self.answer_question(Answer::No, at),
            _ => return self.answer_question(Answer::Because(words.trim().to_owned()), at),
        }
        let Some(asked) = self.asked.pop_front() else { return };
        let said = if words.trim().is_empty() { "the model decides" } else { words.trim() };
        self.answered(&asked.on_screen, &harmless_text(said));
        if let Waiting::ForWords(question) = asked.question {
            question.answer.send(words).ok();
        }
        self.present(at);
    }

    fn answered(&mut self, OnScreen { who, asks, .. }: &OnScreen, said: &str) {
        self.say(&format!("  {who}{asks} {said}"));
    }

    /// The files of the workspace are known.
    pub(crate) fn know_files(&mut self, files: Vec<String>) {
        self.files = Some(files);
        self.complete();
    }

    /// What is hinted at now.
    pub(crate) fn hint(&self, at: Duration) -> Option<&str> {
        self.hint.as_ref().filter(|(_, until)| at < *until).map(|(hint, _)| hint.as_str())
    }

    pub(super) fn hint_at(&mut self, hint: impl Into<String>, at: Duration) {
        self.hint = Some((hint.into(), at + TWICE));
    }

    /// When something on the screen changes because time goes by; none when nothing does.
    pub(crate) fn wakes(&self, at: Duration) -> Option<Duration> {
        const TICK: Duration = Duration::from_millis(125);
        let hint = self.hint.as_ref().map(|(_, until)| *until).filter(|until| at < *until);
        let moves = self.work != Work::Idle && self.asked.is_empty();
        let work = moves.then(|| at + TICK);
        hint.into_iter().chain(work).min()
    }
}

#[cfg(test)]
mod tests;
