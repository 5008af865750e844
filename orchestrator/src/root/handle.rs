//! The handle to a running orchestrator: starts it and sends it requests from outside.

use std::sync::Arc;
use std::time::Duration;

use actors::Unanswered;
use actors::mailbox::{Mailbox, WaitLog};
use actors::run::command_runner::running;
use actors::run::publisher::Publisher;
use actors::run::terms::{Terms, TermsError};
use actors::run::workspace::{CommitRefused, Extent, Staged};
use config::Config;
use facts::delivery::Delivery;
use facts::event::{Blob, Event, FORMAT};
use facts::scope::Scope;
use facts::signal::Signal;
use facts::submission::JournalInlet;
use journal::log::{Capacity, Journal, LogError};
use ractor::{Actor, ActorCell};
use shell::end_leftovers;
use thiserror::Error;
use tokio::sync::mpsc;
use tools::blocking::on_a_thread;
use tree::CommitError;

use super::{Asked, Msg, NotSteered, OrchestratorActor, RequestOutcome, Root, Setup};
use crate::autopilot::{Autopilot, CourseSetup};
use crate::request::intent::RequestIntent;
use crate::request::{LAST_REQUEST, Request};
use crate::session::context::{Compacted, Context, NotCompacted};
use crate::session::past_requests::{EarlierError, InterruptedRun, RecordedRun, SessionPast};
use crate::workspace::main_tree::MainTree;
use crate::workspace::main_workspace::commit;
use crate::workspace::worktrees;

/// Why the orchestrator cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The workspace cannot be opened, or an interrupted commit in it cannot be settled.
    #[error("cannot open the workspace")]
    Workspace(#[from] CommitError),
    /// The journal cannot be opened.
    #[error("cannot start a session")]
    Journal(#[from] LogError),
    /// The configuration or prices for its runs are unusable.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The session's past cannot be restored from its journal.
    #[error("cannot resume the session")]
    Earlier(#[from] EarlierError),
    /// The actors cannot be started.
    #[error("cannot start the actors")]
    Actors(#[from] ractor::SpawnErr),
    /// The orchestrator is gone.
    #[error("the session has ended")]
    Gone(#[source] Unanswered),
}

/// Why another configuration was not adopted.
#[derive(Debug, Error)]
pub enum KeepToError {
    /// The configuration is unusable.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The orchestrator is gone.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// How long closing a session may take.
const CLOSING: Duration = Duration::from_secs(5);

/// A handle to the running orchestrator.
#[derive(Clone)]
pub struct Orchestrator {
    mailbox: Mailbox<Msg>,
    journal: Arc<Journal>,
}

impl Orchestrator {
    /// A handle for an actor that the orchestrator starts.
    pub(crate) const fn of(mailbox: Mailbox<Msg>, journal: Arc<Journal>) -> Self {
        Self { mailbox, journal }
    }

    /// Creates a session and starts the actors. Signals arrive at the receiver, which must be drained.
    pub async fn start(mut setup: Setup) -> Result<(Self, mpsc::Receiver<Signal>), StartError> {
        let (capacity, screen, signals) = ends(&setup.config);
        let (journal, inlet) =
            Journal::create(&setup.session_dir, Arc::clone(&setup.clock), capacity, screen)?;
        let salt = setup.ids.fresh();
        let begun = Event::SessionStarted {
            workspace: setup.workspace.display().to_string(),
            version: setup.version.clone(),
            config: Some(Blob::new(config::to_record(&setup.config))),
            prompts: Some(Blob::new(setup.prompts.to_record())),
            format: FORMAT,
            salt: salt.clone(),
            forked_from: None,
        };
        setup.redactor = setup.redactor.salted(&salt);
        let orchestrator =
            Self::launch(setup, (journal, inlet), begun, SessionPast::nothing()).await?;
        Ok((orchestrator, signals))
    }

    /// Reopens an earlier session. Also returns its interrupted run, if any; resume it with [`Self::take_up`].
    pub async fn go_on(
        mut setup: Setup,
    ) -> Result<(Self, mpsc::Receiver<Signal>, Option<InterruptedRun>), StartError> {
        let (capacity, screen, signals) = ends(&setup.config);
        let clock = Arc::clone(&setup.clock);
        let (journal, inlet, records) =
            Journal::reopen(&setup.session_dir, clock, capacity, screen)?;
        let mut earlier = SessionPast::read(&setup.session_dir, &records)?;
        let interrupted = earlier.interrupted.take();
        let salt = setup.ids.fresh();
        let begun = Event::SessionContinued {
            version: setup.version.clone(),
            config: Blob::new(config::to_record(&setup.config)),
            prompts: Some(Blob::new(setup.prompts.to_record())),
            format: FORMAT,
            salt: salt.clone(),
            cut_short: interrupted.as_ref().map(|it| it.run().to_owned()),
        };
        setup.redactor = setup.redactor.salted(&salt);
        let orchestrator = Self::launch(setup, (journal, inlet), begun, earlier).await?;
        Ok((orchestrator, signals, interrupted))
    }

    async fn launch(
        setup: Setup,
        (journal, inlet): (Journal, JournalInlet),
        begun: Event,
        earlier: SessionPast,
    ) -> Result<Self, StartError> {
        let main_tree = MainTree::open(&setup.workspace, &setup.places, &setup.config)?;
        let settled = main_tree.recover()?;
        let left = running(&setup.cache);
        match on_a_thread(move || end_leftovers(&left)).await {
            Ok(0) => {}
            Ok(count) => tracing::warn!(count, "ended commands that a crash had left running"),
            Err(error) => {
                tracing::warn!(%error, "could not end commands that a crash had left running");
            }
        }
        let sessions = setup.sessions();
        worktrees::collect_left(&setup.places, &setup.workspace, sessions, &setup.config).await;
        let terms = Terms::new(Arc::clone(&setup.config), setup.prompts.clone())?;
        let log = WaitLog::new(&setup.session_id(), &setup.config);
        let waits = log.of("orchestrator", &Scope::SESSION);
        let journal = Arc::new(journal);
        let of_actor = Arc::clone(&journal);
        let publisher = Publisher::new(inlet);
        let root =
            Root { setup, main_tree, settled, terms, publisher, journal: of_actor, begun, earlier };
        let (actor, _) = Actor::spawn(None, OrchestratorActor, root).await?;
        Ok(Self { mailbox: Mailbox::new(actor, waits), journal })
    }

    /// Starts a request, and returns a future that waits for its delivery. There is only one request at a time: while
    /// one is running, others are refused with [`Unanswered::Stopped`].
    pub fn run(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<RequestOutcome, Unanswered>> + use<> {
        self.drive(request, None)
    }

    /// Resumes an interrupted run like [`Self::run`]. Completed work is not repeated.
    pub fn take_up(
        &self,
        interrupted: InterruptedRun,
    ) -> impl Future<Output = Result<RequestOutcome, Unanswered>> + use<> {
        self.drive(interrupted.request, Some(interrupted.recorded))
    }

    /// The message is sent before the future is polled, so that a later [`Self::cancel`] or [`Self::steer`] finds the run.
    fn drive(
        &self,
        request: Request,
        recorded: Option<RecordedRun>,
    ) -> impl Future<Output = Result<RequestOutcome, Unanswered>> + use<> {
        let (reply, outcome) = ractor::concurrency::oneshot();
        let asked = Box::new(Asked { request, recorded, reply: reply.into() });
        let sent = self.mailbox.cast("run", Msg::Run(asked));
        let mailbox = self.mailbox.clone();
        async move {
            sent?;
            mailbox.answer("run", outcome).await.map_err(|_| Unanswered::Stopped)
        }
    }

    /// Adds a review of the changes to an outcome, if there are any. The review is a separate read-only request; its result
    /// does not affect the delivery.
    pub async fn reviewed(&self, outcome: RequestOutcome) -> RequestOutcome {
        let delivered = matches!(outcome.delivery, Delivery::Delivered { .. });
        if !delivered || outcome.changes.is_empty() {
            return outcome;
        }
        let request = Request::new(LAST_REQUEST.to_owned(), Some(RequestIntent::Review));
        match self.run(request).await {
            Ok(RequestOutcome { review, spent, .. }) => {
                RequestOutcome { review, spent: outcome.spent.plus(spent), ..outcome }
            }
            Err(_) => outcome,
        }
    }

    /// Starts an autopilot in this session.
    pub async fn start_autopilot(&self, setup: CourseSetup) -> Result<Autopilot, StartError> {
        let setup = Box::new(setup);
        let started = self
            .mailbox
            .call("start autopilot", |reply| Msg::StartAutopilot { setup, reply }, None)
            .await;
        Ok(started.map_err(StartError::Gone)??)
    }

    /// Makes requests that begin from now on use another configuration.
    pub async fn keep_to(&self, config: Arc<Config>) -> Result<(), KeepToError> {
        let message = |reply| Msg::KeepTo { config, reply };
        let kept = self.mailbox.call("keep to", message, None).await?;
        Ok(kept?)
    }

    /// Passes a message to the current request: the next model call includes it. Without a further call, it is not
    /// delivered.
    pub async fn steer(&self, words: String) -> Result<(), NotSteered> {
        let message = |reply| Msg::Steer { words, reply };
        self.mailbox.call("steer", message, None).await.unwrap_or(Err(NotSteered::Gone))
    }

    /// Compacts the conversation: all turns but the last.
    pub async fn compact(&self) -> Result<Compacted, NotCompacted> {
        let message = |reply| Msg::Compact { reply };
        self.mailbox.call("compact", message, None).await.unwrap_or(Err(NotCompacted::Gone))
    }

    /// Returns what fills the context of the next request.
    pub async fn context(&self) -> Result<Context, Unanswered> {
        let context = self.mailbox.call("context", |reply| Msg::Context { reply }, None).await?;
        Ok(context.complete().await)
    }

    /// Settles commits that other processes left half done while they had the workspace.
    pub async fn settle(&self) {
        if self.mailbox.call("settle", |reply| Msg::Settle { reply }, None).await.is_err() {
            tracing::debug!("the orchestrator is gone");
        }
    }

    /// Applies an earlier staged patch set, through the same gate as every change.
    pub async fn apply(&self, staged: Staged) -> Result<Extent, CommitRefused> {
        commit(&self.mailbox, None, staged).await
    }

    /// Stops the current request. It ends as cancelled, unless it has already ended.
    pub fn cancel(&self) {
        self.journal.stop_waiting();
        // An orchestrator that is gone has nothing to stop.
        self.mailbox.cast("cancel", Msg::Cancel { why: Delivery::Cancelled }).ok();
    }

    /// Ends the session; the current request is dropped.
    pub fn stop(&self) {
        self.mailbox.cell().stop(None);
    }

    /// Ends the session like [`Self::stop`], and waits until it can be opened again, at most for a short while.
    pub async fn close(self) {
        self.journal.stop_waiting();
        let closed = async {
            if let Err(error) = self.mailbox.cell().stop_and_wait(None, None).await {
                tracing::debug!(%error, "the orchestrator has already stopped");
            }
            self.journal.closed().await;
        };
        if tokio::time::timeout(CLOSING, closed).await.is_err() {
            tracing::warn!("the session is still open");
        }
    }

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.mailbox.cell()
    }

    /// Returns why the journal ended, if it failed.
    pub fn journal_failure(&self) -> Option<&str> {
        self.journal.failure()
    }
}

/// Returns the journal's limits, and both ends of the channel to the screen.
fn ends(config: &Config) -> (Capacity, mpsc::Sender<Signal>, mpsc::Receiver<Signal>) {
    let limits = &config.limits;
    let (screen, signals) = mpsc::channel(limits.screen_queue);
    let capacity = Capacity {
        queue: limits.journal_queue,
        patience: Duration::from_secs(limits.disk_full_timeout_seconds),
    };
    (capacity, screen, signals)
}
