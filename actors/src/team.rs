//! What is told of a team: the lanes of its plan, and what became of them. Values only.

use serde::{Deserialize, Serialize};
use tree::RepoPath;

use crate::delivery::Delivery;
use crate::lane_id::LaneId;
use crate::ledger::Amount;

/// A lane of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedLane {
    /// Its number.
    pub lane: LaneId,
    /// In a few words.
    pub title: String,
    /// What it is to do.
    pub goal: String,
    /// Paths and globs that it alone may change.
    pub owns: Vec<String>,
    /// Lanes that have to end before it begins.
    pub after: Vec<LaneId>,
}

/// What became of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LaneEnd {
    /// What it did is in the result.
    Merged,
    /// What it did is in what is staged, and not in the workspace.
    Staged,
    /// There was nothing to change.
    Empty,
    /// It did not get done; nothing of it is in the result.
    Failed {
        /// How it ended.
        why: Delivery,
    },
    /// What it did and what somebody else did exclude each other; nothing of it is in the result.
    Conflicted {
        /// Where.
        paths: Vec<RepoPath>,
        /// Who the other is.
        with: Other,
    },
}

/// Who a lane is in conflict with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Other {
    /// Lanes that were merged before it.
    Lanes,
    /// The user, who changed the workspace meanwhile.
    User,
}

/// A lane at the end of its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedLane {
    /// Its number.
    pub lane: LaneId,
    /// In a few words.
    pub title: String,
    /// What became of it.
    #[serde(flatten)]
    pub end: LaneEnd,
    /// What it used.
    pub spent: Amount,
}
