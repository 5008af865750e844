//! The main loop of a conversation. Its inputs are keys, signals of the run, the clock and the terminal size; its outputs are frames.

mod acts;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use facts::delivery::{Delivery, Level};
use facts::event::Event;
use facts::signal::Signal;
use front::diff::harmless_text;
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::interrupts::{Interrupt, Interrupts};
use front::paint::{Background, Paint};
use front::run_view::UndoPoint;
use front::session::{Session, SessionEvent};
use orchestrator::request::Request;
use orchestrator::root::RequestOutcome;
use orchestrator::workspace::lock::LockError;
use rustix::process::Signal as Number;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::as_slash_commands;
use crate::conversation::{Conversation, CurrentWork, Facts};
use crate::history::InputHistory;
use crate::host::{Host, Shell};
use crate::keys::{ASK_BACKGROUND, Key, Keys};
use crate::paint;
use crate::screen::{self, Narrowing, Screen};
use crate::terminal::{self, HeldTerminal};

/// Minimum time between frames that are not caused by typing.
const PACE: Duration = Duration::from_millis(33);
/// The user is called at the end of requests that took at least this long.
const LONG: Duration = Duration::from_secs(20);

/// The initial state of a conversation.
#[derive(Debug)]
pub struct Opening {
    /// Facts and settings.
    pub facts: Facts,
    /// Whether to use colours.
    pub paint: Paint,
    /// The background of the terminal, if known.
    pub background: Option<Background>,
    /// True if the terminal, when narrowed, cuts off rows that become too long instead of wrapping them again.
    pub cuts: bool,
    /// The file that keeps messages for later conversations.
    pub history: PathBuf,
    /// How far a change must be verified; `None` if no level is required.
    pub require: Option<Level>,
    /// The first lines to print.
    pub banner: String,
    /// What `/undo` undoes before the first request.
    pub undo: UndoPoint,
}

/// Why a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationEnd {
    /// The user is done.
    Exit,
    /// To switch to the session with this id.
    Resume(String),
    /// To start a new session.
    New,
}

/// Runs a conversation at the terminal until the user leaves.
pub async fn converse(
    session: Session,
    opening: Opening,
    host: Arc<dyn Host>,
) -> Result<ConversationEnd, CliError> {
    let interrupts = Interrupts::listen()?;
    let (terminal, typed) = HeldTerminal::enter().map_err(|error| no_terminal(&error))?;
    // The answer is not awaited: until it arrives, the colours suit any background.
    if opening.paint.is_coloured() && opening.background.is_none() {
        terminal::write_to_terminal(ASK_BACKGROUND).map_err(|error| no_terminal(&error))?;
    }
    let history = InputHistory::read(opening.history);
    let narrowing = if opening.cuts { Narrowing::Cuts } else { Narrowing::Wraps };
    let mut talk = Conversation::new(opening.facts, opening.paint, history.messages.clone());
    talk.say(&as_slash_commands(&opening.banner));
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
    terminal::leave();
    let last = it.screen.leave(HeldTerminal::size());
    terminal::write_to_terminal(&last).ok();
    let left = it.left.take();
    let Converse { session, terminal, .. } = it;
    drop(terminal);
    ended?;
    let Some(left) = left else { return Ok(ConversationEnd::Exit) };
    session.close().await;
    Ok(left)
}

struct Converse {
    talk: Conversation,
    session: Session,
    terminal: HeldTerminal,
    interrupts: Interrupts,
    screen: Screen,
    keys: Keys,
    history: InputHistory,
    host: Arc<dyn Host>,
    require: Option<Level>,
    begun: Instant,
    request_begun: Duration,
    /// Input that was typed while the program did not have the terminal.
    typed: Vec<u8>,
    /// When the last frame was drawn.
    drawn: Option<Duration>,
    /// True if the conversation ends with the running request.
    leaves: bool,
    /// True if the program suspended itself and has not yet received the signal to continue.
    was_suspended: bool,
    /// True if the terminal can no longer be read or written.
    is_gone: bool,
    /// The session to switch to; `None` if the user just leaves.
    left: Option<ConversationEnd>,
    /// The running shell command.
    shell: Option<Shell>,
}

/// Whether the conversation continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    On,
    End,
}

/// What woke the conversation up.
enum Woken {
    Typed(std::io::Result<Vec<u8>>),
    Session(SessionEvent),
    /// The shell command has ended.
    Ran(Result<String, String>),
    Interrupted(Interrupt),
    Resized,
    /// The program was suspended, and the shell may have changed the settings of the terminal.
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
            self.session.release();
        }
        let mut is_dirty = true;
        loop {
            self.talk.drop_withdrawn(self.at());
            self.talk.print_shell_output();
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
                    // Typed text is shown at once.
                    self.drawn = None;
                    self.typed(typed).await?
                }
                Woken::Session(SessionEvent::Signal(signal)) => {
                    self.signalled(signal);
                    Then::On
                }
                Woken::Session(SessionEvent::Ended(Ok(outcome))) => self.ended(&outcome),
                Woken::Session(SessionEvent::Ended(Err(died))) => return Err(exit::died(&died)),
                Woken::Session(
                    SessionEvent::Applied(_)
                    | SessionEvent::AutopilotNews(_)
                    | SessionEvent::AutopilotEnded(_),
                )
                | Woken::Resized => Then::On,
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

    /// Takes the terminal back after the program was suspended from outside. The contents of the screen are unknown then.
    fn continued(&mut self) -> Result<(), CliError> {
        if !std::mem::take(&mut self.was_suspended) {
            self.typed.extend(HeldTerminal::take().map_err(|error| no_terminal(&error))?);
            self.screen.forget();
        }
        Ok(())
    }

    fn at(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns when to wake up without input; `None` if nothing on the screen will change.
    fn wakes(&self, due: Option<Duration>) -> Option<Duration> {
        let at = self.at();
        let keys = self.keys.patience().map(|patience| at + patience);
        [due, keys, self.talk.wakes(at)].into_iter().flatten().min()
    }

    fn draw(&mut self) {
        let (at, size) = (self.at(), HeldTerminal::size());
        self.talk.size = size;
        if let Some(visit) = &self.talk.visit {
            // Meanwhile the main screen has no live rows, and nothing is printed there.
            let shown = screen::whole(&visit.rows(size, self.talk.paint), size);
            if !terminal::is_away() {
                let left = self.screen.leave(size);
                self.write(&left);
                terminal::visit(self.talk.facts.alternate_screen);
            }
            self.drawn = Some(at);
            let calls = self.calls();
            return self.write(&(shown + &calls));
        }
        terminal::leave();
        let above = self.talk.output.take();
        let mut out = self.screen.show(&above, &paint::frame(&self.talk, size, at), size);
        out.push_str(&self.calls());
        self.drawn = Some(at);
        self.write(&out);
    }

    /// Returns the bytes that call the user; empty if there is no reason.
    fn calls(&mut self) -> String {
        let why = self.talk.take_ring();
        why.map(|why| self.talk.facts.calls.bytes(why)).unwrap_or_default()
    }

    /// Writes to the terminal. If it is gone, the conversation ends as if the user had left.
    fn write(&mut self, out: &str) {
        if !self.is_gone && !out.is_empty() && terminal::write_to_terminal(out).is_err() {
            self.is_gone = true;
        }
    }

    /// Resumes the interrupted run of the session, if there is one.
    fn resume(&mut self) {
        let at = self.at();
        let Some(interrupted) = self.session.interrupted() else { return };
        let request = interrupted.request().lines().next().unwrap_or_default();
        let note = harmless_text(&format!("resuming: {request}"));
        self.talk.run.submitted(at);
        for recorded in interrupted.events() {
            self.talk.run.earlier(&recorded.scope, &recorded.event, at);
        }
        self.talk.say(&note);
        self.talk.work = CurrentWork::Busy;
        self.request_begun = at;
        self.session.resume();
    }

    /// Starts a request once no other process uses the workspace. Keys are not handled until then.
    async fn begin(&mut self, request: Request) -> Result<(), CliError> {
        self.request_begun = self.at();
        self.talk.begun(&request.text, self.request_begun);
        self.draw();
        let (at, talk, screen) = (self.at(), &mut self.talk, &mut self.screen);
        let waits = |held: &LockError| {
            talk.say(&format!("waiting: {held}"));
            let (above, size) = (talk.output.take(), HeldTerminal::size());
            // A terminal that is gone is noticed by the next frame.
            terminal::write_to_terminal(&screen.show(&above, &paint::frame(talk, size, at), size))
                .ok();
        };
        if let Err(error) = self.session.acquire(waits).await {
            self.talk.say(&exit::locked(&error).to_string());
            self.talk.ended();
            return Ok(());
        }
        self.session.begin(request);
        Ok(())
    }

    fn signalled(&mut self, signal: Signal) {
        let at = self.at();
        let shown = self.talk.run.signal(&signal, at);
        self.talk.print(shown);
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
            | Signal::Paused(..)
            | Signal::Unapprovable(_)
            | Signal::Confined(_) => {}
        }
    }

    fn ended(&mut self, outcome: &RequestOutcome) -> Then {
        let at = self.at();
        let shown = self.talk.run.outcome(outcome, &self.session.id, at);
        self.talk.print(shown);
        self.talk.ended();
        if at.saturating_sub(self.request_begun) < LONG {
            self.talk.take_ring();
        }
        // That the user has stopped it is already shown.
        if outcome.delivery != Delivery::Cancelled
            && let Err(error) = exit::exit_error(&outcome.delivery, self.require)
        {
            self.talk.say(&harmless_text(&as_slash_commands(&error.to_string())));
        }
        self.session.release();
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

    /// Handles an escape sequence that was not completed in time.
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

    /// Handles a signal to the process.
    fn interrupted(&mut self, interrupt: Interrupt) -> Result<Then, CliError> {
        match (interrupt, self.talk.work) {
            (Interrupt::Leave, _) => return Ok(self.leave()),
            (Interrupt::Stop, CurrentWork::Stopping) => {
                return Err(CliError::new(CliErrorKind::Interrupted, "stopped at once"));
            }
            (Interrupt::Stop, CurrentWork::Busy) => {
                self.talk.cancel();
                self.session.cancel();
            }
            (Interrupt::Stop, CurrentWork::Shell) => {
                self.talk.cancel();
                self.shell = None;
            }
            (Interrupt::Stop, CurrentWork::Idle) => {}
        }
        Ok(Then::On)
    }

    /// Leaves at once, or as soon as the running request has stopped.
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

/// Waits for the end of the shell command; forever if none is running.
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
    CliError::caused(CliErrorKind::Internal, error)
        .hint("try --plain, which requires less of the terminal")
}

#[cfg(test)]
mod tests {
    use super::no_terminal;

    #[test]
    fn without_its_terminal_a_conversation_needs_less_of_it() {
        let error = no_terminal(&std::io::Error::from_raw_os_error(5));
        assert_eq!(error.advice(), Some("try --plain, which requires less of the terminal"));
    }
}
