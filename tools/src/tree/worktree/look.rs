//! What a lane made of its worktree: the files as they are, kept in the private repository. Nothing is written to the worktree.

use super::Worktree;
use crate::tree::files::git_sees_alone;
use crate::tree::snapshot::objects::Objects;
use crate::tree::snapshot::stamps::Stamp;
use crate::tree::{
    Entries, Entry, Kept, ReadTree, RepoPath, Snapshot, SnapshotError, Snapshots, TreeError,
};

impl Worktree {
    /// The files as they are: what git would add, and every path of `base` that is still there. Contents go to the private
    /// repository; files that did not change since they were written here are not read.
    ///
    /// What is no part of it though it was made here, since it is too large, is named in `left_out`. A file of `base` that grew
    /// too large is an error: without it the tree would say that it was deleted.
    pub fn entries(
        &self,
        snapshots: &Snapshots,
        base: &Entries,
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
        let unseen = base.keys().filter(|path| !seen.contains(path));
        for path in seen.iter().chain(unseen) {
            let is_new = !base.contains_key(path);
            let known = self.stamp(path).filter(|_| seen.contains(path));
            let look = match known.and_then(|stamp| self.known.get(path, &stamp)) {
                Some(kept) => Look::Kept(kept),
                None if is_new && entries.len() >= snapshots.limits.max_files => Look::TooMuch,
                None => look(snapshots, &objects, &tree, path, is_new)?,
            };
            match look {
                Look::Kept(kept) => drop(entries.insert(path.clone(), kept)),
                Look::TooMuch if is_new => left_out.push(path.clone()),
                Look::TooMuch => return Err(SnapshotError::TooLarge { path: path.clone() }),
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
    is_new: bool,
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
        Err(error) if is_new => {
            tracing::debug!(%path, %error, "a file of a lane can not be read");
            Ok(Look::TooMuch)
        }
        Err(error) => Err(error.into()),
    }
}

/// What came of looking at a path.
enum Look {
    Kept(Kept),
    Gone,
    TooMuch,
}
