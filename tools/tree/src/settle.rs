//! Settles a commit that a crash interrupted, from its intent and from the files found: completes or undoes it.
//!
//! It identifies files by hash. A file that matches neither its state before nor its state after was changed by another
//! program: it is left alone and reported.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};

use super::attempt::remove_emptied;
use super::commit_log::{CommitIntent, CommitSide, CommitStage, Intended};
use super::confine::Root;
use super::file_ops::attributes::Attributes;
use super::file_ops::{
    TemporaryNames, drop_name, is_half_rewritten, place, remove_file, replace, rewrite,
    sync_directory,
};
use super::write::CommitError;
use super::{Entry, FileMode, FileState, ReadTree, RepoPath, TreeError};

/// An interrupted commit that has been settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The label given when the commit began.
    pub label: String,
    /// How it was settled.
    pub outcome: Settlement,
    /// Paths left untouched because another program changed them; for a stuck commit, the paths that are not in their
    /// state before.
    pub left: Vec<RepoPath>,
}

/// How an interrupted commit was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// All of its changes have been made.
    Completed,
    /// All of its changes have been undone.
    TakenBack,
    /// It can be neither completed nor undone, because its temporary files are gone. Nothing was touched.
    Stuck,
}

/// The state of a path of the intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Before,
    After,
    /// It was being rewritten.
    Between,
    Neither,
}

/// A path of the intent with the files found there and next to it.
struct Found<'a> {
    intended: &'a Intended,
    names: TemporaryNames,
    /// The parent directory, or `None` if it is missing.
    dir: Option<OwnedFd>,
    seen: Seen,
    /// True if the complete new file is next to it.
    has_new: bool,
    /// True if the complete old file is next to it.
    has_old: bool,
}

/// Completes or undoes what `intent` began. Running it again, or being killed while it runs, does no harm.
pub(super) fn settle_commit(
    root: &Arc<Root>,
    intent: &CommitIntent,
    stage: CommitStage,
) -> Result<Settled, CommitError> {
    let tree = ReadTree::of(root);
    let found = intent.targets.iter().enumerate();
    let found = found.map(|(index, intended)| look(root, &tree, intent, index, intended));
    let found: Vec<Found<'_>> = found.collect::<Result<_, _>>()?;
    let outcome = if stage == CommitStage::Done {
        tidy(root, &found);
        Settlement::Completed
    } else if found.iter().all(Found::can_complete) {
        complete_all(root, &found)?;
        Settlement::Completed
    } else if found.iter().all(Found::can_undo) {
        undo_all(root, intent, &found)?;
        Settlement::TakenBack
    } else {
        Settlement::Stuck
    };
    let is_left = |found: &&Found<'_>| match outcome {
        Settlement::Completed if stage == CommitStage::Done => false,
        Settlement::Completed | Settlement::TakenBack => found.seen == Seen::Neither,
        Settlement::Stuck => found.seen != Seen::Before,
    };
    let left = found.iter().filter(is_left).map(|found| found.intended.path.clone()).collect();
    Ok(Settled { label: intent.label.clone(), outcome, left })
}

fn look<'a>(
    root: &Root,
    tree: &ReadTree,
    intent: &CommitIntent,
    index: usize,
    intended: &'a Intended,
) -> Result<Found<'a>, TreeError> {
    let names = TemporaryNames::of(&intent.id, index);
    let path = &intended.path;
    let dir = match root.parent_of(path) {
        Ok(dir) => dir,
        // A file where the directory would be, or a symlink where it was: we may pass neither.
        Err(TreeError::ParentNotDirectory { .. } | TreeError::ThroughSymlink { .. }) => None,
        Err(error) => return Err(error),
    };
    // A directory to be created in place of a file implies that the file is gone.
    let made_way = || intended.after.is_none() && intent.made.contains(path);
    let seen = match intent.entry(tree, path)? {
        Entry::Directory if made_way() => Seen::After,
        entry if is(&entry, intended, CommitSide::After) => Seen::After,
        entry if is(&entry, intended, CommitSide::Before) => Seen::Before,
        Entry::Missing
        | Entry::File(_)
        | Entry::Directory
        | Entry::Symlink
        | Entry::Other
        | Entry::TooLarge { .. } => Seen::Neither,
    };
    let has = |name: &str, side| match (&dir, sibling(path, name)) {
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
    let has_new = has(&names.new, CommitSide::After)?;
    let has_old = has(&names.old, CommitSide::Before)?;
    let bytes = |path: Option<RepoPath>| match intent.entry(tree, &path?) {
        Ok(Entry::File(FileState { bytes, mode })) if mode != FileMode::Symlink => Some(bytes),
        Ok(_) | Err(_) => None,
    };
    let is_between = || {
        let [old, new] = [&names.old, &names.new].map(|name| bytes(sibling(path, name)));
        let found = bytes(Some(path.clone()));
        found
            .zip(old)
            .zip(new)
            .is_some_and(|((found, old), new)| is_half_rewritten(&found, &old, &new))
    };
    let is_between = seen == Seen::Neither && has_new && has_old && is_between();
    let seen = if is_between { Seen::Between } else { seen };
    Ok(Found { intended, names, dir, seen, has_new, has_old })
}

impl CommitIntent {
    /// Returns the entry at `path`. `Missing` if its parent is not a directory, or is a symlink that the commit
    /// removes.
    fn entry(&self, tree: &ReadTree, path: &RepoPath) -> Result<Entry, TreeError> {
        let is_removed = |above: RepoPath| {
            let mut targets = self.targets.iter().filter(|target| target.path == above);
            targets.any(|target| target.before.is_some() && target.after.is_none())
        };
        match tree.entry_or_link(path, u64::MAX) {
            Err(TreeError::ParentNotDirectory { .. } | TreeError::KeptOff { .. }) => {
                Ok(Entry::Missing)
            }
            Err(TreeError::ThroughSymlink { .. })
                if std::iter::successors(path.parent(), RepoPath::parent).any(is_removed) =>
            {
                Ok(Entry::Missing)
            }
            Err(TreeError::ThroughSymlink { .. }) => Ok(Entry::Symlink),
            other => other,
        }
    }
}

/// Returns true if `entry` is the file of this side, or is missing where this side has no file.
fn is(entry: &Entry, intended: &Intended, side: CommitSide) -> bool {
    let is_none = match side {
        CommitSide::Before => intended.before.is_none(),
        CommitSide::After => intended.after.is_none(),
    };
    match entry {
        Entry::Missing => is_none,
        Entry::File(state) => intended.is(side, state),
        Entry::Directory | Entry::Symlink | Entry::Other | Entry::TooLarge { .. } => false,
    }
}

/// Returns the path of the file `name` next to `path`.
fn sibling(path: &RepoPath, name: &str) -> Option<RepoPath> {
    let text = path.parent().map_or_else(|| name.to_owned(), |dir| format!("{dir}/{name}"));
    RepoPath::parse(&text).ok()
}

impl Found<'_> {
    fn can_complete(&self) -> bool {
        match self.seen {
            Seen::After | Seen::Neither => true,
            // Only remove a file that is certain to be the old one: its second name is removed last.
            Seen::Before if self.intended.after.is_none() => self.has_old,
            Seen::Before | Seen::Between => self.has_new,
        }
    }

    fn can_undo(&self) -> bool {
        match self.seen {
            Seen::Before | Seen::Neither => true,
            Seen::After => self.intended.before.is_none() || self.has_old,
            Seen::Between => self.has_old,
        }
    }

    /// Makes the change of this path, unless it has been made.
    fn complete(&self) -> io::Result<()> {
        let (Seen::Before | Seen::Between, Some(dir)) = (self.seen, &self.dir) else {
            return Ok(());
        };
        let (dir, name) = (dir.as_fd(), self.intended.path.name());
        match (self.intended.before, self.intended.after) {
            (Some(_), Some(_)) => self.put(dir, &self.names.new),
            (None, Some(_)) => place(dir, &self.names.new, name),
            (Some(_), None) => remove_file(dir, name),
            (None, None) => Ok(()),
        }
    }

    /// Undoes the change of this path, if it has been made.
    fn undo(&self) -> io::Result<()> {
        let (Seen::After | Seen::Between, Some(dir)) = (self.seen, &self.dir) else {
            return Ok(());
        };
        let (dir, name) = (dir.as_fd(), self.intended.path.name());
        match self.intended.before {
            Some(_) => self.put(dir, &self.names.old),
            None => remove_file(dir, name),
        }
    }

    /// Puts a file in the place of the one at the path, or its content if the latter has to stay.
    fn put(&self, dir: BorrowedFd<'_>, by: &str) -> io::Result<()> {
        let name = self.intended.path.name();
        match (Attributes::of(dir, name), Attributes::of(dir, by)) {
            (Some(there), Some(new)) if !there.stay_in(dir, by, &self.names.old) => {
                rewrite(dir, by, name, Some(new.mode))
            }
            _ => replace(dir, by, name),
        }
    }
}

fn complete_all(root: &Root, found: &[Found<'_>]) -> Result<(), CommitError> {
    each(found, Found::complete)?;
    each(found, |found| found.dir.as_ref().map_or(Ok(()), sync_directory))?;
    tidy(root, found);
    Ok(())
}

/// Cleans up after all changes have been made.
fn tidy(root: &Root, found: &[Found<'_>]) {
    drop_temporary(found);
    for gone in found.iter().filter(|found| found.intended.after.is_none()) {
        remove_emptied(root, &gone.intended.path);
    }
}

/// Removes new files first, then the directories created for them, so that an old file can return to the place of such
/// a directory.
fn undo_all(root: &Root, intent: &CommitIntent, found: &[Found<'_>]) -> Result<(), CommitError> {
    let (fresh, others): (Vec<_>, Vec<_>) =
        found.iter().partition(|found| found.intended.before.is_none());
    each(fresh.iter().copied(), Found::undo)?;
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
    each(others.iter().copied(), Found::undo)?;
    each(found, |found| found.dir.as_ref().map_or(Ok(()), sync_directory))?;
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
