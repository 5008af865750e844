//! The one way to change a tree: all of a set of changes, or none. It decides nothing about their content.
//!
//! New bytes are staged in temporary files beside their targets and synced; the old files keep a second name; then
//! each target is replaced by one rename, in path order. Any error puts everything back.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode};
use rustix::io::Errno;

use super::beside::{
    TEMPORARY, drop_name, keep, permissions, place, sync, temporary_name, write_file,
};
use super::confine::{Root, open_below};
use super::{Change, Entry, FileHash, FileState, Op, ReadTree, RepoPath, TreeError};

/// A directory that may be changed.
#[derive(Debug)]
pub struct WriteTree {
    root: Arc<Root>,
}

/// What a commit wrote.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Committed {
    /// Every path touched, with the hash of what is there now; none where nothing is.
    pub paths: BTreeMap<RepoPath, Option<FileHash>>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A path is no longer as the changes expect it.
    #[error("{path} changed meanwhile")]
    Stale {
        /// The first such path.
        path: RepoPath,
    },
    /// Two changes touch one path.
    #[error("{path} is changed twice in one commit")]
    Twice {
        /// The path.
        path: RepoPath,
    },
    /// A path could not be looked at.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The system refused; everything is as it was.
    #[error("can not write {path}")]
    Io {
        /// The path at fault.
        path: RepoPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system refused, and refused to put `path` back too. Its old bytes are in a file beside it.
    #[error("can not write {path}, nor put it back; its old content is in {kept_in} beside it")]
    NotRestored {
        /// The path at fault.
        path: RepoPath,
        /// Name of the file that holds the old bytes.
        kept_in: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl WriteTree {
    /// Opens the directory `root`.
    pub fn open(root: &Path) -> Result<WriteTree, TreeError> {
        Ok(WriteTree { root: Arc::new(Root::open(root)?) })
    }

    /// The same directory, for reading.
    pub fn reader(&self) -> ReadTree {
        ReadTree::of(&self.root)
    }

    /// Makes all of `changes`, or none of them.
    ///
    /// Every path must be as its change says it was before. Permission bits stay as they are, new directories are made
    /// and emptied ones removed. Success is durable.
    pub fn commit(
        &self,
        changes: &(impl AsRef<[Change]> + ?Sized),
    ) -> Result<Committed, CommitError> {
        let targets = targets(changes.as_ref())?;
        self.check(&targets, &[])?;
        let mut attempt = Attempt { root: &self.root, steps: Vec::new(), made: Vec::new() };
        let done = attempt
            .stage(&targets)
            .and_then(|()| self.check(&targets, &attempt.steps))
            .and_then(|()| attempt.swap());
        match done {
            Ok(()) => attempt.finish(),
            Err(error) => return Err(attempt.undo().err().unwrap_or(error)),
        }
        let paths = targets
            .iter()
            .map(|(path, target)| (path.clone(), target.after.map(FileState::hash)))
            .collect();
        Ok(Committed { paths })
    }

    /// Removes temporary files that a crash left beside `paths`. Call it once what they were for is settled.
    pub fn sweep<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a RepoPath>,
    ) -> Result<(), CommitError> {
        for path in paths {
            let failed =
                |errno: Errno| CommitError::Io { path: path.clone(), source: errno.into() };
            let Some(dir) = self.root.parent_of(path)? else { continue };
            for entry in Dir::read_from(&dir).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                if entry.file_name().to_bytes().starts_with(TEMPORARY.as_bytes()) {
                    rustix::fs::unlinkat(&dir, entry.file_name(), AtFlags::empty())
                        .map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// Whether every target is as it should be, but for the steps that are made already.
    fn check(&self, targets: &Targets<'_>, steps: &[Step]) -> Result<(), CommitError> {
        let reader = self.reader();
        let made = |path: &RepoPath| steps.iter().any(|step| step.swapped && step.path == *path);
        for (path, target) in targets.iter().filter(|(path, _)| !made(path)) {
            let size = target.before.map_or(0, |state| state.bytes.len() as u64);
            let same = match reader.entry(path, size) {
                Ok(Entry::Missing) => target.before.is_none(),
                Ok(Entry::File(state)) => {
                    target.before.is_some_and(|before| before.bytes == state.bytes)
                }
                Ok(Entry::Directory | Entry::Symlink | Entry::Other | Entry::TooLarge { .. }) => {
                    false
                }
                Err(TreeError::ParentNotDirectory { .. }) if is_below_removed(path, targets) => {
                    target.before.is_none()
                }
                Err(error) => return Err(error.into()),
            };
            if !same {
                return Err(CommitError::Stale { path: path.clone() });
            }
        }
        Ok(())
    }
}

/// What becomes of each path.
type Targets<'a> = BTreeMap<RepoPath, Target<'a>>;

/// Whether a file above `path` goes, so that there can be a directory.
fn is_below_removed(path: &RepoPath, targets: &Targets<'_>) -> bool {
    let mut above = std::iter::successors(path.parent(), RepoPath::parent);
    above.any(|path| {
        targets.get(&path).is_some_and(|target| target.before.is_some() && target.after.is_none())
    })
}

/// One path of a commit: a rename is two of them.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    before: Option<&'a FileState>,
    after: Option<&'a FileState>,
    /// Whose permission bits the new file takes.
    like: Option<&'a RepoPath>,
}

fn targets(changes: &[Change]) -> Result<Targets<'_>, CommitError> {
    let mut targets = BTreeMap::new();
    let mut add = |path: &RepoPath, target| match targets.insert(path.clone(), target) {
        None => Ok(()),
        Some(_) => Err(CommitError::Twice { path: path.clone() }),
    };
    for Change { path, op, before, after } in changes {
        let (before, after) = (before.as_ref(), after.as_ref());
        match op {
            Op::Rename { from } => {
                add(from, Target { before, after: None, like: None })?;
                add(path, Target { before: None, after, like: Some(from) })?;
            }
            Op::Create | Op::Modify | Op::Delete => {
                add(path, Target { before, after, like: before.map(|_| path) })?;
            }
        }
    }
    Ok(targets)
}

/// A commit under way, with all that is needed to take it back.
#[derive(Debug)]
struct Attempt<'a> {
    root: &'a Root,
    steps: Vec<Step>,
    /// Directories made for it, outermost first.
    made: Vec<(OwnedFd, RepoPath)>,
}

/// One target on its way.
#[derive(Debug)]
struct Step {
    path: RepoPath,
    dir: OwnedFd,
    /// Temporary name of the new file.
    new: Option<String>,
    /// Second name of the old file.
    old: Option<String>,
    swapped: bool,
    /// It was swapped first, to make room for a directory.
    aside: bool,
}

impl Step {
    /// Puts the new file in its place, or takes the old one away.
    fn swap(&mut self) -> Result<(), Errno> {
        let (dir, name) = (&self.dir, self.path.name());
        match (&self.new, &self.old) {
            (Some(new), Some(_)) => rustix::fs::renameat(dir, new, dir, name),
            (Some(new), None) => place(dir.as_fd(), new, name),
            (None, Some(_)) => rustix::fs::unlinkat(dir, name, AtFlags::empty()),
            (None, None) => Ok(()),
        }?;
        self.swapped = true;
        Ok(())
    }

    /// Puts the old file back in its place, and drops what is temporary.
    fn undo(&self) -> Result<(), CommitError> {
        let name = self.path.name();
        let restored = match &self.old {
            _ if !self.swapped => Ok(()),
            Some(old) => rustix::fs::renameat(&self.dir, old, &self.dir, name),
            None => rustix::fs::unlinkat(&self.dir, name, AtFlags::empty()),
        };
        restored.map_err(|errno| CommitError::NotRestored {
            path: self.path.clone(),
            kept_in: self.old.clone().unwrap_or_default(),
            source: errno.into(),
        })?;
        self.drop_temporary();
        Ok(())
    }

    fn drop_temporary(&self) {
        for name in [&self.old, &self.new].into_iter().flatten() {
            drop_name(self.dir.as_fd(), name);
        }
    }
}

impl Attempt<'_> {
    /// Makes directories, writes new files under temporary names and gives old files a second name.
    ///
    /// A file that goes, and that others arrive below, goes at once.
    fn stage(&mut self, targets: &Targets<'_>) -> Result<(), CommitError> {
        let permissions: Vec<Option<Mode>> =
            targets.values().map(|target| self.permissions(target.like?)).collect();
        for ((path, target), permissions) in targets.iter().zip(permissions) {
            let failed = |source| io_error(path, source);
            let dir = self.parent(path)?;
            self.steps.push(Step {
                path: path.clone(),
                dir,
                new: None,
                old: None,
                swapped: false,
                aside: false,
            });
            let Some(step) = self.steps.last_mut() else { continue };
            if let Some(before) = target.before {
                let name = step.old.insert(temporary_name());
                keep(&step.dir, path.name(), name, before).map_err(failed)?;
            }
            if let Some(after) = target.after {
                let name = step.new.insert(temporary_name());
                write_file(step.dir.as_fd(), name, after, permissions).map_err(failed)?;
            } else if targets.keys().any(|other| {
                std::iter::successors(other.parent(), RepoPath::parent).any(|above| above == *path)
            }) {
                step.swap().map_err(|errno| failed(errno.into()))?;
                step.aside = true;
            }
        }
        Ok(())
    }

    fn permissions(&self, path: &RepoPath) -> Option<Mode> {
        let dir = self.root.parent_of(path).ok()??;
        permissions(dir.as_fd(), path.name())
    }

    /// Opens the directory `path` goes into and makes what is missing of it.
    fn parent(&mut self, path: &RepoPath) -> Result<OwnedFd, CommitError> {
        if let Some(dir) = self.root.parent_of(path)? {
            return Ok(dir);
        }
        let failed = |errno: Errno| io_error(path, errno.into());
        let mut dir = open_below(self.root.dir(), ".").map_err(failed)?;
        let mut names: Vec<&str> = path.components().collect();
        names.pop();
        let mut so_far = String::new();
        for name in names {
            so_far = if so_far.is_empty() { name.to_owned() } else { format!("{so_far}/{name}") };
            match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    let made = RepoPath::parse(&so_far).map_err(|_| failed(Errno::INVAL))?;
                    self.made
                        .push((dir.try_clone().map_err(|source| io_error(path, source))?, made));
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            dir = open_below(dir.as_fd(), name).map_err(failed)?;
        }
        Ok(dir)
    }

    /// Puts every new file in its place, in path order, and syncs the directories.
    fn swap(&mut self) -> Result<(), CommitError> {
        for step in self.steps.iter_mut().filter(|step| !step.swapped) {
            step.swap().map_err(|errno| io_error(&step.path, errno.into()))?;
        }
        let made = self.made.iter().map(|(dir, path)| (dir, path));
        for (dir, path) in self.steps.iter().map(|step| (&step.dir, &step.path)).chain(made) {
            sync(dir).map_err(|errno| io_error(path, errno.into()))?;
        }
        Ok(())
    }

    /// Drops the second names and removes directories that deletions emptied.
    ///
    /// The changes are durable by now: a temporary file that stays is found by the next sweep.
    fn finish(self) {
        for step in &self.steps {
            step.drop_temporary();
            let mut emptied = if step.new.is_none() { step.path.parent() } else { None };
            while let Some(path) = emptied.take() {
                let Ok(Some(above)) = self.root.parent_of(&path) else { break };
                if rustix::fs::unlinkat(&above, path.name(), AtFlags::REMOVEDIR).is_ok() {
                    emptied = path.parent();
                }
            }
        }
    }

    /// Puts everything back as it was; fails if the system does not let it.
    fn undo(self) -> Result<(), CommitError> {
        let (aside, others): (Vec<&Step>, Vec<&Step>) =
            self.steps.iter().rev().partition(|step| step.aside);
        let others = others.into_iter().map(Step::undo).fold(Ok(()), Result::and);
        for (above, path) in self.made.iter().rev() {
            rustix::fs::unlinkat(above, path.name(), AtFlags::REMOVEDIR).unwrap_or_default();
        }
        aside.into_iter().map(Step::undo).fold(others, Result::and)
    }
}

fn io_error(path: &RepoPath, source: io::Error) -> CommitError {
    CommitError::Io { path: path.clone(), source }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
