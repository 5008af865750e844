//! Reads back the files of a worktree and stores them in the private repository. Nothing is written to the worktree.

use std::collections::BTreeSet;

use super::Worktree;
use crate::files::git_sees_alone;
use crate::snapshot::objects::Objects;
use crate::snapshot::stamps::Stamp;
use crate::{
    Entries, Entry, KeptFile, ReadTree, RepoPath, Snapshot, SnapshotError, Snapshots, TreeError,
};

impl Worktree {
    /// Returns the current files: those that git would add, every path of `base` that still exists, and those of
    /// `also`, which may be ignored. Contents are stored in the private repository. Files unchanged since they were
    /// written here are not read.
    ///
    /// Files that are too large or unreadable are listed in `left_out`; those that are in `base` keep their entry from
    /// there.
    pub fn entries(
        &self,
        snapshots: &Snapshots,
        base: &Entries,
        also: &BTreeSet<RepoPath>,
    ) -> Result<Snapshot, SnapshotError> {
        let objects = snapshots.open_or_make()?;
        let tree = ReadTree::open(&self.root)?;
        let shared = self.shared.iter().map(|name| self.root.join(name.as_str())).collect();
        let mut seen = git_sees_alone(&self.root, shared);
        let mut left_out = Vec::new();
        for (path, stamp) in &self.copied {
            if seen.remove(path) && self.stamp(path) != Some(*stamp) {
                left_out.push(path.clone());
            }
        }
        let mut entries = Entries::new();
        let unseen: BTreeSet<&RepoPath> =
            base.keys().chain(also).filter(|path| !seen.contains(path)).collect();
        for path in seen.iter().chain(unseen) {
            let was = base.get(path).copied();
            let known = self.stamp(path).filter(|_| seen.contains(path));
            let look = match known.and_then(|stamp| self.known.get(path, &stamp)) {
                Some(kept) => Look::Kept(kept),
                None if was.is_none() && entries.len() >= snapshots.limits.max_files => {
                    Look::TooMuch
                }
                None => look(snapshots, &objects, &tree, path)?,
            };
            match look {
                Look::Kept(kept) => drop(entries.insert(path.clone(), kept)),
                Look::TooMuch => {
                    left_out.push(path.clone());
                    entries.extend(was.map(|was| (path.clone(), was)));
                }
                Look::Gone => {}
            }
        }
        left_out.sort();
        Ok(Snapshot { entries, left_out })
    }

    /// Returns the stamp of a path that is known not to be behind a symlink.
    fn stamp(&self, path: &RepoPath) -> Option<Stamp> {
        Stamp::of(&self.root.join(path.as_str()))
    }
}

fn look(
    snapshots: &Snapshots,
    objects: &Objects,
    tree: &ReadTree,
    path: &RepoPath,
) -> Result<Look, SnapshotError> {
    match tree.entry_or_link(path, snapshots.limits.max_file_bytes) {
        Ok(Entry::File(state)) => {
            Ok(Look::Kept(KeptFile::of_file(&state, objects.keep_blob(&state.bytes)?)))
        }
        Ok(Entry::TooLarge { .. }) => Ok(Look::TooMuch),
        Ok(Entry::Missing | Entry::Directory | Entry::Symlink | Entry::Other)
        | Err(TreeError::ThroughSymlink { .. } | TreeError::ParentNotDirectory { .. }) => {
            Ok(Look::Gone)
        }
        Err(error) => {
            tracing::debug!(%path, %error, "cannot read a file of a lane");
            Ok(Look::TooMuch)
        }
    }
}

/// The result of reading a path.
enum Look {
    Kept(KeptFile),
    Gone,
    TooMuch,
}
