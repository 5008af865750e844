//! The driver of a session: it accepts requests and returns what happens, one item at a time. It neither paints nor asks the
//! user, so that a terminal, an editor and a page can drive the same session.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::Unanswered;
use actors::run::workspace::{CommitRefused, Extent, Staged};
use config::Config;
use facts::signal::Signal;
use futures_util::future::BoxFuture;
use orchestrator::autopilot::course::Course;
use orchestrator::autopilot::{Autopilot, CourseSetup, FinishedCourse, ToldNews};
use orchestrator::request::Request;
use orchestrator::root::{
    KeepToError, NotSteered, Orchestrator, RequestOutcome, Setup, StartError,
};
use orchestrator::session::context::{Compacted, NotCompacted};
use orchestrator::session::past_requests::InterruptedRun;
use orchestrator::workspace::lock::{LockError, WorkspaceLock};
use shell::{CommandLine, RunOptions};
use tokio::sync::mpsc;

use crate::context::context_lines;
use crate::describe::compacted;

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new session.
    New,
    /// The earlier session with this id.
    Earlier(String),
}

/// The lock of the workspace, which a session holds while it may write.
#[derive(Debug)]
pub struct Lock {
    /// Path of the lock file; `None` if this session only reads.
    path: Option<PathBuf>,
    patience: Duration,
    held: Option<WorkspaceLock>,
}

impl Lock {
    /// Creates the lock at `path`; `None` for a session that only reads. `patience` is how long to wait for another holder.
    pub const fn new(path: Option<PathBuf>, patience: Duration) -> Self {
        Self { path, patience, held: None }
    }

    /// Acquires the lock. Returns false if this session already holds it or only reads. If another process holds it, calls `waits`
    /// with that process before waiting.
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

/// The next thing that happened in a session.
#[derive(Debug)]
pub enum SessionEvent {
    /// An event, or a question for the user.
    Signal(Signal),
    /// The request has ended. All its signals were returned before.
    Ended(Result<Box<RequestOutcome>, Died>),
    /// An earlier staged patch set was applied or refused.
    Applied(Result<Extent, CommitRefused>),
    /// News of the autopilot, which waits until they are shown. All signals before were returned.
    AutopilotNews(ToldNews),
    /// The autopilot has ended.
    AutopilotEnded(Result<Box<FinishedCourse>, Died>),
}

/// The orchestrator died; the reason is in the text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Died(pub String);

/// The state of the current request.
enum Work {
    Idle,
    Running(BoxFuture<'static, Done>),
    /// The request has ended, but its last signals may not have been returned yet.
    Ended(Done),
}

/// The result of a request.
enum Done {
    Run(Result<Box<RequestOutcome>, Unanswered>),
    Apply(Result<Extent, CommitRefused>),
    Course(Result<Box<FinishedCourse>, Unanswered>),
}

/// A session that is open in this process.
pub struct Session {
    /// The id of the session.
    pub id: String,
    orchestrator: Orchestrator,
    signals: mpsc::Receiver<Signal>,
    /// The interrupted run that can be resumed, if there is one.
    interrupted: Option<InterruptedRun>,
    lock: Lock,
    work: Work,
    /// News of the autopilot.
    news: Option<mpsc::Receiver<ToldNews>>,
    /// True if deliveries are reviewed by a model.
    reviews: bool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Session {
    /// Opens the session with this id. If it may write, `lock` must be held already.
    pub async fn open(
        id: String,
        which: &SessionChoice,
        setup: Setup,
        lock: Lock,
    ) -> Result<Self, StartError> {
        let reviews = setup.config.qa.enabled;
        let (orchestrator, signals, interrupted) = match which {
            SessionChoice::New => {
                let (orchestrator, signals) = Orchestrator::start(setup).await?;
                (orchestrator, signals, None)
            }
            SessionChoice::Earlier(_) => Orchestrator::go_on(setup).await?,
        };
        tracing::info!(session = id, "session opened");
        Ok(Self {
            id,
            orchestrator,
            signals,
            interrupted,
            lock,
            work: Work::Idle,
            news: None,
            reviews,
        })
    }

    /// Closes the session, so that it can be opened again. A request that is running is dropped.
    pub async fn close(self) {
        let Self { orchestrator, signals, work, .. } = self;
        drop((signals, work));
        orchestrator.close().await;
    }

    /// Releases the workspace to other processes until the next request.
    pub fn release(&mut self) {
        self.lock.held = None;
    }

    /// Acquires the workspace for the next request. If another process holds it, calls `waits` with that process before waiting.
    pub async fn acquire(&mut self, waits: impl FnOnce(&LockError)) -> Result<(), LockError> {
        if self.lock.take(waits).await? {
            self.orchestrator.settle().await;
        }
        Ok(())
    }

    /// Sets the configuration for requests that start from now on.
    pub async fn configure(&mut self, config: Config) -> Result<(), KeepToError> {
        let reviews = config.qa.enabled;
        self.orchestrator.keep_to(Arc::new(config)).await?;
        self.reviews = reviews;
        Ok(())
    }

    /// Returns the interrupted run of this session, if it has not been resumed.
    pub const fn interrupted(&self) -> Option<&InterruptedRun> {
        self.interrupted.as_ref()
    }

    /// Starts a request. The previous one must have ended: [`Self::next`] has returned its end.
    pub fn begin(&mut self, request: Request) {
        let (orchestrator, reviews) = (self.orchestrator.clone(), self.reviews);
        let outcome = orchestrator.run(request);
        self.work = Work::Running(Box::pin(async move {
            Done::Run(match outcome.await {
                Ok(outcome) if reviews => Ok(Box::new(orchestrator.reviewed(outcome).await)),
                outcome => outcome.map(Box::new),
            })
        }));
    }

    /// Resumes the interrupted run. Returns false if there is none.
    pub fn resume(&mut self) -> bool {
        let Some(interrupted) = self.interrupted.take() else { return false };
        let outcome = self.orchestrator.take_up(interrupted);
        self.work = Work::Running(Box::pin(async move { Done::Run(outcome.await.map(Box::new)) }));
        true
    }

    /// Returns true until [`Self::next`] has returned the end of the current request.
    pub const fn is_at_work(&self) -> bool {
        matches!(self.work, Work::Running(_) | Work::Ended(_))
    }

    /// Stops the current request; [`Self::next`] returns its end.
    pub fn cancel(&self) {
        self.orchestrator.cancel();
    }

    /// Sends a message from the user to the current request.
    pub async fn steer(&self, words: String) -> Result<(), NotSteered> {
        self.orchestrator.steer(words).await
    }

    /// Compacts the conversation. Returns a line about it.
    pub async fn compact(&self) -> Result<String, NotCompacted> {
        let Compacted { turns, before, after, .. } = self.orchestrator.compact().await?;
        Ok(compacted(turns, before, after))
    }

    /// Returns lines about what fills the context of the next request.
    pub async fn context(&self) -> Result<String, Unanswered> {
        Ok(context_lines(&self.orchestrator.context().await?))
    }

    /// Waits for the next thing that happens. Cancel safe: if the future is dropped, nothing is lost.
    pub async fn next(&mut self) -> SessionEvent {
        loop {
            match &mut self.work {
                Work::Idle => {
                    return match self.signals.recv().await {
                        Some(signal) => SessionEvent::Signal(signal),
                        None => std::future::pending().await,
                    };
                }
                Work::Running(work) => tokio::select! {
                    biased;
                    Some(signal) = self.signals.recv() => return SessionEvent::Signal(signal),
                    Some(news) = next_of(&mut self.news) => return SessionEvent::AutopilotNews(news),
                    ended = work => self.work = Work::Ended(ended),
                },
                // All events of the run were sent before its end.
                Work::Ended(_) => match self.signals.try_recv() {
                    Ok(signal) => return SessionEvent::Signal(signal),
                    Err(_) => return self.end(),
                },
            }
        }
    }

    fn end(&mut self) -> SessionEvent {
        match std::mem::replace(&mut self.work, Work::Idle) {
            Work::Ended(Done::Run(Ok(outcome))) => SessionEvent::Ended(Ok(outcome)),
            Work::Ended(Done::Apply(result)) => SessionEvent::Applied(result),
            Work::Ended(Done::Course(Ok(finished))) => SessionEvent::AutopilotEnded(Ok(finished)),
            Work::Ended(Done::Course(Err(_))) => SessionEvent::AutopilotEnded(Err(self.died())),
            Work::Ended(Done::Run(Err(_))) | Work::Running(_) | Work::Idle => {
                SessionEvent::Ended(Err(self.died()))
            }
        }
    }

    fn died(&self) -> Died {
        Died(self.orchestrator.journal_failure().unwrap_or("the orchestrator died").to_owned())
    }

    /// Starts an autopilot: `goal` is the command that decides whether its task is done, and how it is run. An interrupted run
    /// is finished first. As for [`Self::begin`], the previous request must have ended.
    pub async fn start_autopilot(
        &mut self,
        course: Course,
        config: Arc<Config>,
        goal: Option<(CommandLine, RunOptions)>,
    ) -> Result<Autopilot, StartError> {
        let (news, told) = mpsc::channel(1);
        let interrupted = self.interrupted.take();
        let setup = CourseSetup { course, config, goal, interrupted, news };
        let autopilot = self.orchestrator.start_autopilot(setup).await?;
        let at_work = autopilot.clone();
        self.news = Some(told);
        self.work =
            Work::Running(Box::pin(
                async move { Done::Course(at_work.work().await.map(Box::new)) },
            ));
        Ok(autopilot)
    }

    /// Applies an earlier staged patch set through the same gate as every other change. As for [`Self::begin`], the previous
    /// request must have ended.
    pub fn apply(&mut self, staged: Staged) {
        let orchestrator = self.orchestrator.clone();
        self.work =
            Work::Running(Box::pin(async move { Done::Apply(orchestrator.apply(staged).await) }));
    }
}

/// Waits for the next news; forever if none can come.
async fn next_of(news: &mut Option<mpsc::Receiver<ToldNews>>) -> Option<ToldNews> {
    match news {
        Some(news) => news.recv().await,
        None => None,
    }
}
