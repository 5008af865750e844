//! Small words that events and messages have in common: who, what kind, which state. Values only.

use std::fmt;

use serde::{Deserialize, Serialize};
use tree::FileHash;

/// What a message of the user is treated as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Files are to be changed.
    Edit,
    /// A plan is wanted, and nothing else.
    Plan,
    /// An answer is wanted.
    Answer,
    /// A change is to be reviewed.
    Review,
    /// A mission is to be researched, and carried out once its card is approved.
    Mission,
}

impl Intent {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Plan => "plan",
            Self::Answer => "answer",
            Self::Review => "review",
            Self::Mission => "mission",
        }
    }
}

/// How far a mission has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissionPhase {
    /// It was asked for.
    Drafting,
    /// It is found out what there is, and what is to be done. Nothing but reading happens.
    Researching,
    /// Its card is shown.
    AwaitingApproval,
    /// The approved card is carried out.
    Executing,
    /// It is over.
    Done,
}

impl fmt::Display for MissionPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Drafting => "drafting",
            Self::Researching => "researching",
            Self::AwaitingApproval => "awaiting approval",
            Self::Executing => "executing",
            Self::Done => "done",
        })
    }
}

/// A step of research.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResearchStep {
    /// Passages are asked what in them is surprising and important.
    Sampling,
    /// A program that the researcher wrote is run.
    Program,
    /// What should be true besides is looked for.
    Hypotheses,
    /// Small models are asked whether claims hold.
    Claims,
}

impl ResearchStep {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Program => "program",
            Self::Hypotheses => "hypotheses",
            Self::Claims => "claims",
        }
    }
}

/// How a program that a model wrote ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramEnd {
    /// With a result.
    Result,
    /// With an exception.
    Raised,
    /// It computed longer than it may.
    TimedOut,
    /// It used more memory than it may, or the interpreter failed.
    Died,
    /// Its process could not be started.
    NotStarted,
    /// What was kept of it while it waited is not readable.
    Unreadable,
}

/// What is said to a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardAnswer {
    /// It is to be carried out.
    Approved,
    /// It is not.
    Rejected,
    /// It is to be another: in the user's words.
    Modify(String),
    /// There was no one to ask.
    NoOne,
}

/// What is said to the card of this hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardStep {
    /// The card.
    pub hash: FileHash,
    /// What is said to it.
    pub answer: CardAnswer,
}

/// How it was found out what a message is treated as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentBy {
    /// A flag or a command says so.
    Flag,
    /// Its words were clear. Early versions had a list of them.
    Words,
    /// A model was asked.
    Model,
    /// None of them could say.
    Default,
}

impl IntentBy {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Words => "words",
            Self::Model => "model",
            Self::Default => "default",
        }
    }
}

/// The two sides of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The user.
    User,
    /// The program.
    Assistant,
}

impl Side {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SessionState {
    /// Nothing was asked yet.
    Idle,
    /// Evidence is gathered, a plan is made, an answer is thought about.
    Planning,
    /// A diff is written or applied.
    ExecutingStep,
    /// The user is asked for a yes.
    AwaitingApproval,
    /// A model asked the user something.
    AwaitingUserInput,
    /// The checks are run.
    Verifying,
    /// The last request was delivered.
    Completed,
    /// The last request was stopped and may be taken up again.
    Paused,
    /// The last request was not delivered.
    Failed,
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An effect that needs a yes, as it is told apart from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// A patch set, by its id.
    Patch(String),
    /// A command, as written.
    Command(String),
    /// The network for a command, as written.
    Network(String),
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch(id) => write!(f, "patch {id}"),
            Self::Command(text) => write!(f, "`{text}`"),
            Self::Network(text) => write!(f, "the network for `{text}`"),
        }
    }
}

/// Who said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeniedBy {
    /// The user.
    User,
    /// Policy.
    Policy,
    /// Nobody: there was no one to ask.
    Nobody,
}

/// An actor of a run that is replaced when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Plans.
    Architect,
    /// Drafts.
    Editor,
    /// Applies.
    Applier,
    /// Verifies.
    Verifier,
    /// Admits calls.
    #[serde(alias = "router")]
    Admission,
}

impl Role {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Editor => "editor",
            Self::Applier => "applier",
            Self::Verifier => "verifier",
            Self::Admission => "admission",
        }
    }
}
