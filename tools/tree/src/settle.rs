//! Settles a commit that a crash cut short, from its intent and from what is there: completed, or taken back.
//!
//! It tells the paths apart by hashes. A file that is neither as it was before nor as it would be after has been changed by
//! somebody else meanwhile: it is left alone and reported.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};

use super::attempt::remove_emptied;
use super::beside::{Names, drop_name, place, remove, replace, sync};
use super::commit_log::{Intended, Intent, Side, Stage};
use super::confine::Root;
use super::write::CommitError;
use super::{Entry, ReadTree, RepoPath, TreeError};

/// A commit that was cut short, and is not any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// As it was called when it was begun.
    pub label: String,
    /// What was done about it.
    pub outcome: Settlement,
    /// Paths that are as they were found, since somebody else changed them meanwhile; of a commit that is stuck, those that are
    /// not as before.
    pub left: Vec<RepoPath>,
}

/// What was done about a commit that was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// All of its changes are made.
    Completed,
    /// None of its changes is made.
    TakenBack,
    /// Neither can be done, since its temporary files are gone. Nothing was touched.
    Stuck,
}

/// What is at a path of the intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Before,
    After,
    Neither,
}

/// A path of the intent with what was found there and beside it.
struct Found<'a> {
    intended: &'a Intended,
    names: Names,
    /// The directory it is in; none if that is missing.
    dir: Option<OwnedFd>,
    seen: Seen,
    /// Whether the new file waits beside it, whole.
    new_waits: bool,
    /// Whether the old file is kept beside it, whole.
    old_waits: bool,
}

/// Completes what `intent` began or takes it back. Running it again, or being killed in it, does no harm.
pub(super) fn settle(
    root: &Arc<Root>,
    intent: &Intent,
    stage: Stage,
) -> Result<Settled, CommitError> {
    let tree = ReadTree::of(root);
    let found = intent.targets.iter().enumerate();
    let found = found.map(|(index, intended)| look(root, &tree, intent, index, intended));
    let found: Vec<Found<'_>> = found.collect::<Result<_, _>>()?;
    let outcome = if stage == Stage::Done {
        tidy(root, &found);
        Settlement::Completed
    } else if found.iter().all(Found::can_go_on) {
        complete(root, &found)?;
        Settlement::Completed
    } else if found.iter().all(Found::can_go_back) {
        take_back(root, intent, &found)?;
        Settlement::TakenBack
    } else {
        Settlement::Stuck
    };
    let is_left = |found: &&Found<'_>| match outcome {
        Settlement::Completed if stage == Stage::Done => false,
        Settlement::Completed | Settlement::TakenBack => found.seen == Seen::Neither,
        Settlement::Stuck => found.seen != Seen::Before,
    };
    let left = found.iter().filter(is_left).map(|found| found.intended.path.clone()).collect();
    Ok(Settled { label: intent.label.clone(), outcome, left })
}

fn look<'a>(
    root: &Root,
    tree: &ReadTree,
    intent: &Intent,
    index: usize,
    intended: &'a Intended,
) -> Result<Found<'a>, TreeError> {
    let names = Names::of(&intent.id, index);
    let path = &intended.path;
    let dir = match root.parent_of(path) {
        Ok(dir) => dir,
        // A file is where a directory would be made, or a link where one was: neither is ours to pass.
        Err(TreeError::ParentNotDirectory { .. } | TreeError::ThroughSymlink { .. }) => None,
        Err(error) => return Err(error),
    };
    // A directory that was to be made in the place of a file says that the file is gone.
    let made_way = || intended.after.is_none() && intent.made.contains(path);
    let seen = match intent.entry(tree, path)? {
        Entry::Directory if made_way() => Seen::After,
        entry if is(&entry, intended, Side::After) => Seen::After,
        entry if is(&entry, intended, Side::Before) => Seen::Before,
        Entry::Missing
        | Entry::File(_)
        | Entry::Directory
        | Entry::Symlink
        | Entry::Other
        | Entry::TooLarge { .. } => Seen::Neither,
    };
    let waits = |name: &str, side| match (&dir, beside(path, name)) {
        (Some(_), Some(path)) => Ok::<_, TreeError>(match intent.entry(tree, &path)? {
            Entry::File(state) => intended.is(side, &state),
            Entry::Missing
            | Entry::Directory
            | Entry::Symlink
            | Entry::Other
            | Entry::TooLarge { .. } => false,
        }),
        _ => Ok(false),
    };
    let new_waits = waits(&names.new, Side::After)?;
    let old_waits = waits(&names.old, Side::Before)?;
    Ok(Found { intended, names, dir, seen, new_waits, old_waits })
}

impl Intent {
    /// What is at `path`; nothing where its directory is none, or a symlink that goes.
    fn entry(&self, tree: &ReadTree, path: &RepoPath) -> Result<Entry, TreeError> {
        let goes = |above: RepoPath| {
            let mut targets = self.targets.iter().filter(|target| target.path == above);
            targets.any(|target| target.before.is_some() && target.after.is_none())
        };
        match tree.entry_or_link(path, u64::MAX) {
            Err(TreeError::ParentNotDirectory { .. }) => Ok(Entry::Missing),
            Err(TreeError::ThroughSymlink { .. })
                if std::iter::successors(path.parent(), RepoPath::parent).any(goes) =>
            {
                Ok(Entry::Missing)
            }
            Err(TreeError::ThroughSymlink { .. }) => Ok(Entry::Symlink),
            other => other,
        }
    }
}

/// Whether `entry` is the file of this side, or nothing where there is none.
fn is(entry: &Entry, intended: &Intended, side: Side) -> bool {
    let is_none = match side {
        Side::Before => intended.before.is_none(),
        Side::After => intended.after.is_none(),
    };
    match entry {
        Entry::Missing => is_none,
        Entry::File(state) => intended.is(side, state),
        Entry::Directory | Entry::Symlink | Entry::Other | Entry::TooLarge { .. } => false,
    }
}

fn beside(path: &RepoPath, name: &str) -> Option<RepoPath> {
    let text = path.parent().map_or_else(|| name.to_owned(), |dir| format!("{dir}/{name}"));
    RepoPath::parse(&text).ok()
}

impl Found<'_> {
    fn can_go_on(&self) -> bool {
        match self.seen {
            Seen::After | Seen::Neither => true,
            // Only what is sure to be a file of before is removed: its second name goes last.
            Seen::Before if self.intended.after.is_none() => self.old_waits,
            Seen::Before => self.new_waits,
        }
    }

    fn can_go_back(&self) -> bool {
        match self.seen {
            Seen::Before | Seen::Neither => true,
            Seen::After => self.intended.before.is_none() || self.old_waits,
        }
    }

    /// Makes the change of this path, if it is not made.
    fn go_on(&self) -> io::Result<()> {
        let (Seen::Before, Some(dir)) = (self.seen, &self.dir) else { return Ok(()) };
        let (dir, name) = (dir.as_fd(), self.intended.path.name());
        match (self.intended.before, self.intended.after) {
            (Some(_), Some(_)) => replace(dir, &self.names.new, name),
            (None, Some(_)) => place(dir, &self.names.new, name),
            (Some(_), None) => remove(dir, name),
            (None, None) => Ok(()),
        }
    }

    /// Takes the change of this path back, if it is made.
    fn go_back(&self) -> io::Result<()> {
        let (Seen::After, Some(dir)) = (self.seen, &self.dir) else { return Ok(()) };
        let (dir, name) = (dir.as_fd(), self.intended.path.name());
        match self.intended.before {
            Some(_) => replace(dir, &self.names.old, name),
            None => remove(dir, name),
        }
    }
}

fn complete(root: &Root, found: &[Found<'_>]) -> Result<(), CommitError> {
    each(found, Found::go_on)?;
    each(found, |found| found.dir.as_ref().map_or(Ok(()), sync))?;
    tidy(root, found);
    Ok(())
}

/// What is left to do when all changes are made.
fn tidy(root: &Root, found: &[Found<'_>]) {
    drop_temporary(found);
    for gone in found.iter().filter(|found| found.intended.after.is_none()) {
        remove_emptied(root, &gone.intended.path);
    }
}

/// What is new goes first, then the directories made for it, so that a file can return where one of them is.
fn take_back(root: &Root, intent: &Intent, found: &[Found<'_>]) -> Result<(), CommitError> {
    let (fresh, others): (Vec<_>, Vec<_>) =
        found.iter().partition(|found| found.intended.before.is_none());
    each(fresh.iter().copied(), Found::go_back)?;
    for Found { names, dir, .. } in found {
        if let Some(dir) = dir {
            drop_name(dir.as_fd(), &names.new);
        }
    }
    for made in intent.made.iter().rev() {
        if let Ok(Some(dir)) = root.parent_of(made) {
            rustix::fs::unlinkat(&dir, made.name(), AtFlags::REMOVEDIR).unwrap_or_default();
        }
    }
    each(others.iter().copied(), Found::go_back)?;
    each(found, |found| found.dir.as_ref().map_or(Ok(()), sync))?;
    drop_temporary(found);
    Ok(())
}

fn each<'f, 'a: 'f>(
    found: impl IntoIterator<Item = &'f Found<'a>>,
    act: impl Fn(&Found<'a>) -> io::Result<()>,
) -> Result<(), CommitError> {
    found.into_iter().try_for_each(|found| {
        act(found).map_err(|source| CommitError::io(&found.intended.path, source))
    })
}

fn drop_temporary(found: &[Found<'_>]) {
    for Found { names, dir, .. } in found {
        if let Some(dir) = dir {
            names.drop_in(dir.as_fd());
        }
    }
}
