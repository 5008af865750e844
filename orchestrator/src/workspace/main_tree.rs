//! The main tree: the only thing in the program that can write to the user's workspace.
//!
//! There is only one, it cannot be cloned, and a commit consumes it, so two concurrent commits do not compile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use actors::run::workspace::CommitRefused;
use config::Config;
use facts::write_failure::WriteFailure;
use lanes::lane::lane_tree::has_changes;
use tools::clock::Timestamp;
use tree::{
    Change, Checkpoint, CheckpointNote, CommitError, CommitLog, ReadTree, Settled, Settlement,
    Snapshot, SnapshotError, Snapshots, WriteTree,
};

use crate::workspace::places::{WorkspacePlaces, snapshots};

/// The user's workspace, writable.
pub(crate) struct MainTree {
    tree: WriteTree,
    checkpoints: Snapshots,
}

impl MainTree {
    /// Opens the workspace. Called once in a session, by the orchestrator.
    pub(crate) fn open(
        root: &Path,
        places: &WorkspacePlaces,
        config: &Config,
    ) -> Result<Self, CommitError> {
        let patience = Duration::from_secs(config.limits.workspace_lock_timeout_seconds);
        let log = CommitLog::at(places.commits.clone(), patience);
        let log = log.map_err(|source| CommitError::Log { source })?;
        let checkpoints = snapshots(places, root, config);
        Ok(Self { tree: WriteTree::open(root, log)?, checkpoints })
    }

    /// Settles interrupted commits, of whatever process.
    pub(crate) fn recover(&self) -> Result<Vec<Settled>, CommitError> {
        self.tree.recover()
    }

    /// Returns a reader of the same tree.
    pub(crate) fn reader(&self) -> ReadTree {
        self.tree.reader()
    }

    /// Records a checkpoint of the current workspace, to undo `changes` later. Blocks.
    pub(crate) fn checkpoint(
        &self,
        changes: &[Change],
        note: CheckpointNote,
        now: Timestamp,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(Checkpoint, Snapshot), CommitRefused> {
        let record = || self.checkpoints.record(&self.tree.reader(), changes, note, now, stopped);
        match catch_unwind(AssertUnwindSafe(record)) {
            Ok(Ok(recorded)) => Ok(recorded),
            Ok(Err(SnapshotError::Stopped)) => Err(CommitRefused::Gone),
            Ok(Err(error)) => Err(not_written(&error)),
            Err(_) => Err(died("the checkpoint failed")),
        }
    }

    /// Returns the checkpoint that an earlier process made for a patch set. Blocks.
    pub(crate) fn checkpoint_for(&self, patch: &str) -> Option<Checkpoint> {
        let checkpoints = self.checkpoints.checkpoints().ok()?;
        checkpoints.into_iter().rev().find(|checkpoint| checkpoint.note.patch == patch)
    }

    /// Returns true if every path is in the state that `changes` leave. Blocks.
    pub(crate) fn holds(&self, changes: &[Change]) -> bool {
        has_changes(&self.tree.reader(), changes)
    }

    /// Removes a checkpoint whose change was not made. Blocks.
    pub(crate) fn forget(&self, checkpoint: &Checkpoint) {
        if let Err(error) = self.checkpoints.forget(checkpoint) {
            tracing::debug!(%error, "the checkpoint of a change that was not made remains");
        }
    }

    /// Makes all changes of the patch set or none, and returns the tree for the next commit. Blocks.
    pub(crate) fn commit(
        self,
        changes: &[Change],
        checkpoint: &Checkpoint,
    ) -> (Self, Result<(), CommitRefused>) {
        let patch = &checkpoint.note.patch;
        let own = checkpoint.own.iter();
        let permissions =
            own.filter_map(|own| Some((own.path.clone(), own.permissions?))).collect();
        let write = || self.tree.commit_with(changes, &permissions, patch);
        let result = match catch_unwind(AssertUnwindSafe(write)) {
            Ok(Ok(_)) => Ok(()),
            // A half-made change needs its checkpoint most.
            Ok(Err(error @ CommitError::NotRestored { .. })) => Err(not_written(&error)),
            Ok(Err(error)) => {
                self.forget(checkpoint);
                if let CommitError::Stale { path } = &error {
                    Err(WriteFailure::Stale { path: path.to_string() }.into())
                } else {
                    Err(not_written(&error))
                }
            }
            Err(_) => self.settle_own(checkpoint),
        };
        (self, result)
    }

    /// A panic in the writer is a bug, but no reason to lose the tree: it is settled as after a crash.
    fn settle_own(&self, checkpoint: &Checkpoint) -> Result<(), CommitRefused> {
        let settled = self.recover();
        let own = settled.iter().flatten().find(|own| own.label == checkpoint.note.patch);
        match own.map(|own| own.outcome) {
            Some(Settlement::Completed) => Ok(()),
            Some(Settlement::TakenBack) => {
                self.forget(checkpoint);
                Err(died("the writer died"))
            }
            Some(Settlement::Stuck) | None => Err(died("the writer died")),
        }
    }
}

/// Settles interrupted commits in `workspace`, so that no reader sees a tree between two states.
pub fn settle_commits(
    places: &WorkspacePlaces,
    workspace: &Path,
    config: &Config,
) -> Result<Vec<Settled>, CommitError> {
    MainTree::open(workspace, places, config)?.recover()
}

fn not_written(error: &dyn std::error::Error) -> CommitRefused {
    WriteFailure::NotWritten { message: chain(error).into() }.into()
}

fn died(message: &str) -> CommitRefused {
    WriteFailure::NotWritten { message: message.into() }.into()
}

/// Formats an error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
