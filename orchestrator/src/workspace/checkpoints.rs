//! Queries on the checkpoints of a workspace: how to get back to one, what a run changed, what changed since. It writes
//! nothing to the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use config::Config;
use tools::clock::Timestamp;
use tools::ids::ids_called;
use tree::{
    Change, Checkpoint, Entry, FileState, KeptFile, Own, ReadTree, RepoPath, SnapshotError,
    SnapshotReader, Snapshots, TreeError, with_renames,
};

use crate::workspace::places::{WorkspacePlaces, snapshots};
pub use crate::workspace::rewind::{Conflict, Presence, presence};
use crate::workspace::rewind::{OwnChange, undo_changes};

/// The checkpoints of a workspace.
pub struct CheckpointHistory {
    snapshots: Snapshots,
    kept: SnapshotReader,
    tree: ReadTree,
    /// Oldest first.
    checkpoints: Vec<Checkpoint>,
}

/// How to restore a file that was also changed by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreMode {
    /// Their lines are kept; if that is impossible, the file is left unchanged.
    KeepTheirs,
    /// The file is restored to its content at the checkpoint.
    Exactly,
}

/// A point in time whose workspace content is known.
#[derive(Debug, Clone, Copy)]
pub enum PointInTime<'c> {
    /// Before deepseek's change at a checkpoint.
    Before(&'c Checkpoint),
    /// Directly after that change.
    After(&'c Checkpoint),
    /// The current state.
    Now,
}

/// A later change of this program to the same file.
#[derive(Debug, Clone)]
pub(crate) struct LaterChange {
    pub(crate) before: Option<FileState>,
    pub(crate) after: Option<FileState>,
    /// True if it undoes earlier changes.
    pub(crate) undoes: bool,
}

/// The changes that lead back to a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestorePlan {
    /// The changes to make.
    pub changes: Vec<Change>,
    /// Files changed by deepseek that are left unchanged, and why.
    pub left: Vec<(RepoPath, Conflict)>,
}

impl CheckpointHistory {
    /// Reads the checkpoints of `workspace`. Interrupted commits must have been settled.
    pub fn read(
        places: &WorkspacePlaces,
        workspace: &Path,
        config: &Config,
    ) -> Result<Self, SnapshotError> {
        let snapshots = snapshots(places, workspace, config);
        let checkpoints = snapshots.checkpoints()?;
        let (kept, tree) = (snapshots.reader()?, ReadTree::open(workspace)?);
        // A crash between a checkpoint and its change leaves a checkpoint whose change was never made; when it is made after all,
        // it gets another one.
        let is_retried = |pair: &[Checkpoint]| match pair {
            [one, next] => one.note.patch == next.note.patch && one.own == next.own,
            _ => false,
        };
        let retried: Vec<bool> = checkpoints.windows(2).map(is_retried).collect();
        let mut retried = retried.into_iter();
        let checkpoints =
            checkpoints.into_iter().filter(|_| !retried.next().unwrap_or(false)).collect();
        Ok(Self { snapshots, kept, tree, checkpoints })
    }

    /// Returns all checkpoints, oldest first.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Returns our change at a checkpoint.
    pub fn own_changes(&self, checkpoint: &Checkpoint) -> Result<Vec<Change>, SnapshotError> {
        self.net(std::iter::once(checkpoint))
    }

    /// Returns the checkpoint that was made for a patch set.
    pub fn of_patch(&self, patch: &str) -> Option<&Checkpoint> {
        self.checkpoints.iter().rev().find(|checkpoint| checkpoint.note.patch == patch)
    }

    /// Writes the workspace at some point in time to a directory, which must not exist yet.
    pub fn check_out(
        &self,
        then: PointInTime<'_>,
        now: Timestamp,
        dir: &Path,
    ) -> Result<(), SnapshotError> {
        let entries = match then {
            PointInTime::Before(checkpoint) => self.snapshots.before(checkpoint)?,
            PointInTime::After(checkpoint) => {
                let mut entries = self.snapshots.before(checkpoint)?;
                for own in &checkpoint.own {
                    match own.after {
                        Some(kept) => drop(entries.insert(own.path.clone(), kept)),
                        None => drop(entries.remove(&own.path)),
                    }
                }
                entries
            }
            PointInTime::Now => self.snapshots.take(&self.tree, &[], now)?.entries,
        };
        // Taking the snapshot may have created the repository.
        self.snapshots.reader()?.check_out(&entries, dir)
    }

    /// Returns the ids of sessions and runs that changed this workspace and that `id` may mean.
    pub fn named(&self, id: &str) -> Vec<&str> {
        let notes = self.checkpoints.iter().map(|checkpoint| &checkpoint.note);
        let ids =
            notes.flat_map(|note| note.run.as_deref().into_iter().chain([note.session.as_str()]));
        ids_called(ids, id)
    }

    /// Returns the changes of a run or session, without concurrent changes by others, as far as they can be separated.
    pub fn changes_of_run(&self, id: &str) -> Result<Vec<Change>, SnapshotError> {
        let is_meant = |checkpoint: &&Checkpoint| {
            checkpoint.note.session == id || checkpoint.note.run.as_deref() == Some(id)
        };
        self.net(self.checkpoints.iter().filter(is_meant))
    }

    /// Returns our changes to a path after those of a run, oldest first.
    pub(crate) fn later_changes(
        &self,
        run: &str,
        path: &RepoPath,
    ) -> Result<Vec<LaterChange>, SnapshotError> {
        let is_its = |checkpoint: &Checkpoint| checkpoint.note.run.as_deref() == Some(run);
        let first = self.checkpoints.iter().rposition(is_its).map_or(0, |last| last + 1);
        let mut changes = Vec::new();
        for checkpoint in self.checkpoints.iter().skip(first) {
            for own in checkpoint.own.iter().filter(|own| own.path == *path) {
                let before = self.state(path, own.before.as_ref())?;
                let after = self.state(path, own.after.as_ref())?;
                changes.push(LaterChange { before, after, undoes: checkpoint.note.is_way_back });
            }
        }
        Ok(changes)
    }

    /// Returns all changes since a checkpoint, including the user's, except those of ignored files.
    pub fn changes_since(
        &self,
        checkpoint: &Checkpoint,
        now: Timestamp,
    ) -> Result<Vec<Change>, SnapshotError> {
        let before = self.snapshots.before(checkpoint)?;
        // A checkpoint contains ignored files only if we changed them.
        let also: Vec<&RepoPath> = before.keys().collect();
        let after = self.snapshots.take(&self.tree, &also, now)?;
        let paths: BTreeSet<&RepoPath> = before.keys().chain(after.entries.keys()).collect();
        let mut changes = Vec::new();
        for path in paths.into_iter().filter(|path| !after.left_out.contains(path)) {
            let (old, new) = (before.get(path), after.entries.get(path));
            if old != new {
                let (old, new) = (self.state(path, old)?, self.state(path, new)?);
                changes.extend(Change::of(path.clone(), old, new));
            }
        }
        Ok(changes)
    }

    /// Computes how to get back to the workspace before the change of `target`: everything we changed since is undone, in
    /// the files that `wanted` accepts.
    pub fn restore_plan(
        &self,
        target: &Checkpoint,
        mode: RestoreMode,
        wanted: impl Fn(&RepoPath) -> bool,
    ) -> Result<RestorePlan, SnapshotError> {
        let since = self.checkpoints.iter().filter(|other| other.number >= target.number);
        let mut ours: BTreeMap<&RepoPath, Vec<&Own>> = BTreeMap::new();
        for own in since.flat_map(|checkpoint| &checkpoint.own).filter(|own| wanted(&own.path)) {
            ours.entry(&own.path).or_default().push(own);
        }
        let then = match mode {
            RestoreMode::KeepTheirs => BTreeMap::new(),
            RestoreMode::Exactly => self.snapshots.before(target)?,
        };
        let mut wanted = BTreeMap::new();
        for (path, own) in &ours {
            let undone = match (self.current(path, own)?, mode) {
                (Err(conflict), _) => Err(conflict),
                (Ok(current), RestoreMode::KeepTheirs) => self.undone(current, own)?,
                (Ok(_), RestoreMode::Exactly) => self.exactly(path, own, &then)?,
            };
            wanted.insert(*path, undone);
        }
        leave_what_is_in_the_way(&mut wanted);
        let mut back = RestorePlan { changes: Vec::new(), left: Vec::new() };
        for (path, undone) in wanted {
            let own = ours.get(path).map_or(&[][..], Vec::as_slice);
            match (self.current(path, own)?, undone) {
                (Ok(current), Ok(then)) => {
                    back.changes.extend(Change::of(path.clone(), current, then));
                }
                (_, Err(conflict)) | (Err(conflict), _) => {
                    back.left.push((path.clone(), conflict));
                }
            }
        }
        Ok(back)
    }

    /// Returns the file now at a path, or a conflict if something else is there. A symlink counts as something else
    /// unless one of our changes involved one.
    fn current(
        &self,
        path: &RepoPath,
        own: &[&Own],
    ) -> Result<Result<Option<FileState>, Conflict>, TreeError> {
        let found = if has_links(own) {
            self.tree.entry_or_link(path, u64::MAX)
        } else {
            self.tree.entry(path, u64::MAX)
        };
        match found {
            Ok(Entry::Missing) => Ok(Ok(None)),
            Ok(Entry::File(state)) => Ok(Ok(Some(state))),
            Ok(Entry::Directory | Entry::Symlink | Entry::Other | Entry::TooLarge { .. })
            | Err(TreeError::ThroughSymlink { .. } | TreeError::ParentNotDirectory { .. }) => {
                Ok(Err(Conflict::NotAFile))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the file without our changes.
    fn undone(
        &self,
        current: Option<FileState>,
        own: &[&Own],
    ) -> Result<Result<Option<FileState>, Conflict>, SnapshotError> {
        Ok(undo_changes(current, self.made(own)?))
    }

    /// Returns a path's state at a checkpoint. A path missing there was ignored then: its state before our first change
    /// is used.
    fn exactly(
        &self,
        path: &RepoPath,
        own: &[&Own],
        then: &BTreeMap<RepoPath, KeptFile>,
    ) -> Result<Result<Option<FileState>, Conflict>, SnapshotError> {
        let first = own.first().and_then(|own| own.before.as_ref());
        match then.get(path).or(first) {
            Some(kept) if kept.is_symlink() && !has_links(own) => Ok(Err(Conflict::NotAFile)),
            kept => match self.state(path, kept) {
                Err(SnapshotError::Lost { .. }) => Ok(Err(Conflict::Lost)),
                state => state.map(Ok),
            },
        }
    }

    /// Returns our changes of one path, newest first.
    fn made(&self, own: &[&Own]) -> Result<Vec<OwnChange>, SnapshotError> {
        let read = |own: &&Own| {
            let before = self.state(&own.path, own.before.as_ref())?;
            let after = self.state(&own.path, own.after.as_ref())?;
            Ok(OwnChange { before, after })
        };
        own.iter().rev().map(read).collect()
    }

    /// Returns the combined result of our changes at these checkpoints, from before the first to after the last.
    fn net<'c>(
        &self,
        checkpoints: impl Iterator<Item = &'c Checkpoint>,
    ) -> Result<Vec<Change>, SnapshotError> {
        let mut ours: BTreeMap<&RepoPath, Vec<&Own>> = BTreeMap::new();
        for own in checkpoints.flat_map(|checkpoint| &checkpoint.own) {
            ours.entry(&own.path).or_default().push(own);
        }
        let mut changes = Vec::new();
        for (path, own) in ours {
            let after = self.state(path, own.last().and_then(|own| own.after.as_ref()))?;
            // If ours and theirs cannot be separated, show everything that happened in between.
            let before = match undo_changes(after.clone(), self.made(&own)?) {
                Ok(before) => before,
                Err(_) => self.state(path, own.first().and_then(|own| own.before.as_ref()))?,
            };
            changes.extend(Change::of(path.clone(), before, after));
        }
        Ok(with_renames(&changes))
    }

    fn state(
        &self,
        path: &RepoPath,
        kept: Option<&KeptFile>,
    ) -> Result<Option<FileState>, SnapshotError> {
        kept.map(|kept| self.kept.file(path, *kept)).transpose()
    }
}

/// Returns true if our changes of a path created or replaced a symlink.
fn has_links(own: &[&Own]) -> bool {
    own.iter().flat_map(|own| [own.before, own.after]).flatten().any(KeptFile::is_symlink)
}

/// If a file stays, leaves the paths above and below it unchanged as well: they would be in each other's way.
fn leave_what_is_in_the_way(wanted: &mut BTreeMap<&RepoPath, Result<Option<FileState>, Conflict>>) {
    let stays = |undone: &Result<_, Conflict>| *undone == Err(Conflict::NotAFile);
    let staying: Vec<RepoPath> = wanted
        .iter()
        .filter(|(_, undone)| stays(undone))
        .map(|(path, _)| (*path).clone())
        .collect();
    let above = |path: &RepoPath| std::iter::successors(path.parent(), RepoPath::parent);
    for (path, undone) in wanted {
        let related = |other: &RepoPath| {
            above(path).any(|dir| dir == *other) || above(other).any(|dir| dir == **path)
        };
        if staying.iter().any(related) {
            *undone = Err(Conflict::NotAFile);
        }
    }
}

#[cfg(test)]
#[path = "checkpoints_tests.rs"]
mod tests;
