//! Content that events name: kept beside the log, by its hash. Values only.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tree::{FileHash, FileMode, FileState, RepoPath};

/// Content that is kept beside the log and named in it by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// SHA-256 of the content.
    pub blob: FileHash,
    /// Its length.
    pub bytes: u64,
    /// The content; not part of the event line.
    #[serde(skip)]
    pub content: Bytes,
}

impl Blob {
    /// Names `content` by its hash.
    pub fn new(content: impl Into<Bytes>) -> Self {
        let content = content.into();
        Self { blob: FileHash::of(&content), bytes: content.len() as u64, content }
    }
}

/// One path of a staged patch, with enough to make or undo the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedFile {
    /// The path after the change; of a deletion, the path that goes.
    pub path: RepoPath,
    /// The path before, of a rename.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub renamed_from: Option<RepoPath>,
    /// The file before; absent for a creation.
    pub before: Option<StagedContent>,
    /// The file after; absent for a deletion.
    pub after: Option<StagedContent>,
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
}

/// A file's content in a staged patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedContent {
    /// The bytes.
    #[serde(flatten)]
    pub blob: Blob,
    /// What kind of file it is.
    #[serde(flatten, with = "mode_words")]
    pub mode: FileMode,
}

impl From<FileState> for StagedContent {
    fn from(state: FileState) -> Self {
        Self { blob: Blob::new(state.bytes), mode: state.mode }
    }
}

/// A mode as it is written: `executable`, and `symlink` where it is one.
mod mode_words {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tree::FileMode;

    #[derive(Serialize, Deserialize)]
    struct Words {
        executable: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        symlink: bool,
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(mode: &FileMode, to: S) -> Result<S::Ok, S::Error> {
        let symlink = *mode == FileMode::Symlink;
        Words { executable: *mode == FileMode::Executable, symlink }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FileMode, D::Error> {
        let words = Words::deserialize(from)?;
        Ok(if words.symlink { FileMode::Symlink } else { FileMode::of_file(words.executable) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_of_a_staged_file_is_written_in_words() {
        for (mode, words) in [
            (FileMode::Regular, "\"executable\":false}"),
            (FileMode::Executable, "\"executable\":true}"),
            (FileMode::Symlink, "\"executable\":false,\"symlink\":true}"),
        ] {
            let staged = StagedContent { blob: Blob::new("x"), mode };
            let json = serde_json::to_string(&staged).unwrap();
            assert!(json.starts_with("{\"blob\":") && json.ends_with(words), "{json}");
            assert_eq!(serde_json::from_str::<StagedContent>(&json).unwrap().mode, mode);
        }
    }
}
