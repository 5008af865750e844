//! A change on its way to the tree, as an event.

use facts::delivery::{StagedFor, UndoTarget};
use facts::event::{Event, StagedFile};
use facts::signal::Acceptance;
use tree::Change;

use crate::run::workspace::Staged;

impl Staged {
    /// Returns the event for staging it as patch set `patch`, as the part of another one that the user accepted, if it is.
    pub fn event(&self, patch: &str, part_of: Option<String>) -> Event {
        Event::PatchStaged {
            patch: patch.to_owned(),
            purpose: self.purpose,
            title: self.title.clone(),
            files: self.changes.iter().map(StagedFile::from).collect(),
            repairs: self.repairs.clone(),
            put_aside: self.put_aside.clone(),
            part_of,
        }
    }

    /// Creates an undo patch.
    pub fn way_back(to: UndoTarget, changes: Vec<Change>) -> Self {
        let title = format!("back to {to}").into();
        let (repairs, put_aside) = (Vec::new(), Vec::new());
        let taken = Acceptance::Whole;
        let changes = changes.into();
        Self { id: None, purpose: StagedFor::WayBack, title, changes, repairs, put_aside, taken }
    }
}
