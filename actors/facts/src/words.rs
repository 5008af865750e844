//! Small enums that events and messages share: roles, kinds and states. Values only.

use std::fmt;

use checks::wording::Wording;
use serde::{Deserialize, Serialize};
use tools::ids::short_id;
use tree::FileHash;

/// How a message of the user is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestIntent {
    /// As a request to change files.
    Edit,
    /// As a request for a plan only.
    Plan,
    /// As a question.
    Answer,
    /// As a request to review a change.
    Review,
    /// As a mission: it is researched, and carried out once its card is approved.
    Mission,
}

impl RequestIntent {
    /// Returns the intent as one word.
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

/// The phase of a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissionPhase {
    /// It was requested.
    Drafting,
    /// The files are researched and the mission is planned. Read-only.
    Researching,
    /// Its card is shown to the user.
    AwaitingApproval,
    /// The approved card is carried out.
    Executing,
    /// It has ended.
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

/// A kind of research step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResearchStep {
    /// Models are asked what is surprising and important in passages of the files.
    Sampling,
    /// A program that the researcher wrote is run.
    Program,
    /// The researcher is asked what else should be true, and that is checked.
    Hypotheses,
    /// Small models are asked whether claims are true.
    Claims,
}

impl ResearchStep {
    /// Returns the step as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Program => "program",
            Self::Hypotheses => "hypotheses",
            Self::Claims => "claims",
        }
    }
}

/// How a model-written program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramEnd {
    /// It returned a result.
    Result,
    /// It raised an exception.
    Raised,
    /// It exceeded its time limit.
    TimedOut,
    /// It exceeded its memory limit, or the interpreter failed.
    Died,
    /// Its process could not be started.
    NotStarted,
    /// Its saved state, from while it was waiting, could not be read.
    Unreadable,
}

/// The user's answer to a mission's card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardAnswer {
    /// Carry it out.
    Approved,
    /// Do not carry it out.
    Rejected,
    /// Revise it, with the user's instructions.
    Modify(String),
    /// No user was present.
    NoOne,
}

/// An answer to the card with this hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredCard {
    /// Hash of the card.
    pub hash: FileHash,
    /// The answer.
    pub answer: CardAnswer,
}

/// How the intent of a message was determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentBy {
    /// A flag or a command set it.
    Flag,
    /// By unambiguous words; only early versions had a list of these.
    Words,
    /// A model classified it.
    Model,
    /// The user said it, because no model could be asked.
    User,
    /// None of the others decided it.
    Default,
}

impl IntentBy {
    /// Returns the value as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Words => "words",
            Self::Model => "model",
            Self::User => "user",
            Self::Default => "default",
        }
    }
}

/// What caused a conversation to be compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactedBy {
    /// It exceeded its limit.
    Limit,
    /// The user asked for it.
    User,
}

/// A side of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The user.
    User,
    /// The assistant, which is this program.
    Assistant,
}

impl Side {
    /// Returns the side as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SessionState {
    /// No request yet.
    Idle,
    /// Gathering evidence, planning, or answering.
    Planning,
    /// Writing or applying a diff.
    ExecutingStep,
    /// Waiting for the user's approval.
    AwaitingApproval,
    /// Waiting for the user's answer to a model's question.
    AwaitingUserInput,
    /// Running the checks.
    Verifying,
    /// The last request was delivered.
    Completed,
    /// The last request was stopped and can be resumed.
    Paused,
    /// The last request was not delivered.
    Failed,
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An effect that needs approval.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectToApprove {
    /// Applying a patch set, given by its id.
    Patch(String),
    /// Running a command, as written.
    Command(String),
    /// Network access for a command, as written.
    Network(String),
    /// A call of a server's tool, with its arguments.
    Tool(String),
}

impl fmt::Display for EffectToApprove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch(id) => write!(f, "patch {}", short_id(id)),
            Self::Command(text) => write!(f, "`{text}`"),
            Self::Network(text) => write!(f, "the network for `{text}`"),
            Self::Tool(text) => write!(f, "the call {text}"),
        }
    }
}

/// A server of tools that cannot be used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LackingServer {
    /// The reason, and what to do.
    pub why: Wording,
    /// True if nothing is to be done without it.
    #[serde(default)]
    pub required: bool,
}

/// How the call of a server's tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallEnd {
    /// The tool answered.
    Answered,
    /// The tool answered that it failed.
    Failed,
    /// It was not carried out.
    Refused,
    /// Whether it was carried out is not known.
    Unknown,
}

/// Who denied an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeniedBy {
    /// The user.
    User,
    /// Policy.
    Policy,
    /// No user was present to approve it.
    Nobody,
}

/// An actor of a run that is replaced when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Makes plans.
    Architect,
    /// Writes diffs.
    Editor,
    /// Applies diffs.
    Applier,
    /// Runs checks.
    Verifier,
    /// Admits model calls.
    #[serde(alias = "router")]
    Admission,
    /// Chooses the models of questions.
    ModelRouter,
}

impl Role {
    /// Returns the role as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Editor => "editor",
            Self::Applier => "applier",
            Self::Verifier => "verifier",
            Self::Admission => "admission",
            Self::ModelRouter => "router",
        }
    }
}
