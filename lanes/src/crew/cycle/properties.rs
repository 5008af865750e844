//! Properties: whatever the models answer and the checks find, the loop ends within its bound, and nothing is delivered
//! while a failure stands that the run has caused.

use checks::outcome::CheckOutcome;
use proptest::prelude::*;

use super::tests::{BOUNDS, check, judged, plan_of, plan_of_operation};
use super::*;

/// The checks that plans name. What one of them finds depends on the tree, and on whether it failed before the change.
const CHECKS: [&str; 4] = ["unit", "lint", "old", "walled"];

/// What is true in the world, apart from what the loop believes.
struct Truth {
    /// The checks that the change in the tree breaks.
    broken: BTreeSet<&'static str>,
    /// The checks that were red in a result and have not been green in one since.
    owed: BTreeSet<String>,
    /// True if something is applied.
    is_applied: bool,
    /// Model calls so far.
    asks: u32,
    /// The plan that is carried out.
    last_plan: PlanTerms,
    /// The checks that were found unable to run; that is found once for any checks.
    cannot_run: Vec<String>,
}

impl Truth {
    /// Returns what a check finds in the tree.
    fn outcome(&self, command: &str, choice: u8) -> CheckOutcome {
        match command {
            "walled" => CheckOutcome::Environment,
            // It may be mended on the way.
            "old" if choice.is_multiple_of(5) => CheckOutcome::Passed,
            "old" => CheckOutcome::PreExisting,
            broken if self.broken.contains(broken) => match choice {
                0 => CheckOutcome::TimedOut,
                1 => CheckOutcome::PolicyDenied,
                2 => CheckOutcome::Flaky,
                _ => CheckOutcome::CodeFailure,
            },
            _ if choice == 3 => CheckOutcome::Unverified,
            _ => CheckOutcome::Passed,
        }
    }

    /// Returns the results of the loop's checks.
    fn verified(&mut self, checks: &[String], choice: u8) -> Input {
        let one = |command: &String| {
            let outcome = self.outcome(command, choice);
            let errors: &[&str] = match (outcome, choice % 3) {
                (CheckOutcome::CodeFailure | CheckOutcome::PreExisting, 0) => &["a"],
                (CheckOutcome::CodeFailure | CheckOutcome::PreExisting, _) => &["a", "b"],
                _ => &[],
            };
            check(command, outcome, errors)
        };
        let results: Vec<_> = checks.iter().map(one).collect();
        for result in &results {
            match result.outcome {
                CheckOutcome::CodeFailure => drop(self.owed.insert(result.command.clone())),
                CheckOutcome::TimedOut
                | CheckOutcome::Infrastructure
                | CheckOutcome::CommandMissing => {}
                CheckOutcome::Passed
                | CheckOutcome::Flaky
                | CheckOutcome::Unverified
                | CheckOutcome::Environment
                | CheckOutcome::PreExisting
                | CheckOutcome::PolicyDenied => drop(self.owed.remove(&result.command)),
            }
        }
        let judgement = Judgement { old_unchanged: !choice.is_multiple_of(7), ..judged(results) };
        Input::Verified(judgement)
    }
}

/// Returns some result of the loop's step; `None` if the loop has ended.
fn some_result(cycle: &Cycle, truth: &mut Truth, choice: u8) -> Option<Input> {
    let reason = || "it is done".to_owned();
    let (kind, rest) = (choice % 16, choice / 16);
    let some_checks = || {
        let named = CHECKS.iter().enumerate().filter(|(at, _)| rest >> at & 1 == 1);
        named.map(|(_, check)| *check).collect::<Vec<_>>()
    };
    truth.asks += u32::from(matches!(cycle.doing(), Next::Plan(_) | Next::Draft(_)));
    Some(match cycle.doing() {
        Next::Finish(_) | Next::HandOver | Next::Question => return None,
        _ if kind == 0 => Input::Crashed,
        Next::Plan(_) if kind <= 4 => {
            Input::NothingToDo { reason: reason(), checks: plan_of("a", &some_checks()).checks }
        }
        Next::Plan(_) if kind <= 6 => Input::Planned(truth.last_plan.clone()),
        Next::Plan(_) => {
            truth.last_plan = match kind {
                7 => plan_of_operation("a", &some_checks()),
                ..=11 => plan_of("a", &some_checks()),
                12 => PlanTerms { more: true, ..plan_of("b", &some_checks()) },
                _ => plan_of("b", &some_checks()),
            };
            Input::Planned(truth.last_plan.clone())
        }
        Next::Draft(_) if kind == 1 => Input::DraftUnreadable,
        Next::Draft(_) if kind == 2 => Input::Repeating,
        Next::Draft(_) if kind <= 4 => {
            Input::PlanLacks(vec![RepoPath::parse(if kind == 3 { "x" } else { "y" }).unwrap()])
        }
        Next::Draft(_) if kind <= 9 && truth.is_applied => Input::NothingMore { reason: reason() },
        Next::Draft(DraftReason::NewPlan) if kind == 10 => Input::DraftedWithPlan,
        Next::Draft(_) => Input::Drafted,
        Next::Apply if kind <= 2 => Input::Refused,
        Next::Apply if kind == 3 => Input::Objected,
        Next::Apply if kind <= 6 && !truth.is_applied && truth.cannot_run != cycle.checks() => {
            truth.cannot_run = cycle.checks();
            let others = if kind == 4 { vec!["derived".to_owned()] } else { Vec::new() };
            Input::NothingRuns { others }
        }
        Next::Apply => {
            truth.is_applied = true;
            truth.broken = ["unit", "lint"].into_iter().filter(|_| rest % 3 != 0).collect();
            if rest % 2 == 0 {
                truth.broken.remove("lint");
            }
            if kind == 7 { Input::AppliedInPart } else { Input::Applied }
        }
        Next::Verify if kind == 1 => Input::Objected,
        Next::Verify => truth.verified(&cycle.checks(), rest),
    })
}

/// The most model calls that a run can need: in each attempt at a part the Architect and the Editor are asked once; besides,
/// at no cost of an attempt, for files that a plan lacks, and once each about old failures and about what cannot run here.
const MOST_ASKS: u32 = 2 * (BOUNDS.max_iterations * BOUNDS.max_parts + FREE_LACKS + 1 + 1);

/// Returns choices for the steps of a run. Models are often stubborn, so few different ones recur.
fn choices() -> impl Strategy<Value = Vec<u8>> {
    use proptest::collection::vec;
    vec(any::<u8>(), 1..12).prop_flat_map(|few| vec(proptest::sample::select(few), 200))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_run_ends_within_its_bound_and_never_delivers_what_it_owes(choices in choices()) {
        let mut cycle = Cycle::new(Goal::Deliver, BOUNDS);
        let mut truth = Truth {
            broken: BTreeSet::new(),
            owed: BTreeSet::new(),
            is_applied: false,
            asks: 0,
            last_plan: PlanTerms::default(),
            cannot_run: Vec::new(),
        };
        for choice in choices {
            let Some(input) = some_result(&cycle, &mut truth, choice) else { break };
            cycle.step(input);
            let owed: BTreeSet<String> = cycle.owed.with(&[]).into_iter().collect();
            prop_assert_eq!(&owed, &truth.owed, "what is red is owed, what is green no longer");
        }
        prop_assert!(truth.asks <= MOST_ASKS, "{} calls", truth.asks);
        let Next::Finish(delivery) = cycle.doing() else { panic!("{:?}", cycle.doing()) };
        if matches!(delivery, Delivery::Delivered { .. }) {
            prop_assert!(truth.owed.is_empty(), "delivered while {:?} fail", truth.owed);
            prop_assert!(!cycle.goes_on(), "delivered while parts remain");
            prop_assert!(cycle.in_tree != InTree::Unchecked, "delivered without a look at what is applied");
        }
    }
}
