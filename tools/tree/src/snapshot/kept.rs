//! What a snapshot has of each file, and why there may be no snapshot. Values only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{fmt, io};

use gix::ObjectId;
use serde::{Deserialize, Serialize};

use crate::{FileMode, FileState, RepoPath, TreeError};

/// The files and symlinks of a tree, by path.
pub type Entries = BTreeMap<RepoPath, KeptFile>;

/// The files of a workspace at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The file or symlink at each path.
    pub entries: Entries,
    /// Files that were left out: too large, too many, unreadable, or gone by the time they were read.
    pub left_out: Vec<RepoPath>,
}

/// A file or symlink of a snapshot. Its text form is a letter for the kind and the object id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KeptFile {
    pub(crate) mode: FileMode,
    pub(crate) id: ObjectId,
}

/// Why a snapshot failed.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The repository cannot be created, read or written.
    #[error("cannot use the private repository {dir}")]
    Repository {
        /// The path of the repository.
        dir: PathBuf,
        /// The error of the git library.
        #[source]
        source: Box<gix::Error>,
    },
    /// A file cannot be read or written.
    #[error("cannot use {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// Another process is using the repository and did not finish within the configured wait.
    #[error("another process is using {dir}")]
    Busy {
        /// The repository.
        dir: PathBuf,
    },
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
    /// An object is missing: it was borrowed from the user's repository, which has dropped it.
    #[error("{path} is no longer available: the repository that held it has dropped it")]
    Lost {
        /// The path of the file.
        path: RepoPath,
    },
    /// A file that a lane must keep exceeds the size limit.
    #[error("{path} is too large for a snapshot")]
    TooLarge {
        /// The file.
        path: RepoPath,
    },
    /// The workspace cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl fmt::Display for KeptFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.mode {
            FileMode::Regular => 'f',
            FileMode::Executable => 'x',
            FileMode::Symlink => 'l',
        };
        write!(f, "{letter} {}", self.id)
    }
}

impl TryFrom<String> for KeptFile {
    type Error = &'static str;

    fn try_from(text: String) -> Result<KeptFile, Self::Error> {
        let (letter, id) = text.split_once(' ').ok_or("no object")?;
        let mode = match letter {
            "f" => FileMode::Regular,
            "x" => FileMode::Executable,
            "l" => FileMode::Symlink,
            _ => return Err("no such kind of file"),
        };
        Ok(KeptFile { mode, id: ObjectId::from_hex(id.as_bytes()).map_err(|_| "no object")? })
    }
}

impl KeptFile {
    /// Returns true for a symlink.
    pub fn is_symlink(self) -> bool {
        self.mode == FileMode::Symlink
    }

    /// Returns true for a file that its owner may execute.
    pub fn is_executable(self) -> bool {
        self.mode == FileMode::Executable
    }

    /// Returns true if both have the same content, whatever their kind. The content of a symlink is its target.
    pub fn has_bytes_of(self, other: KeptFile) -> bool {
        self.id == other.id
    }

    /// Returns the entry for a file whose content is stored as `id`.
    pub(crate) fn of_file(state: &FileState, id: ObjectId) -> KeptFile {
        KeptFile { mode: state.mode, id }
    }
}
