//! The only way to change a tree: applies a set of changes completely or not at all. It does not judge their content.
//!
//! The new contents are written to temporary files next to their targets and synced, and the old files get a second
//! name. Then each target is replaced by one rename, in path order. Any error restores everything. The intent is
//! recorded first, so that a later start can settle a commit that a crash interrupted.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::attempt::{CommitAttempt, CommitStep, Targets, intent, is_removed, targets};
use super::commit_log::{CommitLog, Swaps, WrittenTarget};
use super::confine::Root;
use super::settle::{Settled, settle_commit};
use super::{Change, Entry, FileHash, FileMode, FileState, ReadTree, RepoPath, TreeError};
use tools::clock;

/// A directory open for writing.
#[derive(Debug)]
pub struct WriteTree {
    root: Arc<Root>,
    identity: FileHash,
    log: CommitLog,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CommitResult {
    /// Every affected path with the hash of the file there now. `None` where there is no file.
    pub paths: BTreeMap<RepoPath, Option<FileHash>>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A path is no longer in the state that the changes expect.
    #[error("{path} has changed in the meantime")]
    Stale {
        /// The first such path.
        path: RepoPath,
    },
    /// Two changes affect the same path.
    #[error("{path} is changed twice in one commit")]
    Twice {
        /// The path.
        path: RepoPath,
    },
    /// A path could not be accessed.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A write failed. Everything has been restored.
    #[error("cannot write {path}")]
    Io {
        /// The path that failed.
        path: RepoPath,
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// Another process is committing to this tree and did not finish within the configured wait.
    #[error("another process is writing in this directory")]
    Busy,
    /// The intent cannot be recorded, or the interrupted commits cannot be read. The tree is unchanged.
    #[error("cannot record the intent of the commit")]
    Log {
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// A write failed, and so did restoring `path`. Its old content stays in a temporary file next to it until the next
    /// start tries again.
    #[error(
        "cannot write {path} or restore it; its old content is in {kept_in} next to it until the next start"
    )]
    NotRestored {
        /// The path that failed.
        path: RepoPath,
        /// Name of the file with the old content.
        kept_in: String,
        /// The system error.
        #[source]
        source: io::Error,
    },
}

impl CommitError {
    pub(super) fn io(path: &RepoPath, source: io::Error) -> Self {
        Self::Io { path: path.clone(), source }
    }
}

impl WriteTree {
    /// Opens the directory `root`. Commits in progress are recorded in `log`.
    pub fn open(root: &Path, log: CommitLog) -> Result<WriteTree, TreeError> {
        let root = Arc::new(Root::open(root)?);
        Ok(WriteTree { identity: root.identity()?, root, log })
    }

    /// Returns a reader of the same directory.
    pub fn reader(&self) -> ReadTree {
        ReadTree::of(&self.root)
    }

    /// Applies all of `changes`, or none of them. A later start reports the commit by `label` if a crash interrupts it.
    ///
    /// Fails unless every path is in the state that its change expects. Permission bits are kept, missing directories
    /// are created and emptied ones removed. The commit is durable on success.
    pub fn commit(
        &self,
        changes: &(impl AsRef<[Change]> + ?Sized),
        label: &str,
    ) -> Result<CommitResult, CommitError> {
        self.commit_with(changes, &BTreeMap::new(), label)
    }

    /// Like [`Self::commit`]; new files with `permissions` get these bits.
    pub fn commit_with(
        &self,
        changes: &(impl AsRef<[Change]> + ?Sized),
        permissions: &BTreeMap<RepoPath, u32>,
        label: &str,
    ) -> Result<CommitResult, CommitError> {
        let targets = targets(changes.as_ref(), permissions)?;
        let _lock = self.lock()?;
        for settled in self.settle_open()? {
            tracing::warn!(?settled, "settled an interrupted commit");
        }
        self.check(&targets, &[])?;
        let intent = intent(clock::token(), label, self.identity, &self.root, &targets);
        let mut written = self.log.write(&intent).map_err(|source| CommitError::Log { source })?;
        let mut attempt = CommitAttempt::new(&self.root, &intent.id);
        let done = attempt
            .stage(&targets)
            .and_then(|()| self.check(&targets, &attempt.steps))
            .and_then(|()| attempt.swap());
        match done {
            Ok(()) => {
                // A single swap needs no mark: a later start finds that it was made.
                if intent.swaps() == Swaps::Several
                    && let Err(error) = written.done()
                {
                    tracing::debug!(%error, "cannot mark a finished commit as done");
                }
                attempt.finish();
            }
            Err(error) => {
                // If this fails, a later start settles it.
                attempt.undo()?;
                written.forget();
                return Err(error);
            }
        }
        written.forget();
        let paths = intent.targets.into_iter().map(|target| (target.path, target.after)).collect();
        Ok(CommitResult { paths })
    }

    /// Settles the commits that a crash interrupted: completes or undoes each of them. Call it before reading the tree.
    pub fn recover(&self) -> Result<Vec<Settled>, CommitError> {
        let _lock = self.lock()?;
        self.settle_open()
    }

    fn lock(&self) -> Result<OwnedFd, CommitError> {
        self.root.lock(self.log.patience()).map_err(|_| CommitError::Busy)
    }

    fn settle_open(&self) -> Result<Vec<Settled>, CommitError> {
        let open =
            self.log.open_intents(self.identity).map_err(|source| CommitError::Log { source })?;
        let settle_one = |(intent, stage, written): (_, _, WrittenTarget)| {
            let settled = settle_commit(&self.root, &intent, stage)?;
            written.forget();
            Ok(settled)
        };
        open.into_iter().map(settle_one).collect()
    }

    /// Checks that every target is in the expected state, except for those that `steps` have swapped already.
    fn check(&self, targets: &Targets<'_>, steps: &[CommitStep]) -> Result<(), CommitError> {
        let reader = self.reader();
        let is_swapped =
            |path: &RepoPath| steps.iter().any(|step| step.swapped && step.path == *path);
        for (path, target) in targets.iter().filter(|(path, _)| !is_swapped(path)) {
            let size = target.before.map_or(0, |state| state.bytes.len() as u64);
            let same = match reader.entry_or_link(path, size) {
                Ok(Entry::Missing) => target.before.is_none(),
                Ok(Entry::File(state)) => {
                    let is_link = |state: &FileState| state.mode == FileMode::Symlink;
                    target.before.is_some_and(|before| {
                        before.bytes == state.bytes && is_link(before) == is_link(&state)
                    })
                }
                Ok(Entry::Directory | Entry::Symlink | Entry::Other | Entry::TooLarge { .. }) => {
                    false
                }
                Err(TreeError::ParentNotDirectory { .. } | TreeError::ThroughSymlink { .. })
                    if path.parent().is_some_and(|above| is_removed(&above, targets)) =>
                {
                    target.before.is_none()
                }
                Err(error) => return Err(error.into()),
            };
            if !same {
                return Err(CommitError::Stale { path: path.clone() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "crash_tests.rs"]
mod crash_tests;
#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
