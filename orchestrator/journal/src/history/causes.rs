//! Finds the cause of each event of a session, back to the user's request. Pure.
//!
//! A run passes through its stages in order, so the cause is usually the nearest earlier event of the run that can lead
//! on to others. Calls, answers and commands name their cause, and a few stages look further back than the previous one.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use facts::delivery::StagedFor;
use facts::event::Event as E;
use facts::lane_id::LaneId;
use facts::words::{EffectToApprove, Side};

use super::entry::StoryEntry;

/// A run, its lane and its part.
pub(super) type EventPlace = (Option<String>, Option<LaneId>, Option<String>);

/// Returns where an event belongs.
pub(super) fn place_of(entry: &StoryEntry) -> EventPlace {
    (entry.run.clone(), entry.lane, entry.part.clone())
}

/// The events before one, as far as they can be its cause.
#[derive(Default)]
pub(super) struct EarlierEvents {
    /// Those of each run, lane and part.
    of_places: HashMap<EventPlace, Latest>,
    /// Those of each run outside its lanes.
    of_runs: HashMap<Option<String>, Latest>,
}

/// The latest events that others can follow from.
#[derive(Default)]
struct Latest {
    /// The latest of each kind. Undo patches count as a kind of their own.
    of_kinds: BTreeMap<(String, bool), (u64, Rc<E>)>,
    calls: HashMap<u64, u64>,
    questions: HashMap<String, u64>,
}

impl EarlierEvents {
    /// Adds the next event.
    pub(super) fn add(&mut self, entry: StoryEntry) {
        let StoryEntry { seq, kind, run, lane, part, event: Some(event), .. } = entry else {
            return;
        };
        let event = Rc::new(event);
        if lane.is_none() {
            self.of_runs.entry(run.clone()).or_default().add(seq, &kind, &event);
        }
        self.of_places.entry((run, lane, part)).or_default().add(seq, &kind, &event);
    }

    /// Returns the number of the cause of the next event: the nearest candidate in its place, or else in its run.
    pub(super) fn cause(&self, effect: &StoryEntry) -> Option<u64> {
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
        let own = self.of_places.get(&place_of(effect));
        let of_run = || self.of_runs.get(&effect.run);
        own.and_then(|own| own.cause(event)).or_else(|| of_run()?.cause(event))
    }
}

impl Latest {
    fn add(&mut self, seq: u64, kind: &str, event: &Rc<E>) {
        if let E::ModelRequest { call, .. } = &**event {
            self.calls.insert(*call, seq);
        } else if let E::ApprovalAsked { ask, .. } = &**event {
            self.questions.insert(ask.clone(), seq);
        } else {
            let is_way_back =
                matches!(&**event, E::PatchStaged { purpose: StagedFor::WayBack, .. });
            self.of_kinds.insert((kind.to_owned(), is_way_back), (seq, Rc::clone(event)));
        }
    }

    /// Returns the nearest event that can be the cause of another.
    fn cause(&self, effect: &E) -> Option<u64> {
        if let E::ModelReply { call, .. } | E::CallDropped { call, .. } = effect {
            self.calls.get(call).copied()
        } else if let E::ApprovalGiven { ask, .. } | E::ApprovalDenied { ask: Some(ask), .. } =
            effect
        {
            self.questions.get(ask).copied()
        } else {
            let candidates = self.of_kinds.values().filter(|(_, cause)| may_cause(cause, effect));
            candidates.map(|(seq, _)| *seq).max()
        }
    }
}

/// Returns true if an event can be the cause of another, which is neither the end of a call nor the answer to a question.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others follow from the nearest event that leads on"
)]
fn may_cause(cause: &E, effect: &E) -> bool {
    match effect {
        // Checks on the unchanged tree run in parallel with the other roles; the plan asks for them.
        E::ApprovalAsked { action: EffectToApprove::Command(_), .. }
        | E::ApprovalDenied { action: EffectToApprove::Command(_), .. }
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
    use facts::amounts::Amount;
    use facts::words::{IntentBy, RequestIntent, Role};

    use super::*;

    fn causes(entries: &[StoryEntry]) -> Vec<Option<u64>> {
        let mut earlier = EarlierEvents::default();
        let cause = |entry: &StoryEntry| {
            let cause = earlier.cause(entry);
            earlier.add(entry.clone());
            cause
        };
        entries.iter().map(cause).collect()
    }

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
        let turn = |speaker| E::TurnAdded {
            speaker,
            text: String::new(),
            intent: None,
            card: None,
            course: None,
        };
        let decided = E::IntentDecided { intent: RequestIntent::Edit, reason: IntentBy::Words };
        // No rule names this kind.
        let crashed = || Some(E::RoleCrashed { role: Role::Editor });
        let (run, lane) = (Some("r"), LaneId::new(1));
        let entries = story(vec![
            (run, None, Some(turn(Side::User))),
            (run, None, Some(decided)),
            (run, lane, crashed()),
            (run, None, Some(E::FilesRead { files: vec![], missing_programs: vec![] })),
            (run, None, crashed()),
            (run, lane, crashed()),
            // From a later version.
            (run, None, None),
            (Some("other"), None, crashed()),
            (None, None, crashed()),
        ]);
        let expected = [None, Some(1), Some(2), Some(2), Some(2), Some(3), None, None, None];
        assert_eq!(causes(&entries), expected);
    }

    /// Returns the cause of the last event, found by looking at each earlier one.
    fn searched(entries: &[StoryEntry]) -> Option<u64> {
        let (effect, before) = entries.split_last()?;
        let event = effect.event.as_ref()?;
        let can = |it: &&StoryEntry| match (it.event.as_ref(), event) {
            (Some(E::ModelRequest { call, .. }), E::CallDropped { call: dropped, .. }) => {
                call == dropped
            }
            (_, E::CallDropped { .. }) => false,
            (cause, event) => cause.is_some_and(|cause| may_cause(cause, event)),
        };
        let is_beside = |it: &StoryEntry| it.run == effect.run && it.lane == effect.lane;
        let own = before.iter().rfind(|it| is_beside(it) && can(it));
        let of_run =
            || before.iter().rfind(|it| it.lane.is_none() && it.run == effect.run && can(it));
        own.or_else(of_run).map(|cause| cause.seq)
    }

    proptest::proptest! {
        #[test]
        fn the_cause_is_the_nearest_candidate(
            kinds in proptest::collection::vec((0..7_u64, 0..3_u8, 0..2_u8), 0..40),
        ) {
            let event = |kind| match kind {
                0 => E::RoleCrashed { role: Role::Editor },
                1 => E::FilesRead { files: vec![], missing_programs: vec![] },
                2 => E::ApplyCompleted { iteration: 1, applied: true },
                3 => E::ApplyStarted { iteration: 1 },
                4 => E::BaselineSkipped { iteration: 1 },
                call => E::CallDropped { call, charged: Amount::default() },
            };
            let events = kinds.iter().map(|(kind, lane, run)| {
                let run = if *run == 0 { "a" } else { "b" };
                (Some(run), LaneId::new(*lane), Some(event(*kind)))
            });
            let entries = story(events.collect());
            let expected: Vec<_> = (1..=entries.len()).map(|to| searched(&entries[..to])).collect();
            proptest::prop_assert_eq!(causes(&entries), expected);
        }
    }
}
