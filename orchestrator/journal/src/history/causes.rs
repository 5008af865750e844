//! What each event of a session was caused by, back to what the user asked. Pure.
//!
//! A run goes one way through the stages, so a cause is the nearest earlier event of the run that others come of. Calls,
//! answers and commands name theirs, and a few stages look further back than the one before them.

use actors::delivery::StagedFor;
use actors::event::Event as E;
use actors::words::{Asked, Side};

use super::entry::StoryEntry;

/// The number of the cause of each event of a session, given from its first.
pub(super) fn causes(entries: &[StoryEntry]) -> Vec<Option<u64>> {
    let cause = |(at, entry)| cause(entries.get(..at).unwrap_or_default(), entry);
    entries.iter().enumerate().map(cause).collect()
}

/// The chain of causes of the event with this number: itself first.
pub(super) fn chain(causes: &[Option<u64>], seq: u64) -> Vec<u64> {
    // A cause always comes before what it causes, so this ends.
    let cause = |seq: &u64| {
        let at = usize::try_from(seq.checked_sub(1)?).ok()?;
        causes.get(at).copied().flatten().filter(|cause| cause < seq)
    };
    std::iter::successors(Some(seq), cause).collect()
}

/// The cause of an event, among those before it in its lane, or else in its run.
fn cause(before: &[StoryEntry], effect: &StoryEntry) -> Option<u64> {
    let event = effect.event.as_ref()?;
    if let E::TurnAdded { speaker: Side::User, .. } = event {
        // What the user says has no cause in here.
        return None;
    } else if let E::SessionStateChanged { .. } | E::TransitionRefused { .. } = event {
        // It is written right behind its cause.
        return effect.seq.checked_sub(1);
    } else if effect.run.is_none() && !is_of_a_change(event) {
        return None;
    }
    let can = |it: &&StoryEntry| it.event.as_ref().is_some_and(|it| may_cause(it, event));
    let own = before.iter().rfind(|it| it.is_beside(effect) && can(it));
    let of_run = || before.iter().rfind(|it| it.lane.is_none() && it.run == effect.run && can(it));
    own.or_else(of_run).map(|cause| cause.seq)
}

/// Whether an event, as the nearest before another, can be its cause.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others come of the nearest that leads on")]
fn may_cause(cause: &E, effect: &E) -> bool {
    match effect {
        E::ModelReply { call, .. } | E::CallDropped { call, .. } => {
            matches!(cause, E::ModelRequest { call: asked, .. } if asked == call)
        }
        E::ApprovalGiven { ask, .. } | E::ApprovalDenied { ask: Some(ask), .. } => {
            matches!(cause, E::ApprovalAsked { ask: asked, .. } if asked == ask)
        }
        // Checks on the untouched tree run beside the other roles, and are those of the plan.
        E::ApprovalAsked { action: Asked::Command(_), .. }
        | E::ApprovalDenied { action: Asked::Command(_), .. }
        | E::VerificationRun { baseline: true, .. } => {
            matches!(cause, E::PlanCreated { .. } | E::PlanRevised { .. })
        }
        E::LaneSpawned { .. } => matches!(
            cause,
            E::LanesBegun { .. } | E::LaneConflicted { .. } | E::LanesBisected { .. }
        ),
        // One way back is not the cause of another.
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

/// Whether an event is one that the next stage comes of, and does not only stand beside the way.
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

/// Whether an event is about whether and how a change may be made.
pub(super) const fn is_of_the_gate(event: &E) -> bool {
    matches!(
        event,
        E::ApprovalAsked { .. }
            | E::ApprovalGiven { .. }
            | E::CheckpointCreated { .. }
            | E::PatchCommitting { .. }
    )
}

/// Whether an event is what becomes of a change that may be made.
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
    fn a_kind_that_nothing_is_said_of_follows_from_the_nearest_of_its_lane_and_leads_on() {
        let turn =
            |speaker| E::TurnAdded { speaker, text: String::new(), intent: None, card: None };
        let decided = E::IntentDecided { intent: Intent::Edit, reason: IntentBy::Words };
        // Nothing names this kind.
        let crashed = || Some(E::RoleCrashed { role: Role::Editor });
        let (run, lane) = (Some("r"), LaneId::new(1));
        let entries = story(vec![
            (run, None, Some(turn(Side::User))),
            (run, None, Some(decided)),
            (run, lane, crashed()),
            (run, None, Some(E::FilesRead { files: vec![] })),
            (run, None, crashed()),
            (run, lane, crashed()),
            // Of a later version.
            (run, None, None),
            (Some("other"), None, crashed()),
            (None, None, crashed()),
        ]);
        let expected = [None, Some(1), Some(2), Some(2), Some(2), Some(3), None, None, None];
        assert_eq!(causes(&entries), expected);
        assert_eq!(chain(&expected, 6), [6, 3, 2, 1]);
    }
}
