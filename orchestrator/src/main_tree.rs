//! The main tree: the only thing in the program that can write to the user's workspace.
//!
//! There is one of it, it can not be cloned, and whoever commits takes it along: two commits at once can not be written down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use actors::workspace::CommitRefused;
use tools::clock::Timestamp;
use tools::tree::{
    Change, Checkpoint, CommitError, CommitLog, Note, ReadTree, Settled, Settlement, Snapshot,
    Snapshots, TreeError, WriteTree,
};

/// The user's workspace, writable.
pub(crate) struct MainTree {
    tree: WriteTree,
    checkpoints: Snapshots,
}

impl MainTree {
    /// Opens the workspace, whose commits are noted in the directory `log`. Called once, by the orchestrator.
    pub(crate) fn open(
        root: &Path,
        log: PathBuf,
        checkpoints: Snapshots,
    ) -> Result<Self, TreeError> {
        Ok(Self { tree: WriteTree::open(root, CommitLog::at(log))?, checkpoints })
    }

    /// Settles what a crash cut short, of whatever process it was.
    pub(crate) fn recover(&self) -> Result<Vec<Settled>, CommitError> {
        self.tree.recover()
    }

    /// The same tree for everybody else.
    pub(crate) fn reader(&self) -> ReadTree {
        self.tree.reader()
    }

    /// Keeps the workspace as it is, to go back to from `changes`. Blocks.
    pub(crate) fn checkpoint(
        &self,
        changes: &[Change],
        note: Note,
        now: Timestamp,
    ) -> Result<(Checkpoint, Snapshot), CommitRefused> {
        let recorded = self.checkpoints.record(&self.tree.reader(), changes, note, now);
        recorded.map_err(|error| CommitRefused::NotWritten { message: chain(&error) })
    }

    /// Makes all changes of the patch set or none, and gives the tree back for the next. Blocks.
    pub(crate) fn commit(
        self,
        changes: &[Change],
        checkpoint: &Checkpoint,
    ) -> (Self, Result<(), CommitRefused>) {
        let patch = &checkpoint.note.patch;
        let result = match catch_unwind(AssertUnwindSafe(|| self.tree.commit(changes, patch))) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(CommitError::Stale { path, .. })) => {
                Err(CommitRefused::Stale { path: path.to_string() })
            }
            Ok(Err(error)) => Err(CommitRefused::NotWritten { message: chain(&error) }),
            Err(_) => self.settle_own(patch),
        };
        if result.is_err()
            && let Err(error) = self.checkpoints.forget(checkpoint)
        {
            tracing::debug!(%error, "the checkpoint of a change that was not made stays");
        }
        (self, result)
    }

    /// A panic in the writer is a bug, but no reason to lose the tree: it is settled as after a crash.
    fn settle_own(&self, patch: &str) -> Result<(), CommitRefused> {
        let settled = self.recover();
        let own = settled.iter().flatten().find(|settled| settled.label == patch);
        match own.map(|own| own.outcome) {
            Some(Settlement::Completed) => Ok(()),
            Some(Settlement::TakenBack | Settlement::Stuck) | None => {
                Err(CommitRefused::NotWritten { message: "the writer died".to_owned() })
            }
        }
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
