//! The result of reading a path, as recorded in the journal. Values only; `actors::run::file_reader` does the reading.

use std::io;

use serde::{Deserialize, Serialize};
use tools::encoding::decode;
use tree::{Entry, FileState, KeptOff, RepoPath, TreeError};

use crate::event::{Blob, StagedContent};

/// A path that a decision depended on, and what was found there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// The path.
    pub path: RepoPath,
    /// What was found; in JSON its fields are on the same level as `path`.
    #[serde(flatten)]
    pub found: FoundAtPath,
    /// Byte ranges `[from, to)` of known secrets in the text of the content, each secret once; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub secrets: Vec<(usize, usize)>,
}

impl SeenFile {
    /// Returns the known secrets in the content.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let bytes = self.found.content().map(|blob| &blob.content[..]).unwrap_or_default();
        let text = decode(bytes).map(|decoded| decoded.text).unwrap_or_default();
        self.secrets.iter().filter_map(move |(from, to)| Some(text.get(*from..*to)?.to_owned()))
    }
}

/// What was found at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum FoundAtPath {
    /// Nothing.
    Missing,
    /// A regular file, with its content.
    File(StagedContent),
    /// A directory.
    Directory,
    /// A symlink, regardless of its target.
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
    /// A file larger than the limit for reading.
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// Unknown: a directory on the path is a symlink.
    BehindSymlink,
    /// Nothing can exist there: something on the path is not a directory.
    BelowNoDirectory,
    /// Nothing, but git tracks a file there and keeps it off the disk.
    KeptOff(KeptOff),
    /// Unknown: reading failed.
    Unreadable {
        /// The error in words.
        why: String,
    },
}

impl FoundAtPath {
    /// Returns the content, if it is a file.
    pub const fn content(&self) -> Option<&Blob> {
        if let Self::File(file) = self { Some(&file.blob) } else { None }
    }

    /// Returns the content for filling in, if it is a file.
    pub const fn content_mut(&mut self) -> Option<&mut Blob> {
        if let Self::File(file) = self { Some(&mut file.blob) } else { None }
    }

    /// Converts the result of reading a path.
    pub fn of(look: &Result<Entry, TreeError>) -> Self {
        match look {
            Ok(Entry::Missing) => Self::Missing,
            Ok(Entry::File(file)) => Self::File(file.clone().into()),
            Ok(Entry::Directory) => Self::Directory,
            Ok(Entry::Symlink) => Self::Symlink,
            Ok(Entry::Other) => Self::Other,
            Ok(Entry::TooLarge { bytes }) => Self::TooLarge { size: *bytes },
            Err(TreeError::ThroughSymlink { .. }) => Self::BehindSymlink,
            Err(TreeError::ParentNotDirectory { .. }) => Self::BelowNoDirectory,
            Err(TreeError::KeptOff { why, .. }) => Self::KeptOff(why.clone()),
            Err(error @ (TreeError::Root { .. } | TreeError::Io { .. })) => {
                Self::Unreadable { why: error.to_string() }
            }
        }
    }

    /// Converts back to the result of reading `path`.
    pub fn look(self, path: &RepoPath) -> Result<Entry, TreeError> {
        let path = path.clone();
        Ok(match self {
            Self::Missing => Entry::Missing,
            Self::File(StagedContent { blob, mode }) => {
                Entry::File(FileState { bytes: blob.content, mode })
            }
            Self::Directory => Entry::Directory,
            Self::Symlink => Entry::Symlink,
            Self::Other => Entry::Other,
            Self::TooLarge { size } => Entry::TooLarge { bytes: size },
            Self::BehindSymlink => return Err(TreeError::ThroughSymlink { path }),
            Self::BelowNoDirectory => return Err(TreeError::ParentNotDirectory { path }),
            Self::KeptOff(why) => return Err(TreeError::KeptOff { path, why }),
            Self::Unreadable { why } => {
                return Err(TreeError::Io { path, source: io::Error::other(why) });
            }
        })
    }
}
