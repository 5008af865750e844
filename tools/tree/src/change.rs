//! What is at a path, and what becomes of it: values, nothing is read or written here.

use super::line_counts::line_counts;
use super::{FileHash, RepoPath};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// All of it; of a symlink, where it leads.
    pub bytes: Bytes,
    /// What kind of file it is.
    pub mode: FileMode,
}

/// What git tells apart of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    /// A file that is only read and written.
    Regular,
    /// A file that its owner may execute.
    Executable,
    /// A symlink, which is never followed. Reads tell of one only where they are asked to.
    Symlink,
}

impl FileMode {
    /// Of a file that is no symlink.
    pub const fn of_file(executable: bool) -> FileMode {
        if executable { FileMode::Executable } else { FileMode::Regular }
    }
}

impl FileState {
    /// The hash of the bytes.
    pub fn hash(&self) -> FileHash {
        FileHash::of(&self.bytes)
    }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Nothing.
    Missing,
    /// A regular file, read.
    File(FileState),
    /// A directory.
    Directory,
    /// A symlink, whatever it points to.
    Symlink,
    /// A FIFO, a socket, a device.
    Other,
    /// A regular file larger than was asked for, not read.
    TooLarge {
        /// Its size.
        bytes: u64,
    },
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "op")]
pub enum Op {
    /// A file where nothing was.
    Create,
    /// Other bytes in a file that stays.
    Modify,
    /// The file goes.
    Delete,
    /// The file leaves `from` and arrives at the path of the change, perhaps with other bytes.
    Rename {
        /// Where it was.
        from: RepoPath,
    },
}

/// One path, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path after the change; of a deletion, the path that goes.
    pub path: RepoPath,
    /// What happens.
    pub op: Op,
    /// The file before, at `from` of a rename; none for a creation.
    pub before: Option<FileState>,
    /// The file after; none for a deletion.
    pub after: Option<FileState>,
}

/// A change without its bytes, for the journal and the screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeSummary {
    /// The path after the change.
    pub path: RepoPath,
    /// What happens.
    #[serde(flatten)]
    pub op: Op,
    /// Hash of the bytes before.
    pub before: Option<FileHash>,
    /// Hash of the bytes after.
    pub after: Option<FileHash>,
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
}

impl Change {
    /// Every path it touches: one, or two for a rename.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        let from = match &self.op {
            Op::Rename { from } => Some(from),
            Op::Create | Op::Modify | Op::Delete => None,
        };
        std::iter::once(&self.path).chain(from)
    }

    /// Every path it touches, with the file there before and after: one, or two for a rename.
    pub fn sides(&self) -> Vec<(&RepoPath, Option<&FileState>, Option<&FileState>)> {
        let (before, after) = (self.before.as_ref(), self.after.as_ref());
        match &self.op {
            Op::Rename { from } => vec![(from, before, None), (&self.path, None, after)],
            Op::Create | Op::Modify | Op::Delete => vec![(&self.path, before, after)],
        }
    }

    /// The change of one path; none if there is none.
    pub fn of(
        path: RepoPath,
        before: Option<FileState>,
        after: Option<FileState>,
    ) -> Option<Change> {
        let op = match (&before, &after) {
            (None, None) => return None,
            (Some(before), Some(after)) if before == after => return None,
            (None, Some(_)) => Op::Create,
            (Some(_), None) => Op::Delete,
            (Some(_), Some(_)) => Op::Modify,
        };
        Some(Change { path, op, before, after })
    }

    /// Lines that are new and lines that are gone.
    pub fn line_counts(&self) -> (usize, usize) {
        let [before, after] = [&self.before, &self.after]
            .map(|state| state.as_ref().map_or(&[][..], |state| &state.bytes));
        line_counts(before, after)
    }

    /// The change without its bytes.
    pub fn summary(&self) -> ChangeSummary {
        let (added, removed) = self.line_counts();
        ChangeSummary {
            path: self.path.clone(),
            op: self.op.clone(),
            before: self.before.as_ref().map(FileState::hash),
            after: self.after.as_ref().map(FileState::hash),
            added,
            removed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &'static str) -> FileState {
        FileState { bytes: Bytes::from_static(text.as_bytes()), mode: FileMode::Regular }
    }

    #[test]
    fn counts_lines_from_the_bytes() {
        let change = Change {
            path: RepoPath::parse("a").unwrap(),
            op: Op::Modify,
            before: Some(file("1\n2\n3\n")),
            after: Some(file("1\n3\n4\n5")),
        };
        assert_eq!(change.line_counts(), (2, 1));
        let summary = serde_json::to_value(change.summary()).unwrap();
        assert_eq!(summary["op"], "modify");
        assert_eq!(summary["before"], FileHash::of(b"1\n2\n3\n").to_string());
    }
}
