//! The one way to change a tree: all of a set of changes, or none. It decides nothing about their content.
//!
//! New bytes are staged in temporary files beside their targets and synced; the old files keep a second name; then
//! each target is replaced by one rename, in path order. Any error puts everything back. What is about to be done is
//! noted first, so that a later start can settle what a crash cut short.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::attempt::{Attempt, Step, Targets, goes, intent, targets};
use super::commit_log::{CommitLog, Swaps, Written};
use super::confine::Root;
use super::settle::{Settled, settle};
use super::{Change, Entry, FileHash, FileMode, FileState, ReadTree, RepoPath, TreeError};
use tools::clock;

/// A directory that may be changed.
#[derive(Debug)]
pub struct WriteTree {
    root: Arc<Root>,
    identity: FileHash,
    log: CommitLog,
}

/// What a commit wrote.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Committed {
    /// Every path touched, with the hash of what is there now; none where nothing is.
    pub paths: BTreeMap<RepoPath, Option<FileHash>>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A path is no longer as the changes expect it.
    #[error("{path} changed meanwhile")]
    Stale {
        /// The first such path.
        path: RepoPath,
    },
    /// Two changes touch one path.
    #[error("{path} is changed twice in one commit")]
    Twice {
        /// The path.
        path: RepoPath,
    },
    /// A path could not be looked at.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The system refused; everything is as it was.
    #[error("cannot write {path}")]
    Io {
        /// The path at fault.
        path: RepoPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process commits to this tree, for longer than it is waited for.
    #[error("another process is writing in this directory")]
    Busy,
    /// What is to be done cannot be noted, or what was cut short not be read; everything is as it was.
    #[error("cannot note what is about to be written")]
    Log {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system refused, and refused to put `path` back too. Its old bytes are in a file beside it until the next start
    /// tries again.
    #[error(
        "cannot write {path}, nor put it back; its old content is in {kept_in} beside it until the next start"
    )]
    NotRestored {
        /// The path at fault.
        path: RepoPath,
        /// Name of the file that holds the old bytes.
        kept_in: String,
        /// What the system said.
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
    /// Opens the directory `root`, whose commits are noted in `log` while they are under way.
    pub fn open(root: &Path, log: CommitLog) -> Result<WriteTree, TreeError> {
        let root = Arc::new(Root::open(root)?);
        Ok(WriteTree { identity: root.identity()?, root, log })
    }

    /// The same directory, for reading.
    pub fn reader(&self) -> ReadTree {
        ReadTree::of(&self.root)
    }

    /// Makes all of `changes`, or none of them. `label` is what a later start calls the commit if a crash cuts it short.
    ///
    /// Every path must be as its change says it was before. Permission bits stay as they are, new directories are made
    /// and emptied ones removed. Success is durable.
    pub fn commit(
        &self,
        changes: &(impl AsRef<[Change]> + ?Sized),
        label: &str,
    ) -> Result<Committed, CommitError> {
        let targets = targets(changes.as_ref())?;
        let _lock = self.lock()?;
        for settled in self.settle_open()? {
            tracing::warn!(?settled, "an earlier commit was cut short");
        }
        self.check(&targets, &[])?;
        let intent = intent(clock::token(), label, self.identity, &self.root, &targets);
        let mut written = self.log.write(&intent).map_err(|source| CommitError::Log { source })?;
        let mut attempt = Attempt::new(&self.root, &intent.id);
        let done = attempt
            .stage(&targets)
            .and_then(|()| self.check(&targets, &attempt.steps))
            .and_then(|()| attempt.swap());
        match done {
            Ok(()) => {
                // A single swap that is made is found to be, without a mark.
                if intent.swaps() == Swaps::Several
                    && let Err(error) = written.done()
                {
                    tracing::debug!(%error, "a commit that is made cannot be marked so");
                }
                attempt.finish();
            }
            Err(error) => {
                // What cannot be put back now is settled by a later start.
                attempt.undo()?;
                written.forget();
                return Err(error);
            }
        }
        written.forget();
        let paths = intent.targets.into_iter().map(|target| (target.path, target.after)).collect();
        Ok(Committed { paths })
    }

    /// Settles the commits that a crash cut short: each is completed or taken back. To be called before the tree is
    /// looked at.
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
        let settle_one = |(intent, stage, written): (_, _, Written)| {
            let settled = settle(&self.root, &intent, stage)?;
            written.forget();
            Ok(settled)
        };
        open.into_iter().map(settle_one).collect()
    }

    /// Whether every target is as it should be, but for the steps that are made already.
    fn check(&self, targets: &Targets<'_>, steps: &[Step]) -> Result<(), CommitError> {
        let reader = self.reader();
        let made = |path: &RepoPath| steps.iter().any(|step| step.swapped && step.path == *path);
        for (path, target) in targets.iter().filter(|(path, _)| !made(path)) {
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
                    if path.parent().is_some_and(|above| goes(&above, targets)) =>
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
