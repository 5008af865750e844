//! The lanes of a team, as events describe them: planned and ended. Values only.

use serde::{Deserialize, Serialize};
use tree::RepoPath;

use crate::amounts::Amount;
use crate::delivery::Delivery;
use crate::lane_id::LaneId;

/// A lane of a team plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedLane {
    /// Its number.
    pub lane: LaneId,
    /// Its title, in a few words.
    pub title: String,
    /// Its task.
    pub goal: String,
    /// Paths and globs that only this lane may change.
    pub owns: Vec<String>,
    /// Lanes that must end before it starts.
    pub after: Vec<LaneId>,
}

/// The final state of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LaneEnd {
    /// Its changes are part of the result.
    Merged,
    /// Its changes are staged with the rest of the result, not in the workspace.
    Staged,
    /// It had nothing to change.
    Empty,
    /// It failed; none of its changes are in the result.
    Failed {
        /// How it ended.
        why: Delivery,
    },
    /// Its changes conflict with others; none of them are in the result.
    Conflicted {
        /// The conflicting files.
        paths: Vec<RepoPath>,
        /// Whose changes they conflict with.
        with: Other,
    },
}

/// The other side of a lane's conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Other {
    /// Lanes that were merged before it.
    Lanes,
    /// The user, who changed the workspace in the meantime.
    User,
}

/// A lane at the end of its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedLane {
    /// Its number.
    pub lane: LaneId,
    /// Its title, in a few words.
    pub title: String,
    /// Its final state; in JSON its fields are on the same level as `lane`.
    #[serde(flatten)]
    pub end: LaneEnd,
    /// What it used.
    pub spent: Amount,
}
