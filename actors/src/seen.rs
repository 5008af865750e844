//! What was found at a path, as the journal keeps it. Values only; looking is the sight's.

use std::io;

use serde::{Deserialize, Serialize};
use tree::{Entry, FileState, RepoPath, TreeError};

use crate::event::{Blob, StagedContent};

/// A path that a decision depended on, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// The path.
    pub path: RepoPath,
    /// What was there.
    #[serde(flatten)]
    pub found: Found,
    /// Where the content has values that were known to be secret: bytes from and to, of each of them once.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub secrets: Vec<(usize, usize)>,
}

impl SeenFile {
    /// Values in it that were known to be secret.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let bytes = self.found.content().map(|blob| &blob.content[..]).unwrap_or_default();
        let value = |(from, to): &(usize, usize)| str::from_utf8(bytes.get(*from..*to)?).ok();
        self.secrets.iter().filter_map(value).map(str::to_owned)
    }
}

/// What was found at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// Nothing.
    Missing,
    /// A regular file, with its content.
    File(StagedContent),
    /// A directory.
    Directory,
    /// A symlink, whatever it points to.
    Symlink,
    /// A FIFO, a socket, a device.
    Other,
    /// A file larger than may be read.
    TooLarge {
        /// Its size.
        size: u64,
    },
    /// Nobody knows: a directory on the way is a symlink.
    BehindSymlink,
    /// Nothing can be: something on the way is not a directory.
    BelowNoDirectory,
    /// Nobody knows: it could not be looked at.
    Unreadable {
        /// Why.
        why: String,
    },
}

impl Found {
    /// The content, of a file.
    pub(crate) const fn content(&self) -> Option<&Blob> {
        if let Self::File(file) = self { Some(&file.blob) } else { None }
    }

    /// The same, to be filled in.
    pub(crate) const fn content_mut(&mut self) -> Option<&mut Blob> {
        if let Self::File(file) = self { Some(&mut file.blob) } else { None }
    }

    /// What a look at a path came to.
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
            Err(error @ (TreeError::Root { .. } | TreeError::Io { .. })) => {
                Self::Unreadable { why: error.to_string() }
            }
        }
    }

    /// The same look again.
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
            Self::Unreadable { why } => {
                return Err(TreeError::Io { path, source: io::Error::other(why) });
            }
        })
    }
}
