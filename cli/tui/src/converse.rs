//! The conversation as it goes: keys, signals of the run, the clock and the size of the terminal in; frames out.

mod acts;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::delivery::{Delivery, Level};
use actors::event::Event;
use actors::publisher::Signal;
use config::Config;
use front::diff::harmless_text;
use front::error::{CliError, Kind};
use front::exit;
use front::interrupts::{Interrupt, Interrupts};
use front::paint::{Background, Paint};
use front::run_view::UndoPoint;
use front::session::{Happened, Session};
use orchestrator::lock::LockError;
use orchestrator::orchestrator::Outcome;
use orchestrator::request::Request;
use rustix::process::Signal as Number;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::as_given_here;
use crate::conversation::{Conversation, Facts, Setting, Work};
use crate::history::History;
use crate::keys::{ASK_BACKGROUND, Key, Keys};
use crate::paint;
use crate::picker::KeptSession;
use crate::screen::{self, Narrowing, Screen};
use crate::terminal::{self, Terminal};

/// At most so often is something painted that nobody typed.
const PACE: Duration = Duration::from_millis(33);
/// The user is called at the end of a request that took this long.
const LONG: Duration = Duration::from_secs(20);

/// What a conversation begins with.
#[derive(Debug)]
pub struct Opening {
    /// What stays the same.
    pub facts: Facts,
    /// Whether to colour.
    pub paint: Paint,
    /// What the terminal's text stands on, where that is known.
    pub background: Option<Background>,
    /// Whether the terminal is one that cuts rows which become too long, and does not wrap them anew.
    pub cuts: bool,
    /// Where messages are kept for later conversations.
    pub history: PathBuf,
    /// How far a change has to be verified.
    pub require: Option<Level>,
    /// What is printed first.
    pub banner: String,
    /// What `/undo` undoes before the first request.
    pub undo: UndoPoint,
}

/// A line of shell that runs: what is to be said of its end, or why it was not run. Dropping it ends the command with all that it
/// started.
pub type Shell = Pin<Box<dyn Future<Output = Result<String, String>>>>;

/// Is given what a line of shell prints, as it comes.
pub type Hears = Box<dyn FnMut(&[u8]) + Send>;

/// What a conversation wants of the program around it. Called off the runtime, with the terminal as it was before.
pub trait Host: Send + Sync {
    /// Runs a command of the program, which prints what it has to say.
    fn command(&self, words: &[String]);

    /// Runs a line of shell behind walls, away from the terminal. Called on the runtime.
    fn shell(&self, line: &str, hears: Hears) -> Shell;

    /// The configuration with one setting changed, which it stays from then on; an error says why that cannot be.
    fn configured(&self, setting: Setting, value: &str) -> Result<Config, String>;

    /// The files of the workspace, by path.
    fn files(&self) -> Vec<String>;

    /// The sessions of the workspace that something was asked in, newest first; an error says why they are not known.
    fn sessions(&self) -> Result<Vec<KeptSession>, String>;

    /// The id of the session that is called so; an error says why there is none.
    fn session(&self, called: &str) -> Result<String, String>;

    /// Returns true if a session is open, in this process or in another one.
    fn is_open(&self, session: &str) -> bool;

    /// Whether what a review is to be of can be reviewed; an error says why not.
    fn reviewable(&self, what: &str) -> Result<(), String>;

    /// A text as the user changes it in an editor; an error says why there is none.
    fn edited(&self, text: &str) -> Result<String, String>;
}

/// Why a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// The user left.
    ForGood,
    /// For another session, with this id.
    For(String),
    /// For a new session.
    ForANew,
}

/// Talks at the terminal until the user leaves.
pub async fn converse(
    session: Session,
    opening: Opening,
    host: Arc<dyn Host>,
) -> Result<Left, CliError> {
    let interrupts = Interrupts::listen()?;
    let (terminal, typed) = Terminal::enter().map_err(|error| no_terminal(&error))?;
    // The program does not wait for the answer: what is painted before it comes is painted for any background.
    if opening.paint.is_coloured() && opening.background.is_none() {
        terminal::write(ASK_BACKGROUND).map_err(|error| no_terminal(&error))?;
    }
    let history = History::read(opening.history);
    let narrowing = if opening.cuts { Narrowing::Cuts } else { Narrowing::Wraps };
    let mut talk = Conversation::new(opening.facts, opening.paint, history.messages.clone());
    talk.say(&as_given_here(&opening.banner));
    talk.run.resumes_after(opening.undo);
    let mut it = Converse {
        talk,
        session,
        terminal,
        interrupts,
        screen: Screen::new(narrowing),
        keys: Keys::default(),
        history,
        host,
        require: opening.require,
        begun: Instant::now(),
        request_begun: Duration::ZERO,
        typed,
        drawn: None,
        leaves: false,
        was_suspended: false,
        is_gone: false,
        left: None,
        shell: None,
    };
    let ended = it.go().await;
    terminal::visit(false);
    let last = it.screen.leave(Terminal::size());
    terminal::write(&last).ok();
    let left = it.left.take();
    let Converse { session, terminal, .. } = it;
    drop(terminal);
    ended?;
    let Some(left) = left else { return Ok(Left::ForGood) };
    session.close().await;
    Ok(left)
}

struct Converse {
    talk: Conversation,
    session: Session,
    terminal: Terminal,
    interrupts: Interrupts,
    screen: Screen,
    keys: Keys,
    history: History,
    host: Arc<dyn Host>,
    require: Option<Level>,
    begun: Instant,
    request_begun: Duration,
    /// What was typed while the terminal was not ours.
    typed: Vec<u8>,
    /// When the last frame was drawn.
    drawn: Option<Duration>,
    /// Whether it ends when the request in hand has.
    leaves: bool,
    /// Whether it was stopped by its own doing, and has not heard yet that it goes on.
    was_suspended: bool,
    /// Whether the terminal can no longer be read or written.
    is_gone: bool,
    /// What takes the place of this session.
    left: Option<Left>,
    /// The line of shell that runs.
    shell: Option<Shell>,
}

/// Whether the conversation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    On,
    End,
}

/// What woke the conversation up.
enum Woken {
    Typed(std::io::Result<Vec<u8>>),
    Session(Happened),
    /// The line of shell has ended.
    Ran(Result<String, String>),
    Interrupted(Interrupt),
    Resized,
    /// The program had been stopped, and its shell may have changed the settings of the terminal.
    Continued,
    Time,
}

impl Converse {
    async fn go(&mut self) -> Result<(), CliError> {
        let listen = |kind| signal(kind).map_err(|error| no_terminal(&error));
        let mut resized = listen(SignalKind::window_change())?;
        let mut continued = listen(SignalKind::from_raw(Number::CONT.as_raw()))?;
        self.resume();
        if !self.session.is_at_work() {
            self.session.let_go();
        }
        let mut is_dirty = true;
        loop {
            self.talk.drop_withdrawn(self.at());
            self.talk.hear();
            if !self.session.is_at_work()
                && let Some(request) = self.talk.next()
            {
                self.begin(request).await?;
                is_dirty = true;
            }
            let due = self.drawn.map_or(Duration::ZERO, |drawn| drawn + PACE);
            if is_dirty && self.at() >= due {
                self.draw();
                is_dirty = false;
            }
            if self.is_gone && !self.leaves && self.leave() == Then::End {
                return Ok(());
            }
            if !self.typed.is_empty() {
                let typed = std::mem::take(&mut self.typed);
                if self.typed(Ok(typed)).await? == Then::End {
                    return Ok(());
                }
                is_dirty = true;
                continue;
            }
            let wake = self.wakes(is_dirty.then_some(due));
            let woken = tokio::select! {
                biased;
                typed = self.terminal.read(), if !self.is_gone => Woken::Typed(typed),
                interrupt = self.interrupts.next() => Woken::Interrupted(interrupt),
                next = self.session.next() => Woken::Session(next),
                ran = ended(&mut self.shell) => Woken::Ran(ran),
                _ = resized.recv() => Woken::Resized,
                _ = continued.recv() => Woken::Continued,
                () = sleep_until(wake, self.begun) => Woken::Time,
            };
            let then = match woken {
                Woken::Typed(typed) => {
                    // What was typed is shown at once.
                    self.drawn = None;
                    self.typed(typed).await?
                }
                Woken::Session(Happened::Signal(signal)) => {
                    self.told(signal);
                    Then::On
                }
                Woken::Session(Happened::Ended(Ok(outcome))) => self.ended(&outcome),
                Woken::Session(Happened::Ended(Err(died))) => return Err(exit::died(&died)),
                Woken::Session(Happened::Applied(_)) | Woken::Resized => Then::On,
                Woken::Ran(ran) => {
                    self.shell = None;
                    self.talk.ran(&ran.unwrap_or_else(|why| why));
                    Then::On
                }
                Woken::Continued => {
                    self.continued()?;
                    Then::On
                }
                Woken::Interrupted(interrupt) => self.interrupted(interrupt)?,
                Woken::Time => self.lapsed().await?,
            };
            if then == Then::End {
                return Ok(());
            }
            is_dirty = true;
        }
    }

    /// The program goes on after it was stopped from outside: what stands on the screen is not known any more.
    fn continued(&mut self) -> Result<(), CliError> {
        if !std::mem::take(&mut self.was_suspended) {
            self.typed.extend(Terminal::take().map_err(|error| no_terminal(&error))?);
            self.screen.forget();
        }
        Ok(())
    }

    fn at(&self) -> Duration {
        self.begun.elapsed()
    }

    /// When to wake up by itself, if ever: nothing moves while nobody works or types.
    fn wakes(&self, due: Option<Duration>) -> Option<Duration> {
        let at = self.at();
        let keys = self.keys.patience().map(|patience| at + patience);
        [due, keys, self.talk.wakes(at)].into_iter().flatten().min()
    }

    fn draw(&mut self) {
        let (at, size) = (self.at(), Terminal::size());
        self.talk.size = size;
        if let Some(visit) = &self.talk.visit {
            // While it lasts, nothing of ours stands on the main screen, and nothing is printed there.
            let shown = screen::whole(&visit.rows(size, self.talk.paint), size);
            if !terminal::is_away() {
                let left = self.screen.leave(size);
                self.write(&left);
                terminal::visit(true);
            }
            self.drawn = Some(at);
            let calls = self.calls();
            return self.write(&(shown + &calls));
        }
        terminal::visit(false);
        let above = self.talk.take_above();
        let mut out = self.screen.show(&above, &paint::frame(&self.talk, size, at), size);
        out.push_str(&self.calls());
        self.drawn = Some(at);
        self.write(&out);
    }

    /// The bytes that call the user, if there is a reason.
    fn calls(&mut self) -> String {
        let why = self.talk.take_ring();
        why.map(|why| self.talk.facts.calls.bytes(why)).unwrap_or_default()
    }

    /// Writes to the terminal. When it is gone, the end comes as if the user had left.
    fn write(&mut self, out: &str) {
        if !self.is_gone && !out.is_empty() && terminal::write(out).is_err() {
            self.is_gone = true;
        }
    }

    /// Takes up the run that was interrupted in the session, if there is one.
    fn resume(&mut self) {
        let at = self.at();
        let Some(cut_short) = self.session.cut_short() else { return };
        let request = cut_short.request().lines().next().unwrap_or_default();
        let note = harmless_text(&format!("resuming: {request}"));
        self.talk.run.submitted(at);
        for recorded in cut_short.events() {
            self.talk.run.earlier(&recorded.scope, &recorded.event, at);
        }
        self.talk.say(&note);
        self.talk.work = Work::Busy;
        self.request_begun = at;
        self.session.take_up();
    }

    /// Begins a request, once the workspace is free. While another process works there, keys wait for as long as the lock does.
    async fn begin(&mut self, request: Request) -> Result<(), CliError> {
        self.request_begun = self.at();
        self.talk.begun(&request.text, self.request_begun);
        self.draw();
        let (at, talk, screen) = (self.at(), &mut self.talk, &mut self.screen);
        let waits = |held: &LockError| {
            talk.say(&format!("waiting: {held}"));
            let (above, size) = (talk.take_above(), Terminal::size());
            // A terminal that is gone is noticed by the next frame.
            terminal::write(&screen.show(&above, &paint::frame(talk, size, at), size)).ok();
        };
        if let Err(error) = self.session.take_hold(waits).await {
            self.talk.say(&exit::locked(&error).to_string());
            self.talk.ended();
            return Ok(());
        }
        self.session.begin(request);
        Ok(())
    }

    fn told(&mut self, signal: Signal) {
        let at = self.at();
        let told = self.talk.run.signal(&signal, at);
        self.talk.tell(told);
        if let Signal::Event(envelope) = &signal
            && let Event::UserSteered { words } = &envelope.event
        {
            self.talk.steered(words.len());
        }
        match signal {
            Signal::Question(question) => self.talk.ask(question, at),
            Signal::Asked(question) => self.talk.ask_for_words(question, at),
            Signal::Event(_)
            | Signal::Text(..)
            | Signal::Reasoning(..)
            | Signal::Waiting(..)
            | Signal::Confined(_) => {}
        }
    }

    fn ended(&mut self, outcome: &Outcome) -> Then {
        let at = self.at();
        let told = self.talk.run.outcome(outcome, &self.session.id, at);
        self.talk.tell(told);
        self.talk.ended();
        if at.saturating_sub(self.request_begun) < LONG {
            self.talk.take_ring();
        }
        // That the user has stopped it is already shown.
        if outcome.delivery != Delivery::Cancelled
            && let Err(error) = exit::of(&outcome.delivery, self.require)
        {
            self.talk.say(&harmless_text(&as_given_here(&error.to_string())));
        }
        self.session.let_go();
        if self.leaves { Then::End } else { Then::On }
    }

    async fn typed(&mut self, typed: std::io::Result<Vec<u8>>) -> Result<Then, CliError> {
        let Ok(bytes) = typed else {
            self.is_gone = true;
            return Ok(self.leave());
        };
        let keys = self.keys.feed(&bytes);
        self.pressed(keys).await
    }

    /// Time went by.
    async fn lapsed(&mut self) -> Result<Then, CliError> {
        if self.keys.patience().is_none() {
            return Ok(Then::On);
        }
        let keys = self.keys.lapse();
        self.pressed(keys).await
    }

    async fn pressed(&mut self, keys: Vec<Key>) -> Result<Then, CliError> {
        for key in keys {
            for act in self.talk.key(key, self.at()) {
                if self.act(act).await? == Then::End {
                    return Ok(Then::End);
                }
            }
        }
        Ok(Then::On)
    }

    /// A signal from outside.
    fn interrupted(&mut self, interrupt: Interrupt) -> Result<Then, CliError> {
        match (interrupt, self.talk.work) {
            (Interrupt::Leave, _) => return Ok(self.leave()),
            (Interrupt::Stop, Work::Stopping) => {
                return Err(CliError::new(Kind::Interrupted, "stopped at once"));
            }
            (Interrupt::Stop, Work::Busy) => {
                self.talk.cancel();
                self.session.cancel();
            }
            (Interrupt::Stop, Work::Shell) => {
                self.talk.cancel();
                self.shell = None;
            }
            (Interrupt::Stop, Work::Idle) => {}
        }
        Ok(Then::On)
    }

    /// Leaves at once, or as soon as the request in hand has stopped.
    fn leave(&mut self) -> Then {
        if !self.talk.work.is_a_request() {
            return Then::End;
        }
        if !self.talk.cancel().is_empty() {
            self.session.cancel();
        }
        self.leaves = true;
        Then::On
    }
}

/// Waits for the end of a line of shell, if one runs.
async fn ended(shell: &mut Option<Shell>) -> Result<String, String> {
    match shell {
        Some(shell) => shell.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Duration>, begun: Instant) {
    match at {
        Some(at) => tokio::time::sleep_until((begun + at).into()).await,
        None => std::future::pending().await,
    }
}

fn no_terminal(error: &std::io::Error) -> CliError {
    CliError::caused(Kind::Internal, error).hint("--plain needs less of the terminal")
}
