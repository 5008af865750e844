//! Blobs: content that is stored outside the log and named in events by its hash. Values only.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tree::{Change, FileHash, FileMode, FileState, Op, RepoPath};

/// Content that is stored outside the log and named in it by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// SHA-256 of the content, in hexadecimal digits.
    pub blob: FileHash,
    /// Length of the content in bytes.
    pub bytes: u64,
    /// The content; not part of the journal line.
    #[serde(skip)]
    pub content: Bytes,
}

impl Blob {
    /// Creates a blob from its content.
    pub fn new(content: impl Into<Bytes>) -> Self {
        let content = content.into();
        Self { blob: FileHash::of(&content), bytes: content.len() as u64, content }
    }
}

/// One file of a staged patch, with enough information to make or undo the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedFile {
    /// The path after the change; for a deletion, the path of the deleted file.
    pub path: RepoPath,
    /// The path before the change; absent unless the file is renamed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub renamed_from: Option<RepoPath>,
    /// The file before the change; `null` for a creation.
    pub before: Option<StagedContent>,
    /// The file after the change; `null` for a deletion.
    pub after: Option<StagedContent>,
    /// Number of lines added.
    pub added: usize,
    /// Number of lines removed.
    pub removed: usize,
}

/// A file's content in a staged patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedContent {
    /// The content.
    #[serde(flatten)]
    pub blob: Blob,
    /// The kind of file, as `executable` and, if true, `symlink`.
    #[serde(flatten, with = "mode_words")]
    pub mode: FileMode,
}

impl From<FileState> for StagedContent {
    fn from(state: FileState) -> Self {
        Self { blob: Blob::new(state.bytes), mode: state.mode }
    }
}

/// Serializes a mode as `executable`, plus `symlink` if it is one.
mod mode_words {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tree::FileMode;

    #[derive(Serialize, Deserialize)]
    struct Words {
        executable: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        symlink: bool,
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires this signature")]
    pub(super) fn serialize<S: Serializer>(mode: &FileMode, to: S) -> Result<S::Ok, S::Error> {
        let symlink = *mode == FileMode::Symlink;
        Words { executable: *mode == FileMode::Executable, symlink }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FileMode, D::Error> {
        let words = Words::deserialize(from)?;
        Ok(if words.symlink { FileMode::Symlink } else { FileMode::of_file(words.executable) })
    }
}

impl From<&Change> for StagedFile {
    fn from(change: &Change) -> Self {
        let content = |state: &FileState| StagedContent::from(state.clone());
        let (added, removed) = change.line_counts();
        let renamed_from = match &change.op {
            Op::Rename { from } => Some(from.clone()),
            Op::Create | Op::Modify | Op::Delete => None,
        };
        Self {
            path: change.path.clone(),
            renamed_from,
            before: change.before.as_ref().map(content),
            after: change.after.as_ref().map(content),
            added,
            removed,
        }
    }
}

impl StagedFile {
    /// Converts back to a change; the content must be loaded.
    pub fn change(&self) -> Change {
        let state = |staged: &StagedContent| FileState {
            bytes: staged.blob.content.clone(),
            mode: staged.mode,
        };
        let op = match (&self.renamed_from, &self.before, &self.after) {
            (Some(from), ..) => Op::Rename { from: from.clone() },
            (None, None, _) => Op::Create,
            (None, Some(_), None) => Op::Delete,
            (None, Some(_), Some(_)) => Op::Modify,
        };
        let (before, after) = (self.before.as_ref().map(state), self.after.as_ref().map(state));
        Change { path: self.path.clone(), op, before, after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_of_a_staged_file_is_serialized_as_flags() {
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
