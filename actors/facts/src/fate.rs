//! What became of a change after its turn. Values only.

use serde::{Deserialize, Serialize};
use tree::RepoPath;

/// What became of the change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeFate {
    /// Number of the turn in its conversation, from one.
    pub turn: usize,
    /// The file.
    pub path: RepoPath,
    /// What became of it.
    pub fate: Fate,
    /// True if that concerns only a part of the change.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub partly: bool,
    /// True if the last commit of the user's git has all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub committed: bool,
    /// Why the user left it out; absent if no reason was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub said: Option<String>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is in the workspace as its turn left it.
    Stands,
    /// It was not applied in its turn, but is in the workspace now.
    Applied,
    /// It was not applied, and is only staged.
    Staged,
    /// The user left it out of what was applied.
    LeftOut,
    /// The user undid it with this program.
    Undone,
    /// A later change of this program replaced it.
    Replaced,
    /// The user, or another program, removed it.
    Removed,
}
