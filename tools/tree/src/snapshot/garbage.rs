//! What is dropped from the private repository, so that it does not grow without bound.

use std::collections::HashSet;
use std::fs;
use std::io;

use gix::ObjectId;
use gix::objs::{CommitRef, Kind, TreeRefIter};

use super::objects::Objects;
use super::pack::{Packs, drop_pack, size};
use super::{SnapshotError, Snapshots};

/// Once in so many checkpoints the repository is looked over.
const INTERVAL: u64 = 16;

impl Snapshots {
    /// Drops the oldest checkpoints beyond the limits, and what only they needed. `newest` stays.
    pub(super) fn collect_garbage(
        &self,
        objects: &Objects,
        newest: u64,
    ) -> Result<(), SnapshotError> {
        // What lanes wrote is not held before it is a tree.
        if newest.is_multiple_of(INTERVAL) && self.worktrees().is_empty() {
            let limits = self.limits;
            objects.drop_oldest(limits.max_checkpoints)?;
            while objects.sweep()? > limits.max_bytes {
                let left = objects.numbers()?.len();
                if left <= 1 {
                    break;
                }
                objects.drop_oldest(left - left.div_ceil(4))?;
            }
        }
        Ok(())
    }
}

impl Objects {
    /// Leaves the newest `keep` checkpoints.
    fn drop_oldest(&self, keep: usize) -> Result<(), SnapshotError> {
        let numbers = self.numbers()?;
        let old = numbers.len().saturating_sub(keep.max(1));
        numbers.iter().take(old).try_for_each(|(number, _)| self.unname(*number))
    }

    /// Removes its own objects that neither a checkpoint nor a held tree needs. The bytes of those that stay.
    fn sweep(&self) -> Result<u64, SnapshotError> {
        let needed = self.needed()?;
        self.drop_half_written();
        let mut bytes = 0;
        for id in self.own.iter() {
            let Ok(id) = id else { continue };
            let path = self.own.object_path(&id);
            if needed.contains(&id) {
                bytes += fs::metadata(&path).map_or(0, |data| data.len());
            } else if let Err(source) = fs::remove_file(&path)
                && source.kind() != io::ErrorKind::NotFound
            {
                return Err(SnapshotError::Io { path, source });
            }
        }
        Ok(bytes + self.sweep_packs(&needed)?)
    }

    /// Drops packs of which less than half is needed; that goes into another one. The bytes of those that stay.
    fn sweep_packs(&self, needed: &HashSet<ObjectId>) -> Result<u64, SnapshotError> {
        let mut bytes = 0;
        for (index, ids) in self.packs.borrow().written() {
            let kept: Vec<ObjectId> =
                ids.iter().filter(|id| needed.contains(*id)).copied().collect();
            if kept.len() >= ids.len().div_ceil(2) {
                bytes += size(&index);
                continue;
            }
            let mut anew = Packs::of(self.packs.borrow().dir().to_owned());
            for id in kept {
                let object = self.repo.find_object(id).map_err(|source| self.unusable(source))?;
                anew.put(object.kind, &object.data, id).map_err(|source| self.failed(source))?;
            }
            let dropped = anew.write().and_then(|()| drop_pack(&index));
            dropped.map_err(|source| self.failed(source))?;
        }
        Ok(bytes)
    }

    /// Removes what a crash left of objects that were being written.
    fn drop_half_written(&self) {
        self.packs.borrow().drop_half_written();
        let entries = fs::read_dir(self.own.path()).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp"))
        {
            fs::remove_file(entry.path()).unwrap_or_default();
        }
    }

    /// Every object that a checkpoint or a held tree is made of. A commit or a tree that cannot be read stops it: nothing is
    /// dropped then.
    fn needed(&self) -> Result<HashSet<ObjectId>, SnapshotError> {
        let failed = |source| self.unusable(source);
        let mut open: Vec<ObjectId> = self.numbers()?.into_iter().map(|(_, id)| id).collect();
        open.extend(self.held()?.into_iter().map(|(_, id)| id));
        let mut needed = HashSet::new();
        while let Some(id) = open.pop() {
            if !needed.insert(id) || !self.owns(id) {
                continue;
            }
            let object = self.repo.find_object(id).map_err(failed)?;
            match object.kind {
                Kind::Commit => {
                    let commit = CommitRef::from_bytes(&object.data, id.kind()).map_err(failed)?;
                    open.push(commit.tree());
                    open.extend(commit.parents());
                }
                Kind::Tree => {
                    for entry in TreeRefIter::from_bytes(&object.data, id.kind()) {
                        let entry = entry.map_err(failed)?;
                        // Nothing hangs on a file, and there may be many.
                        if entry.mode.is_tree() {
                            open.push(entry.oid.to_owned());
                        } else {
                            needed.insert(entry.oid.to_owned());
                        }
                    }
                }
                Kind::Blob | Kind::Tag => {}
            }
        }
        Ok(needed)
    }
}
