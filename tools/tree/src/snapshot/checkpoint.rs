//! Checkpoints: the state of the workspace before each change of ours, and the change itself, in one numbered sequence.
//!
//! A checkpoint is a commit whose tree is the workspace with our change, and whose parent's tree is the workspace
//! without it. This separates our changes from the user's. Its message lists the changed files with their objects,
//! which are always stored in the private repository.

use gix::ObjectId;
use gix::actor::Signature;
use gix::bstr::ByteSlice as _;
use gix::objs::{Commit, CommitRef, Kind, WriteTo as _};
use gix::refs::transaction::{Change as RefChange, PreviousValue, RefEdit, RefLog};
use serde::{Deserialize, Serialize};

use super::objects::{Objects, Survives};
use super::{Entries, KeptFile, Snapshot, SnapshotError, Snapshots};
use crate::{Change, FileState, ReadTree, RepoPath};
use tools::clock::Timestamp;

pub(super) const REFS: &str = "refs/checkpoints/";

/// The description of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointNote {
    /// One line for people.
    pub title: String,
    /// The id of the patch set.
    pub patch: String,
    /// The id of the session.
    pub session: String,
    /// The id of the run; `None` when the user made the change directly.
    pub run: Option<String>,
    /// True if the change takes earlier ones back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_way_back: bool,
}

/// The workspace before one of our changes, and the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Counts up from one.
    pub number: u64,
    /// When the checkpoint was made.
    pub at: Timestamp,
    /// The description of the change.
    pub note: CheckpointNote,
    /// The paths we changed.
    pub own: Vec<Own>,
    /// The tree of the workspace before the change.
    before: ObjectId,
}

/// A path that we changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// The path.
    pub path: RepoPath,
    /// The file before; `None` if there was none.
    pub before: Option<KeptFile>,
    /// The file after; `None` if there is none.
    pub after: Option<KeptFile>,
    /// The permission bits of a file that is deleted, and of one that comes back as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<u32>,
}

/// The body of a checkpoint's commit message, below the title.
#[derive(Serialize, Deserialize)]
struct Message {
    at: Timestamp,
    note: CheckpointNote,
    own: Vec<Own>,
}

impl Snapshots {
    /// Records the workspace before and after `changes`, which are not applied here. Fails with `Stopped` once
    /// `stopped` returns true. Everything needed to undo the change is durable on return.
    pub fn record(
        &self,
        tree: &ReadTree,
        changes: &[Change],
        note: CheckpointNote,
        now: Timestamp,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(Checkpoint, Snapshot), SnapshotError> {
        let _lock = self.lock()?;
        let objects = self.open_or_make()?;
        let own = own(&objects, tree, changes)?;
        let also: Vec<&RepoPath> = own.iter().map(|own| &own.path).collect();
        let snapshot = self.take_locked(&objects, tree, &also, now, stopped)?;
        let before = objects.write_tree(&snapshot.entries, Survives::PowerCut)?;
        let mut entries = snapshot.entries.clone();
        for Own { path, after, .. } in &own {
            match after {
                Some(kept) => drop(entries.insert(path.clone(), *kept)),
                None => drop(entries.remove(path)),
            }
        }
        let after = objects.write_tree(&entries, Survives::PowerCut)?;
        let title = note.title.replace('\n', " ");
        let text = format!("before: {}", note.title);
        objects.settle()?;
        let parent = objects.commit(before, None, text, now, Survives::PowerCut)?;
        let message = Message { at: now, note, own };
        let json = serde_json::to_string(&message).unwrap_or_default();
        let text = format!("{title}\n\n{json}\n");
        let commit = objects.commit(after, Some(parent), text, now, Survives::PowerCut)?;
        let number = objects.numbers()?.last().map_or(1, |(number, _)| number + 1);
        objects.name(number, commit)?;
        if let Err(error) = self.collect_garbage(&objects, number) {
            tracing::warn!(%error, "cannot drop old checkpoints");
        }
        let Message { at, note, own } = message;
        Ok((Checkpoint { number, at, note, own, before }, snapshot))
    }

    /// Removes a checkpoint whose change was not made after all.
    pub fn forget(&self, checkpoint: &Checkpoint) -> Result<(), SnapshotError> {
        let _lock = self.lock()?;
        self.open_or_make()?.unname(checkpoint.number)
    }

    /// Returns all checkpoints, oldest first. Unreadable ones are skipped, because the others are still valid.
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>, SnapshotError> {
        let Some(objects) = self.open()? else { return Ok(Vec::new()) };
        let read = |(number, commit)| match objects.checkpoint(number, commit) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                tracing::warn!(number, %error, "cannot read a checkpoint");
                None
            }
        };
        Ok(objects.numbers()?.into_iter().filter_map(read).collect())
    }

    /// Returns the files of the workspace before the change of a checkpoint.
    pub fn before(&self, checkpoint: &Checkpoint) -> Result<Entries, SnapshotError> {
        self.open()?.map_or_else(|| Ok(Entries::new()), |objects| objects.tree(checkpoint.before))
    }
}

/// Returns the paths of `changes`, after storing their contents as objects of the private repository.
fn own(objects: &Objects, tree: &ReadTree, changes: &[Change]) -> Result<Vec<Own>, SnapshotError> {
    let keep = |state: Option<&FileState>| -> Result<Option<KeptFile>, SnapshotError> {
        let Some(state) = state else { return Ok(None) };
        Ok(Some(KeptFile::of_file(state, objects.own_blob(&state.bytes)?)))
    };
    let mut own = Vec::new();
    for change in changes {
        for (path, before, after) in change.sides() {
            // Most new files have a new content.
            let may_come_back =
                before.is_none() && after.is_some_and(|it| objects.owns_blob(&it.bytes));
            let (before, after) = (keep(before)?, keep(after)?);
            let permissions = match (before, after) {
                (Some(_), None) => tree.permissions(path),
                (None, Some(kept)) if may_come_back => objects.deleted(path, kept)?,
                _ => None,
            };
            own.push(Own { path: path.clone(), before, after, permissions });
        }
    }
    Ok(own)
}

impl Objects {
    pub(crate) fn commit(
        &self,
        tree: ObjectId,
        parent: Option<ObjectId>,
        message: String,
        now: Timestamp,
        survives: Survives,
    ) -> Result<ObjectId, SnapshotError> {
        let time = gix::date::Time { seconds: now.as_second(), offset: 0 };
        let who = Signature { name: "deepseek".into(), email: "deepseek@localhost".into(), time };
        let commit = Commit {
            tree,
            parents: parent.into_iter().collect(),
            author: who.clone(),
            committer: who,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let mut bytes = Vec::new();
        commit.write_to(&mut bytes).map_err(|source| self.failed(source))?;
        self.own_object(Kind::Commit, &bytes, survives)
    }

    /// Returns the permission bits that a file had when we last deleted it.
    fn deleted(&self, path: &RepoPath, kept: KeptFile) -> Result<Option<u32>, SnapshotError> {
        for (number, commit) in self.numbers()?.into_iter().rev() {
            let own = self.checkpoint(number, commit)?.map(|checkpoint| checkpoint.own);
            let is_it =
                |own: &Own| own.path == *path && own.before == Some(kept) && own.after.is_none();
            if let Some(own) = own.into_iter().flatten().find(is_it) {
                return Ok(own.permissions);
            }
        }
        Ok(None)
    }

    /// Returns the numbers of the checkpoints with their commits, in ascending order.
    pub(super) fn numbers(&self) -> Result<Vec<(u64, ObjectId)>, SnapshotError> {
        let failed = |source| self.unusable(source);
        let references = self.repo.references().map_err(failed)?;
        let mut numbers = Vec::new();
        for reference in references.prefixed(REFS).map_err(failed)? {
            let Ok(reference) = reference else { continue };
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            let number = name.strip_prefix(REFS).and_then(|number| number.parse().ok());
            if let (Some(number), Some(id)) = (number, reference.try_id()) {
                numbers.push((number, id.detach()));
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn name(&self, number: u64, commit: ObjectId) -> Result<(), SnapshotError> {
        let name = format!("{REFS}{number:08}");
        tools::fault::point().map_err(|source| self.failed(source))?;
        let named = self.repo.reference(name.as_str(), commit, PreviousValue::MustNotExist, "");
        named.map_err(|source| self.unusable(source))?;
        self.sync(&name).and_then(|()| self.sync(REFS)).map_err(|source| self.failed(source))
    }

    pub(super) fn unname(&self, number: u64) -> Result<(), SnapshotError> {
        let Ok(name) = format!("{REFS}{number:08}").try_into() else { return Ok(()) };
        let change = RefChange::Delete { expected: PreviousValue::Any, log: RefLog::AndReference };
        let edit = RefEdit { change, name, deref: false };
        self.repo.edit_reference(edit).map(drop).map_err(|source| self.unusable(source))
    }

    /// Reads a checkpoint from its commit. Returns `None` if the commit is not a checkpoint of ours.
    fn checkpoint(&self, number: u64, id: ObjectId) -> Result<Option<Checkpoint>, SnapshotError> {
        let read = |id| self.repo.find_object(id).map_err(|source| self.unusable(source));
        let commit = read(id)?;
        let Ok(parsed) = CommitRef::from_bytes(&commit.data, gix::hash::Kind::Sha1) else {
            return Ok(None);
        };
        let Some(parent) = parsed.parents().next() else { return Ok(None) };
        let parent = read(parent)?;
        let Ok(before) = CommitRef::from_bytes(&parent.data, gix::hash::Kind::Sha1) else {
            return Ok(None);
        };
        let message = parsed.message.to_str_lossy();
        let Some((_, json)) = message.split_once("\n\n") else { return Ok(None) };
        let Ok(Message { at, note, own }) = serde_json::from_str(json) else { return Ok(None) };
        Ok(Some(Checkpoint { number, at, note, own, before: before.tree() }))
    }
}
