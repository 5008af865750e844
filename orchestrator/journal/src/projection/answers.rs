//! What the tables answer: sessions, calls, and the events of a session. Values only.

use actors::delivery::Delivery;
use actors::event::{Blob, StagedFile};
use actors::ledger::Amount;
use actors::plan::Plan;
use serde::Serialize;
use tools::model::Usage;
use tools::model::price::Usd;

use crate::staged::StagedPatch;

/// A session in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Its id.
    pub id: String,
    /// When it began.
    pub started: String,
    /// Its workspace.
    pub workspace: String,
    /// Version of the program that began it.
    pub version: String,
    /// What it is doing, or was when it ended.
    pub state: String,
    /// What the user asked, in order.
    pub requests: Vec<String>,
    /// How the last request ended; none when it did not.
    pub ended: Option<String>,
    /// The first patch set that was applied in it.
    pub applied: Option<String>,
    /// How many events it has.
    pub events: u64,
}

impl Summary {
    /// Whether something was asked in it that has no end.
    pub fn is_cut_short(&self) -> bool {
        !self.requests.is_empty() && self.ended.is_none()
    }
}

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The session it was made in.
    #[serde(skip)]
    pub session: String,
    /// Number of the event of its request.
    #[serde(skip)]
    pub seq: u64,
    /// When it was asked.
    #[serde(skip)]
    pub at: String,
    /// The lane that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// Number of the call in its run, or in its lane.
    pub call: u64,
    /// Who asked.
    pub role: String,
    /// Who was asked.
    pub model: String,
    /// Which try it was, from zero.
    pub retry: u64,
    /// The exact request.
    pub body: Blob,
    /// What came back; none when nobody knows.
    pub reply: Option<CallReply>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallReply {
    /// Number of its event.
    pub seq: u64,
    /// `ok`, or the class of the error.
    pub outcome: String,
    /// The error in words.
    pub message: String,
    /// What it used, if the server said.
    pub usage: Option<Usage>,
    /// What it cost, if that is known.
    pub cost_nano_usd: Option<Usd>,
    /// Tokens sent before that the cache did not have.
    pub avoidable_misses: u64,
    /// The answer.
    pub answer: Option<Blob>,
}

/// A lane of a run: the last of its attempts that changed something, or else the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneWork {
    /// The session it was in.
    pub session: String,
    /// The run.
    pub run: String,
    /// Its number.
    pub lane: String,
    /// What it is, in a few words; empty when it never began, and nobody said.
    pub title: String,
    /// `merged`, `staged`, `empty`, `failed` or `conflicted`; before that `begun`, `completed` or `failed`.
    pub state: String,
    /// Which attempt; zero if it never began.
    pub attempt: u64,
    /// What was changed in it.
    pub files: Vec<StagedFile>,
}

/// An event of a session, as far as the tables know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoryEvent {
    /// Its number.
    pub seq: u64,
    /// When it was written.
    pub at: String,
    /// Kind and version.
    pub kind: String,
    /// The run it belongs to.
    pub run: Option<String>,
    /// The lane it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// What it says.
    #[serde(flatten)]
    pub what: Moment,
}

impl StoryEvent {
    /// The kind without its version.
    pub fn name(&self) -> &str {
        self.kind.split('@').next().unwrap_or_default()
    }
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", content = "data", rename_all = "snake_case")]
pub enum Moment {
    /// Somebody said something.
    Turn {
        /// `user` or `assistant`.
        speaker: String,
        /// What.
        text: String,
    },
    /// It was decided how a message is treated.
    Decision {
        /// `edit`, `plan` or `answer`.
        intent: String,
        /// Why.
        reason: String,
    },
    /// The session is in another state.
    State {
        /// Which.
        state: String,
    },
    /// A role was asked, or what it made is applied or verified.
    Stage {
        /// One-based.
        iteration: u64,
    },
    /// There is a plan.
    Plan {
        /// Counts from one.
        version: u64,
        /// The plan.
        plan: Plan,
    },
    /// An answer or a diff was not taken.
    Refusal {
        /// `plan`, `draft` or `patch`.
        of: String,
        /// Why.
        why: String,
    },
    /// A patch set may be applied.
    Patch(StagedPatch),
    /// What became of a patch set.
    Commit {
        /// Its id.
        patch: String,
        /// `applied`, `completed`, `taken_back` or `stuck`.
        outcome: String,
    },
    /// Something needs a yes.
    Proposal {
        /// Number of the question.
        ask: String,
        /// The effect.
        effect: String,
        /// Why it is asked for.
        why: String,
    },
    /// Somebody said yes or no, or nobody had to be asked to say no.
    Answer {
        /// Number of the question; empty when there was none.
        ask: String,
        /// `approved` or `denied`.
        answer: String,
        /// The effect; absent of a yes.
        effect: Option<String>,
        /// Why; absent of a yes.
        why: Option<String>,
    },
    /// A command of a verification was run.
    Command {
        /// As written.
        command: String,
        /// Whether on the untouched tree.
        baseline: bool,
        /// What came of it.
        outcome: String,
        /// How it ended.
        exit: String,
        /// How long it took.
        elapsed_ms: u64,
        /// What it printed.
        output: Blob,
    },
    /// A verification is done.
    Verification {
        /// One-based.
        iteration: u64,
        /// All commands together.
        outcome: String,
    },
    /// A failure was classified.
    Failure {
        /// Its class.
        class: String,
        /// Distinct failures.
        errors: u64,
    },
    /// A model was asked.
    Call(Box<Call>),
    /// A model answered, or did not.
    Reply {
        /// Number of the event of its request.
        request: u64,
    },
    /// A request is over.
    Delivery {
        /// How it ended.
        delivery: Delivery,
        /// What it used.
        spent: Amount,
    },
    /// Something else: its kind says what.
    Other,
}
