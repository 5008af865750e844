//! What git sees of the files that deepseek changed: those that a commit can have, and why it cannot have the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use front::error::CliError;
use policy::quoted_word;
use shell::Git;
use tree::{RepoPath, nested_repository};

use super::status::{Dirty, State, read};
use crate::their_git::output_of;

/// What git sees of some files.
pub(super) struct Seen {
    /// Those that differ from the last commit.
    pub(super) dirty: Vec<Dirty>,
    /// Those that a commit cannot have.
    pub(super) left_out: BTreeMap<RepoPath, WhyLeftOut>,
}

/// A changed file that is not part of the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOutOfCommit {
    pub(super) path: RepoPath,
    pub(super) why: WhyLeftOut,
}

/// Why a changed file is not part of the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhyLeftOut {
    Ignored,
    /// It is marked so that git takes it for unchanged.
    TakenAsUnchanged,
    /// It belongs to the repository in this directory.
    Nested(PathBuf),
    /// Only changes of the user are in it.
    Gone,
}

impl fmt::Display for WhyLeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignored => f.write_str("git ignores it"),
            Self::TakenAsUnchanged => f.write_str(
                "git takes it as unchanged (it is marked skip-worktree or assume-unchanged)",
            ),
            Self::Nested(dir) => {
                let dir = dir.to_string_lossy();
                let (named, quoted) = (dir.as_ref(), quoted_word(&dir));
                write!(
                    f,
                    "it belongs to the repository {named}, which has commits of its own (git -C {quoted} commit)"
                )
            }
            Self::Gone => f.write_str("nothing of deepseek's change is left in it"),
        }
    }
}

impl fmt::Display for LeftOutOfCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path, self.why)
    }
}

impl Seen {
    /// Asks git about these files; `prefix` is the path of the workspace within the repository.
    pub(super) fn by_git(
        git: Git<'_>,
        prefix: &str,
        paths: &BTreeSet<&RepoPath>,
    ) -> Result<Self, CliError> {
        let (mut own, mut nested) = (Vec::new(), BTreeMap::<PathBuf, Vec<&str>>::new());
        for path in paths.iter().map(|path| path.as_str()) {
            match nested_repository(git.dir, Path::new(path)) {
                Some(dir) => nested.entry(dir).or_default().push(path),
                None => own.push(path),
            }
        }
        let mut seen = Self { dirty: Vec::new(), left_out: BTreeMap::new() };
        for file in status(git, prefix, &own)? {
            if file.state == State::Ignored {
                seen.leave_out(&file.path, WhyLeftOut::Ignored);
            } else {
                seen.dirty.push(file);
            }
        }
        for path in marked(git, &own)? {
            seen.leave_out(&path, WhyLeftOut::TakenAsUnchanged);
        }
        for (dir, paths) in nested {
            let within = paths.into_iter().filter_map(|path| path.strip_prefix(dir.to_str()?));
            let within: Vec<&str> = within.map(|path| path.trim_start_matches('/')).collect();
            let git = Git { dir: &git.dir.join(&dir), ..git };
            for file in status(git, "", &within)? {
                let path = dir.join(&file.path);
                seen.leave_out(&path.to_string_lossy(), WhyLeftOut::Nested(dir.clone()));
            }
        }
        Ok(seen)
    }

    fn leave_out(&mut self, path: &str, why: WhyLeftOut) {
        self.left_out.extend(RepoPath::parse(path).ok().map(|path| (path, why)));
    }

    /// Returns true if a file differs from what is committed, as far as git can tell.
    pub(super) fn has(&self, path: &RepoPath) -> bool {
        self.left_out.contains_key(path) || self.dirty.iter().any(|it| it.path == path.as_str())
    }
}

/// Returns the state of those of these files that differ from the last commit, or are ignored.
fn status(git: Git<'_>, prefix: &str, paths: &[&str]) -> Result<Vec<Dirty>, CliError> {
    const WORDS: [&str; 7] = [
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignored",
        "--",
    ];
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    Ok(read(&output_of(git.output(&[&WORDS[..], paths].concat()))?, prefix))
}

/// Returns those of these files that git takes as unchanged, because they are marked so.
fn marked(git: Git<'_>, paths: &[&str]) -> Result<Vec<String>, CliError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let said = output_of(git.output(&[&["ls-files", "-v", "-z", "--"], paths].concat()))?;
    let is_mark = |mark: char| mark == 'S' || mark.is_lowercase();
    let path = |line: &str| line.split_once(' ').map(|(_, path)| path.to_owned());
    Ok(said.split('\0').filter(|line| line.starts_with(is_mark)).filter_map(path).collect())
}
