//! What a lane made of its worktree: the files as they are, kept in the private repository. Nothing is written to the worktree.

use std::collections::BTreeSet;

use super::Worktree;
use crate::files::git_sees_alone;
use crate::snapshot::objects::Objects;
use crate::snapshot::stamps::Stamp;
use crate::{
    Entries, Entry, Kept, ReadTree, RepoPath, Snapshot, SnapshotError, Snapshots, TreeError,
};

impl Worktree {
    /// The files as they are: what git would add, every path of `base` that is still there, and those of `also`, which may be
    /// ignored. Contents go to the private repository; files that did not change since they were written here are not read.
    ///
    /// What is no part of it, since it is too large or cannot be read, is named in `left_out`; a file of `base` stays as it
    /// was there.
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
        for (path, stamp) in &self.beside {
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

    /// Of a path that is known to lie behind no symlink.
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
            Ok(Look::Kept(Kept::of_file(&state, objects.keep_blob(&state.bytes)?)))
        }
        Ok(Entry::TooLarge { .. }) => Ok(Look::TooMuch),
        Ok(Entry::Missing | Entry::Directory | Entry::Symlink | Entry::Other)
        | Err(TreeError::ThroughSymlink { .. } | TreeError::ParentNotDirectory { .. }) => {
            Ok(Look::Gone)
        }
        Err(error) => {
            tracing::debug!(%path, %error, "a file of a lane cannot be read");
            Ok(Look::TooMuch)
        }
    }
}

/// What came of looking at a path.
enum Look {
    Kept(Kept),
    Gone,
    TooMuch,
}
