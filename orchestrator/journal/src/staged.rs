//! The patch sets recorded in journals: their changes, and whether they are applied.

use std::collections::BTreeSet;
use std::path::Path;

use facts::delivery::StagedFor;
use facts::event::{Event, StagedFile};
use facts::words::{DeniedBy, EffectToApprove};
use tree::{Change, Settlement};

use crate::history::KeptEntries;
use crate::read::{ReadError, content};

/// A patch set of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedPatch {
    /// The session it was staged in.
    pub session: String,
    /// The patch set's id.
    pub id: String,
    /// Why it was staged.
    pub purpose: StagedFor,
    /// Description for people.
    pub title: String,
    /// The files it changes.
    pub files: Vec<StagedFile>,
    /// True if it is applied in the workspace.
    pub applied: bool,
    /// True if the user declined it and it was not applied later.
    pub declined: bool,
}

/// What became of patch sets, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fates {
    /// They are in the workspace.
    applied: BTreeSet<String>,
    /// The user declined them.
    declined: BTreeSet<String>,
}

impl StagedPatch {
    /// Returns the patch set that an event stages.
    pub(crate) fn of(session: &str, event: &Event, fates: &Fates) -> Option<Self> {
        let Event::PatchStaged { patch, purpose, title, files, .. } = event else { return None };
        Some(Self {
            session: session.to_owned(),
            id: patch.clone(),
            purpose: *purpose,
            title: title.to_string(),
            files: files.clone(),
            applied: fates.applied.contains(patch),
            declined: fates.declined.contains(patch) && !fates.applied.contains(patch),
        })
    }

    /// Returns true if this is an undo patch, staged after a failure.
    pub fn is_way_back(&self) -> bool {
        self.purpose == StagedFor::WayBack
    }
}

/// Returns what sessions report about patch sets. One may be staged in one session and applied in another.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events decide nothing about them")]
pub(crate) fn fates(sessions: &[KeptEntries]) -> Fates {
    let mut fates = Fates::default();
    for (_, event) in sessions.iter().flat_map(KeptEntries::known) {
        match event {
            Event::PatchApplied { patch }
            | Event::CommitSettled { patch, outcome: Settlement::Completed, .. } => {
                fates.applied.insert(patch.clone());
            }
            Event::ApprovalDenied {
                action: EffectToApprove::Patch(patch),
                by: DeniedBy::User,
                ..
            } => {
                fates.declined.insert(patch.clone());
            }
            _ => {}
        }
    }
    fates
}

/// Returns the patch sets for the workspace, newest first. Those of lanes are for their worktrees and are left out.
pub(crate) fn patches<'k>(sessions: &'k [KeptEntries]) -> Vec<StagedPatch> {
    let fates = fates(sessions);
    let own = |kept: &'k KeptEntries| kept.known().rev().filter(|(entry, _)| entry.lane.is_none());
    // A patch set that the user took in part is no longer open, whichever session that happened in.
    let events = sessions.iter().flat_map(own);
    let wholes: BTreeSet<&str> = events.filter_map(|(_, event)| whole_of(event)).collect();
    let mut known = BTreeSet::new();
    let of = |kept: &'k KeptEntries| {
        let patches =
            own(kept).filter_map(|(_, event)| StagedPatch::of(&kept.session, event, &fates));
        patches.filter(|patch| !wholes.contains(patch.id.as_str())).collect::<Vec<_>>()
    };
    let mut patches: Vec<StagedPatch> = sessions.iter().rev().flat_map(of).collect();
    // A patch set that was asked about again is staged in that session, too.
    patches.retain(|patch| known.insert(patch.id.clone()));
    patches
}

/// Returns the id of the patch set of which this event stages the part that the user took.
fn whole_of(event: &Event) -> Option<&str> {
    if let Event::PatchStaged { part_of, .. } = event { part_of.as_deref() } else { None }
}

/// Returns the changes of a patch set, with their content read from the session directory `dir`.
pub fn staged_changes(dir: &Path, files: &[StagedFile]) -> Result<Vec<Change>, ReadError> {
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
