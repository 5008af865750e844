//! What preceded a question, folded from the events of a session in the order of its journal. Pure.

use std::collections::{BTreeMap, BTreeSet};

use checks::outcome::CheckOutcome;

use crate::delivery::Delivery;
use crate::event::Event;
use crate::scope::Scope;

/// What preceded a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PastSignals {
    /// Number of turns that failed one after the other, up to the last.
    pub failures: usize,
    /// Number of checks that failed when last run.
    pub failing_checks: usize,
    /// Number of tool calls that failed one after the other, up to the last.
    pub failed_tools: usize,
    /// Number of assumptions of the last plan, and of questions that were not answered: what its model could not find out.
    pub assumptions: usize,
}

/// The events of a session, as far as they matter for a choice.
///
/// A question sees the turns that were over when its run began, and of its run what its own scope and those around it
/// have said. What happens beside it, in another lane or child question, makes no difference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouterFold {
    /// The turns that are over.
    over: PastSignals,
    /// The runs that are not.
    open: BTreeMap<String, OpenRun>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OpenRun {
    before: PastSignals,
    said: BTreeMap<Scope, ScopeSignals>,
}

/// What a scope has said about itself; `None` where it has not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ScopeSignals {
    /// True once lanes work: their merge says how their checks end.
    is_in_lanes: bool,
    failing: Option<BTreeSet<String>>,
    failed_tools: Option<usize>,
    assumptions: Option<usize>,
    unanswered: usize,
}

impl RouterFold {
    /// Takes in the next event.
    pub fn note(&mut self, scope: &Scope, event: &Event) {
        let Some(id) = scope.run() else { return };
        let before = self.over;
        let fresh = || OpenRun { before, ..OpenRun::default() };
        if let Event::RunFinished { delivery, .. } = event {
            let run = self.open.remove(id).unwrap_or_else(fresh);
            let last = run.said.get(&Scope::of_run(id)).cloned().unwrap_or_default();
            let failures = failures_after(before.failures, delivery);
            self.over = last.over(PastSignals { failures, ..PastSignals::default() });
            return;
        }
        let run = self.open.entry(id.to_owned()).or_insert_with(fresh);
        run.said.entry(scope.clone()).or_default().note(event);
    }

    /// Returns what precedes a question in a scope.
    pub fn before(&self, scope: &Scope) -> PastSignals {
        let Some(run) = scope.run().and_then(|id| self.open.get(id)) else { return self.over };
        // Outer scopes sort before those inside them.
        let around = run.said.iter().filter(|(it, _)| it.contains(scope));
        around.fold(run.before, |signals, (_, said)| said.over(signals))
    }
}

/// Returns the length of the streak of failures after another turn. Only work that was not good enough counts: a turn
/// that was stopped, denied or cut off says nothing about its model.
const fn failures_after(failures: usize, delivery: &Delivery) -> usize {
    match delivery {
        Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. } => 0,
        Delivery::NeedsWork { .. } => failures + 1,
        Delivery::Denied { .. }
        | Delivery::Cancelled
        | Delivery::Paused { .. }
        | Delivery::BudgetExhausted { .. }
        | Delivery::Failed { .. } => failures,
    }
}

impl ScopeSignals {
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are no signals")]
    fn note(&mut self, event: &Event) {
        match event {
            Event::PlanCreated { plan, .. } | Event::PlanRevised { plan, .. } => {
                self.assumptions = Some(plan.assumptions.len());
            }
            Event::UserAnswered { answer: None } => self.unanswered += 1,
            Event::ToolResult { ok, .. } => {
                let failed = self.failed_tools.unwrap_or_default();
                self.failed_tools = Some(if *ok { 0 } else { failed + 1 });
            }
            Event::LanesBegun { .. } => self.is_in_lanes = true,
            Event::VerifyStarted { .. } => self.failing = Some(BTreeSet::new()),
            Event::VerificationRun { baseline: false, command, outcome, .. }
                if !self.is_in_lanes =>
            {
                let failing = self.failing.get_or_insert_default();
                if *outcome == CheckOutcome::CodeFailure {
                    failing.insert(command.clone());
                } else {
                    failing.remove(command);
                }
            }
            _ => {}
        }
    }

    /// Returns the signals with what this scope has said in place of what was known before.
    fn over(&self, before: PastSignals) -> PastSignals {
        let assumed = self.assumptions.unwrap_or(before.assumptions);
        PastSignals {
            failures: before.failures,
            failing_checks: self.failing.as_ref().map_or(before.failing_checks, BTreeSet::len),
            failed_tools: self.failed_tools.unwrap_or(before.failed_tools),
            assumptions: assumed + self.unanswered,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::lane_id::LaneId;
    use crate::scope::Segment;

    fn event(kind: &str, data: &serde_json::Value) -> Event {
        serde_json::from_value(json!({ "kind": kind, "data": data })).unwrap()
    }

    fn turn() -> Event {
        event("TurnAdded@v1", &json!({ "speaker": "user", "text": "Why?" }))
    }

    fn check(command: &str, outcome: &str) -> Event {
        let output = crate::event::Blob::new("");
        let data = json!({
            "command": command, "baseline": false, "outcome": outcome, "exit": "exit 1",
            "elapsed_ms": 1, "output": output,
        });
        event("VerificationRun@v1", &data)
    }

    fn verified() -> Event {
        event("VerifyStarted@v1", &json!({ "iteration": 1, "commands": [], "derived": false }))
    }

    fn tool(ok: bool) -> Event {
        let told = crate::event::Blob::new("");
        let data = json!({
            "role": "analysis", "call": "1", "tool": "read", "arguments": "{}", "ok": ok, "told": told,
        });
        event("ToolResult@v1", &data)
    }

    fn finished(delivery: Delivery) -> Event {
        let spent = crate::amounts::Amount::default();
        Event::RunFinished { delivery, spent, spent_unknown: spent, rollbacks: Vec::new() }
    }

    fn needs_work() -> Event {
        let why = crate::delivery::NeedsWork::NoAnswer;
        finished(Delivery::NeedsWork { why, detail: "it did not".to_owned().into() })
    }

    fn folded<'e>(events: impl IntoIterator<Item = &'e (Scope, Event)>) -> RouterFold {
        let mut fold = RouterFold::default();
        events.into_iter().for_each(|(scope, event)| fold.note(scope, event));
        fold
    }

    #[test]
    fn a_streak_of_failures_ends_with_a_delivery_and_what_says_nothing_does_not_count() {
        let done = || finished(Delivery::Delivered { verified: crate::delivery::Verified::Proven });
        let mut fold = RouterFold::default();
        let mut streaks = Vec::new();
        let ends = [
            needs_work(),
            finished(Delivery::Cancelled),
            needs_work(),
            done(),
            finished(Delivery::Cancelled),
            needs_work(),
        ];
        for (number, end) in ends.iter().enumerate() {
            let scope = Scope::of_run(&number.to_string());
            fold.note(&scope, &turn());
            fold.note(&scope, end);
            streaks.push(fold.before(&Scope::of_run("next")).failures);
        }
        assert_eq!(streaks, [1, 1, 2, 0, 0, 1]);
    }

    #[test]
    fn only_the_last_turn_says_what_fails_and_what_is_assumed() {
        let (first, second) = (Scope::of_run("1"), Scope::of_run("2"));
        let unanswered = event("UserAnswered@v1", &json!({ "answer": null }));
        let mut fold = RouterFold::default();
        for said in [
            check("a", "code_failure"),
            check("b", "code_failure"),
            verified(),
            check("c", "code_failure"),
            check("d", "code_failure"),
            check("d", "passed"),
            tool(false),
            tool(true),
            tool(false),
            tool(false),
            unanswered,
            needs_work(),
        ] {
            fold.note(&first, &said);
        }
        let known = PastSignals { failures: 1, failing_checks: 1, failed_tools: 2, assumptions: 1 };
        assert_eq!(fold.before(&second), known);
        fold.note(&second, &turn());
        assert_eq!(fold.before(&second), known);
        fold.note(&second, &needs_work());
        let nothing = PastSignals { failures: 2, ..PastSignals::default() };
        assert_eq!(fold.before(&Scope::of_run("3")), nothing);
    }

    #[test]
    fn a_run_that_began_earlier_does_not_see_what_ended_since() {
        let (open, other) = (Scope::of_run("open"), Scope::of_run("other"));
        let fold =
            folded(&[(open.clone(), turn()), (other.clone(), turn()), (other, needs_work())]);
        assert_eq!(fold.before(&open), PastSignals::default());
        assert_eq!(fold.before(&Scope::of_run("next")).failures, 1);
    }

    #[test]
    fn a_part_sees_what_is_around_it_and_not_what_is_beside_or_inside_it() {
        let run = Scope::of_run("r");
        let lane = |number| run.within(Segment::Lane(LaneId::new(number).unwrap()));
        let child = lane(1).within(Segment::Child(1));
        let fold = folded(&[
            (run.clone(), tool(false)),
            (lane(1), check("a", "code_failure")),
            (lane(2), check("b", "code_failure")),
            (lane(2), check("c", "code_failure")),
            (child.clone(), tool(true)),
        ]);
        let seen = |scope: &Scope| {
            let PastSignals { failing_checks, failed_tools, .. } = fold.before(scope);
            (failing_checks, failed_tools)
        };
        assert_eq!(seen(&run), (0, 1));
        assert_eq!(seen(&lane(1)), (1, 1));
        assert_eq!(seen(&lane(2)), (2, 1));
        assert_eq!(seen(&lane(3)), (0, 1));
        assert_eq!(seen(&child), (1, 0));
    }

    fn said() -> impl Strategy<Value = Event> {
        prop_oneof![
            any::<bool>().prop_map(tool),
            "[abc]".prop_map(|command| check(&command, "code_failure")),
            "[abc]".prop_map(|command| check(&command, "passed")),
            Just(verified()),
            Just(event("UserAnswered@v1", &json!({ "answer": null }))),
        ]
    }

    proptest! {
        /// Two runs whose lanes and child questions finish in another order: every question in them, and the next one,
        /// sees the same.
        #[test]
        fn the_order_of_siblings_makes_no_difference(
            parts in proptest::collection::vec(proptest::collection::vec(said(), 0..6), 1..5),
            own in proptest::collection::vec(said(), 0..4),
            turns in proptest::collection::vec(0usize..64, 64),
        ) {
            let run = Scope::of_run("r");
            let scopes: Vec<Scope> = (1u32..)
                .zip(&parts)
                .map(|(number, _)| match LaneId::new(u8::try_from(number).unwrap_or(1)) {
                    Some(lane) if number % 2 == 0 => run.within(Segment::Lane(lane)),
                    _ => run.within(Segment::Child(number)),
                })
                .collect();
            let before: Vec<(Scope, Event)> = own.into_iter().map(|it| (run.clone(), it)).collect();
            let of_parts = scopes.iter().zip(&parts);
            let one_by_one: Vec<(Scope, Event)> = of_parts
                .clone()
                .flat_map(|(scope, events)| events.iter().map(|it| (scope.clone(), it.clone())))
                .collect();
            let mut left: Vec<_> = of_parts.map(|(scope, events)| (scope, events.iter())).collect();
            let mut mixed = Vec::new();
            for turn in turns.iter().chain(std::iter::repeat(&0)) {
                left.retain(|(_, events)| events.len() > 0);
                if left.is_empty() {
                    break;
                }
                let at = turn % left.len();
                mixed.extend(left[at].1.next().map(|event| (left[at].0.clone(), event.clone())));
            }
            let end = [(run.clone(), needs_work())];
            for scope in &scopes {
                // A sibling may not even have begun.
                let alone = one_by_one.iter().filter(|(it, _)| it == scope);
                let seen = folded(before.iter().chain(alone)).before(scope);
                for order in [&one_by_one, &mixed] {
                    prop_assert_eq!(folded(before.iter().chain(order)).before(scope), seen);
                }
            }
            let over = folded(before.iter().chain(&end));
            for order in [&one_by_one, &mixed] {
                let all = before.iter().chain(order).chain(&end);
                prop_assert_eq!(&folded(all), &over);
            }
        }
    }
}
