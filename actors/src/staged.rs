//! Converts between changes and the patch sets in events.

use tree::{Change, FileState, Op};

use crate::delivery::{StagedFor, Target};
use crate::event::{Event, StagedContent, StagedFile};
use crate::workspace::{Staged, Taken};

impl From<&Change> for StagedFile {
    fn from(change: &Change) -> Self {
        let content = |state: &FileState| StagedContent::from(state.clone());
        let (added, removed) = change.line_counts();
        let renamed_from = match &change.op {
            Op::Rename { from } => Some(from.clone()),
            Op::Create | Op::Modify | Op::Delete => None,
        };
        Self {
            path: change.path.clone(),
            renamed_from,
            before: change.before.as_ref().map(content),
            after: change.after.as_ref().map(content),
            added,
            removed,
        }
    }
}

impl Event {
    /// Returns the event for staging changes.
    pub fn staged(patch: &str, staged: &Staged) -> Self {
        Self::PatchStaged {
            patch: patch.to_owned(),
            purpose: staged.purpose,
            title: staged.title.clone(),
            files: staged.changes.iter().map(StagedFile::from).collect(),
            repairs: staged.repairs.clone(),
            put_aside: staged.put_aside.clone(),
            part_of: None,
        }
    }

    /// Returns the event for the part of patch set `whole` that the user accepted.
    pub fn staged_part(patch: &str, whole: &str, staged: &Staged) -> Self {
        let mut event = Self::staged(patch, staged);
        if let Self::PatchStaged { part_of, .. } = &mut event {
            *part_of = Some(whole.to_owned());
        }
        event
    }
}

impl Staged {
    /// Creates an undo patch.
    pub fn way_back(to: Target, changes: Vec<Change>) -> Self {
        let title = format!("back to {to}").into();
        let (repairs, put_aside) = (Vec::new(), Vec::new());
        let taken = Taken::Whole;
        Self { id: None, purpose: StagedFor::WayBack, title, changes, repairs, put_aside, taken }
    }
}

impl StagedFile {
    /// Converts back to a change; the content must be loaded.
    pub fn change(&self) -> Change {
        let state = |staged: &StagedContent| FileState {
            bytes: staged.blob.content.clone(),
            mode: staged.mode,
        };
        let op = match (&self.renamed_from, &self.before, &self.after) {
            (Some(from), ..) => Op::Rename { from: from.clone() },
            (None, None, _) => Op::Create,
            (None, Some(_), None) => Op::Delete,
            (None, Some(_), Some(_)) => Op::Modify,
        };
        let (before, after) = (self.before.as_ref().map(state), self.after.as_ref().map(state));
        Change { path: self.path.clone(), op, before, after }
    }
}
