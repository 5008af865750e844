//! The loop Architect → Editor → Apply → Verify as a table: `step(state, input) -> effect`. Pure.
//!
//! It decides who is asked next and when a run is over, and nothing else; the crew carries the effects out.

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
