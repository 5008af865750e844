//! File states and changes as plain values. Nothing is read or written here.

use std::collections::BTreeMap;

use super::line_counts::line_counts;
use super::{FileHash, RepoPath};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A file as read from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// The whole content; for a symlink, its target.
    pub bytes: Bytes,
    /// The kind of file.
    pub mode: FileMode,
}

/// The kinds of file that git distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    /// A file that is not executable.
    Regular,
    /// A file that its owner may execute.
    Executable,
    /// A symlink, which is never followed. Reads return one only when asked to.
    Symlink,
}

impl FileMode {
    /// Returns the mode of a regular file.
    pub const fn of_file(executable: bool) -> FileMode {
        if executable { FileMode::Executable } else { FileMode::Regular }
    }
}

impl FileState {
    /// Returns the hash of the bytes.
    pub fn hash(&self) -> FileHash {
        FileHash::of(&self.bytes)
    }
}

/// The entry found at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Nothing.
    Missing,
    /// A regular file, with its content.
    File(FileState),
    /// A directory.
    Directory,
    /// A symlink, whatever it points to.
    Symlink,
    /// A FIFO, a socket, a device.
    Other,
    /// A regular file larger than the caller's limit. It was not read.
    TooLarge {
        /// Size of the file.
        bytes: u64,
    },
}

/// The operation of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "op")]
pub enum Op {
    /// Creates a file.
    Create,
    /// Changes the content or mode of a file.
    Modify,
    /// Deletes the file.
    Delete,
    /// Moves the file from `from` to the path of the change, possibly with other content.
    Rename {
        /// The old path.
        from: RepoPath,
    },
}

/// A change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path after the change; for a deletion, the deleted path.
    pub path: RepoPath,
    /// The operation.
    pub op: Op,
    /// The file before; for a rename, the one at `from`. `None` for a creation.
    pub before: Option<FileState>,
    /// The file after. `None` for a deletion.
    pub after: Option<FileState>,
}

/// A change without its content, for the journal and the screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeSummary {
    /// The path after the change.
    pub path: RepoPath,
    /// The operation.
    #[serde(flatten)]
    pub op: Op,
    /// Hash of the content before. `None` for a creation.
    pub before: Option<FileHash>,
    /// Hash of the content after. `None` for a deletion.
    pub after: Option<FileHash>,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
}

impl Change {
    /// Returns every affected path: one, or two for a rename.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        let from = match &self.op {
            Op::Rename { from } => Some(from),
            Op::Create | Op::Modify | Op::Delete => None,
        };
        std::iter::once(&self.path).chain(from)
    }

    /// Returns every affected path with the file before and after: one entry, or two for a rename.
    pub fn sides(&self) -> Vec<(&RepoPath, Option<&FileState>, Option<&FileState>)> {
        let (before, after) = (self.before.as_ref(), self.after.as_ref());
        match &self.op {
            Op::Rename { from } => vec![(from, before, None), (&self.path, None, after)],
            Op::Create | Op::Modify | Op::Delete => vec![(&self.path, before, after)],
        }
    }

    /// Returns the change from `before` to `after` at `path`, or `None` if they are equal.
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

    /// Returns the number of added and removed lines.
    pub fn line_counts(&self) -> (usize, usize) {
        let [before, after] = [&self.before, &self.after]
            .map(|state| state.as_ref().map_or(&[][..], |state| &state.bytes));
        line_counts(before, after)
    }

    /// Returns the change without its content.
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

/// Returns the changes with a deleted file and the new one that it became as one rename, where it is clear which belong
/// together: equal files, or else files of one name that share most of their lines.
pub fn with_renames(changes: &[Change]) -> Vec<Change> {
    let of = |op: Op| changes.iter().filter(|change| change.op == op).collect::<Vec<_>>();
    let (mut old, mut new) = (of(Op::Delete), of(Op::Create));
    let mut renames: BTreeMap<&RepoPath, &Change> = BTreeMap::new();
    for became in [is_equal, is_edited] {
        let found = pairs(&old, &new, became);
        old.retain(|change| found.iter().all(|(from, _)| from.path != change.path));
        new.retain(|change| found.iter().all(|(_, to)| to.path != change.path));
        renames.extend(found.into_iter().map(|(from, to)| (&to.path, from)));
    }
    let is_moved = |path: &RepoPath| renames.values().any(|from| from.path == *path);
    let renamed = |change: &Change| match (&change.op, renames.get(&change.path)) {
        (Op::Create, Some(from)) => {
            let op = Op::Rename { from: from.path.clone() };
            Some(Change { op, before: from.before.clone(), ..change.clone() })
        }
        (Op::Delete, _) if is_moved(&change.path) => None,
        _ => Some(change.clone()),
    };
    changes.iter().filter_map(renamed).collect()
}

/// Returns the deleted files that became a new one, with that one, where neither could belong to another.
fn pairs<'c>(
    old: &[&'c Change],
    new: &[&'c Change],
    became: fn(&Change, &Change) -> bool,
) -> Vec<(&'c Change, &'c Change)> {
    let pair = |to: &&'c Change| {
        let mut from = old.iter().copied().filter(|from| became(from, to));
        let only = from.next().filter(|_| from.next().is_none())?;
        let is_other = |other: &&Change| other.path != to.path && became(only, other);
        (!new.iter().any(is_other)).then_some((only, *to))
    };
    new.iter().filter_map(pair).collect()
}

/// Returns true if a new file is the deleted one.
fn is_equal(old: &Change, new: &Change) -> bool {
    old.before == new.after && old.before.as_ref().is_some_and(|state| !state.bytes.is_empty())
}

/// Returns true if a new file has the name and most lines of the deleted one.
fn is_edited(old: &Change, new: &Change) -> bool {
    let (Some(before), Some(after)) = (&old.before, &new.after) else { return false };
    if old.path.name() != new.path.name() || before.mode != after.mode {
        return false;
    }
    let lines = |state: &FileState| state.bytes.split(|byte| *byte == b'\n').count();
    let (_, removed) = line_counts(&before.bytes, &after.bytes);
    let kept = lines(before).saturating_sub(removed);
    2 * kept > lines(before).max(lines(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_file_and_an_equal_new_one_are_a_rename() {
        let path = |name: &str| RepoPath::parse(name).unwrap();
        let delete = |name: &str, text| Change::of(path(name), Some(file(text)), None).unwrap();
        let create = |name: &str, text| Change::of(path(name), None, Some(file(text))).unwrap();
        let shown = |changes: Vec<Change>| -> Vec<String> {
            let changes = with_renames(&changes);
            changes.iter().map(|it| format!("{} {:?}", it.path, it.op)).collect()
        };
        assert_eq!(
            shown(vec![delete("a", "1"), create("b", "1"), create("c", "2"), delete("d", "3")]),
            ["b Rename { from: RepoPath(\"a\") }", "c Create", "d Delete"]
        );
        let twice = vec![delete("a", "1"), create("b", "1"), create("c", "1")];
        assert_eq!(shown(twice), ["a Delete", "b Create", "c Create"]);
        assert_eq!(shown(vec![delete("a", ""), create("b", "")]), ["a Delete", "b Create"]);
        let edited = vec![
            create("new/a", "1\n2\n3\n4\n5\nx\n"),
            create("new/b", "y\n"),
            create("new/c", "1\n2\n3\n4\n5\n"),
            delete("old/a", "1\n2\n3\n4\n5\n6\n"),
            delete("old/b", "1\n2\n3\n"),
        ];
        assert_eq!(
            shown(edited),
            [
                "new/a Rename { from: RepoPath(\"old/a\") }",
                "new/b Create",
                "new/c Create",
                "old/b Delete"
            ]
        );
        let unclear = vec![
            create("c/a", "1\n2\n3\n"),
            delete("a/a", "1\n2\n3\n4\n"),
            delete("b/a", "1\n2\n3\n5\n"),
        ];
        assert_eq!(shown(unclear), ["c/a Create", "a/a Delete", "b/a Delete"]);
    }

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
