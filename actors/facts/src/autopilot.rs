//! What an autopilot records of its course: the steps it took, its limits, and why it ended. Pure.

use std::time::Duration;

use model::price::Usd;
use serde::{Deserialize, Serialize};
use tree::FileHash;

/// A file that a step changed: hashes before and after, `None` where it did not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// Before the step.
    pub before: Option<FileHash>,
    /// After it.
    pub after: Option<FileHash>,
}

/// Limits of the task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkBounds {
    /// Number of steps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iterations: Option<usize>,
    /// Working time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Duration>,
    /// Cost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usd: Option<Usd>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
}

/// Why the task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum AutopilotEnd {
    /// The command passes.
    Reached,
    /// The steering model found nothing left to do.
    Done {
        /// The evidence.
        shown_by: String,
    },
    /// The steering model found no step that makes progress, or gave no usable answer.
    Stuck {
        /// The reason.
        reason: String,
    },
    /// The last steps made no progress.
    NoProgress,
    /// The last steps did not change the command's output.
    SameFailure,
    /// The limit of steps was reached.
    Iterations,
    /// The limit of working time was reached.
    Time,
    /// The budget is used up.
    Budget,
    /// Something was denied.
    Denied {
        /// What was denied, and the flag that would allow it.
        hint: String,
    },
    /// The user stopped it.
    Stopped,
}

impl AutopilotEnd {
    /// Returns true if the task can be resumed: what stopped it is up to the user.
    pub const fn can_go_on(&self) -> bool {
        matches!(self, Self::Stopped | Self::Denied { .. })
    }
}
