//! The only way to publish events, and to send other signals to the screen.
//!
//! Events go through one bounded channel to the journal, and from there to the screen. What must be on disk before
//! anything depends on it is recorded and awaited; everything else is published in order and made durable by the next
//! record.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crossbeam_channel::TrySendError;
use facts::amounts::Amount;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::scope::{Scope, Segment};
use facts::signal::{ApprovalAnswer, ApprovalQuestion, OpenQuestion, Proposal, Signal};
use facts::submission::{JournalInlet, Submission};
use model::AgentRole;
use sandbox::ConfinementLevel;
use tokio::sync::oneshot;

use crate::run::recording::{Followed, Recording, Requests};

/// Publishes events and signals for a scope. Cheap to clone; each clone may have another scope.
#[derive(Clone)]
pub struct Publisher {
    journal: JournalInlet,
    scope: Scope,
    /// The recording of its scope, if the run is replayed.
    recording: Option<Arc<Recording>>,
}

/// How an event came to be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventWritten {
    /// It was written now, with this number.
    Now(u64),
    /// It was already in the recording, with this number.
    Before(u64),
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Publisher {
    /// Creates a publisher without a run.
    pub const fn new(journal: JournalInlet) -> Self {
        Self { journal, scope: Scope::SESSION, recording: None }
    }

    /// Returns a publisher for `run`.
    #[must_use]
    pub fn for_run(&self, run: &str) -> Self {
        Self { scope: Scope::of_run(run), ..self.clone() }
    }

    /// Returns a publisher that replays: events that are in the recording are not written again.
    #[must_use]
    pub fn following(&self, recording: Arc<Recording>) -> Self {
        Self { recording: Some(recording), ..self.clone() }
    }

    /// Returns a publisher for a part of the run.
    #[must_use]
    pub fn for_part(&self, segment: Segment) -> Self {
        let scope = self.scope.within(segment);
        let recording = self.recording.as_ref().map(|recording| recording.of_part(&scope));
        Self { scope, recording, ..self.clone() }
    }

    /// Returns the scope it publishes for.
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the id of the run it publishes for.
    pub fn run(&self) -> &str {
        self.scope.run().unwrap_or_default()
    }

    /// Writes an event and waits until it is on disk. Nothing that depends on the event may happen before.
    pub async fn record(&self, event: Event) -> Result<EventWritten, JournalClosed> {
        self.record_and(event, || ()).await
    }

    /// Like [`record`](Self::record), but calls `sent` as soon as the event is queued: a caller that is stopped after
    /// that has published it.
    pub async fn record_and(
        &self,
        event: Event,
        sent: impl FnOnce() + Send,
    ) -> Result<EventWritten, JournalClosed> {
        if let Some(seq) = self.follow(&event).await? {
            return Ok(EventWritten::Before(seq));
        }
        let (durable, written) = oneshot::channel();
        self.send(event, Some(durable)).await?;
        sent();
        let mut journal_lives = self.journal.lives.clone();
        tokio::select! {
            biased;
            written = written => written.map(EventWritten::Now).map_err(|_| JournalClosed),
            // Submissions that arrive while the journal shuts down stay in a queue without a reader.
            _ = journal_lives.changed() => Err(JournalClosed),
        }
    }

    /// Writes an event in order, without waiting for the disk.
    pub async fn publish(&self, event: Event) -> Result<(), JournalClosed> {
        match self.follow(&event).await? {
            Some(_) => Ok(()),
            None => self.send(event, None).await,
        }
    }

    /// Writes an event that came from outside the run, bypassing any replay, and waits until it is on disk.
    pub async fn note(&self, event: Event) -> Result<(), JournalClosed> {
        let (durable, written) = oneshot::channel();
        self.send(event, Some(durable)).await?;
        written.await.map(drop).map_err(|_| JournalClosed)
    }

    /// Returns the number of `event` in the recording, if the run replays; `None` if the event must be written.
    async fn follow(&self, event: &Event) -> Result<Option<u64>, JournalClosed> {
        let Some(recording) = &self.recording else { return Ok(None) };
        match recording.follow(event) {
            Followed::Same(seq) => Ok(Some(seq)),
            Followed::Beyond => Ok(None),
            // The end of the run comes from outside the lane and ends the lane as well.
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

    /// Returns true while the run replays events and has not reached the end of the recording.
    pub fn follows(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| !recording.is_over())
    }

    /// Returns true if recorded requests and verdicts are reused instead of being recomputed.
    pub fn takes_requests(&self) -> bool {
        self.follows() && self.recording.as_ref().is_some_and(|it| it.requests() == Requests::Taken)
    }

    /// Applies `take` to the next recorded event.
    pub(crate) fn recorded_next<T>(&self, take: impl Fn(&Event) -> Option<T>) -> Option<T> {
        self.recording.as_ref()?.next(take)
    }

    /// Returns whether the recording has a failed call of `role` made again; `None` if it does not say, or has ended.
    pub(crate) fn recorded_retry(&self, role: AgentRole) -> Option<bool> {
        self.recording.as_ref().filter(|it| !it.is_over())?.tried_again(role)
    }

    /// Returns the recorded charge of an abandoned call.
    pub(crate) fn recorded_charge(&self, call: u64) -> Option<Amount> {
        self.recording.as_ref()?.charged_for(call)
    }

    /// Returns the next recorded id.
    pub(crate) fn recorded_id(&self) -> Option<String> {
        self.recording.as_ref()?.next_id()
    }

    /// Returns the recording, if the run is replayed.
    pub const fn recording(&self) -> Option<&Arc<Recording>> {
        self.recording.as_ref()
    }

    async fn send(
        &self,
        event: Event,
        durable: Option<oneshot::Sender<u64>>,
    ) -> Result<(), JournalClosed> {
        let entry = Submission { event, scope: self.scope.clone(), durable };
        match self.journal.queue.try_send(entry) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(JournalClosed),
            Err(TrySendError::Full(entry)) => {
                // The queue is full only if the disk is slower than all publishers together: wait off the runtime.
                let journal = self.journal.queue.clone();
                let send = move || journal.send(entry).map_err(|_| JournalClosed);
                tokio::task::spawn_blocking(send).await.map_err(|_| JournalClosed)?
            }
        }
    }

    /// Sends the screen a signal that may be dropped.
    pub fn show(&self, signal: Signal) {
        if self.journal.screen.try_send(signal).is_err() {
            tracing::trace!("the screen is behind; a signal was dropped");
        }
    }

    /// Tells the screen why something is waiting.
    pub fn show_wait(&self, why: impl Into<Cow<'static, str>>) {
        self.show(Signal::Waiting(self.scope.clone(), why.into()));
    }

    /// Tells the screen that a plan needs approval which no user is there to give.
    pub async fn tell_unapprovable(&self, what: String) {
        // A closed screen shows nothing.
        self.journal.screen.send(Signal::Unapprovable(what)).await.ok();
    }

    /// Tells the screen how far commands are confined.
    pub async fn tell_confined(&self, level: ConfinementLevel) {
        // A closed screen shows nothing.
        self.journal.screen.send(Signal::Confined(level)).await.ok();
    }

    /// Asks the user for approval. `None` if there is no user to answer.
    pub async fn ask(&self, what: Proposal, why: String) -> Option<ApprovalAnswer> {
        let (answer, answered) = oneshot::channel();
        self.journal
            .screen
            .send(Signal::Question(ApprovalQuestion {
                scope: self.scope.clone(),
                what,
                why,
                answer,
            }))
            .await
            .ok()?;
        answered.await.ok()
    }

    /// Asks the user a question that is answered in words; `if_empty` says what an empty answer means. `None` if there is no
    /// user to answer.
    pub async fn ask_for_words(&self, text: String, if_empty: String) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        let question = OpenQuestion { scope: self.scope.clone(), text, if_empty, answer };
        self.journal.screen.send(Signal::Asked(question)).await.ok()?;
        answered.await.ok()
    }
}
