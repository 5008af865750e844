//! The driver of a session: requests go in, what happens comes out, one thing at a time. It paints nothing and asks nobody, so
//! that a terminal, an editor and a page can drive the same session.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::Unanswered;
use actors::delivery::Delivery;
use actors::publisher::Signal;
use actors::workspace::{CommitRefused, Extent, Staged};
use config::Config;
use futures_util::future::BoxFuture;
use orchestrator::chat::Intent;
use orchestrator::earlier::CutShort;
use orchestrator::lock::{LockError, WorkspaceLock};
use orchestrator::orchestrator::{
    KeepToError, NotSteered, Orchestrator, Outcome, Setup, StartError,
};
use orchestrator::request::{LAST_REQUEST, Request};
use tokio::sync::mpsc;

/// Which session is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// One that begins.
    New,
    /// That of the past with this id.
    Earlier(String),
}

/// The right to write to the workspace, while this session has it.
#[derive(Debug)]
pub struct Lock {
    /// Where it is, if this session writes at all.
    path: Option<PathBuf>,
    patience: Duration,
    held: Option<WorkspaceLock>,
}

impl Lock {
    /// The lock at `path`, which is waited for so long; none for a session that only reads.
    pub const fn new(path: Option<PathBuf>, patience: Duration) -> Self {
        Self { path, patience, held: None }
    }

    /// Takes it, unless it is held. Whether it had to be taken. Before it waits for another process, `waits` is told for which.
    pub async fn take(&mut self, waits: impl FnOnce(&LockError)) -> Result<bool, LockError> {
        let Some(path) = self.path.as_ref().filter(|_| self.held.is_none()) else {
            return Ok(false);
        };
        let held = match WorkspaceLock::acquire(path, Duration::ZERO).await {
            Err(held @ LockError::Held { .. }) => {
                waits(&held);
                WorkspaceLock::acquire(path, self.patience).await?
            }
            taken => taken?,
        };
        self.held = Some(held);
        Ok(true)
    }
}

/// What happened next in a session.
#[derive(Debug)]
pub enum Happened {
    /// Something happened, or the user has to be asked.
    Signal(Signal),
    /// The request has ended, and everything of it was told before.
    Ended(Result<Box<Outcome>, Died>),
    /// A patch set was applied that was staged earlier, or was not.
    Applied(Result<Extent, CommitRefused>),
}

/// The orchestrator is gone.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Died(pub String);

/// The request in hand.
enum Work {
    Idle,
    Running(BoxFuture<'static, Done>),
    /// It has ended, and what it told last may not have been taken yet.
    Ended(Done),
}

/// What came of it.
enum Done {
    Run(Result<Box<Outcome>, Unanswered>),
    Apply(Result<Extent, CommitRefused>),
}

/// A session of this process.
pub struct Session {
    /// Its id.
    pub id: String,
    orchestrator: Orchestrator,
    signals: mpsc::Receiver<Signal>,
    /// The run that was interrupted in it.
    cut_short: Option<CutShort>,
    lock: Lock,
    work: Work,
    /// Whether what is delivered is reviewed.
    reviews: bool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

/// An outcome with the review of what it changed, if it changed anything. The review is a request of its own, which reads only;
/// whatever comes of it, the delivery stands.
async fn reviewed(orchestrator: &Orchestrator, outcome: Outcome) -> Outcome {
    let delivered = matches!(outcome.delivery, Delivery::Delivered { .. });
    if !delivered || outcome.changes.is_empty() {
        return outcome;
    }
    let request = Request::new(LAST_REQUEST.to_owned(), Some(Intent::Review));
    let review = orchestrator.run(request).await;
    Outcome { review: review.ok().and_then(|reviewed| reviewed.review), ..outcome }
}

impl Session {
    /// Opens the session with this id. Whoever writes has taken `lock` before.
    pub async fn open(
        id: String,
        which: &Which,
        setup: Setup,
        lock: Lock,
    ) -> Result<Self, StartError> {
        let reviews = setup.config.qa.enabled;
        let (orchestrator, signals, cut_short) = match which {
            Which::New => {
                let (orchestrator, signals) = Orchestrator::start(setup).await?;
                (orchestrator, signals, None)
            }
            Which::Earlier(_) => Orchestrator::go_on(setup).await?,
        };
        tracing::info!(session = id, "session opened");
        Ok(Self { id, orchestrator, signals, cut_short, lock, work: Work::Idle, reviews })
    }

    /// Lets others work in the workspace until the next request.
    pub fn let_go(&mut self) {
        self.lock.held = None;
    }

    /// Takes the workspace again, for the next request. Before it waits for another process, `waits` is told for which.
    pub async fn take_hold(&mut self, waits: impl FnOnce(&LockError)) -> Result<(), LockError> {
        if self.lock.take(waits).await? {
            self.orchestrator.settle().await;
        }
        Ok(())
    }

    /// Has requests that begin from now on keep to another configuration.
    pub async fn keep_to(&mut self, config: Config) -> Result<(), KeepToError> {
        let reviews = config.qa.enabled;
        self.orchestrator.keep_to(Arc::new(config)).await?;
        self.reviews = reviews;
        Ok(())
    }

    /// The run that was interrupted in this session, if it has not been taken up.
    pub const fn cut_short(&self) -> Option<&CutShort> {
        self.cut_short.as_ref()
    }

    /// Begins a request. One that is at work is ended first: [`Self::next`] must have told its end.
    pub fn begin(&mut self, request: Request) {
        let (orchestrator, reviews) = (self.orchestrator.clone(), self.reviews);
        self.work = Work::Running(Box::pin(async move {
            let outcome = orchestrator.run(request).await;
            Done::Run(match outcome {
                Ok(outcome) if reviews => Ok(Box::new(reviewed(&orchestrator, outcome).await)),
                outcome => outcome.map(Box::new),
            })
        }));
    }

    /// Takes up the run that was interrupted, if there is one. Whether there was.
    pub fn take_up(&mut self) -> bool {
        let Some(cut_short) = self.cut_short.take() else { return false };
        let orchestrator = self.orchestrator.clone();
        self.work = Work::Running(Box::pin(async move {
            Done::Run(orchestrator.take_up(cut_short).await.map(Box::new))
        }));
        true
    }

    /// Whether a request is at work.
    pub const fn is_at_work(&self) -> bool {
        matches!(self.work, Work::Running(_) | Work::Ended(_))
    }

    /// Stops the request in hand; its end is told when it has ended.
    pub fn cancel(&self) {
        self.orchestrator.cancel();
    }

    /// Says something to the request in hand.
    pub async fn steer(&self, words: String) -> Result<(), NotSteered> {
        self.orchestrator.steer(words).await
    }

    /// What comes next. Nothing is lost when this is dropped before it is there.
    pub async fn next(&mut self) -> Happened {
        loop {
            match &mut self.work {
                Work::Idle => {
                    return match self.signals.recv().await {
                        Some(signal) => Happened::Signal(signal),
                        None => std::future::pending().await,
                    };
                }
                Work::Running(work) => tokio::select! {
                    biased;
                    Some(signal) = self.signals.recv() => return Happened::Signal(signal),
                    ended = work => self.work = Work::Ended(ended),
                },
                // Every event of the run was sent before its end was.
                Work::Ended(_) => match self.signals.try_recv() {
                    Ok(signal) => return Happened::Signal(signal),
                    Err(_) => return self.end(),
                },
            }
        }
    }

    fn end(&mut self) -> Happened {
        match std::mem::replace(&mut self.work, Work::Idle) {
            Work::Ended(Done::Run(Ok(outcome))) => Happened::Ended(Ok(outcome)),
            Work::Ended(Done::Apply(result)) => Happened::Applied(result),
            Work::Ended(Done::Run(Err(_))) | Work::Running(_) | Work::Idle => {
                let why = self.orchestrator.journal_failure();
                Happened::Ended(Err(Died(why.unwrap_or("the orchestrator died").to_owned())))
            }
        }
    }

    /// Applies a patch set that was staged earlier, through the same gate as every other. One request at a time: as [`Self::begin`].
    pub fn apply(&mut self, staged: Staged) {
        let orchestrator = self.orchestrator.clone();
        self.work =
            Work::Running(Box::pin(async move { Done::Apply(orchestrator.apply(staged).await) }));
    }
}
