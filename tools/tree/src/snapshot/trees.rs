//! Trees of the private repository by id, for merging, and the names that keep them from being dropped. Nothing here
//! knows the workspace.
//!
//! Writes here survive the death of the process but not a power cut: they belong to a run and are repeated when the run
//! is resumed.

use std::fmt;
use std::str::FromStr;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::refs::transaction::{Change as RefChange, PreviousValue, RefEdit, RefLog};
use serde::{Deserialize, Serialize};

use super::objects::{Objects, Survives};
use super::{Entries, KeptFile, SnapshotError, Snapshots};
use crate::FileState;

pub(super) const REFS: &str = "refs/lanes/";

/// The id of a tree in the private repository; git uses the same id. Its text form is hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TreeId(ObjectId);

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for TreeId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<TreeId, Self::Err> {
        ObjectId::from_hex(text.as_bytes()).map(TreeId).map_err(|_| "not the name of a tree")
    }
}

impl From<TreeId> for String {
    fn from(tree: TreeId) -> String {
        tree.to_string()
    }
}

impl TryFrom<String> for TreeId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<TreeId, Self::Error> {
        text.parse()
    }
}

impl Snapshots {
    /// Stores a file, unless it can be borrowed. A file that is in no held tree may be dropped together with old
    /// checkpoints.
    pub fn keep_file(&self, state: &FileState) -> Result<KeptFile, SnapshotError> {
        let _lock = self.lock()?;
        Ok(KeptFile::of_file(state, self.open_or_make()?.keep_blob(&state.bytes)?))
    }

    /// Stores a tree of stored files. A tree that is not held may be dropped together with old checkpoints.
    pub fn keep_tree(&self, entries: &Entries) -> Result<TreeId, SnapshotError> {
        let _lock = self.lock()?;
        self.open_or_make()?.write_tree(entries, Survives::Death).map(TreeId)
    }

    /// Returns the files of a stored tree.
    pub fn tree(&self, tree: TreeId) -> Result<Entries, SnapshotError> {
        let objects = self.open()?.ok_or_else(|| self.io(std::io::ErrorKind::NotFound.into()))?;
        objects.tree(tree.0)
    }

    /// Holds a stored tree and everything in it under `name`, a file name or a relative path, until the name is
    /// released. A name holds one tree at a time.
    pub fn hold(&self, name: &str, tree: TreeId) -> Result<(), SnapshotError> {
        let _lock = self.lock()?;
        let objects = self.open_or_make()?;
        let name = format!("{REFS}{name}");
        let held = objects.repo.reference(name.as_str(), tree.0, PreviousValue::Any, "");
        held.map(drop).map_err(|source| self.unusable(source))
    }

    /// Returns the trees held under the name `prefix` or below it, ordered by name. An empty `prefix` returns all of
    /// them.
    pub fn held(&self, prefix: &str) -> Result<Vec<(String, TreeId)>, SnapshotError> {
        let Some(objects) = self.open()? else { return Ok(Vec::new()) };
        let held = objects.held()?.into_iter().filter(|(name, _)| is_below(name, prefix));
        Ok(held.map(|(name, id)| (name, TreeId(id))).collect())
    }

    /// Releases everything that [`Self::held`] returns for `prefix`. It is removed the next time checkpoints are
    /// dropped.
    pub fn release(&self, prefix: &str) -> Result<(), SnapshotError> {
        let _lock = self.lock()?;
        let Some(objects) = self.open()? else { return Ok(()) };
        let change =
            || RefChange::Delete { expected: PreviousValue::Any, log: RefLog::AndReference };
        for (name, _) in objects.held()?.into_iter().filter(|(name, _)| is_below(name, prefix)) {
            let Ok(name) = format!("{REFS}{name}").try_into() else { continue };
            let edit = RefEdit { change: change(), name, deref: false };
            objects.repo.edit_reference(edit).map_err(|source| self.unusable(source))?;
        }
        Ok(())
    }
}

fn is_below(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix.trim_end_matches('/'));
    prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Objects {
    /// Returns the held trees with their names.
    pub(super) fn held(&self) -> Result<Vec<(String, ObjectId)>, SnapshotError> {
        let failed = |source| self.unusable(source);
        let references = self.repo.references().map_err(failed)?;
        let mut held = Vec::new();
        for reference in references.prefixed(REFS).map_err(failed)? {
            // A reference emptied by a power cut names nothing that could be kept.
            let Ok(reference) = reference else { continue };
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            if let (Some(name), Some(id)) = (name.strip_prefix(REFS), reference.try_id()) {
                held.push((name.to_owned(), id.detach()));
            }
        }
        Ok(held)
    }
}
