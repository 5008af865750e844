//! A directory of the user's files: safe paths into it, reads, and the one way to change it.
//!
//! Nothing here follows a symlink, leaves the root, or opens anything but regular files and directories.

mod attempt;
mod beside;
mod change;
mod commit_log;
mod confine;
mod files;
mod hash;
mod ignored;
mod line_counts;
mod path;
mod read;
mod repository;
mod secret;
mod settle;
mod snapshot;
mod worktree;
mod write;

pub use change::{Change, ChangeSummary, Entry, FileMode, FileState, Op};
pub use commit_log::CommitLog;
pub use files::{Hidden, Listed, Listing, list, list_for_models, modified};
pub use hash::{FileHash, ParseHashError};
pub use path::{PathError, RepoPath};
pub use read::ReadTree;
pub use repository::{UserRepository, head_of, tracked_among, tracks_below};
pub use secret::secret_texts;
pub use settle::{Settled, Settlement};
pub use snapshot::{
    Checkpoint, Entries, Kept, Note, Own, Snapshot, SnapshotError, SnapshotLimits, SnapshotReader,
    Snapshots, TreeId,
};
pub use worktree::{Extras, Worktree};
pub use write::{CommitError, Committed, WriteTree};

use std::io;

/// Why a path of the tree could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The root is missing or not a directory.
    #[error("cannot open the directory {root}")]
    Root {
        /// As it was given.
        root: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A directory on the way is a symlink.
    #[error("{path} lies behind a symlink")]
    ThroughSymlink {
        /// The path asked for.
        path: RepoPath,
    },
    /// Something on the way is not a directory.
    #[error("{path} lies below something that is not a directory")]
    ParentNotDirectory {
        /// The path asked for.
        path: RepoPath,
    },
    /// Anything else the system said.
    #[error("cannot read {path}")]
    Io {
        /// The path asked for.
        path: RepoPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}
