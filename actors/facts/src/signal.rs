//! Messages to the screen: events and what is shown beside them, and questions that wait for an answer. Values only.

use std::borrow::Cow;
use std::sync::Arc;

use model::AgentRole;
use sandbox::ConfinementLevel;
use tokio::sync::oneshot;

use crate::event::Envelope;
use crate::scope::Scope;

/// A message to the screen.
#[derive(Debug)]
pub enum Signal {
    /// An event that is in the journal. Never lost.
    Event(Arc<Envelope>),
    /// A piece of an answer as it arrives. May be dropped when the screen is slow.
    Text(Speaker, String),
    /// A piece of reasoning as it arrives. May be dropped when the screen is slow.
    Reasoning(Speaker, String),
    /// Why a part of the run is waiting. May be dropped when the screen is slow.
    Waiting(Scope, Cow<'static, str>),
    /// Everything waits for the user to mend something, which is named. Repeated until the screen has it.
    Paused(String),
    /// How far the commands of a run are confined. Never lost.
    Confined(ConfinementLevel),
    /// What a plan needs approval for while no user is there to give it. Never lost.
    Unapprovable(String),
    /// A request for approval. Never lost.
    Question(ApprovalQuestion),
    /// A question of a model to the user. Never lost.
    Asked(OpenQuestion),
}

/// The source of a piece of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// The role.
    pub role: AgentRole,
    /// The scope it works in.
    pub scope: Scope,
}

/// A request for the user's approval.
#[derive(Debug)]
pub struct ApprovalQuestion {
    /// The scope in which it is asked.
    pub scope: Scope,
    /// What needs approval.
    pub what: Proposal,
    /// Why it needs approval.
    pub why: String,
    /// Receives the answer. Dropping it means that there is no user to answer.
    pub answer: oneshot::Sender<ApprovalAnswer>,
}

/// A question to the user that is answered in words.
#[derive(Debug)]
pub struct OpenQuestion {
    /// The scope in which it is asked.
    pub scope: Scope,
    /// The question.
    pub text: String,
    /// What an empty answer means.
    pub if_empty: String,
    /// Receives the answer. Dropping it means that there is no user to answer.
    pub answer: oneshot::Sender<String>,
}

/// Whether the user is present to answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// The user is present: whatever needs approval is asked.
    Attended,
    /// The user is absent: whatever needs approval is denied.
    Unattended,
}

/// An effect that needs approval.
#[derive(Debug, Clone)]
pub enum Proposal {
    /// Changes to files.
    Patch(Arc<[tree::Change]>, Acceptance),
    /// A command to run.
    Command(String, Holds),
    /// A command that needs the network.
    Network(String),
    /// A call of a server's tool, with its arguments.
    Tool(String),
    /// A mission, by its card.
    Mission(String),
}

/// How long an approval of a command can last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Only for this run: in a mission, only its card counts, not earlier approvals.
    InThisRun,
    /// Permanently, if the user chooses so.
    Always,
}

/// The user's answer to a request for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Go ahead.
    Yes,
    /// Go ahead, and do not ask for this again in this workspace.
    Always,
    /// No.
    No,
    /// No, with a reason for the model.
    Because(String),
    /// Yes to some files of a change, no to the others.
    Only {
        /// The files to go ahead with.
        paths: Vec<String>,
        /// Why the others are left out, for the model.
        why: Option<String>,
    },
}

/// How the user may accept a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// All of it, or nothing.
    Whole,
    /// File by file: the author is told which files were left out, and continues from there.
    ByFile,
    /// File by file: the rest stays staged as a patch set of its own.
    RestStays,
}

impl Acceptance {
    /// Returns true if the user may accept individual files.
    pub const fn is_by_file(self) -> bool {
        matches!(self, Self::ByFile | Self::RestStays)
    }
}
