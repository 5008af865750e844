//! How a run ends, and what it leaves to go back with. Values only.

use std::fmt;

use model::ErrorClass;
use serde::{Deserialize, Serialize};
use tree::SnapshotError;

use crate::closed::JournalClosed;
use crate::ledger::Unaffordable;
use crate::wording::Wording;

/// How a run ends. Written once; nothing changes it afterwards. Two are equal when they say the same in other words, too.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
        reason: Wording,
    },
    /// It did not get done.
    NeedsWork {
        /// Why.
        why: NeedsWork,
        /// In words.
        detail: Wording,
    },
    /// Policy or the user said no.
    Denied {
        /// To what, and why.
        what: Wording,
        /// The flag that would allow it.
        hint: Wording,
    },
    /// The user stopped it.
    Cancelled,
    /// The next call could not be paid.
    BudgetExhausted {
        /// Which limit.
        limit: Limit,
        /// In words.
        detail: Wording,
    },
    /// Something outside the task broke.
    Failed {
        /// The kind.
        class: FailureKind,
        /// In words.
        message: Wording,
    },
}

impl PartialEq for Delivery {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Delivered { verified: a }, Self::Delivered { verified: b }) => a == b,
            (Self::NeedsWork { why: a, .. }, Self::NeedsWork { why: b, .. }) => a == b,
            (Self::BudgetExhausted { limit: a, .. }, Self::BudgetExhausted { limit: b, .. }) => {
                a == b
            }
            (Self::Failed { class: a, .. }, Self::Failed { class: b, .. }) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

impl Eq for Delivery {}

impl Delivery {
    /// The end of a run that used up its time.
    pub fn out_of_time(seconds: u64) -> Self {
        let detail = format!("the budget of {seconds} s of wall time is spent").into();
        Self::BudgetExhausted { limit: Limit::WallTime, detail }
    }

    /// The end of a run whose next call cannot be paid.
    pub fn unaffordable(refusal: &Unaffordable) -> Self {
        Self::BudgetExhausted { limit: refusal.into(), detail: Wording::of(refusal) }
    }

    /// The end of a run for which something outside the task broke.
    pub fn failed(class: FailureKind, message: &(impl fmt::Display + ?Sized)) -> Self {
        Self::Failed { class, message: Wording::of(message) }
    }

    /// Whether somebody else decided it than the run itself.
    pub const fn is_from_outside(&self) -> bool {
        match self {
            Self::Cancelled => true,
            Self::BudgetExhausted { limit, .. } => matches!(limit, Limit::WallTime),
            // An actor died that nobody replaces, or a run could not be taken up.
            Self::Failed { class, .. } => {
                matches!(class, FailureKind::Internal | FailureKind::Resume)
            }
            Self::Delivered { .. }
            | Self::NoEditNeeded { .. }
            | Self::NeedsWork { .. }
            | Self::Denied { .. } => false,
        }
    }
}

impl From<JournalClosed> for Delivery {
    fn from(closed: JournalClosed) -> Self {
        Self::failed(FailureKind::Journal, &closed)
    }
}

impl From<SnapshotError> for Delivery {
    fn from(error: SnapshotError) -> Self {
        Self::failed(FailureKind::Worktree, &error)
    }
}

/// What a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Money, by the price table.
    Usd,
    /// Prompt and answer tokens.
    Tokens,
    /// Model calls.
    Calls,
    /// Time; a clock limits it, and no ledger.
    WallTime,
    /// Money, for a model that has no price.
    NoPrice,
}

impl From<&Unaffordable> for Limit {
    fn from(refusal: &Unaffordable) -> Self {
        match refusal {
            Unaffordable::Usd { .. } => Self::Usd,
            Unaffordable::Tokens { .. } => Self::Tokens,
            Unaffordable::Calls { .. } => Self::Calls,
            Unaffordable::NoPrice => Self::NoPrice,
        }
    }
}

/// What broke outside the task: one of our own parts, or the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An actor died that nobody replaces.
    Internal,
    /// A run could not be resumed.
    Resume,
    /// The journal takes no more events.
    Journal,
    /// Nobody admits calls any more.
    #[serde(alias = "router")]
    Admission,
    /// The change could not be written.
    Write,
    /// A worktree could not be had.
    Worktree,
    /// The provider.
    #[serde(untagged)]
    Model(ErrorClass),
}

impl FailureKind {
    /// The kind as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Resume => "resume",
            Self::Journal => "journal",
            Self::Admission => "admission",
            Self::Write => "write",
            Self::Worktree => "worktree",
            Self::Model(class) => class.name(),
        }
    }
}

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
    /// There was no usable answer to a question.
    NoAnswer,
}

/// What a patch set is staged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StagedFor {
    /// To change the workspace.
    Change,
    /// To go back, after something failed.
    WayBack,
}

/// Where a way back leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The workspace as it was when the run began.
    Start,
    /// The tree with the fewest failures.
    Best,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "the start",
            Self::Best => "the tree with the fewest failures",
        })
    }
}

/// A way back that the user is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// Id of the staged patch set.
    pub patch: String,
    /// Where it leads.
    pub to: Target,
}
