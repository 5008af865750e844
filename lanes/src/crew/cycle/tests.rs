//! Tests: the next step after each result.

use checks::error_lines::{Diagnostic, ErrorSet};
use checks::outcome::{Check, CheckOutcome, Report};
use config::FailureClassifier;
use facts::delivery::{Missing, MissingKind};
use facts::grammar::operation::PlannedOperation;
use facts::grammar::plan::FileIntent;
use patch::operations::FileOperation;

use super::*;

pub(super) const BOUNDS: Bounds = Bounds {
    max_iterations: 6,
    classifier: FailureClassifier {
        repeat_threshold: 2,
        similarity_threshold: 0.8,
        fingerprint_lines: 40,
    },
    max_parts: 2,
    in_worktree: true,
};

fn cycle() -> Cycle {
    Cycle::new(Goal::Deliver, BOUNDS)
}

fn path(name: &str) -> RepoPath {
    RepoPath::parse(name).unwrap()
}

/// Returns a plan that changes a file and is verified by these checks.
pub(super) fn plan_of(file: &str, checks: &[&str]) -> PlanTerms {
    let files = vec![FileIntent { path: path(file), lines: Vec::new(), intent: "x".to_owned() }];
    let checks = checks.iter().map(|check| (*check).to_owned()).collect();
    PlanTerms { files, checks, ..PlanTerms::default() }
}

/// Returns a plan that the program carries out by itself, verified by these checks.
pub(super) fn plan_of_operation(file: &str, checks: &[&str]) -> PlanTerms {
    let operation = FileOperation::Delete { path: path(file) };
    let operations = vec![PlannedOperation { operation, why: "x".to_owned() }];
    PlanTerms { files: Vec::new(), operations, ..plan_of(file, checks) }
}

/// The plan of most tests.
fn planned() -> Input {
    Input::Planned(plan_of("a", &["t"]))
}

fn nothing_more() -> Input {
    Input::NothingMore { reason: "it is done".to_owned() }
}

/// The Architect wants nothing more, and names these checks.
fn nothing_to_do(checks: &[&str]) -> Input {
    let checks = plan_of("a", checks).checks;
    Input::NothingToDo { reason: "it is done".to_owned(), checks }
}

#[test]
fn the_editor_has_no_part_in_a_plan_of_operations() {
    let mut cycle = cycle();
    assert_eq!(cycle.step(Input::Planned(plan_of_operation("a", &["t"]))), Next::Apply);
    assert_eq!(
        cycle.step(Input::Refused),
        Next::Plan(PlanReason::Failed(FailureClass::PatchMismatch))
    );
    assert_eq!(cycle.step(Input::Planned(plan_of_operation("b", &["t"]))), Next::Apply);
    assert_eq!(cycle.step(Input::AppliedInPart), Next::Verify);
    assert!(matches!(cycle.step(fails(&["E"])), Next::Plan(PlanReason::Failed(_))));
}

/// Returns a result of a check, with errors of these names.
pub(in crate::crew) fn check(command: &str, outcome: CheckOutcome, names: &[&str]) -> Check {
    let error = |name: &&str| Diagnostic {
        code: (*name).to_owned(),
        file: String::new(),
        message: String::new(),
    };
    let errors: ErrorSet = names.iter().map(error).collect();
    Check {
        command: command.to_owned(),
        outcome,
        exit: "exit 1".to_owned(),
        excerpt: String::new(),
        exact: errors.clone(),
        errors,
        missing: None,
        masked: 0,
        confined: None,
        discarded: Vec::new(),
        tests: None,
        elapsed_ms: 0,
        cached: false,
        needs: None,
        fetch: None,
    }
}

pub(super) fn judged(checks: Vec<Check>) -> Judgement {
    let report = Report { checks };
    Judgement { report, old_unchanged: true, denied: None, proven: false, moved: false }
}

/// Returns the result of the check of [`planned`].
fn checks(outcome: CheckOutcome, names: &[&str]) -> Input {
    Input::Verified(judged(vec![check("t", outcome, names)]))
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
        Next::Plan(_)
        | Next::Draft(_)
        | Next::Apply
        | Next::Verify
        | Next::HandOver
        | Next::Question
        | Next::Finish(_) => None,
    }
}

#[test]
fn a_long_list_of_errors_that_shrinks_is_not_a_design_mismatch() {
    let names: Vec<String> = (0..60).map(|n| format!("e{n:02}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut cycle = cycle();
    cycle.step(planned());
    verified(&mut cycle, fails(&all));
    let replan = Next::Plan(PlanReason::Failed(FailureClass::RepeatedVerifyFailure));
    assert_eq!(verified(&mut cycle, fails(&all)), replan);
    cycle.step(planned());
    // The first forty errors are the same, but ten fewer remain in total.
    let next = verified(&mut cycle, fails(&all[..50]));
    assert_eq!(next, Next::Draft(DraftReason::ChecksFail));
}

#[test]
fn a_change_that_passes_at_once_is_delivered() {
    let mut cycle = cycle();
    assert_eq!(*cycle.doing(), Next::Plan(PlanReason::First));
    assert_eq!(cycle.step(planned()), Next::Draft(DraftReason::NewPlan));
    let end = verified(&mut cycle, checks(CheckOutcome::Passed, &[]));
    assert_eq!(end, Next::Finish(Delivery::Delivered { verified: Verified::Passed }));
    assert_eq!(cycle.iteration(), 1);
}

#[test]
fn a_first_failure_goes_to_the_editor_and_a_repeated_one_to_the_architect() {
    let mut cycle = cycle();
    cycle.step(planned());
    assert_eq!(verified(&mut cycle, fails(&["a"])), Next::Draft(DraftReason::ChecksFail));
    let repeated = Next::Plan(PlanReason::Failed(FailureClass::RepeatedVerifyFailure));
    assert_eq!(verified(&mut cycle, fails(&["a"])), repeated);
    cycle.step(planned());
    let design = Next::Plan(PlanReason::Failed(FailureClass::DesignMismatch));
    assert_eq!(verified(&mut cycle, fails(&["a"])), design);
    cycle.step(planned());
    assert_eq!(verified(&mut cycle, fails(&["b"])), Next::Draft(DraftReason::ChecksFail));
}

#[test]
fn the_run_ends_after_six_failures() {
    let mut cycle = cycle();
    let mut verifications = 0;
    let mut effect = cycle.doing().clone();
    while why(&effect).is_none() {
        effect = match effect {
            Next::Plan(_) => cycle.step(planned()),
            Next::Draft(_) => cycle.step(Input::Drafted),
            Next::Apply => cycle.step(Input::Applied),
            Next::Verify => {
                verifications += 1;
                cycle.step(fails(&["a"]))
            }
            other @ (Next::HandOver | Next::Question | Next::Finish(_)) => panic!("{other:?}"),
        };
    }
    assert_eq!((verifications, why(&effect)), (6, Some(NeedsWork::IterationsUsedUp)));
}

#[test]
fn a_diff_that_does_not_apply_goes_back_to_the_editor_first() {
    let mut cycle = cycle();
    cycle.step(planned());
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
    cycle.step(planned());
    assert_eq!(verified(&mut cycle, old()), Next::Draft(DraftReason::OldFailures));
    assert_eq!(verified(&mut cycle, old()), Next::Plan(PlanReason::OldFailures));
    assert_eq!(cycle.iteration(), 2, "asking the Architect costs no attempt");
    assert_eq!(cycle.step(planned()), Next::Draft(DraftReason::NewPlan));
    assert_eq!(why(&verified(&mut cycle, old())), Some(NeedsWork::PreExisting));
}

#[test]
fn old_failures_are_shown_to_the_architect_at_once_if_it_wrote_the_diff() {
    let mut cycle = cycle();
    cycle.step(planned());
    assert_eq!(cycle.step(Input::DraftedWithPlan), Next::Apply);
    assert_eq!(cycle.step(Input::Applied), Next::Verify);
    assert_eq!(cycle.step(old()), Next::Plan(PlanReason::OldFailures));
    assert_eq!(cycle.iteration(), 1, "it costs no attempt");
    cycle.step(planned());
    assert_eq!(why(&verified(&mut cycle, old())), Some(NeedsWork::PreExisting));
}

#[test]
fn an_editor_without_an_answer_to_old_failures_passes_them_to_the_architect() {
    let mut cycle = cycle();
    cycle.step(planned());
    verified(&mut cycle, old());
    assert_eq!(cycle.step(Input::DraftUnreadable), Next::Plan(PlanReason::OldFailures));
    let reason = Some("it is done".into());
    let old = Verified::Unverified(Unverified::OldFailures { reason });
    assert_eq!(cycle.step(nothing_to_do(&[])), delivered(old));
}

#[test]
fn old_failures_that_change_are_failures() {
    let mut cycle = cycle();
    cycle.step(planned());
    verified(&mut cycle, old());
    let Input::Verified(judgement) = old() else { panic!() };
    let other = Input::Verified(Judgement { old_unchanged: false, ..judgement });
    assert_eq!(verified(&mut cycle, other), Next::Draft(DraftReason::ChecksFail));
}

#[test]
fn the_delivery_says_how_far_it_is_verified() {
    let missing = Missing { kind: MissingKind::Network, name: None, cure: None };
    let environment = Unverified::Environment { missing: missing.clone() };
    let cannot_run =
        Unverified::CannotRun { command: "t".to_owned(), exit: "timed out".to_owned().into() };
    for (outcome, proven, missing, verified_as) in [
        (CheckOutcome::Passed, true, None, Verified::Proven),
        (CheckOutcome::Flaky, false, None, Verified::Passed),
        (CheckOutcome::Unverified, true, None, Verified::Unverified(Unverified::NothingCouldFail)),
        (CheckOutcome::Environment, true, Some(missing), Verified::Unverified(environment)),
        (CheckOutcome::Environment, true, None, Verified::Unverified(cannot_run)),
    ] {
        let mut cycle = cycle();
        cycle.step(planned());
        let check = Check { missing, ..check("t", outcome, &[]) };
        let judgement = Judgement { proven, ..judged(vec![check]) };
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
        cycle.step(planned());
        let end = verified(&mut cycle, checks(outcome, &[]));
        assert!(matches!(end, Next::Finish(_)), "{outcome:?}");
        assert_eq!(why(&end), expected, "{outcome:?}");
    }
}

#[test]
fn a_partly_applied_diff_is_checked_after_the_editor_hears_what_was_left_out() {
    let mut cycle = cycle();
    cycle.step(planned());
    for _ in 1..BOUNDS.max_iterations {
        cycle.step(Input::Drafted);
        assert_eq!(cycle.step(Input::AppliedInPart), Next::Draft(DraftReason::LeftOut));
        assert_eq!(cycle.clone().step(nothing_more()), Next::Verify);
    }
    cycle.step(Input::Drafted);
    assert_eq!(cycle.step(Input::AppliedInPart), Next::Verify);
}

#[test]
fn a_change_whose_checks_the_user_refused_is_checked_with_the_next_plan() {
    let mut cycle = cycle();
    cycle.step(planned());
    cycle.step(Input::Drafted);
    assert_eq!(cycle.step(Input::Applied), Next::Verify);
    assert_eq!(cycle.step(Input::Objected), Next::Plan(PlanReason::Objected));
    assert_eq!(cycle.step(planned()), Next::Verify);
    let passed = checks(CheckOutcome::Passed, &[]);
    assert_eq!(cycle.step(passed), Next::Draft(DraftReason::NewPlan), "the user wants more");
    assert_eq!(cycle.step(nothing_more()), delivered(Verified::Passed));
}

#[test]
fn a_crash_costs_one_attempt_and_repeats_the_step() {
    let mut cycle = cycle();
    assert_eq!(cycle.step(Input::Crashed), Next::Plan(PlanReason::First));
    cycle.step(planned());
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
    cycle.step(planned());
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
    assert_eq!(cycle.step(planned()), end);
}

fn old_left() -> Next {
    old_failures_left("it is done".to_owned())
}

/// Returns a loop that shows old failures to the Architect.
fn with_old_failures() -> Cycle {
    let mut cycle = cycle();
    cycle.step(planned());
    assert_eq!(verified(&mut cycle, old()), Next::Draft(DraftReason::OldFailures));
    assert_eq!(cycle.step(nothing_more()), Next::Plan(PlanReason::OldFailures));
    cycle
}

#[test]
fn new_checks_are_run_on_what_is_applied_before_the_editor_is_asked() {
    let mut cycle = with_old_failures();
    assert_eq!(cycle.step(Input::Planned(plan_of("a", &["other"]))), Next::Verify);
    assert_eq!(cycle.checks(), ["other"]);
    let result = |outcome, names| Input::Verified(judged(vec![check("other", outcome, names)]));
    let passed = || result(CheckOutcome::Passed, &[]);
    assert_eq!(cycle.clone().step(passed()), delivered(Verified::Passed));
    let failed = result(CheckOutcome::CodeFailure, &["new"]);
    assert_eq!(cycle.step(failed), Next::Draft(DraftReason::NewPlan));
    assert_eq!(cycle.iteration(), 2, "no model was asked for this failure");
    // A plan that wants other changes is carried out even if its checks pass.
    let mut cycle = with_old_failures();
    assert_eq!(cycle.step(Input::Planned(plan_of("b", &["other"]))), Next::Verify);
    assert_eq!(cycle.step(passed()), Next::Draft(DraftReason::NewPlan));
    assert_eq!(cycle.step(nothing_more()), delivered(Verified::Passed));
    // The same checks would say the same.
    let mut cycle = with_old_failures();
    assert_eq!(cycle.step(planned()), Next::Draft(DraftReason::NewPlan));
    assert_eq!(cycle.step(nothing_more()), old_left());
}

#[test]
fn an_architect_that_wants_nothing_more_ends_the_run_unless_something_fails_newly() {
    assert_eq!(with_old_failures().step(nothing_to_do(&[])), old_left());
    for (outcome, names, end) in [
        (CheckOutcome::Passed, &[][..], delivered(Verified::Passed)),
        (CheckOutcome::PreExisting, &["a"][..], old_left()),
        (CheckOutcome::CodeFailure, &["new"][..], Next::Plan(PlanReason::StillFails)),
    ] {
        let mut cycle = with_old_failures();
        assert_eq!(cycle.step(nothing_to_do(&["other"])), Next::Verify, "{outcome:?}");
        let result = Input::Verified(judged(vec![check("other", outcome, names)]));
        assert_eq!(cycle.step(result), end, "{outcome:?}");
    }
    let mut cycle = cycle();
    cycle.step(planned());
    verified(&mut cycle, fails(&["a"]));
    assert_eq!(cycle.step(nothing_more()), Next::Plan(PlanReason::Failed(REPEATED)));
    assert_eq!(cycle.step(nothing_to_do(&[])), Next::Plan(PlanReason::StillFails));
    assert_eq!(cycle.iteration(), 4, "each costs an attempt");
    assert_eq!(why(&cycle.step(nothing_to_do(&[]))), Some(NeedsWork::ChecksFail));
}

const REPEATED: FailureClass = FailureClass::RepeatedVerifyFailure;

#[test]
fn a_check_that_fails_newly_is_owed_until_it_passes_or_cannot_run() {
    let owes = |outcome: CheckOutcome, names: &[&str]| {
        let mut cycle = cycle();
        cycle.step(planned());
        verified(&mut cycle, fails(&["a"]));
        verified(&mut cycle, fails(&["a"]));
        assert_eq!(cycle.step(Input::Planned(plan_of("a", &["easy"]))), Next::Verify);
        assert_eq!(cycle.checks(), ["easy", "t"]);
        let easy = check("easy", CheckOutcome::Passed, &[]);
        let next = cycle.step(Input::Verified(judged(vec![easy, check("t", outcome, names)])));
        (next, cycle.checks().len() == 2)
    };
    let draft = || Next::Draft(DraftReason::NewPlan);
    assert_eq!(owes(CheckOutcome::CodeFailure, &["a"]), (draft(), true));
    assert_eq!(owes(CheckOutcome::Passed, &[]), (delivered(Verified::Passed), false));
    assert_eq!(owes(CheckOutcome::PreExisting, &["a"]), (draft(), false));
    let (next, still) = owes(CheckOutcome::Environment, &[]);
    assert!(matches!(next, Next::Finish(Delivery::Delivered { .. })) && !still, "{next:?}");
}

#[test]
fn what_cannot_run_is_replaced_or_asked_about_once_before_the_diff_is_applied() {
    let drafted = || {
        let mut cycle = cycle();
        cycle.step(planned());
        assert_eq!(cycle.step(Input::Drafted), Next::Apply);
        cycle
    };
    let mut cycle = drafted();
    assert_eq!(cycle.step(Input::NothingRuns { others: vec!["derived".to_owned()] }), Next::Apply);
    assert_eq!(cycle.checks(), ["derived"]);
    let asked = || {
        let mut cycle = drafted();
        let asks = Next::Plan(PlanReason::CannotRun);
        assert_eq!(cycle.step(Input::NothingRuns { others: Vec::new() }), asks);
        cycle
    };
    for (answer, next, checks) in [
        (Input::Planned(plan_of("a", &["other"])), Next::Apply, ["other"]),
        (nothing_to_do(&[]), Next::Apply, ["t"]),
        (nothing_to_do(&["other"]), Next::Apply, ["other"]),
        (Input::Planned(plan_of("b", &["t"])), Next::Draft(DraftReason::NewPlan), ["t"]),
    ] {
        let mut cycle = asked();
        assert_eq!(cycle.step(answer.clone()), next, "{answer:?}");
        assert_eq!(cycle.checks(), checks, "{answer:?}");
        assert_eq!(cycle.iteration(), 1, "it costs no attempt");
        if next == Next::Apply {
            let again = cycle.step(Input::NothingRuns { others: Vec::new() });
            assert_eq!(again, Next::Apply, "the Architect is asked once");
        }
    }
}

#[test]
fn a_second_plan_that_goes_round_in_circles_ends_the_run() {
    let failed = |class| Next::Plan(PlanReason::Failed(class));
    let mut cycle = cycle();
    cycle.step(planned());
    assert_eq!(cycle.step(Input::Repeating), failed(FailureClass::PatchMismatch));
    cycle.step(planned());
    assert_eq!(why(&cycle.step(Input::Repeating)), Some(NeedsWork::NoDraft));
    let mut cycle = self::cycle();
    cycle.step(planned());
    verified(&mut cycle, fails(&["a"]));
    assert_eq!(cycle.step(nothing_more()), failed(REPEATED));
    assert_eq!(cycle.step(planned()), Next::Draft(DraftReason::NewPlan));
    assert_eq!(why(&cycle.step(nothing_more())), Some(NeedsWork::ChecksFail));
    let mut cycle = self::cycle();
    let lacks = |file| Input::PlanLacks(vec![path(file)]);
    for file in ["x", "y", "y"] {
        cycle.step(planned());
        assert_eq!(cycle.step(lacks(file)), Next::Plan(PlanReason::Lacks), "{file}");
    }
    cycle.step(planned());
    assert_eq!(why(&cycle.step(lacks("y"))), Some(NeedsWork::NoDraft));
}

/// Returns the first plan of a change in parts.
fn a_part(file: &str, checks: &[&str]) -> Input {
    Input::Planned(PlanTerms { more: true, ..plan_of(file, checks) })
}

#[test]
fn a_plan_in_parts_is_handed_to_a_worktree() {
    let mut cycle = Cycle::new(Goal::Deliver, Bounds { in_worktree: false, ..BOUNDS });
    assert_eq!(cycle.step(a_part("a", &["t"])), Next::HandOver);
    let mut cycle = Cycle::new(Goal::PlanOnly, Bounds { in_worktree: false, ..BOUNDS });
    assert_eq!(cycle.step(a_part("a", &["t"])), delivered(Verified::NotNeeded));
}

#[test]
fn what_the_checks_say_counts_after_the_last_part() {
    let mut cycle = cycle();
    assert_eq!(cycle.step(a_part("a", &["t"])), Next::Draft(DraftReason::NewPlan));
    assert_eq!(cycle.checks(), ["t"]);
    assert_eq!(verified(&mut cycle, fails(&["a"])), Next::Plan(PlanReason::NextPart));
    assert_eq!((cycle.part(), cycle.iteration()), (2, 2));
    let last = Input::Planned(plan_of("b", &["u"]));
    assert_eq!(cycle.step(last), Next::Draft(DraftReason::NewPlan), "nothing is checked before");
    assert_eq!(cycle.checks(), ["t", "u"], "all parts are checked");
    let both = |outcome| judged(vec![check("t", outcome, &[]), check("u", outcome, &[])]);
    let end = verified(&mut cycle, Input::Verified(both(CheckOutcome::Passed)));
    assert_eq!(end, delivered(Verified::Passed));
}

#[test]
fn each_part_has_all_its_attempts() {
    let mut cycle = cycle();
    let refusals = |cycle: &mut Cycle| {
        (0..5).for_each(|_| drop(cycle.step(Input::Crashed)));
        assert_eq!(why(cycle.doing()), None);
    };
    refusals(&mut cycle);
    cycle.step(a_part("a", &["t"]));
    verified(&mut cycle, fails(&["a"]));
    refusals(&mut cycle);
    assert_eq!(why(&cycle.step(Input::Crashed)), Some(NeedsWork::Crashed));
}

#[test]
fn there_are_only_so_many_parts_and_each_changes_something() {
    let mut cycle = cycle();
    cycle.step(a_part("a", &["t"]));
    verified(&mut cycle, fails(&["a"]));
    let end = cycle.step(a_part("b", &["t"]));
    assert_eq!(why(&end), Some(NeedsWork::NoPlan), "two parts are allowed");

    let mut empty = Cycle::new(Goal::Deliver, Bounds { max_parts: 3, ..BOUNDS });
    empty.step(a_part("a", &["t"]));
    verified(&mut empty, fails(&["a"]));
    empty.step(a_part("b", &["t"]));
    let end = empty.step(Input::NothingMore { reason: "it is there".to_owned() });
    assert_eq!(why(&end), Some(NeedsWork::NoDraft));
}

#[test]
fn an_architect_that_finds_nothing_more_to_do_has_made_the_last_part() {
    let mut cycle = cycle();
    cycle.step(a_part("a", &["t"]));
    verified(&mut cycle, checks(CheckOutcome::Passed, &[]));
    assert_eq!(cycle.step(nothing_to_do(&[])), delivered(Verified::Passed));

    let mut red = Cycle::new(Goal::Deliver, BOUNDS);
    red.step(a_part("a", &["t"]));
    verified(&mut red, fails(&["a"]));
    assert_eq!(red.step(nothing_to_do(&[])), Next::Plan(PlanReason::StillFails));
}
