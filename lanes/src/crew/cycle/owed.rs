//! The checks that a run owes: they have failed newly since it began, so a new plan cannot exchange them for others. Pure.

use checks::outcome::{CheckOutcome, Report};

/// The owed checks, in the order in which they failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Owed(Vec<String>);

impl Owed {
    /// Adds the checks that fail newly. Those that passed, said nothing, cannot run here, or fail as they did before the
    /// change are no longer owed; nor are those that the user refused.
    pub(super) fn settle(&mut self, report: &Report) {
        for check in &report.checks {
            let is_it = |owed: &String| *owed == check.command;
            match check.outcome {
                CheckOutcome::CodeFailure if !self.0.iter().any(is_it) => {
                    self.0.push(check.command.clone());
                }
                CheckOutcome::CodeFailure
                | CheckOutcome::Infrastructure
                | CheckOutcome::TimedOut
                | CheckOutcome::CommandMissing => {}
                CheckOutcome::Passed
                | CheckOutcome::Flaky
                | CheckOutcome::Unverified
                | CheckOutcome::Environment
                | CheckOutcome::PreExisting
                | CheckOutcome::PolicyDenied => self.0.retain(|owed| !is_it(owed)),
            }
        }
    }

    /// Returns the checks to run: those of a plan, and the owed ones that it does not name.
    pub(super) fn with(&self, planned: &[String]) -> Vec<String> {
        let others = self.0.iter().filter(|owed| !planned.contains(owed));
        planned.iter().chain(others).cloned().collect()
    }
}
