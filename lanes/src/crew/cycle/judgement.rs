//! What the results of the checks say about delivering. Pure.

use actors::run::workspace::Denied;
use checks::error_lines::ErrorSet;
use checks::outcome::{CheckOutcome, Report};
use checks::wording::Wording;
use facts::delivery::{Delivery, Unverified, Verified};

/// The results of the checks on what is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The checks; failures from before the change are told apart.
    pub report: Report,
    /// True if the failures from before the change are exactly the same as then.
    pub old_unchanged: bool,
    /// The denial, if policy denied a command.
    pub denied: Option<Denied>,
    /// True if a check that passes now fails without the change.
    pub proven: bool,
    /// True if something else kept changing the tree while the checks ran.
    pub moved: bool,
}

/// How a judgement stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CheckStanding {
    /// Nothing fails that could.
    Sound(Verified),
    /// Everything that fails failed before the change, in the same way.
    Old,
    /// Something fails that did not, or differs from how it failed.
    Red,
    /// A check was denied.
    Denied(Delivery),
    /// With the change, a check no longer runs to its end.
    Unverifiable(&'static str),
}

impl Judgement {
    pub(super) fn standing(&self) -> CheckStanding {
        let unverified = |why| CheckStanding::Sound(Verified::Unverified(why));
        match self.report.outcome() {
            CheckOutcome::Passed | CheckOutcome::Flaky if self.moved => {
                unverified(Unverified::TreeMoved)
            }
            CheckOutcome::Passed | CheckOutcome::Flaky if self.proven => {
                CheckStanding::Sound(Verified::Proven)
            }
            CheckOutcome::Passed | CheckOutcome::Flaky => CheckStanding::Sound(Verified::Passed),
            CheckOutcome::Unverified => unverified(Unverified::NothingCouldFail),
            CheckOutcome::Environment => {
                unverified(self.report.hindrance().unwrap_or(Unverified::NothingCouldFail))
            }
            CheckOutcome::PreExisting if self.old_unchanged => CheckStanding::Old,
            CheckOutcome::PreExisting | CheckOutcome::CodeFailure => CheckStanding::Red,
            CheckOutcome::PolicyDenied => {
                let unknown = Delivery::denied(Wording::default(), Wording::default());
                CheckStanding::Denied(self.denied.as_ref().map_or(unknown, Denied::delivery))
            }
            CheckOutcome::CommandMissing => {
                CheckStanding::Unverifiable("a verification command is not installed")
            }
            CheckOutcome::TimedOut => {
                CheckStanding::Unverifiable("a verification command timed out")
            }
            CheckOutcome::Infrastructure => {
                CheckStanding::Unverifiable("the machine failed while verifying")
            }
        }
    }

    /// Returns true if everything that fails failed before the change, though perhaps in another way.
    pub(super) fn is_all_old(&self) -> bool {
        self.report.outcome() == CheckOutcome::PreExisting
    }
}

/// Describes the old failures for the user.
pub(super) fn describe_old(errors: &ErrorSet) -> String {
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
