//! The one way to publish a fact, and what the screen is told besides.
//!
//! Facts go up by one bounded channel to the journal, and from there to the screen. What must not be acted on before it
//! is on disk is recorded and waited for; everything else is published in order and covered by the next record.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crossbeam_channel::{Sender, TrySendError};
use model::AgentRole;
use sandbox::Confining;
use tokio::sync::{mpsc, oneshot, watch};

use crate::closed::JournalClosed;
use crate::event::{Envelope, Event};
use crate::ledger::Amount;
use crate::recording::{Followed, Recording, Requests};
use crate::scope::{Scope, Segment};
use crate::workspace::Taken;

/// What the screen is told.
#[derive(Debug)]
pub enum Signal {
    /// A fact that is in the journal. Never lost.
    Event(Arc<Envelope>),
    /// Text of an answer as it comes. May be lost when the screen is slow.
    Text(Speaker, String),
    /// Reasoning as it comes. May be lost when the screen is slow.
    Reasoning(Speaker, String),
    /// Why somebody waits, and where. May be lost when the screen is slow.
    Waiting(Scope, Cow<'static, str>),
    /// How far the commands of a run are confined. Never lost.
    Confined(Confining),
    /// A question that only the user can answer. Never lost.
    Question(Question),
    /// What a model wants to know of the user. Never lost.
    Asked(OpenQuestion),
}

/// Who says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// The role.
    pub role: AgentRole,
    /// Where it works.
    pub scope: Scope,
}

/// A question to the user.
#[derive(Debug)]
pub struct Question {
    /// Where it is asked.
    pub scope: Scope,
    /// What wants to happen.
    pub what: Proposal,
    /// Why it has to be asked for.
    pub why: String,
    /// Where the answer goes. Dropping it means that there is no one to answer.
    pub answer: oneshot::Sender<Answer>,
}

/// A question that is answered in words.
#[derive(Debug)]
pub struct OpenQuestion {
    /// Where it is asked.
    pub scope: Scope,
    /// The question.
    pub text: String,
    /// Where the answer goes. Dropping it means that there is no one to answer.
    pub answer: oneshot::Sender<String>,
}

/// Whether the user is there to answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// The user is: what is asked may be answered with yes.
    Attended,
    /// The user is not: what is asked is denied.
    Unattended,
}

/// An effect that needs a yes.
#[derive(Debug, Clone)]
pub enum Proposal {
    /// Changes to files.
    Patch(Vec<tree::Change>, Taken),
    /// A command to run.
    Command(String, Holds),
    /// A command that wants the network.
    Network(String),
    /// A mission, by its card.
    Mission(String),
}

/// For how long a yes to a command can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// For the run: a mission is answered by its card, and by nothing that was said before.
    InThisRun,
    /// From now on, if the user says so.
    Always,
}

/// What the user says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Go ahead.
    Yes,
    /// Go ahead, and do not ask for this again in this workspace.
    Always,
    /// Do not.
    No,
    /// Do not, for a reason that the model is told.
    Because(String),
    /// Go ahead with some files of a change, and leave out the others.
    Only {
        /// Those to go ahead with.
        paths: Vec<String>,
        /// Why not with the others, for the model.
        why: Option<String>,
    },
}

/// An event on its way to the journal.
#[derive(Debug)]
pub struct Submission {
    /// The event.
    pub event: Event,
    /// What it is about.
    pub scope: Scope,
    /// Told the sequence number once the event, and all before it, are on disk.
    pub durable: Option<oneshot::Sender<u64>>,
}

/// Where facts are published. Cheap to clone; each clone may speak for another run.
#[derive(Clone)]
pub struct Publisher {
    journal: Sender<Submission>,
    screen: mpsc::Sender<Signal>,
    /// Ends when whoever reads the channel does.
    journal_lives: watch::Receiver<()>,
    scope: Scope,
    /// What is recorded of its scope, when the run is driven again.
    recording: Option<Arc<Recording>>,
}

/// How a fact came to be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It was written now, with this number.
    Now(u64),
    /// It had been written when the run was driven before.
    Before(u64),
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Publisher {
    /// A publisher into the given channels, for no run in particular. Whoever reads the first holds the other end of
    /// `journal_lives` for as long as it does.
    pub const fn new(
        journal: Sender<Submission>,
        screen: mpsc::Sender<Signal>,
        journal_lives: watch::Receiver<()>,
    ) -> Self {
        Self { journal, screen, journal_lives, scope: Scope::SESSION, recording: None }
    }

    /// The same, speaking for `run`.
    #[must_use]
    pub fn for_run(&self, run: &str) -> Self {
        Self { scope: Scope::of_run(run), ..self.clone() }
    }

    /// The same, for a run that is driven again: what is recorded of it is not written twice.
    #[must_use]
    pub fn following(&self, recording: Arc<Recording>) -> Self {
        Self { recording: Some(recording), ..self.clone() }
    }

    /// The same, speaking for a part of the run.
    #[must_use]
    pub fn for_part(&self, segment: Segment) -> Self {
        let scope = self.scope.within(segment);
        let recording = self.recording.as_ref().map(|recording| recording.of_part(&scope));
        Self { scope, recording, ..self.clone() }
    }

    /// What it speaks for.
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The run it speaks for.
    pub fn run(&self) -> &str {
        self.scope.run().unwrap_or_default()
    }

    /// Writes a fact and waits until it is on disk. Nothing that depends on it may happen before.
    pub async fn record(&self, event: Event) -> Result<Written, JournalClosed> {
        self.record_and(event, || ()).await
    }

    /// The same, and calls `sent` as soon as the fact is on its way: whoever is stopped after that has told it.
    pub async fn record_and(
        &self,
        event: Event,
        sent: impl FnOnce() + Send,
    ) -> Result<Written, JournalClosed> {
        if let Some(seq) = self.follow(&event).await? {
            return Ok(Written::Before(seq));
        }
        let (durable, written) = oneshot::channel();
        self.send(event, Some(durable)).await?;
        sent();
        let mut journal_lives = self.journal_lives.clone();
        tokio::select! {
            biased;
            written = written => written.map(Written::Now).map_err(|_| JournalClosed),
            // What comes in while the journal ends lies in a queue that nobody reads.
            _ = journal_lives.changed() => Err(JournalClosed),
        }
    }

    /// Writes a fact in its turn, without waiting for the disk.
    pub async fn publish(&self, event: Event) -> Result<(), JournalClosed> {
        match self.follow(&event).await? {
            Some(_) => Ok(()),
            None => self.send(event, None).await,
        }
    }

    /// Writes a fact that came from outside the run, whatever of it is driven again, and waits until it is on disk.
    pub async fn note(&self, event: Event) -> Result<(), JournalClosed> {
        let (durable, written) = oneshot::channel();
        self.send(event, Some(durable)).await?;
        written.await.map(drop).map_err(|_| JournalClosed)
    }

    /// The number that is recorded of `event`, when the run is driven again; none when it is to be written.
    async fn follow(&self, event: &Event) -> Result<Option<u64>, JournalClosed> {
        let Some(recording) = &self.recording else { return Ok(None) };
        match recording.follow(event) {
            Followed::Same(seq) => Ok(Some(seq)),
            Followed::Beyond => Ok(None),
            // The end of the run comes from elsewhere, and with it that of the lane.
            Followed::Different if self.scope.is_part() && recording.was_cut() => {
                std::future::pending().await
            }
            Followed::Different | Followed::TooLate => Err(JournalClosed),
            Followed::TooLateForTheDead => {
                recording.moved().await;
                Err(JournalClosed)
            }
        }
    }

    /// Whether the run is driven again, and has not come to the end of what is recorded.
    pub fn follows(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| !recording.is_over())
    }

    /// Whether the requests and verdicts that are recorded are taken as they are, and not made again.
    pub fn takes_requests(&self) -> bool {
        self.follows() && self.recording.as_ref().is_some_and(|it| it.requests() == Requests::Taken)
    }

    /// What `take` finds in the event that is recorded next.
    pub(crate) fn recorded_next<T>(&self, take: impl Fn(&Event) -> Option<T>) -> Option<T> {
        self.recording.as_ref()?.next(take)
    }

    /// What is recorded to have been charged for a call that was given up.
    pub(crate) fn recorded_charge(&self, call: u64) -> Option<Amount> {
        self.recording.as_ref()?.charged_for(call)
    }

    /// The id that is recorded to have been made next.
    pub(crate) fn recorded_id(&self) -> Option<String> {
        self.recording.as_ref()?.next_id()
    }

    /// What is recorded of the run, when it is driven again.
    pub const fn recording(&self) -> Option<&Arc<Recording>> {
        self.recording.as_ref()
    }

    async fn send(
        &self,
        event: Event,
        durable: Option<oneshot::Sender<u64>>,
    ) -> Result<(), JournalClosed> {
        let entry = Submission { event, scope: self.scope.clone(), durable };
        match self.journal.try_send(entry) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(JournalClosed),
            Err(TrySendError::Full(entry)) => {
                // The queue is full only when the disk is slower than everybody together: wait off the runtime.
                let journal = self.journal.clone();
                let send = move || journal.send(entry).map_err(|_| JournalClosed);
                tokio::task::spawn_blocking(send).await.map_err(|_| JournalClosed)?
            }
        }
    }

    /// Tells the screen something that may be lost.
    pub fn show(&self, signal: Signal) {
        if self.screen.try_send(signal).is_err() {
            tracing::trace!("the screen is behind; a piece of text was left out");
        }
    }

    /// Tells the screen why somebody waits.
    pub fn show_wait(&self, why: impl Into<Cow<'static, str>>) {
        self.show(Signal::Waiting(self.scope.clone(), why.into()));
    }

    /// Tells how far commands are confined.
    pub async fn tell_confined(&self, level: Confining) {
        // A screen that is gone shows nothing.
        self.screen.send(Signal::Confined(level)).await.ok();
    }

    /// Asks the user. `None` when there is no one to answer.
    pub async fn ask(&self, what: Proposal, why: String) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        self.screen
            .send(Signal::Question(Question { scope: self.scope.clone(), what, why, answer }))
            .await
            .ok()?;
        answered.await.ok()
    }

    /// Asks the user something that is answered in words. `None` when there is no one to answer.
    pub async fn ask_for_words(&self, text: String) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        let question = OpenQuestion { scope: self.scope.clone(), text, answer };
        self.screen.send(Signal::Asked(question)).await.ok()?;
        answered.await.ok()
    }
}
