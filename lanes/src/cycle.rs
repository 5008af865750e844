//! The loop Architect → Editor → Apply → Verify as a table: `step(state, input) -> effect`. Pure.
//!
//! It only decides who is asked next and when the run ends; the crew carries out the effects.

#[cfg(test)]
mod tests;

use actors::checks::CheckOutcome;
use actors::delivery::{Delivery, Missing, NeedsWork, Unverified, Verified};
use actors::failure::{ErrorSet, FailureClass, FailureHistory};
use actors::workspace::Denied;
use config::FailureClassifier;

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Deliver a verified change.
    Deliver,
    /// Stop after the plan.
    PlanOnly,
}

/// Bounds of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Attempts in total.
    pub max_iterations: u32,
    /// When failures count as the same.
    pub classifier: FailureClassifier,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The plan wants files changed.
    Planned,
    /// The plan wants nothing changed.
    NoEdit {
        /// The plan's reason.
        reason: String,
    },
    /// The Editor gave a diff.
    Drafted,
    /// The Editor gave no readable diff, even after repair turns.
    DraftUnreadable,
    /// The diff needs files that the plan does not declare.
    PlanLacks,
    /// The Editor has nothing to add to what is applied.
    NothingMore,
    /// The diff was applied.
    Applied,
    /// The diff was applied, except for what the user left out of it.
    AppliedInPart,
    /// The diff does not apply; nothing was written.
    Refused,
    /// The user refused and said what is wrong.
    Objected,
    /// The checks ran.
    Verified(Judgement),
    /// A role crashed during the step.
    Crashed,
    /// Something outside the loop ends the run immediately.
    Stopped(Delivery),
}

/// The result of the checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The worst outcome.
    pub outcome: CheckOutcome,
    /// All failures, with numbers normalized.
    pub errors: ErrorSet,
    /// True if the failures from before the change are exactly the same as then.
    pub old_unchanged: bool,
    /// The denial, when the outcome is that policy denied a command.
    pub denied: Option<Denied>,
    /// True if a check that passes now fails without the change.
    pub proven: bool,
    /// True if something else kept changing the tree while the checks ran.
    pub moved: bool,
    /// What is missing, when the outcome is that the environment lacks something.
    pub missing: Option<Missing>,
}

/// The next effect.
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
    /// End the run.
    Finish(Delivery),
}

/// Why the Architect is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanReason {
    /// There is no plan.
    First,
    /// The last plan failed.
    Failed(FailureClass),
    /// The last plan lacks files.
    Lacks,
    /// Only checks that failed before the change still fail.
    OldFailures,
    /// The user refused and gave a reason.
    Objected,
}

/// How often per run a plan may lack files without costing an attempt.
const FREE_LACKS: u32 = 2;

/// Why the Editor is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftReason {
    /// There is a new plan.
    NewPlan,
    /// The last answer was not a diff.
    Unreadable,
    /// The last diff does not apply.
    Refused,
    /// The user left out parts of the last diff.
    LeftOut,
    /// The checks fail because of the last diff.
    ChecksFail,
    /// Only checks that failed before the change still fail.
    OldFailures,
}

/// Which roles have been shown the failures from before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OldFailures {
    NotShown,
    ShownToEditor,
    ShownToArchitect,
}

/// The state of the loop.
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
    /// The last result of the checks.
    judgement: Option<Judgement>,
    /// True if something is applied that has not been checked.
    unchecked: bool,
    last_class: Option<FailureClass>,
    fewest: Option<usize>,
    at_best: bool,
}

impl Cycle {
    /// Returns a loop before its first step, which is to ask for a plan.
    pub fn new(goal: Goal, bounds: Bounds) -> Self {
        Self {
            goal,
            bounds,
            doing: Next::Plan(PlanReason::First),
            iteration: 1,
            history: FailureHistory::default(),
            refusals_in_plan: 0,
            lacks: 0,
            old: OldFailures::NotShown,
            judgement: None,
            unchecked: false,
            last_class: None,
            fewest: None,
            at_best: false,
        }
    }

    /// The current effect.
    pub const fn doing(&self) -> &Next {
        &self.doing
    }

    /// The current attempt, starting at one.
    pub const fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The class of the last failure.
    pub const fn last_class(&self) -> Option<FailureClass> {
        self.last_class
    }

    /// Returns true if the tree as last verified has the fewest failures so far.
    pub const fn is_best(&self) -> bool {
        self.at_best
    }

    /// Takes the result of the current step and returns the next one.
    pub fn step(&mut self, input: Input) -> Next {
        let next = match input {
            Input::Planned => self.planned(),
            // After a failure this is not an answer: something was edited, and it does not work.
            Input::NoEdit { reason } if self.old == OldFailures::ShownToArchitect => {
                needs_work(NeedsWork::PreExisting, reason)
            }
            Input::NoEdit { reason } if self.last_class.is_some() => {
                needs_work(NeedsWork::NoPlan, reason)
            }
            Input::NoEdit { reason } => {
                Next::Finish(Delivery::NoEditNeeded { reason: reason.into() })
            }
            Input::Drafted => Next::Apply,
            // Shown the old failures, the Editor has nothing to add; the Architect may.
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

    /// Handles a diff that is unreadable or does not apply: back to the Editor first, to the Architect if it keeps
    /// happening.
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

    /// Returns to the Architect immediately. The first [`FREE_LACKS`] times in a run cost no attempt.
    fn lacks_files(&mut self) -> Next {
        self.last_class = Some(FailureClass::PatchMismatch);
        self.lacks += 1;
        if self.lacks > FREE_LACKS && self.attempt_failed() {
            return self.used_up(NeedsWork::NoDraft);
        }
        self.refusals_in_plan = 0;
        Next::Plan(PlanReason::Lacks)
    }

    /// Has the Architect plan again with the user's objection. Costs an attempt.
    fn objected(&mut self) -> Next {
        if self.attempt_failed() {
            return self.used_up(NeedsWork::IterationsUsedUp);
        }
        self.refusals_in_plan = 0;
        Next::Plan(PlanReason::Objected)
    }

    /// Has the Editor decide about the parts that were left out. Costs an attempt; if none remains, what was applied is
    /// checked.
    fn left_out(&mut self) -> Next {
        self.unchecked = true;
        if self.attempt_failed() {
            return Next::Verify;
        }
        Next::Draft(DraftReason::LeftOut)
    }

    /// What is applied stays, so the last result of the checks still holds. If something was never checked (the user
    /// refused the checks), it is checked now, with the current plan's checks.
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
            CheckOutcome::Passed | CheckOutcome::Flaky if judgement.moved => {
                delivered(Verified::Unverified(Unverified::TreeMoved))
            }
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
                None => unverifiable("something that a verification command needs is missing"),
            },
            CheckOutcome::PolicyDenied => {
                let (what, hint) = Default::default();
                let unknown = Delivery::Denied { what, hint };
                Next::Finish(judgement.denied.map_or(unknown, |denied| denied.delivery()))
            }
            CheckOutcome::CommandMissing => unverifiable("a verification command is not installed"),
            CheckOutcome::TimedOut => unverifiable("a verification command timed out"),
            CheckOutcome::Infrastructure => unverifiable("the machine failed while verifying"),
            CheckOutcome::PreExisting => self.old_failures(&judgement),
            CheckOutcome::CodeFailure => self.failed(&judgement.errors),
        }
    }

    /// Nothing new fails. The Editor sees the old failures once, since fixing them may be the task. If they stay
    /// exactly the same, the Architect sees them next, at no cost of an attempt. After that the run ends with them.
    fn old_failures(&mut self, judgement: &Judgement) -> Next {
        match self.old {
            OldFailures::NotShown => {
                self.old = OldFailures::ShownToEditor;
                self.remember_best(judgement.errors.len());
                if self.attempt_failed() {
                    return self.tell_architect();
                }
                Next::Draft(DraftReason::OldFailures)
            }
            OldFailures::ShownToEditor | OldFailures::ShownToArchitect
                if !judgement.old_unchanged =>
            {
                self.failed(&judgement.errors)
            }
            OldFailures::ShownToEditor => self.tell_architect(),
            OldFailures::ShownToArchitect => {
                needs_work(NeedsWork::PreExisting, describe_old(&judgement.errors))
            }
        }
    }

    /// Tells the Architect, once, that only old failures remain. Costs no attempt.
    fn tell_architect(&mut self) -> Next {
        self.old = OldFailures::ShownToArchitect;
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

    /// Repeats the step. Costs an attempt.
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

    /// Counts a failed attempt. Returns true if it was the last one.
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

/// Describes the old failures for the user.
fn describe_old(errors: &ErrorSet) -> String {
    const MOST: usize = 5;
    let shown = errors.iter().take(MOST).map(|error| {
        let parts = [&error.file, &error.code, &error.message];
        let parts: Vec<&str> = parts.into_iter().map(String::as_str).collect();
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let shown: Vec<String> = shown.collect();
    let more = match errors.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("these errors existed before the change: {}{more}", shown.join("; "))
}

fn unverifiable(detail: &str) -> Next {
    needs_work(NeedsWork::Unverifiable, detail.to_owned())
}

fn needs_work(why: NeedsWork, detail: String) -> Next {
    Next::Finish(Delivery::NeedsWork { why, detail: detail.into() })
}
