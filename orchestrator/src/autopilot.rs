//! The autopilot takes a long task through the orchestrator, request by request, until it is over. What comes next is decided
//! in [`course`]; its actor, in `course_actor`, only carries it out.
//!
//! Its state is in the journal: [`past_course`] reads it back. The steering model is asked in a dialogue of its own (`steering`).

pub mod course;
mod course_actor;
mod course_texts;
pub mod past_course;
pub mod pilot_state;
mod steering;
mod steering_answer;
pub(crate) mod steering_dialogue;
#[cfg(test)]
mod tests;
mod undoing;

use std::sync::Arc;

use actors::Unanswered;
use actors::mailbox::Mailbox;
use actors::run::terms::TermsError;
use actors::run::workspace::CommitRefused;
use actors::workers::Finished;
use checks::wording::Wording;
use config::Config;
use facts::autopilot::AutopilotEnd;
use facts::closed::JournalClosed;
use journal::read::ReadError;
use ractor::RpcReplyPort;
use shell::{CommandLine, RunOptions};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use self::course::{Course, CourseInput, CourseWish};
use self::pilot_state::PilotState;
use crate::root::RequestOutcome;
use crate::session::past_requests::InterruptedRun;

/// What an autopilot is started with.
pub struct CourseSetup {
    /// The course, new or from a journal.
    pub course: Course,
    /// The configuration that the steps are taken with.
    pub config: Arc<Config>,
    /// The command that decides whether the task is done, and how it is run.
    pub goal: Option<(CommandLine, RunOptions)>,
    /// The interrupted request of the session.
    pub interrupted: Option<InterruptedRun>,
    /// Told of what happens.
    pub news: mpsc::Sender<ToldNews>,
}

/// What happens on the course.
#[derive(Debug)]
pub enum CourseNews {
    /// The interrupted request is taken up: this step, or the question for the next one.
    TakenUp(Option<String>),
    /// The steering model is asked for the next step.
    Choosing,
    /// A step begins.
    Working {
        /// Its number, from one.
        number: usize,
        /// The step.
        step: String,
    },
    /// A step has ended.
    Taken(Box<RequestOutcome>),
    /// The course rests.
    Paused,
}

/// News, and whom to tell once it is shown: the course waits for that.
#[derive(Debug)]
pub struct ToldNews {
    /// What happened.
    pub news: CourseNews,
    /// To be sent once it is shown.
    pub shown: oneshot::Sender<()>,
}

/// How a course came to its end.
#[derive(Debug)]
pub struct FinishedCourse {
    /// What was done.
    pub work: PilotState,
    /// Why it ended, or what broke it off; then it can be resumed.
    pub end: Result<AutopilotEnd, CourseBroken>,
}

/// Why a course was broken off.
#[derive(Debug, Error)]
pub enum CourseBroken {
    /// The changes of a step that was not delivered cannot be undone.
    #[error(transparent)]
    NotUndone(#[from] CommitRefused),
    /// There was no network for too long.
    #[error("paused: {0}")]
    Paused(Wording),
    /// The journal cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The journal takes no more events.
    #[error(transparent)]
    Journal(#[from] JournalClosed),
    /// The configuration is unusable.
    #[error(transparent)]
    Config(#[from] TermsError),
    /// The orchestrator died, or the work panicked.
    #[error(transparent)]
    Died(#[from] Unanswered),
}

/// A handle to a running autopilot.
#[derive(Debug, Clone)]
pub struct Autopilot {
    mailbox: Mailbox<Msg>,
}

impl Autopilot {
    /// Works until the course is over or broken off.
    pub async fn work(&self) -> Result<FinishedCourse, Unanswered> {
        self.mailbox.call("work", |reply| Msg::Work { reply }, None).await
    }

    /// Passes on what the user wants; `None` to go on.
    pub fn wish(&self, wish: Option<CourseWish>) {
        // A course that is over has no wishes to follow.
        self.mailbox.cast("wish", Msg::Wish(wish)).ok();
    }
}

enum Msg {
    Work {
        reply: RpcReplyPort<FinishedCourse>,
    },
    Wish(Option<CourseWish>),
    /// The next request may begin: the orchestrator keeps to its configuration, and the news of it are shown.
    Ready(Finished<Result<(), CourseBroken>>),
    Happened(Finished<Result<CourseInput, CourseBroken>>),
    /// The end is recorded.
    Ended(Finished<Result<AutopilotEnd, JournalClosed>>),
}
