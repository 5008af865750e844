//! Patch sets as journals keep them: which there are, whether they are in the workspace, and what they change.

use std::collections::BTreeSet;
use std::path::Path;

use actors::delivery::StagedFor;
use actors::event::{Event, StagedFile};
use tree::{Change, Settlement};

use crate::history::{Kept, StoryEntry};
use crate::read::{ReadError, content};

/// A patch set of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedPatch {
    /// The session it was staged in.
    pub session: String,
    /// Its id.
    pub id: String,
    /// What it is for.
    pub purpose: StagedFor,
    /// What it is, for people.
    pub title: String,
    /// What it changes.
    pub files: Vec<StagedFile>,
    /// Whether it is in the workspace.
    pub applied: bool,
}

impl StagedPatch {
    /// The patch set that an event stages; `applied` names those that are in the workspace.
    pub(crate) fn of(session: &str, event: &Event, applied: &BTreeSet<String>) -> Option<Self> {
        let Event::PatchStaged { patch, purpose, title, files, .. } = event else { return None };
        Some(Self {
            session: session.to_owned(),
            id: patch.clone(),
            purpose: *purpose,
            title: title.to_string(),
            files: files.clone(),
            applied: applied.contains(patch),
        })
    }

    /// Whether it was staged for going back, after something failed.
    pub fn is_way_back(&self) -> bool {
        self.purpose == StagedFor::WayBack
    }
}

/// The patch sets that sessions tell to be in the workspace. One may be staged in one session and applied in another.
pub(crate) fn applied(sessions: &[Kept]) -> BTreeSet<String> {
    let patch = |(_, event): (&StoryEntry, &Event)| {
        if let Event::PatchApplied { patch }
        | Event::CommitSettled { patch, outcome: Settlement::Completed, .. } = event
        {
            return Some(patch.clone());
        }
        None
    };
    sessions.iter().flat_map(Kept::known).filter_map(patch).collect()
}

/// The patch sets for the workspace, newest first. That of a lane is one for its worktree, and never for the workspace.
pub(crate) fn patches<'k>(sessions: &'k [Kept]) -> Vec<StagedPatch> {
    let applied = applied(sessions);
    let own = |kept: &'k Kept| kept.known().rev().filter(|(entry, _)| entry.lane.is_none());
    // What the user took a part of is not open any more, in whatever session that was.
    let events = sessions.iter().flat_map(own);
    let wholes: BTreeSet<&str> = events.filter_map(|(_, event)| whole_of(event)).collect();
    let mut known = BTreeSet::new();
    let of = |kept: &'k Kept| {
        let patches =
            own(kept).filter_map(|(_, event)| StagedPatch::of(&kept.session, event, &applied));
        patches.filter(|patch| !wholes.contains(patch.id.as_str())).collect::<Vec<_>>()
    };
    let mut patches: Vec<StagedPatch> = sessions.iter().rev().flat_map(of).collect();
    // One that was asked about anew is staged there, too.
    patches.retain(|patch| known.insert(patch.id.clone()));
    patches
}

/// The patch set that the user took only a part of, as the event stages it.
fn whole_of(event: &Event) -> Option<&str> {
    if let Event::PatchStaged { part_of, .. } = event { part_of.as_deref() } else { None }
}

/// The changes of a patch set, with their content read from the session directory `dir`.
pub fn changes(dir: &Path, files: &[StagedFile]) -> Result<Vec<Change>, ReadError> {
    let mut changes = Vec::new();
    for file in files {
        let mut file = file.clone();
        for staged in [&mut file.before, &mut file.after].into_iter().flatten() {
            staged.blob.content = content(dir, &staged.blob)?.into();
        }
        changes.push(file.change());
    }
    Ok(changes)
}
