//! The loop Architect → Editor → Apply → Verify as a table: `step(state, input) -> effect`. Pure.
//!
//! It decides who is asked next and when a run is over, and nothing else; the crew carries the effects out.

use actors::checks::CheckOutcome;
use actors::delivery::{Delivery, Missing, NeedsWork, Unverified, Verified};
use actors::failure::{ErrorSet, FailureClass, FailureHistory};
use actors::workspace::Denied;
use config::FailureClassifier;

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// To a verified change.
    Deliver,
    /// To a plan.
    PlanOnly,
}

/// Bounds of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Attempts in all.
    pub max_iterations: u32,
    /// When failures count as the same.
    pub classifier: FailureClassifier,
}

/// What a step ended in.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// There is a plan that wants files changed.
    Planned,
    /// There is a plan that wants nothing changed.
    NoEdit {
        /// Why.
        reason: String,
    },
    /// There is a diff.
    Drafted,
    /// There is no readable diff, repair turns included.
    DraftUnreadable,
    /// The diff cannot be written within the plan: it lacks files.
    PlanLacks,
    /// The Editor has nothing to add to what is applied.
    NothingMore,
    /// The diff is in the tree.
    Applied,
    /// The diff is in the tree but for what the user left out of it.
    AppliedInPart,
    /// The diff does not apply; nothing was written.
    Refused,
    /// The user said no, and what is wrong with it.
    Objected,
    /// The checks were run.
    Verified(Judgement),
    /// A role died on the way.
    Crashed,
    /// Something ends the run here and now.
    Stopped(Delivery),
}

/// What the checks say.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The worst outcome.
    pub outcome: CheckOutcome,
    /// Everything that fails, with numbers folded.
    pub errors: ErrorSet,
    /// Whether what failed before the change fails to the letter as it did then.
    pub old_unchanged: bool,
    /// The denial, when the outcome is that policy denied a command.
    pub denied: Option<Denied>,
    /// Whether a check failed without the change that passes with it.
    pub proven: bool,
    /// What is missing, when the outcome is that the environment lacks something.
    pub missing: Option<Missing>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Ask the Architect.
    Plan(PlanReason),
    /// Ask the Editor.
    Draft(DraftReason),
    /// Apply the diff.
    Apply,
    /// Run the checks.
    Verify,
    /// The run is over.
    Finish(Delivery),
}

/// Why the Architect is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanReason {
    /// There is no plan.
    First,
    /// The last one failed.
    Failed(FailureClass),
    /// The last one lacks files.
    Lacks,
    /// Nothing fails but what failed before the change.
    OldFailures,
    /// The user said no, and why.
    Objected,
}

/// How often in a run a plan may lack files before that costs an attempt.
const FREE_LACKS: u32 = 2;

/// Why the Editor is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftReason {
    /// There is a new plan.
    NewPlan,
    /// The last answer was no diff.
    Unreadable,
    /// The last diff does not apply.
    Refused,
    /// The user left some of the last diff out.
    LeftOut,
    /// The checks fail because of the last diff.
    ChecksFail,
    /// Only what failed before the change still fails.
    OldFailures,
}

/// Who was told of failures that are older than the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OldFailures {
    Untold,
    ToldEditor,
    ToldArchitect,
}

/// Where the loop stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycle {
    goal: Goal,
    bounds: Bounds,
    doing: Next,
    iteration: u32,
    history: FailureHistory,
    refusals_in_plan: u32,
    lacks: u32,
    old: OldFailures,
    /// What the checks said last.
    judgement: Option<Judgement>,
    /// Whether something is applied that was not checked.
    unchecked: bool,
    last_class: Option<FailureClass>,
    fewest: Option<usize>,
    at_best: bool,
}

impl Cycle {
    /// A loop that has not begun; its first effect is to ask for a plan.
    pub fn new(goal: Goal, bounds: Bounds) -> Self {
        Self {
            goal,
            bounds,
            doing: Next::Plan(PlanReason::First),
            iteration: 1,
            history: FailureHistory::default(),
            refusals_in_plan: 0,
            lacks: 0,
            old: OldFailures::Untold,
            judgement: None,
            unchecked: false,
            last_class: None,
            fewest: None,
            at_best: false,
        }
    }

    /// What is being done now.
    pub const fn doing(&self) -> &Next {
        &self.doing
    }

    /// The attempt in hand, from one.
    pub const fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The class of the last failure.
    pub const fn last_class(&self) -> Option<FailureClass> {
        self.last_class
    }

    /// Whether the tree as it was last verified has the fewest failures of all seen.
    pub const fn is_best(&self) -> bool {
        self.at_best
    }

    /// Takes in what the step ended in and tells the next one.
    pub fn step(&mut self, input: Input) -> Next {
        let next = match input {
            Input::Planned => self.planned(),
            // After a failure it is no answer: something was edited, and it does not work.
            Input::NoEdit { reason } if self.old == OldFailures::ToldArchitect => {
                needs_work(NeedsWork::PreExisting, reason)
            }
            Input::NoEdit { reason } if self.last_class.is_some() => {
                needs_work(NeedsWork::NoPlan, reason)
            }
            Input::NoEdit { reason } => {
                Next::Finish(Delivery::NoEditNeeded { reason: reason.into() })
            }
            Input::Drafted => Next::Apply,
            // Shown what failed before, the Editor has nothing to add: then the Architect may.
            Input::DraftUnreadable if self.doing == Next::Draft(DraftReason::OldFailures) => {
                self.tell_architect()
            }
            Input::DraftUnreadable => self.refused(DraftReason::Unreadable),
            Input::PlanLacks => self.lacks_files(),
            Input::NothingMore => self.nothing_more(),
            Input::Applied => {
                self.unchecked = true;
                Next::Verify
            }
            Input::AppliedInPart => self.left_out(),
            Input::Refused => self.refused(DraftReason::Refused),
            Input::Objected => self.objected(),
            Input::Verified(judgement) => {
                self.unchecked = false;
                self.judgement = Some(judgement.clone());
                self.judged(judgement)
            }
            Input::Crashed => self.crashed(),
            Input::Stopped(delivery) => Next::Finish(delivery),
        };
        self.doing = next.clone();
        next
    }

    fn planned(&mut self) -> Next {
        match self.goal {
            Goal::Deliver => Next::Draft(DraftReason::NewPlan),
            Goal::PlanOnly => Next::Finish(Delivery::Delivered { verified: Verified::NotNeeded }),
        }
    }

    /// A diff that is none or does not apply: the Editor first, the Architect when it keeps happening.
    fn refused(&mut self, reason: DraftReason) -> Next {
        self.last_class = Some(FailureClass::PatchMismatch);
        self.refusals_in_plan += 1;
        if self.attempt_failed() {
            return self.used_up(NeedsWork::NoDraft);
        }
        if self.refusals_in_plan > self.bounds.classifier.repeat_threshold {
            return self.replan(FailureClass::PatchMismatch);
        }
        Next::Draft(reason)
    }

    /// The Architect decides at once, and that costs no attempt, unless it goes on and on.
    fn lacks_files(&mut self) -> Next {
        self.last_class = Some(FailureClass::PatchMismatch);
        self.lacks += 1;
        if self.lacks > FREE_LACKS && self.attempt_failed() {
            return self.used_up(NeedsWork::NoDraft);
        }
        self.refusals_in_plan = 0;
        Next::Plan(PlanReason::Lacks)
    }

    /// The Architect takes the user's word into account, at the price of an attempt.
    fn objected(&mut self) -> Next {
        if self.attempt_failed() {
            return self.used_up(NeedsWork::IterationsUsedUp);
        }
        self.refusals_in_plan = 0;
        Next::Plan(PlanReason::Objected)
    }

    /// The Editor says what becomes of the rest, at the price of an attempt; without one, what is applied is checked as it is.
    fn left_out(&mut self) -> Next {
        self.unchecked = true;
        if self.attempt_failed() {
            return Next::Verify;
        }
        Next::Draft(DraftReason::LeftOut)
    }

    /// What is applied stays as it is: so what the checks said of it holds. Where the user did not want them to run, those of the
    /// plan that came after do.
    fn nothing_more(&mut self) -> Next {
        if self.unchecked {
            return Next::Verify;
        }
        match self.judgement.take() {
            Some(judgement) if judgement.outcome == CheckOutcome::CodeFailure => {
                if self.attempt_failed() {
                    return self.used_up(NeedsWork::IterationsUsedUp);
                }
                self.replan(FailureClass::RepeatedVerifyFailure)
            }
            Some(judgement) => self.judged(judgement),
            None => self.refused(DraftReason::Unreadable),
        }
    }

    fn judged(&mut self, judgement: Judgement) -> Next {
        let delivered = |verified| Next::Finish(Delivery::Delivered { verified });
        match judgement.outcome {
            CheckOutcome::Passed | CheckOutcome::Flaky if judgement.proven => {
                delivered(Verified::Proven)
            }
            CheckOutcome::Passed | CheckOutcome::Flaky => delivered(Verified::Passed),
            CheckOutcome::Unverified => {
                delivered(Verified::Unverified(Unverified::NothingCouldFail))
            }
            CheckOutcome::Environment => match judgement.missing {
                Some(missing) => {
                    delivered(Verified::Unverified(Unverified::Environment { missing }))
                }
                None => unverifiable("what a verification command needs is not there"),
            },
            CheckOutcome::PolicyDenied => {
                let (what, hint) = Default::default();
                let unknown = Delivery::Denied { what, hint };
                Next::Finish(judgement.denied.map_or(unknown, |denied| denied.delivery()))
            }
            CheckOutcome::CommandMissing => unverifiable("a verification command is not installed"),
            CheckOutcome::TimedOut => unverifiable("a verification command did not end in time"),
            CheckOutcome::Infrastructure => unverifiable("the machine failed while verifying"),
            CheckOutcome::PreExisting => self.old_failures(&judgement),
            CheckOutcome::CodeFailure => self.failed(&judgement.errors),
        }
    }

    /// Nothing new fails. The Editor sees the old failures once, since mending them may be the task; as long as they stay as
    /// they are, the Architect is told of them next, and that is no attempt; and then that is how it stands.
    fn old_failures(&mut self, judgement: &Judgement) -> Next {
        match self.old {
            OldFailures::Untold => {
                self.old = OldFailures::ToldEditor;
                self.remember_best(judgement.errors.len());
                if self.attempt_failed() {
                    return self.tell_architect();
                }
                Next::Draft(DraftReason::OldFailures)
            }
            OldFailures::ToldEditor | OldFailures::ToldArchitect if !judgement.old_unchanged => {
                self.failed(&judgement.errors)
            }
            OldFailures::ToldEditor => self.tell_architect(),
            OldFailures::ToldArchitect => {
                needs_work(NeedsWork::PreExisting, told_old(&judgement.errors))
            }
        }
    }

    /// Tells the Architect, once, that nothing fails but what failed before. It costs no attempt.
    fn tell_architect(&mut self) -> Next {
        self.old = OldFailures::ToldArchitect;
        self.refusals_in_plan = 0;
        self.history.replanned();
        Next::Plan(PlanReason::OldFailures)
    }

    fn failed(&mut self, errors: &ErrorSet) -> Next {
        self.remember_best(errors.len());
        let class = self.history.classify(errors, &self.bounds.classifier);
        self.last_class = Some(class);
        if self.attempt_failed() {
            return self.used_up(NeedsWork::IterationsUsedUp);
        }
        match class {
            FailureClass::MechanicalVerifyFailure => Next::Draft(DraftReason::ChecksFail),
            FailureClass::RepeatedVerifyFailure
            | FailureClass::DesignMismatch
            | FailureClass::PatchMismatch => self.replan(class),
        }
    }

    /// The same step again, at the price of an attempt.
    fn crashed(&mut self) -> Next {
        if self.attempt_failed() {
            return self.used_up(NeedsWork::Crashed);
        }
        self.doing.clone()
    }

    fn replan(&mut self, class: FailureClass) -> Next {
        self.history.replanned();
        self.refusals_in_plan = 0;
        Next::Plan(PlanReason::Failed(class))
    }

    /// Counts a failed attempt; true when it was the last.
    fn attempt_failed(&mut self) -> bool {
        let last = self.iteration >= self.bounds.max_iterations;
        if !last {
            self.iteration += 1;
        }
        last
    }

    fn used_up(&self, why: NeedsWork) -> Next {
        let last = self.last_class.map_or("nothing", FailureClass::name);
        let attempts = match self.bounds.max_iterations {
            1 => "1 attempt was made, and".to_owned(),
            several => format!("{several} attempts were made, the last"),
        };
        needs_work(why, format!("{attempts} ended in {last}"))
    }

    fn remember_best(&mut self, failures: usize) {
        self.at_best = self.fewest.is_none_or(|fewest| failures < fewest);
        if self.at_best {
            self.fewest = Some(failures);
        }
    }
}

/// Which failures are old, for the user.
fn told_old(errors: &ErrorSet) -> String {
    const MOST: usize = 5;
    let told = errors.iter().take(MOST).map(|error| {
        let parts = [&error.file, &error.code, &error.message];
        let parts: Vec<&str> = parts.into_iter().map(String::as_str).collect();
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let told: Vec<String> = told.collect();
    let more = match errors.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("what fails failed before the change: {}{more}", told.join("; "))
}

fn unverifiable(detail: &str) -> Next {
    needs_work(NeedsWork::Unverifiable, detail.to_owned())
}

fn needs_work(why: NeedsWork, detail: String) -> Next {
    Next::Finish(Delivery::NeedsWork { why, detail: detail.into() })
}

#[cfg(test)]
mod tests {
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
            missing: None,
        })
    }

    fn fails(names: &[&str]) -> Input {
        checks(CheckOutcome::CodeFailure, names)
    }

    /// Feeds a draft that applies and is then judged by `input`.
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
    fn a_long_list_of_errors_that_gets_shorter_is_no_design_mismatch() {
        let names: Vec<String> = (0..60).map(|n| format!("e{n:02}")).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut cycle = cycle();
        cycle.step(Input::Planned);
        verified(&mut cycle, fails(&all));
        let again = Next::Plan(PlanReason::Failed(FailureClass::RepeatedVerifyFailure));
        assert_eq!(verified(&mut cycle, fails(&all)), again);
        cycle.step(Input::Planned);
        // The first forty are the same; in all there are ten less.
        let next = verified(&mut cycle, fails(&all[..50]));
        assert_eq!(next, Next::Draft(DraftReason::ChecksFail));
    }

    #[test]
    fn the_straight_way() {
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
    fn six_failures_are_the_end() {
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
    fn a_diff_that_does_not_apply_is_mended_by_the_editor_first() {
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
        assert_eq!(cycle.iteration(), 2, "it is no attempt to ask the Architect");
        assert_eq!(cycle.step(Input::Planned), Next::Draft(DraftReason::NewPlan));
        assert_eq!(why(&verified(&mut cycle, old())), Some(NeedsWork::PreExisting));
    }

    #[test]
    fn who_has_nothing_to_add_to_old_failures_says_so() {
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
    fn how_far_it_is_verified_is_told() {
        let missing = Missing { kind: MissingKind::Network, name: None };
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
    fn what_is_no_fault_of_the_code_costs_no_call() {
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
    fn what_the_user_took_is_checked_once_the_editor_was_told_what_was_left_out() {
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
    fn what_is_applied_is_checked_by_the_plan_that_comes_after_a_no_to_its_checks() {
        let mut cycle = cycle();
        cycle.step(Input::Planned);
        cycle.step(Input::Drafted);
        assert_eq!(cycle.step(Input::Applied), Next::Verify);
        assert_eq!(cycle.step(Input::Objected), Next::Plan(PlanReason::Objected));
        assert_eq!(cycle.step(Input::Planned), Next::Draft(DraftReason::NewPlan));
        assert_eq!(cycle.step(Input::NothingMore), Next::Verify);
    }

    #[test]
    fn a_crash_costs_one_attempt_and_the_step_is_done_again() {
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
    fn a_plan_can_be_all_that_was_wanted() {
        let mut cycle = Cycle::new(Goal::PlanOnly, BOUNDS);
        let end = Next::Finish(Delivery::Delivered { verified: Verified::NotNeeded });
        assert_eq!(cycle.step(Input::Planned), end);
    }

    proptest! {
        /// However the steps end, the loop does: every attempt either progresses or counts.
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
            // What the Architect plans when it is told of old failures is no attempt that failed.
            prop_assert!(verifications <= BOUNDS.max_iterations + 1);
        }
    }
}
