//! One commit attempt: staged next to its targets, swapped in, or undone. Callers of a commit never see it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::commit_log::{CommitIntent, Intended, Swaps};
use super::confine::{Root, open_below};
use super::file_ops::attributes::Attributes;
use super::file_ops::{
    TemporaryNames, keep_second_name, place, remove_file, replace, rewrite, sync_directory,
    write_file,
};
use super::write::CommitError;
use super::{Change, FileHash, FileMode, FileState, Op, RepoPath};
use tools::fault;

/// What happens to each path.
pub(super) type Targets<'a> = BTreeMap<RepoPath, CommitTarget<'a>>;

/// One path of a commit. A rename has two targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitTarget<'a> {
    pub(super) before: Option<&'a FileState>,
    pub(super) after: Option<&'a FileState>,
    /// The path whose attributes the new file gets.
    like: Option<&'a RepoPath>,
    /// The permission bits of a new file that is like no other.
    permissions: Option<u32>,
}

impl CommitTarget<'_> {
    /// Returns true if a regular file replaces another one.
    fn is_replacement(&self) -> bool {
        let is_file =
            |state: Option<&FileState>| state.is_some_and(|state| state.mode != FileMode::Symlink);
        is_file(self.before) && is_file(self.after)
    }
}

/// Returns the target of every path that `changes` touch. New files may be given `permissions`.
pub(super) fn targets<'a>(
    changes: &'a [Change],
    permissions: &BTreeMap<RepoPath, u32>,
) -> Result<Targets<'a>, CommitError> {
    let mut targets = BTreeMap::new();
    let mut add = |path: &RepoPath, target| match targets.insert(path.clone(), target) {
        None => Ok(()),
        Some(_) => Err(CommitError::Twice { path: path.clone() }),
    };
    for Change { path, op, before, after } in changes {
        let (before, after) = (before.as_ref(), after.as_ref());
        match op {
            Op::Rename { from } => {
                add(from, CommitTarget { before, after: None, like: None, permissions: None })?;
                let (before, like) = (None, Some(from));
                add(path, CommitTarget { before, after, like, permissions: None })?;
            }
            Op::Create | Op::Modify | Op::Delete => {
                let (like, permissions) = (before.map(|_| path), permissions.get(path).copied());
                add(path, CommitTarget { before, after, like, permissions })?;
            }
        }
    }
    Ok(targets)
}

/// Returns the intent of a commit to `targets`.
pub(super) fn intent(
    id: String,
    label: &str,
    identity: FileHash,
    root: &Root,
    targets: &Targets<'_>,
) -> CommitIntent {
    let mut made = BTreeSet::new();
    for path in targets.iter().filter(|(_, target)| target.after.is_some()).map(|(path, _)| path) {
        for above in std::iter::successors(path.parent(), RepoPath::parent) {
            match root.directory(&above) {
                Err(Errno::NOENT | Errno::NOTDIR) => made.insert(above),
                // A symlink that this commit removes.
                Err(Errno::LOOP) if is_removed(&above, targets) => made.insert(above),
                // It exists, or opening it for writing will fail.
                Ok(_) | Err(_) => break,
            };
        }
    }
    let intended = |(path, target): (&RepoPath, &CommitTarget<'_>)| Intended {
        path: path.clone(),
        before: target.before.map(FileState::hash),
        before_mode: target.before.map(|state| state.mode),
        after: target.after.map(FileState::hash),
        after_mode: target.after.map(|state| state.mode),
    };
    let is_rooted = |(path, target): (&RepoPath, &CommitTarget<'_>)| {
        let dir = root.parent_of(path).ok().flatten().filter(|_| target.is_replacement());
        dir.and_then(|dir| Attributes::of(dir.as_fd(), path.name()))
            .is_some_and(|it| it.are_rooted())
    };
    let is_one_rewritten = targets.iter().any(is_rooted);
    let targets = targets.iter().map(intended).collect();
    CommitIntent { id, root: identity, label: label.to_owned(), targets, made, is_one_rewritten }
}

/// Returns true if the commit removes a file or symlink at `path` or at one of its parents, which makes room for a
/// directory.
pub(super) fn is_removed(path: &RepoPath, targets: &Targets<'_>) -> bool {
    let mut all = std::iter::successors(Some(path.clone()), RepoPath::parent);
    all.any(|path| {
        targets.get(&path).is_some_and(|target| target.before.is_some() && target.after.is_none())
    })
}

/// A commit in progress, with everything needed to undo it.
#[derive(Debug)]
pub(super) struct CommitAttempt<'a> {
    pub(super) root: &'a Root,
    /// Commit id, part of the temporary names.
    pub(super) id: &'a str,
    pub(super) steps: Vec<CommitStep>,
    /// Directories created for this commit, outermost first.
    made: Vec<(OwnedFd, RepoPath)>,
}

/// What is done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Create,
    Replace,
    /// The old file gets the new content, because it has other names, or an owner or attributes that a new file cannot
    /// have. The permission bits are those after and before.
    Rewrite([Mode; 2]),
    Remove,
}

/// The progress of one target.
#[derive(Debug)]
pub(super) struct CommitStep {
    pub(super) path: RepoPath,
    pub(super) dir: OwnedFd,
    pub(super) names: TemporaryNames,
    deed: Deed,
    pub(super) swapped: bool,
    /// True if it was swapped early, to make room for a directory.
    aside: bool,
}

impl CommitStep {
    /// Moves the new file into place, or removes the old one.
    fn swap(&mut self) -> Result<(), CommitError> {
        let (dir, name) = (self.dir.as_fd(), self.path.name());
        let done = match self.deed {
            Deed::Create => place(dir, &self.names.new, name),
            Deed::Replace => replace(dir, &self.names.new, name),
            Deed::Rewrite([after, _]) => rewrite(dir, &self.names.new, name, Some(after)),
            Deed::Remove => remove_file(dir, name),
        };
        self.swapped = done.is_ok() || matches!(self.deed, Deed::Rewrite(_));
        done.map_err(|source| CommitError::io(&self.path, source))
    }

    /// Restores the old file and removes the temporary names.
    fn undo(&self) -> Result<(), CommitError> {
        let (dir, name) = (self.dir.as_fd(), self.path.name());
        let restored = match self.deed {
            _ if !self.swapped => Ok(()),
            Deed::Create => remove_file(dir, name),
            Deed::Replace | Deed::Remove => replace(dir, &self.names.old, name),
            Deed::Rewrite([_, before]) => rewrite(dir, &self.names.old, name, Some(before)),
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

impl<'a> CommitAttempt<'a> {
    pub(super) const fn new(root: &'a Root, id: &'a str) -> Self {
        CommitAttempt { root, id, steps: Vec::new(), made: Vec::new() }
    }

    /// Creates directories, writes the new files under temporary names and gives the old files a second name. The new
    /// files are durable on return; if there are several swaps, so is everything else.
    ///
    /// A file that makes room for a directory is removed here already.
    pub(super) fn stage(&mut self, targets: &Targets<'_>) -> Result<(), CommitError> {
        let like = |target: &CommitTarget<'_>| match target.like {
            Some(path) => self.attributes(path),
            None => target.permissions.map(Attributes::fresh),
        };
        let likes: Vec<Option<Attributes>> = targets.values().map(like).collect();
        for (index, ((path, target), like)) in targets.iter().zip(likes).enumerate() {
            let failed = |source| CommitError::io(path, source);
            let dir = self.parent(path)?;
            let step = self.steps.push_mut(CommitStep {
                path: path.clone(),
                dir,
                names: TemporaryNames::of(self.id, index),
                deed: match (target.before, target.after) {
                    (None, _) => Deed::Create,
                    (Some(_), Some(_)) => Deed::Replace,
                    (Some(_), None) => Deed::Remove,
                },
                swapped: false,
                aside: false,
            });
            let (dir, names) = (step.dir.as_fd(), &step.names);
            if let Some(after) = target.after {
                let new = like.as_ref().map(|like| like.with_mode(executable(like.mode, target)));
                write_file(dir, &names.new, after, new.as_ref()).map_err(failed)?;
                if let (Some(old), Some(new)) = (&like, new)
                    && target.is_replacement()
                    && !old.stay_in(dir, &names.new, &names.old)
                {
                    step.deed = Deed::Rewrite([new.mode, old.mode]);
                }
            }
            if let Some(before) = target.before {
                let kept = match step.deed {
                    // Another name of the file would be written to as well.
                    Deed::Rewrite(_) => write_file(dir, &names.old, before, like.as_ref()),
                    Deed::Create | Deed::Replace | Deed::Remove => {
                        keep_second_name(&step.dir, path.name(), &names.old, before)
                    }
                };
                kept.map_err(failed)?;
            }
            if target.after.is_none()
                && targets.keys().any(|other| {
                    std::iter::successors(other.parent(), RepoPath::parent)
                        .any(|above| above == *path)
                })
            {
                step.aside = true;
                step.swap()?;
            }
        }
        let is_one_rewritten = self.steps.iter().any(|step| matches!(step.deed, Deed::Rewrite(_)));
        match Swaps::of(self.steps.len(), self.made.len(), is_one_rewritten) {
            Swaps::One => Ok(()),
            Swaps::Several => self.sync(),
        }
    }

    fn attributes(&self, path: &RepoPath) -> Option<Attributes> {
        let dir = self.root.parent_of(path).ok()??;
        Attributes::of(dir.as_fd(), path.name())
    }

    /// Opens the parent directory of `path`, creating missing directories.
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

    /// Swaps every target, in path order. Durable on return.
    pub(super) fn swap(&mut self) -> Result<(), CommitError> {
        self.steps.iter_mut().filter(|step| !step.swapped).try_for_each(CommitStep::swap)?;
        self.sync()
    }

    /// Syncs each affected directory once.
    fn sync(&self) -> Result<(), CommitError> {
        let made = self.made.iter().map(|(dir, path)| (path, dir));
        let all = self.steps.iter().map(|step| (&step.path, &step.dir)).chain(made);
        let dirs: BTreeMap<Option<RepoPath>, (&RepoPath, &OwnedFd)> =
            all.map(|(path, dir)| (path.parent(), (path, dir))).collect();
        let mut dirs = dirs.into_values();
        dirs.try_for_each(|(path, dir)| {
            sync_directory(dir).map_err(|source| CommitError::io(path, source))
        })
    }

    /// Removes the second names and the directories that deletions emptied. The changes are already durable at this
    /// point.
    pub(super) fn finish(self) {
        for step in &self.steps {
            step.names.drop_in(step.dir.as_fd());
            if step.deed == Deed::Remove {
                remove_emptied(self.root, &step.path);
            }
        }
    }

    /// Restores everything, durably. Fails if the system does not allow it.
    pub(super) fn undo(self) -> Result<(), CommitError> {
        let (aside, others): (Vec<&CommitStep>, Vec<&CommitStep>) =
            self.steps.iter().rev().partition(|step| step.aside);
        let others = others.into_iter().map(CommitStep::undo).fold(Ok(()), Result::and);
        for (above, path) in self.made.iter().rev() {
            rustix::fs::unlinkat(above, path.name(), AtFlags::REMOVEDIR).unwrap_or_default();
        }
        aside.into_iter().map(CommitStep::undo).fold(others, Result::and)?;
        // Ignored: if the sync failed, a later start may find the intent, but the files are as before anyway.
        self.sync().or(Ok(()))
    }
}

/// Returns the old permission bits, with the executable bits changed if the change says so.
fn executable(mode: Mode, target: &CommitTarget<'_>) -> Mode {
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

/// Removes the parent directories of `path` that are now empty.
pub(super) fn remove_emptied(root: &Root, path: &RepoPath) {
    for above in std::iter::successors(path.parent(), RepoPath::parent) {
        let Ok(Some(dir)) = root.parent_of(&above) else { break };
        if rustix::fs::unlinkat(&dir, above.name(), AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
}
