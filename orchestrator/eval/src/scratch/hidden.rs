//! The files of a case: its hidden tests, and the rest of its reference, as they are before and after.

use std::fs;
use std::path::Path;

use checks::proof::{Tested, tested, with_tests_of};
use tree::{
    Change, CommittedTree, Entry, FileMode, FileState, FileThen, PathError, ReadTree, RepoPath,
    TreeError, UserRepository, put,
};

use crate::drawn::commits::{Commit, commits};
use crate::eval_error::EvalError;
use crate::results::record::{CaseOrigin, EvalCase};

/// The largest file of a result whose tests are replaced, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The files of a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaseFiles {
    /// Files with nothing but tests, as after the reference.
    pub(crate) tests: Vec<FileThen>,
    /// Files with tests at their end, as after the reference.
    pub(crate) inside: Vec<(RepoPath, FileState)>,
    /// The other files, after the reference.
    pub(crate) after: Vec<FileThen>,
    /// The other files, before it.
    pub(crate) before: Vec<FileThen>,
}

impl CaseFiles {
    /// Sorts changes into tests and others.
    fn of_changes(changes: &[Change]) -> Self {
        let mut files = Self::default();
        for change in changes {
            let path = &change.path;
            match (tested(change), &change.after) {
                (Tested::All, after) => files.tests.push((path.clone(), after.clone())),
                (Tested::Inside(_), Some(after)) => {
                    files.inside.push((path.clone(), after.clone()));
                    files.after.push((path.clone(), Some(after.clone())));
                    files.before.push((path.clone(), change.before.clone()));
                }
                (Tested::Nothing | Tested::Inside(_), after) => {
                    files.after.push((path.clone(), after.clone()));
                    files.before.push((path.clone(), change.before.clone()));
                }
            }
        }
        files
    }

    /// Reads the files of a commit. Blocks.
    pub(crate) fn of_commit(user: &UserRepository, commit: &Commit) -> Result<Self, EvalError> {
        let parent = commit.parents.first().map_or("", String::as_str);
        let missing = |id: &str| EvalError::NoCommit { id: id.to_owned() };
        let new = CommittedTree::with_id(user, &commit.id).ok_or_else(|| missing(&commit.id))?;
        let old = CommittedTree::with_id(user, parent).ok_or_else(|| missing(parent))?;
        let paths = commit.changes.iter().flat_map(|it| it.from.iter().chain([&it.path]));
        let paths = paths.filter_map(|path| RepoPath::parse(path).ok());
        let changes: Vec<Change> = paths
            .filter_map(|path| Change::of(path.clone(), old.file(&path), new.file(&path)))
            .collect();
        Ok(Self::of_changes(&changes))
    }

    /// Reads the files of a case again. Blocks.
    pub(crate) fn of_case(top: &Path, case: &EvalCase) -> Result<Self, EvalError> {
        match &case.origin {
            CaseOrigin::Commit { id, .. } => {
                let user = UserRepository::around(top)
                    .ok_or_else(|| EvalError::NoCommit { id: id.clone() })?;
                let commit = commits(top, &format!("{id}^!"))?;
                let commit =
                    commit.first().ok_or_else(|| EvalError::NoCommit { id: id.clone() })?;
                Self::of_commit(&user, commit)
            }
            CaseOrigin::Exercise { dir, solution, example } => {
                let read = |path: &String, from: &String| read_file(Path::new(dir), path, from);
                let own = |paths: &[String]| -> Result<Vec<FileThen>, EvalError> {
                    paths.iter().map(|path| read(path, path)).collect()
                };
                let referenced = solution.iter().zip(example);
                Ok(Self {
                    tests: own(&case.tests)?,
                    inside: Vec::new(),
                    after: referenced
                        .map(|(path, from)| read(path, from))
                        .collect::<Result<_, _>>()?,
                    before: own(solution)?,
                })
            }
        }
    }

    /// Replaces texts by which tests are switched off.
    pub(crate) fn switch_on(&mut self, switched_off: &[[String; 2]]) {
        for file in self.tests.iter_mut().filter_map(|(_, state)| state.as_mut()) {
            let Ok(text) = String::from_utf8(file.bytes.to_vec()) else { continue };
            let on = |text: String, [off, on]: &[String; 2]| text.replace(off.as_str(), on);
            file.bytes = switched_off.iter().fold(text, on).into();
        }
    }

    /// Returns the paths of the files with tests.
    pub(crate) fn test_paths(&self) -> Vec<String> {
        let whole = self.tests.iter().filter(|(_, state)| state.is_some()).map(|(path, _)| path);
        whole.chain(self.inside.iter().map(|(path, _)| path)).map(ToString::to_string).collect()
    }

    /// Puts the hidden tests over the tree at `root`. Blocks.
    pub(crate) fn put_tests(&self, root: &Path) -> Result<(), EvalError> {
        let failed = |error: std::io::Error| EvalError::File { path: root.to_owned(), error };
        put(root, &self.tests).map_err(failed)?;
        let tree = ReadTree::open(root)
            .map_err(|error: TreeError| failed(std::io::Error::other(error)))?;
        for (path, reference) in &self.inside {
            let Ok(Entry::File(now)) = tree.entry(path, MAX_BYTES) else { continue };
            if let Some(file) = with_tests_of(&now, reference) {
                put(root, &[(path.clone(), Some(file))]).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Reads the file `from` of an exercise, as the state of the file at `path`.
fn read_file(dir: &Path, path: &str, from: &str) -> Result<FileThen, EvalError> {
    let file = dir.join(from);
    let bytes = fs::read(&file).map_err(|error| EvalError::File { path: file, error })?;
    let unusable =
        |error: PathError| EvalError::Exercise { dir: dir.to_owned(), why: error.to_string() };
    let path = RepoPath::parse(path).map_err(unusable)?;
    Ok((path, Some(FileState { bytes: bytes.into(), mode: FileMode::Regular })))
}
