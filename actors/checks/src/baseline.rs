//! What checks of the unchanged tree tell about those of a change: which failures are old, and which checks cannot judge.
//! Pure.

use crate::outcome::{Check, CheckOutcome, Report, wants_network};
use crate::proves_nothing::proves_nothing;

impl Report {
    /// Marks as pre-existing the failures of commands that already failed before the change with the same errors or
    /// more.
    #[must_use]
    pub fn against(mut self, baseline: &Self) -> Self {
        // A check that needs what another one wrote fails in a way of its own.
        for check in self.checks.iter_mut().filter(|check| check.needs.is_none()) {
            let before = baseline.checks.iter().find(|old| old.command == check.command);
            if let Some(before) = before.filter(|before| check.errors.is_subset(&before.errors)) {
                check.outcome = compared(check, before);
            }
        }
        self
    }
}

/// Returns the outcome of a check that has no new errors.
fn compared(check: &Check, before: &Check) -> CheckOutcome {
    let lacks_the_same =
        lacks_something(check) && lacks_something(before) && check.missing == before.missing;
    let alike = check.outcome == before.outcome;
    match check.outcome {
        _ if lacks_the_same => CheckOutcome::Environment,
        CheckOutcome::CodeFailure if alike => CheckOutcome::PreExisting,
        CheckOutcome::CommandMissing | CheckOutcome::TimedOut | CheckOutcome::Infrastructure
            if alike =>
        {
            CheckOutcome::Environment
        }
        CheckOutcome::Passed
        | CheckOutcome::Flaky
        | CheckOutcome::Unverified
        | CheckOutcome::Environment
        | CheckOutcome::PreExisting
        | CheckOutcome::Infrastructure
        | CheckOutcome::TimedOut
        | CheckOutcome::CommandMissing
        | CheckOutcome::PolicyDenied
        | CheckOutcome::CodeFailure => check.outcome,
    }
}

/// Returns true if a check failed for want of something that is not part of the code.
fn lacks_something(check: &Check) -> bool {
    let fails = matches!(
        check.outcome,
        CheckOutcome::CodeFailure | CheckOutcome::CommandMissing | CheckOutcome::Infrastructure
    );
    fails && check.missing.is_some()
}

/// Returns true if a check of the unchanged tree shows that it cannot run here, whatever the change does.
///
/// Not so a script or a target that the tree lacks, which may come with the change; nor a time-out, since a hang may be
/// what the change mends; nor what the user can grant: a command that was denied, or that wants the network.
pub fn cannot_run(check: &Check) -> bool {
    let is_stopped = lacks_something(check) || check.outcome == CheckOutcome::Infrastructure;
    is_stopped && !wants_network(check)
}

/// Returns true if a check of the unchanged tree shows that it can tell good code from bad.
pub fn can_check(check: &Check) -> bool {
    match check.outcome {
        CheckOutcome::Passed | CheckOutcome::Flaky => proves_nothing(&check.command).is_none(),
        CheckOutcome::CodeFailure => check.missing.is_none(),
        CheckOutcome::Unverified
        | CheckOutcome::Environment
        | CheckOutcome::PreExisting
        | CheckOutcome::Infrastructure
        | CheckOutcome::TimedOut
        | CheckOutcome::CommandMissing
        | CheckOutcome::PolicyDenied => false,
    }
}
