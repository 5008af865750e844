//! The loop Architect → Editor → Apply → Verify as a table: `step(state, input) -> effect`. Pure.
//!
//! It only decides who is asked next, what is checked, and when the run ends; the crew carries out the effects.

mod after;
mod judgement;
mod owed;
mod parts;
#[cfg(test)]
mod properties;
#[cfg(test)]
pub(super) mod tests;
mod words;

use std::collections::BTreeSet;

use checks::failure_class::{FailureClass, FailureHistory};
use facts::delivery::{Delivery, NeedsWork, Unverified, Verified};
use tree::RepoPath;

use self::after::AfterVerification;
use self::judgement::CheckStanding;
pub use self::judgement::Judgement;
use self::owed::Owed;
use self::parts::Parts;
pub use self::words::{Bounds, DraftReason, Goal, Input, Next, PlanReason, PlanTerms};

/// How often per run a plan may lack files without costing an attempt.
const FREE_LACKS: u32 = 2;
/// How many plans may come to nothing because their Editor goes round in circles; the next one ends the run.
const FREE_STALLS: u32 = 1;

/// Which roles have been shown the failures from before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OldFailures {
    NotShown,
    ShownToEditor,
    ShownToArchitect,
}

/// Who wrote a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    Editor,
    /// It came with the plan.
    Architect,
}

/// What of the run is in the tree.
#[derive(Debug, Clone, PartialEq)]
enum InTree {
    /// Nothing.
    Nothing,
    /// Changes that have not been checked.
    Unchecked,
    /// Changes, with the last result of the checks on them.
    Checked(Judgement),
}

/// The state of the loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycle {
    goal: Goal,
    bounds: Bounds,
    doing: Next,
    iteration: u32,
    history: FailureHistory,
    plan: PlanTerms,
    /// The checks that were run last.
    ran: Vec<String>,
    owed: Owed,
    parts: Parts,
    /// Who wrote the last diff.
    author: Author,
    refusals_in_plan: u32,
    lacks: u32,
    /// The files that the last plan lacked.
    lacked: Vec<RepoPath>,
    /// Plans that came to nothing.
    stalls: u32,
    old: OldFailures,
    asked_for_checks: bool,
    /// True if the Architect was told that something fails although it wants nothing more, and has not planned since.
    insists: bool,
    in_tree: InTree,
    /// What the next result of the checks is for.
    after: AfterVerification,
    last_class: Option<FailureClass>,
    /// The class given to a failure in the last step.
    classified: Option<FailureClass>,
    fewest: Option<usize>,
    at_best: bool,
}

impl Cycle {
    /// Returns what the loop is for.
    pub const fn goal(&self) -> Goal {
        self.goal
    }

    /// Returns a loop before its first step, which is to ask for a plan.
    pub fn new(goal: Goal, bounds: Bounds) -> Self {
        Self {
            goal,
            bounds,
            doing: Next::Plan(PlanReason::First),
            iteration: 1,
            history: FailureHistory::default(),
            plan: PlanTerms::default(),
            ran: Vec::new(),
            owed: Owed::default(),
            parts: Parts::default(),
            author: Author::Editor,
            refusals_in_plan: 0,
            lacks: 0,
            lacked: Vec::new(),
            stalls: 0,
            old: OldFailures::NotShown,
            asked_for_checks: false,
            insists: false,
            in_tree: InTree::Nothing,
            after: AfterVerification::Change,
            last_class: None,
            classified: None,
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

    /// Returns the checks to run: those of the plan, after the last part also those of the parts before, and those that
    /// are owed.
    pub fn checks(&self) -> Vec<String> {
        if self.plan.more {
            return self.owed.with(&self.plan.checks);
        }
        self.owed.with(&self.parts.with(&self.plan.checks))
    }

    /// The class of the last failure.
    pub const fn last_class(&self) -> Option<FailureClass> {
        self.last_class
    }

    /// The class that the last step gave to a failure of the checks.
    pub const fn classified(&self) -> Option<FailureClass> {
        self.classified
    }

    /// Returns true if the tree as last verified has the fewest failures so far.
    pub const fn is_best(&self) -> bool {
        self.at_best
    }

    /// Takes the result of the current step and returns the next one.
    pub fn step(&mut self, input: Input) -> Next {
        self.classified = None;
        let next = match input {
            Input::Planned(plan) => self.planned(plan),
            Input::NothingToDo { reason, checks } => self.nothing_to_do(reason, checks),
            Input::Question => Next::Question,
            Input::Drafted => self.drafted(Author::Editor),
            Input::DraftedWithPlan => self.drafted(Author::Architect),
            // Shown the old failures, the Editor has nothing to add; the Architect may.
            Input::DraftUnreadable if self.doing == Next::Draft(DraftReason::OldFailures) => {
                self.tell_architect()
            }
            Input::DraftUnreadable => self.refused(DraftReason::Unreadable),
            Input::Repeating => self.repeating(),
            Input::DraftTooLong => self.draft_failed(),
            Input::PlanLacks(files) => self.lacks_files(files),
            Input::NothingMore { reason } => self.nothing_more(reason),
            Input::NothingRuns { others } => self.nothing_runs(others),
            Input::Applied => {
                self.applied();
                self.verify(AfterVerification::Change)
            }
            Input::AppliedInPart => self.left_out(),
            Input::Refused => self.refused(DraftReason::Refused),
            Input::Objected => self.objected(),
            Input::Verified(judgement) => self.verified(judgement),
            Input::Crashed => self.crashed(),
            Input::Stopped(delivery) => Next::Finish(delivery),
        };
        self.doing = next.clone();
        next
    }

    const fn drafted(&mut self, author: Author) -> Next {
        self.author = author;
        Next::Apply
    }

    /// Has the plan carried out. If it names other checks than those that were run on what is applied, they are run
    /// first: perhaps nothing has to be changed for them to pass.
    fn planned(&mut self, plan: PlanTerms) -> Next {
        if self.goal == Goal::PlanOnly {
            return delivered(Verified::NotNeeded);
        }
        let wants_the_same =
            self.plan.files == plan.files && self.plan.operations == plan.operations;
        self.plan = plan;
        self.insists = false;
        if let Some(next) = self.in_parts() {
            return next;
        }
        let Next::Plan(asked) = self.doing else { return self.carry_out() };
        if asked == PlanReason::CannotRun && wants_the_same {
            return Next::Apply;
        }
        let follows_change = self.in_tree != InTree::Nothing && self.parts.is_same_part();
        if follows_change && self.has_other_checks() {
            let ends = match asked {
                PlanReason::Failed(_) | PlanReason::OldFailures | PlanReason::StillFails => {
                    wants_the_same && !self.plan.more
                }
                // More is wanted than what is applied.
                PlanReason::First
                | PlanReason::Lacks
                | PlanReason::CannotRun
                | PlanReason::Objected
                | PlanReason::NextPart => false,
            };
            return self.verify(AfterVerification::Plan { ends });
        }
        self.carry_out()
    }

    /// Has the Editor draft the plan, unless the program can carry it out by itself.
    const fn carry_out(&self) -> Next {
        if self.is_by_program() { Next::Apply } else { Next::Draft(DraftReason::NewPlan) }
    }

    /// Returns true if the plan needs no diff.
    const fn is_by_program(&self) -> bool {
        self.plan.files.is_empty() && !self.plan.operations.is_empty()
    }

    /// Returns true if other checks are to be run than those that were run last.
    fn has_other_checks(&self) -> bool {
        let checks = self.checks();
        checks.iter().collect::<BTreeSet<_>>() != self.ran.iter().collect()
    }

    /// The Architect wants nothing changed, or nothing more. Ends the run if the checks on what is applied allow that;
    /// if it names other checks, they are run first.
    fn nothing_to_do(&mut self, reason: String, checks: Vec<String>) -> Next {
        if !checks.is_empty() {
            self.plan.checks = checks;
        }
        // What was to follow is not needed.
        self.plan.more = false;
        if self.doing == Next::Plan(PlanReason::CannotRun) {
            return Next::Apply;
        }
        match &self.in_tree {
            InTree::Nothing => match self.last_class {
                // After a failure this is not an answer.
                Some(_) => needs_work(NeedsWork::NoPlan, reason),
                None => Next::Finish(Delivery::NoEditNeeded { reason: reason.into() }),
            },
            InTree::Checked(judgement) if !self.has_other_checks() => {
                self.ended(judgement.standing(), reason)
            }
            InTree::Unchecked | InTree::Checked(_) => {
                self.verify(AfterVerification::End { reason })
            }
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
        if self.refusals_in_plan > self.bounds.classifier.repeat_threshold || self.is_by_program() {
            return self.replan(FailureClass::PatchMismatch);
        }
        Next::Draft(reason)
    }

    /// Has the Architect plan again, since the Editor goes round in circles. Costs an attempt.
    fn repeating(&mut self) -> Next {
        self.last_class = Some(FailureClass::PatchMismatch);
        if self.stalled() {
            return needs_work(
                NeedsWork::NoDraft,
                "the model gives the same answer again and again".to_owned(),
            );
        }
        self.draft_failed()
    }

    /// Has the Architect plan again, since no draft comes of this plan. Costs an attempt.
    fn draft_failed(&mut self) -> Next {
        self.last_class = Some(FailureClass::PatchMismatch);
        if self.doing == Next::Draft(DraftReason::OldFailures) {
            return self.tell_architect();
        }
        if self.attempt_failed() {
            return self.used_up(NeedsWork::NoDraft);
        }
        self.replan(FailureClass::PatchMismatch)
    }

    /// Returns to the Architect immediately. The first [`FREE_LACKS`] times in a run cost no attempt; a plan that lacks
    /// the same files as the one before has come to nothing.
    fn lacks_files(&mut self, files: Vec<RepoPath>) -> Next {
        self.last_class = Some(FailureClass::PatchMismatch);
        let again = self.lacked == files;
        self.lacked = files;
        if again && self.stalled() {
            let detail = "the plan lacks the files that the change needs, again and again";
            return needs_work(NeedsWork::NoDraft, detail.to_owned());
        }
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

    /// Has the Editor decide about the parts that were left out. Costs an attempt; if none remains, or the Editor
    /// has no part in the change, what was applied is checked.
    fn left_out(&mut self) -> Next {
        self.applied();
        if self.attempt_failed() || self.is_by_program() {
            return self.verify(AfterVerification::Change);
        }
        Next::Draft(DraftReason::LeftOut)
    }

    /// What cannot run here is replaced by derived checks that can. If there are none, the Architect is asked for others,
    /// once, at no cost of an attempt.
    fn nothing_runs(&mut self, others: Vec<String>) -> Next {
        if !others.is_empty() {
            self.plan.checks = others;
            return Next::Apply;
        }
        if std::mem::replace(&mut self.asked_for_checks, true) {
            return Next::Apply;
        }
        Next::Plan(PlanReason::CannotRun)
    }

    /// What is applied stays, so the last result of the checks still holds. If something was never checked (the user
    /// refused the checks), it is checked now, with the current plan's checks.
    fn nothing_more(&mut self, reason: String) -> Next {
        if self.plan.more && !self.parts.begun {
            return self.part_is_empty(&reason);
        }
        let judgement = match &self.in_tree {
            InTree::Nothing => return self.refused(DraftReason::Unreadable),
            InTree::Unchecked => return self.verify(AfterVerification::Change),
            InTree::Checked(_) if self.plan.more => return self.part_made(),
            InTree::Checked(judgement) => judgement,
        };
        let may_be_told = judgement.is_all_old() && self.old != OldFailures::ShownToArchitect;
        match judgement.standing() {
            CheckStanding::Old | CheckStanding::Red if may_be_told => self.tell_architect(),
            CheckStanding::Sound(verified) => delivered(verified),
            CheckStanding::Old => old_failures_left(reason),
            CheckStanding::Red if self.stalled() => newly_failing(&reason),
            CheckStanding::Red if self.attempt_failed() => {
                self.used_up(NeedsWork::IterationsUsedUp)
            }
            CheckStanding::Red => self.replan(FailureClass::RepeatedVerifyFailure),
            CheckStanding::Denied(delivery) => Next::Finish(delivery),
            CheckStanding::Unverifiable(detail) => unverifiable(detail),
        }
    }

    /// Tells the Architect, once, that only old failures remain. Costs no attempt.
    fn tell_architect(&mut self) -> Next {
        self.old = OldFailures::ShownToArchitect;
        self.start_plan();
        Next::Plan(PlanReason::OldFailures)
    }

    /// Repeats the step. Costs an attempt.
    fn crashed(&mut self) -> Next {
        if self.attempt_failed() {
            return self.used_up(NeedsWork::Crashed);
        }
        self.doing.clone()
    }

    fn replan(&mut self, class: FailureClass) -> Next {
        self.start_plan();
        Next::Plan(PlanReason::Failed(class))
    }

    /// Counts from anew what is counted under one plan.
    fn start_plan(&mut self) {
        self.history.replanned();
        self.refusals_in_plan = 0;
    }

    /// Notes that something is in the tree that has not been checked.
    fn applied(&mut self) {
        self.in_tree = InTree::Unchecked;
        self.parts.begun = true;
    }

    /// Counts a plan that came to nothing. Returns true if it was one too many.
    const fn stalled(&mut self) -> bool {
        self.stalls += 1;
        self.stalls > FREE_STALLS
    }

    /// Counts a failed attempt. Returns true if it was the last one.
    fn attempt_failed(&mut self) -> bool {
        let last = self.parts.attempts_of(self.iteration) >= self.bounds.max_iterations;
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
}

fn delivered(verified: Verified) -> Next {
    Next::Finish(Delivery::Delivered { verified })
}

/// Delivers a change although checks fail, as they did before it.
fn old_failures_left(reason: String) -> Next {
    let reason = Some(reason.into());
    delivered(Verified::Unverified(Unverified::OldFailures { reason }))
}

/// Ends a run whose change breaks something that the models do not want to mend.
fn newly_failing(reason: &str) -> Next {
    let detail =
        format!("checks fail, and not as they did before the change; the model says: {reason}");
    needs_work(NeedsWork::ChecksFail, detail)
}

fn unverifiable(detail: &str) -> Next {
    needs_work(NeedsWork::Unverifiable, detail.to_owned())
}

fn needs_work(why: NeedsWork, detail: String) -> Next {
    Next::Finish(Delivery::NeedsWork { why, detail: detail.into() })
}
