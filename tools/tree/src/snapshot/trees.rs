//! Trees of the private repository by name, for those who merge them, and what keeps them from being dropped. Nothing here
//! knows the workspace.
//!
//! What is written here survives the death of the process, not a power cut: it is the work of a run, and is done again when
//! the run is.

use std::fmt;
use std::str::FromStr;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::refs::transaction::{Change as RefChange, PreviousValue, RefEdit, RefLog};
use serde::{Deserialize, Serialize};

use super::objects::{Objects, Survives};
use super::{Entries, Kept, SnapshotError, Snapshots};
use crate::FileState;

pub(super) const REFS: &str = "refs/lanes/";

/// The name of a tree in the private repository, which git knows by the same. As text it is hexadecimal.
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
    /// Keeps a file, unless it can be borrowed. What no held tree has may go whenever checkpoints are dropped.
    pub fn keep_file(&self, state: &FileState) -> Result<Kept, SnapshotError> {
        let _lock = self.lock()?;
        Ok(Kept::of_file(state, self.open_or_make()?.keep_blob(&state.bytes)?))
    }

    /// Keeps a tree of files that are kept. What is not held may go whenever checkpoints are dropped.
    pub fn keep_tree(&self, entries: &Entries) -> Result<TreeId, SnapshotError> {
        let _lock = self.lock()?;
        self.open_or_make()?.write_tree(entries, Survives::Death).map(TreeId)
    }

    /// The files of a tree that was kept.
    pub fn tree(&self, tree: TreeId) -> Result<Entries, SnapshotError> {
        let objects = self.open()?.ok_or_else(|| self.io(std::io::ErrorKind::NotFound.into()))?;
        objects.tree(tree.0)
    }

    /// Holds a tree that was kept, with all in it, until its name is released. The name is one of a file, or a path of such;
    /// what it held before it holds no more.
    pub fn hold(&self, name: &str, tree: TreeId) -> Result<(), SnapshotError> {
        let _lock = self.lock()?;
        let objects = self.open_or_make()?;
        let name = format!("{REFS}{name}");
        let held = objects.repo.reference(name.as_str(), tree.0, PreviousValue::Any, "");
        held.map(drop).map_err(|source| self.unusable(source))
    }

    /// What is held under the name `prefix` or below it, in the order of the names; everything if it is empty.
    pub fn held(&self, prefix: &str) -> Result<Vec<(String, TreeId)>, SnapshotError> {
        let Some(objects) = self.open()? else { return Ok(Vec::new()) };
        let held = objects.held()?.into_iter().filter(|(name, _)| is_below(name, prefix));
        Ok(held.map(|(name, id)| (name, TreeId(id))).collect())
    }

    /// Lets go of everything that [`Self::held`] tells of `prefix`. It goes when checkpoints are dropped the next time.
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
    /// The trees that are held, by name.
    pub(super) fn held(&self) -> Result<Vec<(String, ObjectId)>, SnapshotError> {
        let failed = |source| self.unusable(source);
        let references = self.repo.references().map_err(failed)?;
        let mut held = Vec::new();
        for reference in references.prefixed(REFS).map_err(failed)? {
            // One that a power cut emptied names nothing that could be kept.
            let Ok(reference) = reference else { continue };
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            if let (Some(name), Some(id)) = (name.strip_prefix(REFS), reference.try_id()) {
                held.push((name.to_owned(), id.detach()));
            }
        }
        Ok(held)
    }
}
