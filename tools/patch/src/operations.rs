//! What a plan has the program do to files without a diff: delete them, move them, change their mode. Pure; files are read
//! by the caller's closures.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tree::{Change, Entry, FileMode, FileState, Op, RepoPath, TreeError};

/// An operation on a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum FileOperation {
    /// Deletes a file.
    Delete {
        /// The file.
        path: RepoPath,
    },
    /// Moves a file, or all files of a directory.
    Move {
        /// The old path.
        from: RepoPath,
        /// The new path, where nothing may be.
        to: RepoPath,
    },
    /// Makes a file executable or not.
    Mode {
        /// The file.
        path: RepoPath,
        /// Whether its owner may execute it.
        executable: bool,
    },
}

impl FileOperation {
    /// Returns the paths that it names.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        let (path, to) = match self {
            Self::Delete { path } | Self::Mode { path, .. } => (path, None),
            Self::Move { from, to } => (from, Some(to)),
        };
        std::iter::once(path).chain(to)
    }

    /// Returns where it moves the file at `path`; `None` if it does not move it.
    pub fn leads(&self, path: &RepoPath) -> Option<RepoPath> {
        let Self::Move { from, to } = self else { return None };
        if path == from {
            return Some(to.clone());
        }
        RepoPath::parse(&format!("{to}/{}", below_it(path, from)?)).ok()
    }

    /// Returns the path of what it changes.
    pub const fn source(&self) -> &RepoPath {
        match self {
            Self::Delete { path } | Self::Mode { path, .. } => path,
            Self::Move { from, .. } => from,
        }
    }
}

impl fmt::Display for FileOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delete { path } => write!(f, "DELETE|{path}"),
            Self::Move { from, to } => write!(f, "MOVE|{from}|{to}"),
            Self::Mode { path, executable: true } => write!(f, "MODE|{path}|755"),
            Self::Mode { path, executable: false } => write!(f, "MODE|{path}|644"),
        }
    }
}

/// How operations see the tree.
pub struct Surveyor<'t> {
    /// Reads the entry at a path.
    pub entry: &'t dyn Fn(&RepoPath) -> Result<Entry, TreeError>,
    /// Lists the files below a directory.
    pub below: &'t dyn Fn(&RepoPath) -> Vec<RepoPath>,
}

/// Why an operation cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {why}")]
pub struct Impossible {
    /// The operation.
    pub operation: FileOperation,
    /// The reason, and what to do.
    pub why: String,
}

/// Returns the changes that `operations` make, one after the other. What is done already is no change.
pub fn carried_out(
    operations: &[FileOperation],
    tree: &Surveyor<'_>,
) -> Result<Vec<Change>, Impossible> {
    let mut changes = Vec::new();
    for operation in operations {
        let made = changes_of(operation, &after(&changes, tree.entry), tree.below);
        let made = made.map_err(|why| Impossible { operation: operation.clone(), why })?;
        changes = together(&changes, &made);
    }
    Ok(changes)
}

/// Returns a view of the tree as it is after `changes`.
pub fn after<'c>(
    changes: &'c [Change],
    entry: &'c dyn Fn(&RepoPath) -> Result<Entry, TreeError>,
) -> impl Fn(&RepoPath) -> Result<Entry, TreeError> {
    let sides = changes.iter().flat_map(Change::sides);
    let states: BTreeMap<&RepoPath, Option<&FileState>> =
        sides.map(|(path, _, after)| (path, after)).collect();
    move |path| match states.get(path) {
        Some(Some(file)) => Ok(Entry::File((*file).clone())),
        Some(None) => Ok(Entry::Missing),
        None => entry(path),
    }
}

/// Returns one set of changes for `first` and then `second`.
pub fn together(first: &[Change], second: &[Change]) -> Vec<Change> {
    let mut states: BTreeMap<RepoPath, (Option<FileState>, Option<FileState>)> = BTreeMap::new();
    // Where what is at a path was at first.
    let mut origins: BTreeMap<RepoPath, RepoPath> = BTreeMap::new();
    for change in first.iter().chain(second) {
        for (path, before, after) in change.sides() {
            let state = states.entry(path.clone()).or_insert_with(|| (before.cloned(), None));
            state.1 = after.cloned();
        }
        if let Op::Rename { from } = &change.op {
            let origin = origins.remove(from).unwrap_or_else(|| from.clone());
            origins.insert(change.path.clone(), origin);
        }
    }
    let is_moved = |from: &RepoPath, to: &RepoPath| {
        matches!(states.get(from), Some((Some(_), None)))
            && matches!(states.get(to), Some((None, Some(_))))
    };
    origins.retain(|to, from| is_moved(from, to));
    let left: Vec<&RepoPath> = origins.values().collect();
    let change = |(path, (before, after)): (&RepoPath, &(Option<FileState>, Option<FileState>))| {
        if let Some(from) = origins.get(path) {
            let before = states.get(from).and_then(|(before, _)| before.clone());
            let op = Op::Rename { from: from.clone() };
            return Some(Change { path: path.clone(), op, before, after: after.clone() });
        }
        if left.contains(&path) {
            return None;
        }
        Change::of(path.clone(), before.clone(), after.clone())
    };
    states.iter().filter_map(change).collect()
}

fn changes_of(
    operation: &FileOperation,
    entry: &dyn Fn(&RepoPath) -> Result<Entry, TreeError>,
    below: &dyn Fn(&RepoPath) -> Vec<RepoPath>,
) -> Result<Vec<Change>, String> {
    let found = entry(operation.source());
    match operation {
        FileOperation::Delete { path } => match found {
            Ok(Entry::Missing) => Ok(Vec::new()),
            Ok(Entry::Directory) => Err("it is a directory: name its files".to_owned()),
            found => Ok(Change::of(path.clone(), Some(file(found)?), None).into_iter().collect()),
        },
        FileOperation::Mode { path, executable } => {
            let before = match found {
                Ok(Entry::Directory) => return Err("it is a directory".to_owned()),
                found => file(found)?,
            };
            let after = FileState { mode: FileMode::of_file(*executable), ..before.clone() };
            Ok(Change::of(path.clone(), Some(before), Some(after)).into_iter().collect())
        }
        FileOperation::Move { from, to } => {
            let target = entry(to);
            match (&found, &target) {
                (Ok(Entry::Missing), Ok(Entry::File(_) | Entry::Directory)) => {
                    return Ok(Vec::new());
                }
                (_, Ok(Entry::Missing)) => {}
                (_, Ok(Entry::Directory)) => {
                    return Err(format!(
                        "{to} is a directory that exists: give the whole new path"
                    ));
                }
                (_, _) => return Err(format!("{to} exists, and nothing is written over")),
            }
            if !matches!(found, Ok(Entry::Directory)) {
                return Ok(vec![moved(from, to, file(found)?)]);
            }
            if below_it(to, from).is_some() {
                return Err("a directory cannot be moved into itself".to_owned());
            }
            let files = below(from);
            if files.is_empty() {
                return Err("no file in it is part of the project".to_owned());
            }
            let one = |path: RepoPath| {
                let rest = below_it(&path, from).unwrap_or_default();
                let to = RepoPath::parse(&format!("{to}/{rest}")).map_err(|why| why.to_string())?;
                let state = file(entry(&path)).map_err(|why| format!("{path}: {why}"))?;
                Ok(moved(&path, &to, state))
            };
            files.into_iter().map(one).collect()
        }
    }
}

fn moved(from: &RepoPath, to: &RepoPath, file: FileState) -> Change {
    let op = Op::Rename { from: from.clone() };
    Change { path: to.clone(), op, before: Some(file.clone()), after: Some(file) }
}

/// Returns what follows the directory in a path below it.
fn below_it<'p>(path: &'p RepoPath, dir: &RepoPath) -> Option<&'p str> {
    path.as_str().strip_prefix(dir.as_str())?.strip_prefix('/')
}

fn file(found: Result<Entry, TreeError>) -> Result<FileState, String> {
    match found {
        Ok(Entry::File(file)) => Ok(file),
        Ok(Entry::Missing) => Err("there is no such file".to_owned()),
        Ok(Entry::Symlink) => Err("it is a symlink".to_owned()),
        Ok(Entry::Directory | Entry::Other) => Err("it is not a regular file".to_owned()),
        Ok(Entry::TooLarge { bytes }) => Err(format!(
            "it has {bytes} bytes, more than agent_loop.max_file_bytes, which can be raised"
        )),
        Err(TreeError::KeptOff { why, .. }) => Err(why.to_string()),
        Err(TreeError::Io { source, .. }) => Err(source.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn state(text: &str) -> FileState {
        FileState { bytes: text.as_bytes().to_vec().into(), mode: FileMode::Regular }
    }

    const FILES: [(&str, &str); 4] =
        [("a", "1\n"), ("d/x", "2\n"), ("d/e/y", "3\n"), ("run.sh", "4\n")];

    #[expect(clippy::unnecessary_wraps, reason = "this is the form of a read")]
    fn entry(path: &RepoPath) -> Result<Entry, TreeError> {
        let file = FILES.iter().find(|(name, _)| *name == path.as_str());
        let is_dir = FILES.iter().any(|(name, _)| below_it(&self::path(name), path).is_some());
        Ok(match file {
            Some((_, text)) => Entry::File(state(text)),
            None if is_dir => Entry::Directory,
            None => Entry::Missing,
        })
    }

    fn below(dir: &RepoPath) -> Vec<RepoPath> {
        let paths = FILES.iter().map(|(name, _)| path(name));
        paths.filter(|path| below_it(path, dir).is_some()).collect()
    }

    fn delete(name: &str) -> FileOperation {
        FileOperation::Delete { path: path(name) }
    }

    fn mv(from: &str, to: &str) -> FileOperation {
        FileOperation::Move { from: path(from), to: path(to) }
    }

    fn run(operations: &[FileOperation]) -> Result<Vec<String>, String> {
        let tree = Surveyor { entry: &entry, below: &below };
        let changes = carried_out(operations, &tree).map_err(|error| error.to_string())?;
        Ok(changes.iter().map(shown).collect())
    }

    fn shown(change: &Change) -> String {
        let text = |state: &Option<FileState>| {
            let state = state.as_ref()?;
            let mark = if state.mode == FileMode::Executable { "*" } else { "" };
            Some(String::from_utf8_lossy(&state.bytes).trim_end().to_owned() + mark)
        };
        let [before, after] =
            [&change.before, &change.after].map(|state| text(state).unwrap_or("-".into()));
        match &change.op {
            Op::Rename { from } => format!("{from}>{} {before}>{after}", change.path),
            Op::Create | Op::Modify | Op::Delete => format!("{} {before}>{after}", change.path),
        }
    }

    #[test]
    fn files_are_deleted_moved_and_made_executable() {
        let mode = FileOperation::Mode { path: path("run.sh"), executable: true };
        assert_eq!(
            run(&[delete("a"), mv("d", "n/d"), mode]).unwrap(),
            ["a 1>-", "d/e/y>n/d/e/y 3>3", "d/x>n/d/x 2>2", "run.sh 4>4*"]
        );
        assert_eq!(run(&[mv("a", "b"), mv("b", "c")]).unwrap(), ["a>c 1>1"]);
        assert_eq!(run(&[mv("a", "b"), delete("b")]).unwrap(), ["a 1>-"]);
        assert_eq!(run(&[mv("a", "b"), mv("b", "a")]).unwrap(), [""; 0]);
        assert_eq!(
            run(&[mv("run.sh", "a.sh"), mv("a", "run.sh")]).unwrap(),
            ["a 1>-", "a.sh ->4", "run.sh 4>1"]
        );
    }

    #[test]
    fn what_is_done_already_is_no_change() {
        assert_eq!(run(&[delete("gone"), mv("gone", "a"), mv("gone", "d")]).unwrap(), [""; 0]);
        let mode = FileOperation::Mode { path: path("run.sh"), executable: false };
        assert_eq!(run(&[mode]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_would_lose_something_is_refused() {
        for (operation, why) in [
            (delete("d"), "DELETE|d: it is a directory: name its files"),
            (mv("a", "run.sh"), "MOVE|a|run.sh: run.sh exists"),
            (mv("a", "d"), "MOVE|a|d: d is a directory that exists"),
            (mv("d", "d/f"), "MOVE|d|d/f: a directory cannot be moved into itself"),
            (mv("gone", "new"), "MOVE|gone|new: there is no such file"),
        ] {
            let refused = run(&[operation]).unwrap_err();
            assert!(refused.starts_with(why), "{refused}");
        }
    }

    #[test]
    fn a_diff_after_operations_is_part_of_the_same_change() {
        let tree = Surveyor { entry: &entry, below: &below };
        let first = carried_out(&[mv("d", "n"), delete("a")], &tree).unwrap();
        let seen = after(&first, &entry);
        assert!(matches!(seen(&path("n/x")), Ok(Entry::File(_))));
        assert!(matches!(seen(&path("a")), Ok(Entry::Missing)));
        let change = |name: &str, before: Option<&str>, after: Option<&str>| {
            Change::of(path(name), before.map(state), after.map(state)).unwrap()
        };
        let diff = [
            change("n/x", Some("2\n"), Some("5\n")),
            change("a", None, Some("6\n")),
            change("d/x", None, Some("7\n")),
            change("run.sh", Some("4\n"), Some("8\n")),
        ];
        let shown: Vec<String> = together(&first, &diff).iter().map(shown).collect();
        assert_eq!(shown, ["a 1>6", "d/x 2>7", "d/e/y>n/e/y 3>3", "n/x ->5", "run.sh 4>8"]);
    }
}
