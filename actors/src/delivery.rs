//! How a run ends, and what it leaves to go back with. Values only.

use serde::{Deserialize, Serialize};

/// How a run ends. Written once; nothing changes it afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Delivery {
    /// Planned, applied, verified; or answered.
    Delivered {
        /// How it was verified.
        verified: Verified,
    },
    /// There was nothing to edit.
    NoEditNeeded {
        /// The Architect's reason.
        reason: String,
    },
    /// It did not get done.
    NeedsWork {
        /// Why.
        why: NeedsWork,
        /// In words.
        detail: String,
    },
    /// Policy or the user said no.
    Denied {
        /// To what, and why.
        what: String,
        /// The flag that would allow it.
        hint: String,
    },
    /// The user stopped it.
    Cancelled,
    /// The next call could not be paid.
    BudgetExhausted {
        /// Which limit.
        limit: String,
    },
    /// Something outside the task broke.
    Failed {
        /// The kind: `auth`, `transport`, `length`, …
        class: String,
        /// In words.
        message: String,
    },
}

impl Delivery {
    /// The end of a run that used up its time.
    pub fn out_of_time(seconds: u64) -> Self {
        Self::BudgetExhausted { limit: format!("the budget of {seconds} s of {TIME} is spent") }
    }

    /// Whether somebody else decided it than the run itself.
    pub fn is_from_outside(&self) -> bool {
        match self {
            Self::Cancelled => true,
            Self::BudgetExhausted { limit } => limit.contains(TIME),
            // An actor died that nobody replaces, or a run could not be taken up.
            Self::Failed { class, .. } => class == "internal" || class == "resume",
            Self::Delivered { .. }
            | Self::NoEditNeeded { .. }
            | Self::NeedsWork { .. }
            | Self::Denied { .. } => false,
        }
    }
}

/// What a clock limits, and no ledger.
const TIME: &str = "wall time";

/// How a delivery was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    /// Every command passed.
    Passed,
    /// There was no command that could have failed.
    Unverified,
    /// Nothing was changed, so nothing had to be verified.
    NotNeeded,
}

/// Why a run ended undelivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedsWork {
    /// `max_iterations` attempts failed.
    IterationsUsedUp,
    /// All that fails failed before.
    PreExisting,
    /// The checks could not be run: denied, missing, timed out, or the machine failed.
    Unverifiable,
    /// The Architect gave no readable plan.
    NoPlan,
    /// The Editor gave no usable diff.
    NoDraft,
    /// Roles crashed more often than a run survives.
    Crashed,
    /// Lanes did not get done, or do not fit together.
    LanesFailed,
    /// What was made is staged, and not in the workspace.
    Staged,
}

/// How the title of a patch set begins that is a way back.
pub const WAY_BACK: &str = "back to ";

/// A way back that the user is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// Id of the staged patch set.
    pub patch: String,
    /// Where it leads.
    pub to: String,
}
