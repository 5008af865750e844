//! The interface through which actors reach the layer above: to commit a validated change, and to get a patch or a
//! command approved.
//!
//! The orchestrator implements it for the user's workspace. Actors read files themselves and never write.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, StagedFor};
use facts::lane_id::LaneId;
use facts::scope::Scope;
use facts::signal::Acceptance;
use facts::words::EffectToApprove;
use facts::write_failure::WriteFailure;
use futures_util::future::BoxFuture;
use patch::PutAside;
use policy::ToolKind;
use sandbox::Network;
use shell::CommandLine;
use thiserror::Error;
use tree::{Change, FileThen, ReadTree, RepoPath, SnapshotError};

/// A tree that a crew works on, accessed through its owner.
pub trait Workspace: Send + Sync + 'static {
    /// Returns the tree, for reading.
    fn reader(&self) -> &ReadTree;

    /// Returns the user's directory if the tree is a copy of it; commands see the copy under that path.
    fn in_place_of(&self) -> Option<&Path> {
        None
    }

    /// Returns the lane that alone may change `path`, if it is not the lane of this tree.
    fn owner(&self, _: &RepoPath) -> Option<LaneId> {
        None
    }

    /// Returns what in a plan exceeds what the user approved beforehand; `None` if nothing does, or if nothing was
    /// approved beforehand.
    fn beyond(&self, _: &[RepoPath], _: &[String]) -> Option<Unapproved> {
        None
    }

    /// Returns true if the user approved the scope of the work beforehand; then no other approval applies.
    fn is_approved(&self) -> bool {
        false
    }

    /// Commits a validated change: all of it except what the user leaves out, or nothing.
    fn commit_patch_set(&self, staged: Staged) -> BoxFuture<'_, Result<Extent, CommitRefused>>;

    /// Asks for approval to write a patch to a copy of the workspace, in which commands will run the patched code.
    fn approve<'a>(
        &'a self,
        patch: &'a str,
        changes: &'a [Change],
    ) -> BoxFuture<'a, Result<(), Denied>>;

    /// Asks for approval to run a command. An approval lasts for the rest of the run.
    fn permit<'a>(
        &'a self,
        command: &'a CommandLine,
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<(), Denied>>;

    /// Asks for approval to call a tool of a server; `call` is the call as the user sees it.
    fn permit_tool(&self, _: ToolKind, call: String) -> BoxFuture<'_, Result<(), Denied>> {
        let (why, what) =
            ("only a question may lead to this call".into(), EffectToApprove::Tool(call));
        let denied = Denied { what, why, hint: Wording::from(String::new()), said: None };
        Box::pin(std::future::ready(Err(denied)))
    }

    /// Returns a copy of the tree in which some files have another state, or are missing. Allowed commands can run in it.
    fn copied<'a>(&'a self, _: &'a [FileThen]) -> BoxFuture<'a, Result<Box<dyn Copied>, NoCopy>> {
        Box::pin(std::future::ready(Err(NoCopy::NotHere)))
    }
}

/// What in a plan the user did not approve, and what was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unapproved {
    /// The files and commands of the plan that were not approved.
    pub planned: Vec<String>,
    /// The approved paths and patterns.
    pub writes: Vec<String>,
    /// The approved commands, verbatim.
    pub commands: Vec<String>,
}

/// What a command is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// To check the tree, with this network access.
    Check(Network),
    /// To see its output, in a copy of the tree.
    Trial,
}

impl Purpose {
    /// Returns the network access that the command needs.
    pub const fn reach(self) -> Network {
        match self {
            Self::Check(reach) => reach,
            Self::Trial => Network::Own,
        }
    }
}

/// A temporary copy of a tree.
pub trait Copied: Send + Sync {
    /// Returns its root directory.
    fn root(&self) -> &Path;

    /// Returns the directories of the original that links in the copy lead to.
    fn linked(&self) -> &[PathBuf];

    /// Removes the copy, and returns once it is gone.
    fn remove(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Why a tree could not be copied.
#[derive(Debug, Error)]
pub enum NoCopy {
    /// This tree cannot be copied.
    #[error("a worktree is not copied")]
    NotHere,
    /// It is too large.
    #[error(
        "the files are more than {max_bytes} bytes, which are not copied to run a command where it is confined only in part (`sandbox.copy_bytes`)"
    )]
    TooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// Creating the copy failed.
    #[error("the copy could not be made: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The system refused.
    #[error("the copy could not be made: {0}")]
    Io(#[from] io::Error),
}

/// Provides the user's workspace to each part of a run.
pub trait Workspaces: Send + Sync + 'static {
    /// Returns the workspace for `scope`.
    fn of(&self, scope: &Scope) -> Arc<dyn Workspace>;
}

/// A validated change, ready to be committed.
#[derive(Debug, Clone)]
pub struct Staged {
    /// Its id, if it was staged before.
    pub id: Option<String>,
    /// Why it is staged.
    pub purpose: StagedFor,
    /// A title for people.
    pub title: Wording,
    /// What it changes.
    pub changes: Arc<[Change]>,
    /// Where the diff was read leniently.
    pub repairs: Vec<Wording>,
    /// Sections of the diff that are not part of the change.
    pub put_aside: Vec<PutAside>,
    /// Whether the user may accept only a part of it.
    pub taken: Acceptance,
}

/// How much of a change was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// All but what the user left out.
    Part(LeftOut),
}

/// What the user left out of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The files; at least one, and never all.
    pub paths: Vec<RepoPath>,
    /// The user's reason, for the model.
    pub said: Option<String>,
}

impl LeftOut {
    /// Returns the changes that were not left out.
    pub fn rest(&self, of: &[Change]) -> Arc<[Change]> {
        of.iter().filter(|change| !self.paths.contains(&change.path)).cloned().collect()
    }
}

/// A denial.
#[derive(Debug, Clone, Error)]
#[error("{what} was denied: {why}")]
pub struct Denied {
    /// The effect that was denied.
    pub what: EffectToApprove,
    /// The reason.
    pub why: Wording,
    /// What would allow it.
    pub hint: Wording,
    /// The user's objection, for the model.
    pub said: Option<String>,
}

impl PartialEq for Denied {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl Eq for Denied {}

impl Denied {
    /// Returns how a run ends because of it.
    pub fn delivery(&self) -> Delivery {
        let what = format!("{}: {}", self.what, self.why).into();
        Delivery::denied(what, self.hint.clone())
    }
}

/// Why a change was not applied. None of it is in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommitRefused {
    /// Policy or the user denied it.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// It could not be written.
    #[error(transparent)]
    NotApplied(#[from] WriteFailure),
    /// The owner of the tree has stopped.
    #[error("the owner of the workspace has stopped")]
    Gone,
}

impl From<JournalClosed> for CommitRefused {
    fn from(_: JournalClosed) -> Self {
        Self::Gone
    }
}
