//! Tests: the next step after each result.

use actors::delivery::MissingKind;
use actors::failure::Diagnostic;
use proptest::prelude::*;

use super::*;

const BOUNDS: Bounds = Bounds {
    max_iterations: 6,
    classifier: FailureClassifier {
        repeat_threshold: 2,
        similarity_threshold: 0.8,
        fingerprint_lines: 40,
    },
};

fn cycle() -> Cycle {
    Cycle::new(Goal::Deliver, BOUNDS)
}

fn errors(names: &[&str]) -> ErrorSet {
    let error = |name: &&str| Diagnostic {
        code: (*name).to_owned(),
        file: String::new(),
        message: String::new(),
    };
    names.iter().map(error).collect()
}

fn checks(outcome: CheckOutcome, names: &[&str]) -> Input {
    Input::Verified(Judgement {
        outcome,
        errors: errors(names),
        old_unchanged: true,
        denied: None,
        proven: false,
        moved: false,
        missing: None,
    })
}

fn fails(names: &[&str]) -> Input {
    checks(CheckOutcome::CodeFailure, names)
}

/// Feeds a draft that applies and whose checks end in `input`.
fn verified(cycle: &mut Cycle, input: Input) -> Next {
    assert_eq!(cycle.step(Input::Drafted), Next::Apply);
    assert_eq!(cycle.step(Input::Applied), Next::Verify);
    cycle.step(input)
}

fn why(effect: &Next) -> Option<NeedsWork> {
    match effect {
        Next::Finish(Delivery::NeedsWork { why, .. }) => Some(*why),
        Next::Plan(_) | Next::Draft(_) | Next::Apply | Next::Verify | Next::Finish(_) => None,
    }
}

#[test]
fn a_long_list_of_errors_that_shrinks_is_not_a_design_mismatch() {
    let names: Vec<String> = (0..60).map(|n| format!("e{n:02}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    verified(&mut cycle, fails(&all));
    let replan = Next::Plan(PlanReason::Failed(FailureClass::RepeatedVerifyFailure));
    assert_eq!(verified(&mut cycle, fails(&all)), replan);
    cycle.step(Input::Planned);
    // The first forty errors are the same, but ten fewer remain in total.
    let next = verified(&mut cycle, fails(&all[..50]));
    assert_eq!(next, Next::Draft(DraftReason::ChecksFail));
}

#[test]
fn a_change_that_passes_at_once_is_delivered() {
    let mut cycle = cycle();
    assert_eq!(*cycle.doing(), Next::Plan(PlanReason::First));
    assert_eq!(cycle.step(Input::Planned), Next::Draft(DraftReason::NewPlan));
    let end = verified(&mut cycle, checks(CheckOutcome::Passed, &[]));
    assert_eq!(end, Next::Finish(Delivery::Delivered { verified: Verified::Passed }));
    assert_eq!(cycle.iteration(), 1);
}

#[test]
fn a_first_failure_goes_to_the_editor_and_a_repeated_one_to_the_architect() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    assert_eq!(verified(&mut cycle, fails(&["a"])), Next::Draft(DraftReason::ChecksFail));
    let repeated = Next::Plan(PlanReason::Failed(FailureClass::RepeatedVerifyFailure));
    assert_eq!(verified(&mut cycle, fails(&["a"])), repeated);
    cycle.step(Input::Planned);
    let design = Next::Plan(PlanReason::Failed(FailureClass::DesignMismatch));
    assert_eq!(verified(&mut cycle, fails(&["a"])), design);
    cycle.step(Input::Planned);
    assert_eq!(verified(&mut cycle, fails(&["b"])), Next::Draft(DraftReason::ChecksFail));
}

#[test]
fn the_run_ends_after_six_failures() {
    let mut cycle = cycle();
    let mut verifications = 0;
    let mut effect = cycle.doing().clone();
    while why(&effect).is_none() {
        effect = match effect {
            Next::Plan(_) => cycle.step(Input::Planned),
            Next::Draft(_) => cycle.step(Input::Drafted),
            Next::Apply => cycle.step(Input::Applied),
            Next::Verify => {
                verifications += 1;
                cycle.step(fails(&["a"]))
            }
            Next::Finish(delivery) => panic!("{delivery:?}"),
        };
    }
    assert_eq!((verifications, why(&effect)), (6, Some(NeedsWork::IterationsUsedUp)));
}

#[test]
fn a_diff_that_does_not_apply_goes_back_to_the_editor_first() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    for _ in 0..2 {
        cycle.step(Input::Drafted);
        assert_eq!(cycle.step(Input::Refused), Next::Draft(DraftReason::Refused));
    }
    cycle.step(Input::Drafted);
    assert_eq!(
        cycle.step(Input::Refused),
        Next::Plan(PlanReason::Failed(FailureClass::PatchMismatch))
    );
}

fn old() -> Input {
    checks(CheckOutcome::PreExisting, &["a"])
}

#[test]
fn old_failures_are_shown_to_the_editor_and_then_to_the_architect() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    assert_eq!(verified(&mut cycle, old()), Next::Draft(DraftReason::OldFailures));
    assert_eq!(verified(&mut cycle, old()), Next::Plan(PlanReason::OldFailures));
    assert_eq!(cycle.iteration(), 2, "asking the Architect costs no attempt");
    assert_eq!(cycle.step(Input::Planned), Next::Draft(DraftReason::NewPlan));
    assert_eq!(why(&verified(&mut cycle, old())), Some(NeedsWork::PreExisting));
}

#[test]
fn an_editor_without_an_answer_to_old_failures_passes_them_to_the_architect() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    verified(&mut cycle, old());
    assert_eq!(cycle.step(Input::DraftUnreadable), Next::Plan(PlanReason::OldFailures));
    let reason = "a package is missing".to_owned();
    assert_eq!(why(&cycle.step(Input::NoEdit { reason })), Some(NeedsWork::PreExisting));
}

#[test]
fn old_failures_that_change_are_failures() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    verified(&mut cycle, old());
    let Input::Verified(judgement) = old() else { panic!() };
    let other = Input::Verified(Judgement { old_unchanged: false, ..judgement });
    assert_eq!(verified(&mut cycle, other), Next::Draft(DraftReason::ChecksFail));
}

#[test]
fn the_delivery_says_how_far_it_is_verified() {
    let missing = Missing { kind: MissingKind::Network, name: None, cure: None };
    let environment = Unverified::Environment { missing: missing.clone() };
    for (outcome, proven, verified_as) in [
        (CheckOutcome::Passed, true, Verified::Proven),
        (CheckOutcome::Flaky, false, Verified::Passed),
        (CheckOutcome::Unverified, true, Verified::Unverified(Unverified::NothingCouldFail)),
        (CheckOutcome::Environment, true, Verified::Unverified(environment)),
    ] {
        let mut cycle = cycle();
        cycle.step(Input::Planned);
        let Input::Verified(judgement) = checks(outcome, &[]) else { panic!() };
        let judgement = Judgement { proven, missing: Some(missing.clone()), ..judgement };
        let end = verified(&mut cycle, Input::Verified(judgement));
        assert_eq!(end, Next::Finish(Delivery::Delivered { verified: verified_as }));
    }
}

#[test]
fn problems_outside_the_code_end_the_run_without_another_call() {
    for (outcome, expected) in [
        (CheckOutcome::CommandMissing, Some(NeedsWork::Unverifiable)),
        (CheckOutcome::TimedOut, Some(NeedsWork::Unverifiable)),
        (CheckOutcome::Infrastructure, Some(NeedsWork::Unverifiable)),
        (CheckOutcome::PolicyDenied, None),
        (CheckOutcome::Flaky, None),
        (CheckOutcome::Unverified, None),
    ] {
        let mut cycle = cycle();
        cycle.step(Input::Planned);
        let end = verified(&mut cycle, checks(outcome, &[]));
        assert!(matches!(end, Next::Finish(_)), "{outcome:?}");
        assert_eq!(why(&end), expected, "{outcome:?}");
    }
}

#[test]
fn a_partly_applied_diff_is_checked_after_the_editor_hears_what_was_left_out() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    for _ in 1..BOUNDS.max_iterations {
        cycle.step(Input::Drafted);
        assert_eq!(cycle.step(Input::AppliedInPart), Next::Draft(DraftReason::LeftOut));
        assert_eq!(cycle.clone().step(Input::NothingMore), Next::Verify);
    }
    cycle.step(Input::Drafted);
    assert_eq!(cycle.step(Input::AppliedInPart), Next::Verify);
}

#[test]
fn a_change_whose_checks_the_user_refused_is_checked_with_the_next_plan() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    cycle.step(Input::Drafted);
    assert_eq!(cycle.step(Input::Applied), Next::Verify);
    assert_eq!(cycle.step(Input::Objected), Next::Plan(PlanReason::Objected));
    assert_eq!(cycle.step(Input::Planned), Next::Draft(DraftReason::NewPlan));
    assert_eq!(cycle.step(Input::NothingMore), Next::Verify);
}

#[test]
fn a_crash_costs_one_attempt_and_repeats_the_step() {
    let mut cycle = cycle();
    assert_eq!(cycle.step(Input::Crashed), Next::Plan(PlanReason::First));
    cycle.step(Input::Planned);
    assert_eq!(cycle.step(Input::Crashed), Next::Draft(DraftReason::NewPlan));
    cycle.step(Input::Drafted);
    assert_eq!(cycle.step(Input::Crashed), Next::Apply);
    cycle.step(Input::Applied);
    assert_eq!(cycle.step(Input::Crashed), Next::Verify);
    assert_eq!(cycle.iteration(), 5);
    cycle.step(Input::Crashed);
    assert_eq!(why(&cycle.step(Input::Crashed)), Some(NeedsWork::Crashed));
}

#[test]
fn the_tree_with_the_fewest_failures_is_the_best() {
    let mut cycle = cycle();
    cycle.step(Input::Planned);
    verified(&mut cycle, fails(&["a", "b"]));
    assert!(cycle.is_best());
    verified(&mut cycle, fails(&["c"]));
    assert!(cycle.is_best());
    verified(&mut cycle, fails(&["d"]));
    assert!(!cycle.is_best());
}

#[test]
fn a_run_can_end_with_the_plan() {
    let mut cycle = Cycle::new(Goal::PlanOnly, BOUNDS);
    let end = Next::Finish(Delivery::Delivered { verified: Verified::NotNeeded });
    assert_eq!(cycle.step(Input::Planned), end);
}

proptest! {
    /// Whatever the results of the steps, the loop ends: every attempt either progresses or counts.
    #[test]
    fn every_loop_ends(choices in proptest::collection::vec(0u8..8, 200)) {
        let mut cycle = cycle();
        let mut effect = cycle.doing().clone();
        let mut verifications = 0;
        for choice in choices {
            let input = match (&effect, choice) {
                (Next::Finish(_), _) => break,
                (_, 0) => Input::Crashed,
                (Next::Plan(_), _) => Input::Planned,
                (Next::Draft(_), 1) => Input::DraftUnreadable,
                (Next::Draft(_), _) => Input::Drafted,
                (Next::Apply, 1 | 2) => Input::Refused,
                (Next::Apply, _) => Input::Applied,
                (Next::Verify, 1) => checks(CheckOutcome::PreExisting, &["old"]),
                (Next::Verify, n) => fails(&[["a", "b", "c"][usize::from(n) % 3]]),
            };
            verifications += u32::from(matches!(input, Input::Verified(_)));
            effect = cycle.step(input);
        }
        prop_assert!(matches!(effect, Next::Finish(_)));
        // The plan made after showing old failures to the Architect costs no attempt.
        prop_assert!(verifications <= BOUNDS.max_iterations + 1);
    }
}
