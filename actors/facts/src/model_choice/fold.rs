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
