//! A commit under way: staged beside its targets, swapped in, or taken back. Nobody who asks for a commit sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::beside::{Names, keep, permissions, place, remove, replace, sync, write_file};
use super::commit_log::{Intended, Intent, Swaps};
use super::confine::{Root, open_below};
use super::write::CommitError;
use super::{Change, FileHash, FileMode, FileState, Op, RepoPath};
use tools::fault;

/// What becomes of each path.
pub(super) type Targets<'a> = BTreeMap<RepoPath, Target<'a>>;

/// One path of a commit: a rename is two of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) before: Option<&'a FileState>,
    pub(super) after: Option<&'a FileState>,
    /// Whose permission bits the new file takes.
    like: Option<&'a RepoPath>,
}

pub(super) fn targets(changes: &[Change]) -> Result<Targets<'_>, CommitError> {
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

/// What a commit to `targets` is about to do.
pub(super) fn intent(
    id: String,
    label: &str,
    identity: FileHash,
    root: &Root,
    targets: &Targets<'_>,
) -> Intent {
    let mut made = BTreeSet::new();
    for path in targets.iter().filter(|(_, target)| target.after.is_some()).map(|(path, _)| path) {
        for above in std::iter::successors(path.parent(), RepoPath::parent) {
            match root.directory(&above) {
                Err(Errno::NOENT | Errno::NOTDIR) => made.insert(above),
                // A symlink that goes.
                Err(Errno::LOOP) if goes(&above, targets) => made.insert(above),
                // It is there, or it will be refused when it is opened to be written to.
                Ok(_) | Err(_) => break,
            };
        }
    }
    let intended = |(path, target): (&RepoPath, &Target<'_>)| Intended {
        path: path.clone(),
        before: target.before.map(FileState::hash),
        before_mode: target.before.map(|state| state.mode),
        after: target.after.map(FileState::hash),
        after_mode: target.after.map(|state| state.mode),
    };
    let targets = targets.iter().map(intended).collect();
    Intent { id, root: identity, label: label.to_owned(), targets, made }
}

/// Whether the file or symlink at `path`, or at one above it, goes, so that there can be a directory.
pub(super) fn goes(path: &RepoPath, targets: &Targets<'_>) -> bool {
    let mut all = std::iter::successors(Some(path.clone()), RepoPath::parent);
    all.any(|path| {
        targets.get(&path).is_some_and(|target| target.before.is_some() && target.after.is_none())
    })
}

/// A commit under way, with all that is needed to take it back.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) root: &'a Root,
    /// Part of its temporary names.
    pub(super) id: &'a str,
    pub(super) steps: Vec<Step>,
    /// Directories made for it, outermost first.
    made: Vec<(OwnedFd, RepoPath)>,
}

/// What is done at one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Create,
    Replace,
    Remove,
}

/// One target on its way.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) path: RepoPath,
    pub(super) dir: OwnedFd,
    pub(super) names: Names,
    deed: Deed,
    pub(super) swapped: bool,
    /// It was swapped first, to make room for a directory.
    aside: bool,
}

impl Step {
    /// Puts the new file in its place, or takes the old one away.
    fn swap(&mut self) -> Result<(), CommitError> {
        let (dir, name) = (self.dir.as_fd(), self.path.name());
        let done = match self.deed {
            Deed::Create => place(dir, &self.names.new, name),
            Deed::Replace => replace(dir, &self.names.new, name),
            Deed::Remove => remove(dir, name),
        };
        self.swapped = done.is_ok();
        done.map_err(|source| CommitError::io(&self.path, source))
    }

    /// Puts the old file back in its place, and drops what is temporary.
    fn undo(&self) -> Result<(), CommitError> {
        let (dir, name) = (self.dir.as_fd(), self.path.name());
        let restored = match self.deed {
            _ if !self.swapped => Ok(()),
            Deed::Create => remove(dir, name),
            Deed::Replace | Deed::Remove => replace(dir, &self.names.old, name),
        };
        restored.map_err(|source| CommitError::NotRestored {
            path: self.path.clone(),
            kept_in: self.names.old.clone(),
            source,
        })?;
        self.names.drop_in(dir);
        Ok(())
    }
}

impl<'a> Attempt<'a> {
    pub(super) const fn new(root: &'a Root, id: &'a str) -> Self {
        Attempt { root, id, steps: Vec::new(), made: Vec::new() }
    }

    /// Makes directories, writes new files under temporary names and gives old files a second name. The new files are durable
    /// on return, and before several swaps so is all the rest.
    ///
    /// A file that goes, and that others arrive below, goes at once.
    pub(super) fn stage(&mut self, targets: &Targets<'_>) -> Result<(), CommitError> {
        let permissions: Vec<Option<Mode>> =
            targets.values().map(|target| self.permissions(target.like?)).collect();
        for (index, ((path, target), permissions)) in targets.iter().zip(permissions).enumerate() {
            let failed = |source| CommitError::io(path, source);
            let dir = self.parent(path)?;
            let step = self.steps.push_mut(Step {
                path: path.clone(),
                dir,
                names: Names::of(self.id, index),
                deed: match (target.before, target.after) {
                    (None, _) => Deed::Create,
                    (Some(_), Some(_)) => Deed::Replace,
                    (Some(_), None) => Deed::Remove,
                },
                swapped: false,
                aside: false,
            });
            if let Some(before) = target.before {
                keep(&step.dir, path.name(), &step.names.old, before).map_err(failed)?;
            }
            if let Some(after) = target.after {
                let permissions = permissions.map(|mode| executable(mode, target));
                write_file(step.dir.as_fd(), &step.names.new, after, permissions)
                    .map_err(failed)?;
            } else if targets.keys().any(|other| {
                std::iter::successors(other.parent(), RepoPath::parent).any(|above| above == *path)
            }) {
                step.aside = true;
                step.swap()?;
            }
        }
        match Swaps::of(self.steps.len(), self.made.len()) {
            Swaps::One => Ok(()),
            Swaps::Several => self.sync(),
        }
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
        let failed = |errno: Errno| CommitError::io(path, errno.into());
        let mut dir = open_below(self.root.dir(), ".").map_err(failed)?;
        let mut names: Vec<&str> = path.components().collect();
        names.pop();
        let mut so_far = String::new();
        for name in names {
            so_far = if so_far.is_empty() { name.to_owned() } else { format!("{so_far}/{name}") };
            fault::point().map_err(|source| CommitError::io(path, source))?;
            match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    let made = RepoPath::parse(&so_far).map_err(|_| failed(Errno::INVAL))?;
                    let above = dir.try_clone().map_err(|source| CommitError::io(path, source))?;
                    self.made.push((above, made));
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            dir = open_below(dir.as_fd(), name).map_err(failed)?;
        }
        Ok(dir)
    }

    /// Puts every new file in its place, in path order. Durable on return.
    pub(super) fn swap(&mut self) -> Result<(), CommitError> {
        self.steps.iter_mut().filter(|step| !step.swapped).try_for_each(Step::swap)?;
        self.sync()
    }

    /// Syncs every directory that was touched, once.
    fn sync(&self) -> Result<(), CommitError> {
        let made = self.made.iter().map(|(dir, path)| (path, dir));
        let all = self.steps.iter().map(|step| (&step.path, &step.dir)).chain(made);
        let dirs: BTreeMap<Option<RepoPath>, (&RepoPath, &OwnedFd)> =
            all.map(|(path, dir)| (path.parent(), (path, dir))).collect();
        let mut dirs = dirs.into_values();
        dirs.try_for_each(|(path, dir)| sync(dir).map_err(|source| CommitError::io(path, source)))
    }

    /// Drops the second names and removes directories that deletions emptied. The changes are durable by now.
    pub(super) fn finish(self) {
        for step in &self.steps {
            step.names.drop_in(step.dir.as_fd());
            if step.deed == Deed::Remove {
                remove_emptied(self.root, &step.path);
            }
        }
    }

    /// Puts everything back as it was, durably; fails if the system does not let it.
    pub(super) fn undo(self) -> Result<(), CommitError> {
        let (aside, others): (Vec<&Step>, Vec<&Step>) =
            self.steps.iter().rev().partition(|step| step.aside);
        let others = others.into_iter().map(Step::undo).fold(Ok(()), Result::and);
        for (above, path) in self.made.iter().rev() {
            rustix::fs::unlinkat(above, path.name(), AtFlags::REMOVEDIR).unwrap_or_default();
        }
        aside.into_iter().map(Step::undo).fold(others, Result::and)?;
        // If it is not durable, the intent may be found again, and what is there is then as before all the same.
        self.sync().or(Ok(()))
    }
}

/// The old permission bits, but for whether the file may be executed, if that changes.
fn executable(mode: Mode, target: &Target<'_>) -> Mode {
    let is =
        |state: Option<&FileState>| state.is_some_and(|state| state.mode == FileMode::Executable);
    let (before, after) = (is(target.before), is(target.after));
    let readers = Mode::from_raw_mode((mode.bits() & 0o444) >> 2);
    match (target.before.is_some(), before, after) {
        (true, false, true) => mode | readers,
        (true, true, false) => mode - Mode::from_raw_mode(0o111),
        (..) => mode,
    }
}

/// Removes the directories above `path` that are empty now.
pub(super) fn remove_emptied(root: &Root, path: &RepoPath) {
    for above in std::iter::successors(path.parent(), RepoPath::parent) {
        let Ok(Some(dir)) = root.parent_of(&above) else { break };
        if rustix::fs::unlinkat(&dir, above.name(), AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
}
