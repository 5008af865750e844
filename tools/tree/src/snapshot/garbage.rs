//! Garbage collection of the private repository, so that its size stays bounded.

use std::collections::HashSet;
use std::fs;
use std::io;

use gix::ObjectId;
use gix::objs::{CommitRef, Kind, TreeRefIter};

use super::objects::Objects;
use super::pack::{Packs, drop_pack, size};
use super::{SnapshotError, Snapshots};

/// The repository is collected once every this many checkpoints.
const INTERVAL: u64 = 16;

impl Snapshots {
    /// Drops the oldest checkpoints that exceed the limits, and the objects that only they needed. `newest` stays.
    pub(super) fn collect_garbage(
        &self,
        objects: &Objects,
        newest: u64,
    ) -> Result<(), SnapshotError> {
        // Objects that lanes have written are not held until they are in a tree.
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
    /// Drops all but the newest `keep` checkpoints.
    fn drop_oldest(&self, keep: usize) -> Result<(), SnapshotError> {
        let numbers = self.numbers()?;
        let old = numbers.len().saturating_sub(keep.max(1));
        numbers.iter().take(old).try_for_each(|(number, _)| self.unname(*number))
    }

    /// Removes own objects that neither a checkpoint nor a held tree needs. Returns the size of the remaining ones, in
    /// bytes.
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

    /// Drops packs of which less than half is needed, after copying that part to a new pack. Returns the size of the
    /// remaining packs, in bytes.
    fn sweep_packs(&self, needed: &HashSet<ObjectId>) -> Result<u64, SnapshotError> {
        let mut bytes = 0;
        for (index, ids) in self.packs.borrow().written() {
            let kept: Vec<ObjectId> =
                ids.iter().filter(|id| needed.contains(*id)).copied().collect();
            if kept.len() >= ids.len().div_ceil(2) {
                bytes += size(&index);
                continue;
            }
            let mut repacked = Packs::of(self.packs.borrow().dir().to_owned());
            for id in kept {
                let object = self.repo.find_object(id).map_err(|source| self.unusable(source))?;
                repacked
                    .put(object.kind, &object.data, id)
                    .map_err(|source| self.failed(source))?;
            }
            let dropped = repacked.write().and_then(|()| drop_pack(&index));
            dropped.map_err(|source| self.failed(source))?;
        }
        Ok(bytes)
    }

    /// Removes partly written objects that a crash left behind.
    fn drop_half_written(&self) {
        self.packs.borrow().drop_half_written();
        let entries = fs::read_dir(self.own.path()).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp"))
        {
            fs::remove_file(entry.path()).unwrap_or_default();
        }
    }

    /// Returns every object that a checkpoint or a held tree needs. Fails if a commit or a tree cannot be read, so that
    /// nothing is dropped then.
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
                        // A file refers to nothing else, and there may be many, so files are not queued.
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
