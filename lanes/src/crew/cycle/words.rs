//! What goes into the table and what comes out of it. Values only.

use checks::failure_class::FailureClass;
use config::FailureClassifier;
use facts::delivery::Delivery;
use facts::grammar::operation::PlannedOperation;
use facts::grammar::plan::FileIntent;
use tree::RepoPath;

use super::judgement::Judgement;

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
    /// Parts that a change may be made in.
    pub max_parts: u32,
    /// True if the tree is a worktree, where the parts of a change can be made one after the other.
    pub in_worktree: bool,
}

/// What a plan says about the course of the loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanTerms {
    /// The FILE lines.
    pub files: Vec<FileIntent>,
    /// What is done without a diff.
    pub operations: Vec<PlannedOperation>,
    /// The checks that it names, or those derived from the project.
    pub checks: Vec<String>,
    /// True if it is a part of the change, and more is planned after it.
    pub more: bool,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The plan wants files changed.
    Planned(PlanTerms),
    /// The plan wants nothing changed, or nothing more.
    NothingToDo {
        /// The plan's reason.
        reason: String,
        /// The checks that it names; empty if it names none.
        checks: Vec<String>,
    },
    /// The request is a question.
    Question,
    /// The Editor gave a diff.
    Drafted,
    /// The diff that came with the plan is used.
    DraftedWithPlan,
    /// The Editor gave no readable diff, even after repair turns.
    DraftUnreadable,
    /// The Editor gives the same answer again and again.
    Repeating,
    /// The diff is too long for one answer of the Editor.
    DraftTooLong,
    /// The diff needs these files, which the plan does not declare.
    PlanLacks(Vec<RepoPath>),
    /// The Editor has nothing to add to what is applied.
    NothingMore {
        /// The Editor's reason.
        reason: String,
    },
    /// The unchanged tree shows that none of the checks can run here. Nothing was applied.
    NothingRuns {
        /// Derived checks that can.
        others: Vec<String>,
    },
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
    /// Have a crew in a worktree continue with the plan, since it is the first of several parts.
    HandOver,
    /// Leave the request to be answered.
    Question,
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
    /// The Architect wants nothing more, but something fails newly.
    StillFails,
    /// The diff is ready, but nothing can check it here.
    CannotRun,
    /// The user refused and gave a reason.
    Objected,
    /// A part of the change is made, and more remains.
    NextPart,
}

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
