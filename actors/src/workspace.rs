//! What actors may ask of the floor above: to commit a validated change, and to be allowed a patch or a command.
//!
//! Implemented by the orchestrator for the user's workspace. Actors read for themselves and never write.

use std::io;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use patch::PutAside;
use sandbox::Network;
use serde::{Deserialize, Serialize};
use shell::CommandLine;
use thiserror::Error;
use tree::{Change, ReadTree, RepoPath, SnapshotError};

use crate::closed::JournalClosed;
use crate::delivery::{Delivery, StagedFor};
use crate::lane_id::LaneId;
use crate::scope::Scope;
use crate::wording::Wording;
use crate::words::Asked;

/// A tree that a crew works on, through its owner.
pub trait Workspace: Send + Sync + 'static {
    /// The tree, for reading.
    fn reader(&self) -> &ReadTree;

    /// The user's directory, when the tree is a copy of it: commands are to take the one for the other.
    fn in_place_of(&self) -> Option<&Path> {
        None
    }

    /// The lane that alone may change what is at `path`, if that is another than the one this tree is of.
    fn owner(&self, _: &RepoPath) -> Option<LaneId> {
        None
    }

    /// What of a plan goes beyond what the user approved before it was made; `None` where nothing does, or nothing was approved.
    fn beyond(&self, _: &[RepoPath], _: &[String]) -> Option<Unapproved> {
        None
    }

    /// Whether the user approved what may be done before it was planned: then nothing else answers for it.
    fn is_approved(&self) -> bool {
        false
    }

    /// Commits a validated change: all that the user did not leave out of it, or nothing.
    fn commit(&self, staged: Staged) -> BoxFuture<'_, Result<Extent, CommitRefused>>;

    /// Asks whether a patch may be written to a copy of the workspace, where commands will run what it says.
    fn approve<'a>(
        &'a self,
        patch: &'a str,
        changes: &'a [Change],
    ) -> BoxFuture<'a, Result<(), Denied>>;

    /// Asks whether a command may run. An approval holds for the rest of the run.
    fn permit<'a>(
        &'a self,
        command: &'a CommandLine,
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<(), Denied>>;

    /// A copy of the tree as it was before `changes`, but with the tests among them, to run commands in that are allowed here.
    fn copied<'a>(&'a self, _: &'a [Change]) -> BoxFuture<'a, Result<Box<dyn Copied>, NoCopy>> {
        Box::pin(std::future::ready(Err(NoCopy::NotHere)))
    }
}

/// What of a plan the user did not approve, and what the user did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unapproved {
    /// Files and commands of the plan.
    pub planned: Vec<String>,
    /// Paths and patterns that may be changed.
    pub writes: Vec<String>,
    /// Commands that may be run, in these words.
    pub commands: Vec<String>,
}

/// What a command is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// To check the tree. It reaches whom it says.
    Check(Network),
    /// To see what comes of it, in a copy of the tree.
    Trial,
}

impl Purpose {
    /// Whom the command is to reach.
    pub const fn reach(self) -> Network {
        match self {
            Self::Check(reach) => reach,
            Self::Trial => Network::Own,
        }
    }
}

/// A copy of a tree, which goes with this.
pub trait Copied: Send + Sync {
    /// Where it is.
    fn root(&self) -> &Path;

    /// Removes it, and comes back when it is gone.
    fn remove(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Why there is no copy of a tree.
#[derive(Debug, Error)]
pub enum NoCopy {
    /// Nobody makes one of this tree.
    #[error("a worktree is not copied")]
    NotHere,
    /// It could not be made.
    #[error("the copy could not be made: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The system refused.
    #[error("the copy could not be made: {0}")]
    Io(#[from] io::Error),
}

/// The user's workspace, for each part of a run.
pub trait Workspaces: Send + Sync + 'static {
    /// The workspace, as it is asked for by `scope`.
    fn of(&self, scope: &Scope) -> Arc<dyn Workspace>;
}

/// A validated change, ready to be committed.
#[derive(Debug, Clone)]
pub struct Staged {
    /// Its id, when it was staged before.
    pub id: Option<String>,
    /// What it is for.
    pub purpose: StagedFor,
    /// What it is, for people.
    pub title: Wording,
    /// What it changes.
    pub changes: Vec<Change>,
    /// Where the diff was read tolerantly.
    pub repairs: Vec<Wording>,
    /// What the diff has beside, and what is not part of the change.
    pub put_aside: Vec<PutAside>,
    /// Whether the user may take some of it.
    pub taken: Taken,
}

/// How the user may take a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All of it, or nothing.
    Whole,
    /// Some of its files, and others not: whoever made it is told and goes on from there.
    ByFile,
    /// Some of its files; the others stay staged, as a patch set of their own.
    RestStays,
}

impl Taken {
    /// Whether some of its files can be taken, and others not.
    pub const fn is_by_file(self) -> bool {
        matches!(self, Self::ByFile | Self::RestStays)
    }
}

/// What of a change is in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// What the user took of it.
    Part(LeftOut),
}

/// What the user left out of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its files; at least one, and never all.
    pub paths: Vec<RepoPath>,
    /// What the user said against it, for the model.
    pub said: Option<String>,
}

/// A no.
#[derive(Debug, Clone, Error)]
#[error("{what} was denied: {why}")]
pub struct Denied {
    /// The effect.
    pub what: Asked,
    /// Why.
    pub why: Wording,
    /// What would allow it.
    pub hint: Wording,
    /// What the user said against it, for the model.
    pub said: Option<String>,
}

impl PartialEq for Denied {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl Eq for Denied {}

impl Denied {
    /// How a run ends by it.
    pub fn delivery(&self) -> Delivery {
        let what = format!("{}: {}", self.what, self.why).into();
        Delivery::Denied { what, hint: self.hint.clone() }
    }
}

/// Why a change is not in the tree. Nothing of it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommitRefused {
    /// Policy or the user said no.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// It could not be written.
    #[error(transparent)]
    NotApplied(#[from] NotApplied),
    /// The owner of the tree is gone.
    #[error("the owner of the workspace is gone")]
    Gone,
}

impl From<JournalClosed> for CommitRefused {
    fn from(_: JournalClosed) -> Self {
        Self::Gone
    }
}

/// Why a change that was allowed is not in the tree.
#[derive(Debug, Clone, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotApplied {
    /// A file is not what the change was made for any more.
    #[error("{path} was changed by somebody else meanwhile")]
    Stale {
        /// The file.
        path: String,
    },
    /// The system refused.
    #[error("the change could not be written: {message}")]
    NotWritten {
        /// What it said.
        message: Wording,
    },
}

impl PartialEq for NotApplied {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stale { path: a }, Self::Stale { path: b }) => a == b,
            (Self::NotWritten { .. }, Self::NotWritten { .. }) => true,
            (Self::Stale { .. }, Self::NotWritten { .. })
            | (Self::NotWritten { .. }, Self::Stale { .. }) => false,
        }
    }
}

impl Eq for NotApplied {}
