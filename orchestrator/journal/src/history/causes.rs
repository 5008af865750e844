//! Finds the cause of each event of a session, back to the user's request. Pure.
//!
//! A run passes through its stages in order, so the cause is usually the nearest earlier event of the run that can lead
//! on to others. Calls, answers and commands name their cause, and a few stages look further back than the previous one.

use actors::delivery::StagedFor;
use actors::event::Event as E;
use actors::words::{Asked, Side};

use super::entry::StoryEntry;

/// Returns the number of the cause of each event. `entries` starts at the session's first event.
pub(super) fn causes(entries: &[StoryEntry]) -> Vec<Option<u64>> {
    let cause = |(at, entry)| cause(entries.get(..at).unwrap_or_default(), entry);
    entries.iter().enumerate().map(cause).collect()
}

/// Returns the chain of causes of the event numbered `seq`, starting with the event itself.
pub(super) fn chain(causes: &[Option<u64>], seq: u64) -> Vec<u64> {
    // A cause always precedes its effect, so this ends.
    let cause = |seq: &u64| {
        let at = usize::try_from(seq.checked_sub(1)?).ok()?;
        causes.get(at).copied().flatten().filter(|cause| cause < seq)
    };
    std::iter::successors(Some(seq), cause).collect()
}

/// Returns the cause of an event: the nearest candidate in its lane, or else in its run.
fn cause(before: &[StoryEntry], effect: &StoryEntry) -> Option<u64> {
    let event = effect.event.as_ref()?;
    if let E::TurnAdded { speaker: Side::User, .. } = event {
        // User messages have no cause in the journal.
        return None;
    } else if let E::SessionStateChanged { .. } | E::TransitionRefused { .. } = event {
        // It is written directly after its cause.
        return effect.seq.checked_sub(1);
    } else if effect.run.is_none() && !is_of_a_change(event) {
        return None;
    }
    let can = |it: &&StoryEntry| it.event.as_ref().is_some_and(|it| may_cause(it, event));
    let own = before.iter().rfind(|it| it.is_beside(effect) && can(it));
    let of_run = || before.iter().rfind(|it| it.lane.is_none() && it.run == effect.run && can(it));
    own.or_else(of_run).map(|cause| cause.seq)
}

/// Returns true if the nearest earlier event can be the cause of another.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others follow from the nearest event that leads on"
)]
fn may_cause(cause: &E, effect: &E) -> bool {
    match effect {
        E::ModelReply { call, .. } | E::CallDropped { call, .. } => {
            matches!(cause, E::ModelRequest { call: asked, .. } if asked == call)
        }
        E::ApprovalGiven { ask, .. } | E::ApprovalDenied { ask: Some(ask), .. } => {
            matches!(cause, E::ApprovalAsked { ask: asked, .. } if asked == ask)
        }
        // Checks on the unchanged tree run in parallel with the other roles; the plan asks for them.
        E::ApprovalAsked { action: Asked::Command(_), .. }
        | E::ApprovalDenied { action: Asked::Command(_), .. }
        | E::VerificationRun { baseline: true, .. } => {
            matches!(cause, E::PlanCreated { .. } | E::PlanRevised { .. })
        }
        E::LaneSpawned { .. } => matches!(
            cause,
            E::LanesBegun { .. } | E::LaneConflicted { .. } | E::LanesBisected { .. }
        ),
        // One undo patch is not the cause of another.
        E::PatchStaged { .. } | E::RunFinished { .. }
            if matches!(cause, E::PatchStaged { purpose: StagedFor::WayBack, .. }) =>
        {
            false
        }
        E::PatchRefused { .. } => {
            matches!(cause, E::ApplyStarted { .. } | E::LanesMerged { .. })
        }
        E::CheckpointCreated { .. } => {
            matches!(cause, E::PatchStaged { .. } | E::ApprovalGiven { .. })
        }
        E::ApplyCompleted { .. } | E::RunFinished { .. } => {
            matches!(cause, E::ApprovalDenied { .. }) || leads_on(cause)
        }
        _ => leads_on(cause),
    }
}

/// Returns true if the next stage can follow from an event; false for events that only accompany the run.
const fn leads_on(event: &E) -> bool {
    !matches!(
        event,
        E::SessionStarted { .. }
            | E::SessionContinued { .. }
            | E::ConfigurationChanged { .. }
            | E::SessionStateChanged { .. }
            | E::TransitionRefused { .. }
            | E::CommitSettled { .. }
            | E::FilesRead { .. }
            | E::InstructionsRead { .. }
            | E::ModelRequest { .. }
            | E::CallDropped { .. }
            | E::ArchitectCompleted { .. }
            | E::ApprovalAsked { .. }
            | E::ApprovalGiven { .. }
            | E::ApprovalDenied { .. }
            | E::BaselineSkipped { .. }
            | E::VerificationRun { .. }
            | E::StepMarked { .. }
    )
}

/// Returns true for events that decide whether and how a change may be made.
pub(super) const fn is_of_the_gate(event: &E) -> bool {
    matches!(
        event,
        E::ApprovalAsked { .. }
            | E::ApprovalGiven { .. }
            | E::CheckpointCreated { .. }
            | E::PatchCommitting { .. }
    )
}

/// Returns true for events about a change, from the decision to its result.
const fn is_of_a_change(event: &E) -> bool {
    is_of_the_gate(event)
        || matches!(
            event,
            E::ApprovalDenied { .. } | E::PatchApplied { .. } | E::PatchNotApplied { .. }
        )
}

#[cfg(test)]
mod tests {
    use actors::lane_id::LaneId;
    use actors::words::{Intent, IntentBy, Role};

    use super::*;

    fn story(events: Vec<(Option<&str>, Option<LaneId>, Option<E>)>) -> Vec<StoryEntry> {
        let entry = |(seq, (run, lane, event)): (u64, (Option<&str>, _, Option<E>))| StoryEntry {
            seq,
            at: String::new(),
            kind: event.as_ref().map(E::kind).unwrap_or_default(),
            run: run.map(str::to_owned),
            lane,
            part: None,
            event,
        };
        (1..).zip(events).map(entry).collect()
    }

    #[test]
    fn an_unlisted_kind_follows_from_the_nearest_event_of_its_lane_and_leads_on() {
        let turn =
            |speaker| E::TurnAdded { speaker, text: String::new(), intent: None, card: None };
        let decided = E::IntentDecided { intent: Intent::Edit, reason: IntentBy::Words };
        // No rule names this kind.
        let crashed = || Some(E::RoleCrashed { role: Role::Editor });
        let (run, lane) = (Some("r"), LaneId::new(1));
        let entries = story(vec![
            (run, None, Some(turn(Side::User))),
            (run, None, Some(decided)),
            (run, lane, crashed()),
            (run, None, Some(E::FilesRead { files: vec![] })),
            (run, None, crashed()),
            (run, lane, crashed()),
            // From a later version.
            (run, None, None),
            (Some("other"), None, crashed()),
            (None, None, crashed()),
        ]);
        let expected = [None, Some(1), Some(2), Some(2), Some(2), Some(3), None, None, None];
        assert_eq!(causes(&entries), expected);
        assert_eq!(chain(&expected, 6), [6, 3, 2, 1]);
    }
}
