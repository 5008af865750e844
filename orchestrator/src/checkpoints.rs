//! What the checkpoints of a workspace tell: the way back to one, what a run changed, what changed since. It reads, and
//! writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use config::Config;
use tools::clock::Timestamp;
use tools::tree::{
    Change, Checkpoint, Entry, FileState, Kept, Own, ReadTree, RepoPath, SnapshotError,
    SnapshotLimits, Snapshots, TreeError,
};

pub use crate::undo::Conflict;
use crate::undo::{Made, undo};

/// The checkpoints of a workspace.
pub struct History {
    snapshots: Snapshots,
    tree: ReadTree,
    /// Oldest first.
    checkpoints: Vec<Checkpoint>,
}

/// How a file is brought back that somebody else changed, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Their lines stay; where that can not be done, the file stays as it is.
    KeepTheirs,
    /// It becomes as it was at the checkpoint.
    Exactly,
}

/// The way back to a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayBack {
    /// What becomes of which file.
    pub changes: Vec<Change>,
    /// Files of ours that stay as they are, and why.
    pub left: Vec<(RepoPath, Conflict)>,
}

/// The checkpoints of a workspace, in the repository `dir`.
pub(crate) fn snapshots(dir: &Path, workspace: &Path, config: &Config) -> Snapshots {
    let config::Checkpoints { max_count, max_bytes, max_file_bytes } = config.checkpoints;
    let limits = SnapshotLimits { max_checkpoints: max_count, max_bytes, max_file_bytes };
    Snapshots::new(dir.to_owned(), workspace.to_owned(), limits)
}

impl History {
    /// Reads the checkpoints of `workspace` from the repository `dir`.
    pub fn read(dir: &Path, workspace: &Path, config: &Config) -> Result<Self, SnapshotError> {
        let snapshots = snapshots(dir, workspace, config);
        let checkpoints = snapshots.checkpoints()?;
        Ok(Self { tree: ReadTree::open(workspace)?, snapshots, checkpoints })
    }

    /// All of them, oldest first.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// What our change at a checkpoint was.
    pub fn own_changes(&self, checkpoint: &Checkpoint) -> Result<Vec<Change>, SnapshotError> {
        self.net(std::iter::once(checkpoint))
    }

    /// What the run, or the session, whose id begins with `id` changed, from its first checkpoint to its last. None if
    /// nobody of that name did.
    pub fn changes_of_run(&self, id: &str) -> Result<Option<Vec<Change>>, SnapshotError> {
        let is_meant = |checkpoint: &&Checkpoint| {
            let note = &checkpoint.note;
            note.session.starts_with(id) || note.run.as_ref().is_some_and(|run| run.starts_with(id))
        };
        let mut of_run = self.checkpoints.iter().filter(is_meant).peekable();
        of_run.peek().is_some().then(|| self.net(of_run)).transpose()
    }

    /// What anybody changed since a checkpoint, of what is not ignored.
    pub fn changes_since(
        &self,
        checkpoint: &Checkpoint,
        now: Timestamp,
    ) -> Result<Vec<Change>, SnapshotError> {
        let before = self.snapshots.before(checkpoint)?;
        // Ignored files are in a checkpoint only if we changed them.
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

    /// The way back to the workspace as it was before the change of `target`: what we changed since is undone, in the files
    /// that `wanted` accepts.
    pub fn way_back(
        &self,
        target: &Checkpoint,
        manner: Manner,
        wanted: impl Fn(&RepoPath) -> bool,
    ) -> Result<WayBack, SnapshotError> {
        let since = self.checkpoints.iter().filter(|other| other.number >= target.number);
        let mut ours: BTreeMap<&RepoPath, Vec<&Own>> = BTreeMap::new();
        for own in since.flat_map(|checkpoint| &checkpoint.own).filter(|own| wanted(&own.path)) {
            ours.entry(&own.path).or_default().push(own);
        }
        let then = match manner {
            Manner::KeepTheirs => BTreeMap::new(),
            Manner::Exactly => self.snapshots.before(target)?,
        };
        let mut back = WayBack { changes: Vec::new(), left: Vec::new() };
        for (path, own) in ours {
            let current = match self.tree.entry(path, u64::MAX) {
                Ok(Entry::Missing) => None,
                Ok(Entry::File(state)) => Some(state),
                Ok(Entry::Directory | Entry::Symlink | Entry::Other | Entry::TooLarge { .. })
                | Err(TreeError::ThroughSymlink { .. } | TreeError::ParentNotDirectory { .. }) => {
                    back.left.push((path.clone(), Conflict::NotAFile));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let wanted = match manner {
                Manner::KeepTheirs => undo(current.clone(), self.made(&own)?),
                Manner::Exactly => Ok(self.exactly(path, &own, &then)?),
            };
            match wanted {
                Ok(wanted) => back.changes.extend(Change::of(path.clone(), current, wanted)),
                Err(conflict) => back.left.push((path.clone(), conflict)),
            }
        }
        Ok(back)
    }

    /// A path as it was at a checkpoint. One that is not in it was ignored then: it was as before our first change.
    fn exactly(
        &self,
        path: &RepoPath,
        own: &[&Own],
        then: &BTreeMap<RepoPath, Kept>,
    ) -> Result<Option<FileState>, SnapshotError> {
        let first = own.first().and_then(|own| own.before.as_ref());
        self.state(path, then.get(path).or(first))
    }

    /// Our changes of one path, newest first.
    fn made(&self, own: &[&Own]) -> Result<Vec<Made>, SnapshotError> {
        let read = |own: &&Own| {
            let before = self.state(&own.path, own.before.as_ref())?;
            let after = self.state(&own.path, own.after.as_ref())?;
            Ok(Made { before, after })
        };
        own.iter().rev().map(read).collect()
    }

    /// What our changes at these checkpoints come to, from before the first to after the last.
    fn net<'c>(
        &self,
        checkpoints: impl Iterator<Item = &'c Checkpoint>,
    ) -> Result<Vec<Change>, SnapshotError> {
        let mut ends: BTreeMap<&RepoPath, (Option<&Kept>, Option<&Kept>)> = BTreeMap::new();
        for own in checkpoints.flat_map(|checkpoint| &checkpoint.own) {
            let ends = ends.entry(&own.path).or_insert((own.before.as_ref(), None));
            ends.1 = own.after.as_ref();
        }
        let mut changes = Vec::new();
        for (path, (before, after)) in ends {
            let (before, after) = (self.state(path, before)?, self.state(path, after)?);
            changes.extend(Change::of(path.clone(), before, after));
        }
        Ok(changes)
    }

    fn state(
        &self,
        path: &RepoPath,
        kept: Option<&Kept>,
    ) -> Result<Option<FileState>, SnapshotError> {
        kept.map_or(Ok(None), |kept| self.snapshots.read(path, *kept))
    }
}
