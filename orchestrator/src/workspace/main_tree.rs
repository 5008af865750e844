//! The main tree: the only thing in the program that can write to the user's workspace.
//!
//! It cannot be cloned. The Writer owns it, and makes one change at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actors::run::workspace::CommitRefused;
use config::Config;
use facts::write_failure::WriteFailure;
use lanes::lane::lane_tree::has_changes;
use tools::blocking::on_a_thread;
use tools::clock::Timestamp;
use tree::{
    Change, Checkpoint, CheckpointNote, CommitError, CommitLog, ReadTree, Settled, Settlement,
    Snapshot, SnapshotError, Snapshots, WriteTree,
};

use crate::workspace::places::{WorkspacePlaces, snapshots};

/// The user's workspace, writable. The Writer owns the only one that makes changes.
pub(crate) struct MainTree {
    /// Shared with the thread that works in it.
    opened: Arc<OpenTree>,
}

struct OpenTree {
    tree: WriteTree,
    checkpoints: Snapshots,
}

impl MainTree {
    /// Opens the workspace. Called once in a session, and again if the Writer died.
    pub(crate) fn open(
        root: &Path,
        places: &WorkspacePlaces,
        config: &Config,
    ) -> Result<Self, CommitError> {
        let patience = Duration::from_secs(config.limits.workspace_lock_timeout_seconds);
        let log = CommitLog::at(places.commits.clone(), patience);
        let log = log.map_err(|source| CommitError::Log { source })?;
        let checkpoints = snapshots(places, root, config);
        let opened = OpenTree { tree: WriteTree::open(root, log)?, checkpoints };
        Ok(Self { opened: Arc::new(opened) })
    }

    /// Opens the workspace again, and settles what was left half done.
    pub(crate) async fn reopen(
        root: PathBuf,
        places: WorkspacePlaces,
        config: Arc<Config>,
    ) -> Result<(Self, Vec<Settled>), CommitError> {
        on_a_thread(move || {
            let tree = Self::open(&root, &places, &config)?;
            let settled = tree.recover()?;
            Ok((tree, settled))
        })
        .await
    }

    /// Settles interrupted commits, of whatever process. Blocks.
    pub(crate) fn recover(&self) -> Result<Vec<Settled>, CommitError> {
        self.opened.tree.recover()
    }

    /// As [`Self::recover`], on a thread that may block.
    pub(crate) async fn recovered(&self) -> Result<Vec<Settled>, CommitError> {
        self.on_a_thread(|opened| opened.tree.recover()).await
    }

    /// Returns a reader of the same tree.
    pub(crate) fn reader(&self) -> ReadTree {
        self.opened.tree.reader()
    }

    /// Records a checkpoint of the current workspace, to undo `changes` later.
    pub(crate) async fn checkpoint(
        &self,
        changes: &Arc<[Change]>,
        note: CheckpointNote,
        now: Timestamp,
        stopped: impl Fn() -> bool + Send + 'static,
    ) -> Result<(Checkpoint, Snapshot), CommitRefused> {
        let changes = Arc::clone(changes);
        self.on_a_thread(move |OpenTree { tree, checkpoints }| {
            let record = || checkpoints.record(&tree.reader(), &changes, note, now, &stopped);
            match catch_unwind(AssertUnwindSafe(record)) {
                Ok(Ok(recorded)) => Ok(recorded),
                Ok(Err(SnapshotError::Stopped)) => Err(CommitRefused::Gone),
                Ok(Err(error)) => Err(not_written(&error)),
                Err(_) => Err(died("the checkpoint failed")),
            }
        })
        .await
    }

    /// Returns the checkpoint that an earlier process made for a patch set.
    pub(crate) async fn checkpoint_for(&self, patch: &str) -> Option<Checkpoint> {
        let patch = patch.to_owned();
        self.on_a_thread(move |opened| {
            let checkpoints = opened.checkpoints.checkpoints().ok()?;
            checkpoints.into_iter().rev().find(|checkpoint| checkpoint.note.patch == patch)
        })
        .await
    }

    /// Returns true if every path is in the state that `changes` leave.
    pub(crate) async fn holds(&self, changes: &Arc<[Change]>) -> bool {
        let changes = Arc::clone(changes);
        self.on_a_thread(move |opened| has_changes(&opened.tree.reader(), &changes)).await
    }

    /// Removes a checkpoint whose change was not made.
    pub(crate) async fn forget(&self, checkpoint: Checkpoint) {
        self.on_a_thread(move |opened| opened.forget(&checkpoint)).await;
    }

    /// Makes all changes of the patch set or none.
    pub(crate) async fn commit(
        &self,
        changes: &Arc<[Change]>,
        checkpoint: Checkpoint,
    ) -> Result<(), CommitRefused> {
        let changes = Arc::clone(changes);
        self.on_a_thread(move |opened| opened.commit(&changes, &checkpoint)).await
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OpenTree) -> T + Send + 'static,
    ) -> T {
        let opened = Arc::clone(&self.opened);
        on_a_thread(move || work(&opened)).await
    }
}

impl OpenTree {
    fn commit(&self, changes: &[Change], checkpoint: &Checkpoint) -> Result<(), CommitRefused> {
        let patch = &checkpoint.note.patch;
        let own = checkpoint.own.iter();
        let permissions =
            own.filter_map(|own| Some((own.path.clone(), own.permissions?))).collect();
        let write = || self.tree.commit_with(changes, &permissions, patch);
        match catch_unwind(AssertUnwindSafe(write)) {
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
        }
    }

    fn forget(&self, checkpoint: &Checkpoint) {
        if let Err(error) = self.checkpoints.forget(checkpoint) {
            tracing::debug!(%error, "the checkpoint of a change that was not made remains");
        }
    }

    /// A panic in the writer is a bug, but no reason to lose the change: it is settled as after a crash.
    fn settle_own(&self, checkpoint: &Checkpoint) -> Result<(), CommitRefused> {
        let settled = self.tree.recover();
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

/// The refusal of a change for an error.
pub(crate) fn not_written(error: &dyn std::error::Error) -> CommitRefused {
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
