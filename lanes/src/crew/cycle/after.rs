//! What follows a verification: the end of the run, or who is asked about what fails. Pure.

use checks::error_lines::ErrorSet;
use checks::failure_class::FailureClass;
use facts::delivery::NeedsWork;

use super::judgement::{CheckStanding, Judgement, describe_old};
use super::{
    Author, Cycle, DraftReason, InTree, Next, OldFailures, PlanReason, delivered, needs_work,
    newly_failing, old_failures_left, unverifiable,
};

/// What the results of the checks are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AfterVerification {
    /// The checks follow a diff.
    Change,
    /// The checks are new ones of a new plan, and no one has been asked for a diff yet. If `ends`, the plan wants the
    /// same changes as the last one, so passing checks end the run.
    Plan { ends: bool },
    /// The Architect wants nothing more.
    End { reason: String },
}

impl Cycle {
    pub(super) fn verify(&mut self, after: AfterVerification) -> Next {
        self.after = after;
        Next::Verify
    }

    /// Ends the run as the Architect wants, unless something fails newly.
    pub(super) fn ended(&mut self, standing: CheckStanding, reason: String) -> Next {
        match standing {
            CheckStanding::Sound(verified) => delivered(verified),
            CheckStanding::Old => old_failures_left(reason),
            CheckStanding::Red => self.still_fails(&reason),
            CheckStanding::Denied(delivery) => Next::Finish(delivery),
            CheckStanding::Unverifiable(detail) => unverifiable(detail),
        }
    }

    /// Tells the Architect that its work is not done; once, if it insists. Costs an attempt.
    fn still_fails(&mut self, reason: &str) -> Next {
        if std::mem::replace(&mut self.insists, true) || self.attempt_failed() {
            return newly_failing(reason);
        }
        self.start_plan();
        Next::Plan(PlanReason::StillFails)
    }

    pub(super) fn verified(&mut self, judgement: Judgement) -> Next {
        self.ran = self.checks();
        self.owed.settle(&judgement.report);
        let standing = judgement.standing();
        let (errors, is_all_old) = (judgement.report.errors(), judgement.is_all_old());
        self.in_tree = InTree::Checked(judgement);
        match (std::mem::replace(&mut self.after, AfterVerification::Change), standing) {
            (_, CheckStanding::Denied(delivery)) => Next::Finish(delivery),
            (AfterVerification::Change, _) if self.plan.more => self.part_made(),
            (_, CheckStanding::Unverifiable(detail)) => unverifiable(detail),
            (AfterVerification::End { reason }, standing) => self.ended(standing, reason),
            (
                AfterVerification::Change | AfterVerification::Plan { ends: true },
                CheckStanding::Sound(verified),
            ) => delivered(verified),
            (
                AfterVerification::Plan { .. },
                CheckStanding::Sound(_) | CheckStanding::Old | CheckStanding::Red,
            ) => self.carry_out(),
            (AfterVerification::Change, standing) if is_all_old => {
                self.old_failures(&errors, standing == CheckStanding::Old)
            }
            (AfterVerification::Change, CheckStanding::Old | CheckStanding::Red) => {
                self.failed(&errors)
            }
        }
    }

    /// Nothing new fails. The Editor sees the old failures once, since fixing them may be the task, unless the Architect
    /// wrote the diff. If they stay exactly the same, the Architect sees them next, at no cost of an attempt. After that
    /// the run ends with them.
    fn old_failures(&mut self, errors: &ErrorSet, unchanged: bool) -> Next {
        match self.old {
            OldFailures::NotShown => {
                self.old = OldFailures::ShownToEditor;
                self.remember_best(errors.len());
                let is_editors = self.author == Author::Editor && !self.is_by_program();
                if !is_editors || self.attempt_failed() {
                    return self.tell_architect();
                }
                Next::Draft(DraftReason::OldFailures)
            }
            OldFailures::ShownToEditor | OldFailures::ShownToArchitect if !unchanged => {
                self.failed(errors)
            }
            OldFailures::ShownToEditor => self.tell_architect(),
            OldFailures::ShownToArchitect => {
                needs_work(NeedsWork::PreExisting, describe_old(errors))
            }
        }
    }

    fn failed(&mut self, errors: &ErrorSet) -> Next {
        self.remember_best(errors.len());
        let class = self.history.classify(errors, &self.bounds.classifier);
        (self.last_class, self.classified) = (Some(class), Some(class));
        if self.attempt_failed() {
            return self.used_up(NeedsWork::IterationsUsedUp);
        }
        match class {
            FailureClass::MechanicalVerifyFailure if !self.is_by_program() => {
                Next::Draft(DraftReason::ChecksFail)
            }
            FailureClass::MechanicalVerifyFailure
            | FailureClass::RepeatedVerifyFailure
            | FailureClass::DesignMismatch
            | FailureClass::PatchMismatch => self.replan(class),
        }
    }

    fn remember_best(&mut self, failures: usize) {
        self.at_best = self.fewest.is_none_or(|fewest| failures < fewest);
        if self.at_best {
            self.fewest = Some(failures);
        }
    }
}
