//! A directory of the user's files: safe paths, reads, and the only way to change it.
//!
//! Nothing in this crate follows a symlink, leaves the root, or opens anything but regular files and directories.

mod attempt;
mod change;
mod commit_log;
mod confine;
mod file_ops;
mod files;
mod git_dirs;
mod hash;
mod line_counts;
mod off_disk;
mod path;
mod read;
mod repository;
mod scratch;
mod secret;
mod settle;
mod snapshot;
mod worktree;
mod write;

pub use change::{Change, ChangeSummary, Entry, FileMode, FileState, Op, with_renames};
pub use commit_log::CommitLog;
pub use files::{
    Hidden, IgnoredByGit, ListedFile, Listing, is_unseen, list_files, list_for_models,
    list_for_models_below, modified,
};
pub use git_dirs::{dirs_of_repository, git_dirs};
pub use hash::{FileHash, ParseHashError};
pub use off_disk::{KeptOff, KeptOffBy};
pub use path::{PathError, RepoPath, spelling};
pub use read::ReadTree;
pub use repository::{
    CommittedTree, UserRepository, head_of, is_in_repository, nested_repository, share_repository,
    tracked_among,
};
pub use scratch::{FileThen, InCopy, Rest, add_rest, differing, put};
pub use secret::secret_texts;
pub use settle::{Settled, Settlement};
pub use snapshot::{
    Checkpoint, CheckpointNote, Entries, KeptFile, Own, Snapshot, SnapshotError, SnapshotLimits,
    SnapshotReader, Snapshots, TreeId,
};
pub use worktree::share::copy_directory;
pub use worktree::{Extras, SeenAt, Worktree, remove_tree};
pub use write::{CommitError, CommitResult, WriteTree};

use std::io;

/// Why a path of the tree could not be accessed.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The root is missing or not a directory.
    #[error("cannot open the directory {root}")]
    Root {
        /// The root as the caller gave it.
        root: String,
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// A directory on the path is a symlink.
    #[error("{path} is behind a symlink")]
    ThroughSymlink {
        /// The requested path.
        path: RepoPath,
    },
    /// A component of the path is not a directory.
    #[error("{path} is below something that is not a directory")]
    ParentNotDirectory {
        /// The requested path.
        path: RepoPath,
    },
    /// Nothing is there, but git tracks a file at this path and keeps it off the disk.
    #[error("{path}: {why}")]
    KeptOff {
        /// The requested path.
        path: RepoPath,
        /// Why it is not on the disk, and how to bring it there.
        why: KeptOff,
    },
    /// Any other system error.
    #[error("cannot read {path}")]
    Io {
        /// The requested path.
        path: RepoPath,
        /// The system error.
        #[source]
        source: io::Error,
    },
}
