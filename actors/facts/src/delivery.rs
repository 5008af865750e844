//! How a run ends, and the undo patches it leaves. Values only.

use std::fmt;

pub use checks::verified::{Level, Missing, MissingKind, Unverified, Verified};
use checks::wording::Wording;
use model::ErrorClass;
use serde::{Deserialize, Serialize};
use tree::SnapshotError;

use crate::amounts::Unaffordable;
use crate::closed::JournalClosed;

/// How a run ends. Written once per run. Two values are equal even if their wording differs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Delivery {
    /// The change was planned, applied and verified, or the question was answered.
    Delivered {
        /// How far the result was verified.
        verified: Verified,
    },
    /// There was nothing to edit.
    NoEditNeeded {
        /// The Architect's reason.
        reason: Wording,
    },
    /// The task was not completed.
    NeedsWork {
        /// The reason.
        why: NeedsWork,
        /// The reason in words.
        detail: Wording,
    },
    /// Policy or the user denied something that the run needed.
    Denied {
        /// What was denied, and why.
        what: Wording,
        /// The flag that would allow it.
        hint: Wording,
        /// The state of the mission card that was not carried out; absent if something else was denied.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        card: Option<OpenCard>,
    },
    /// The user stopped it.
    Cancelled,
    /// It waits to be resumed: there was no network for too long. Never recorded, so that the run is an interrupted one.
    Paused {
        /// Why, in words.
        why: Wording,
    },
    /// The budget did not cover the next call, or the time was used up.
    BudgetExhausted {
        /// The limit that was reached.
        limit: Limit,
        /// The limit in words.
        detail: Wording,
    },
    /// Something outside the task failed.
    Failed {
        /// The kind of failure.
        class: FailureKind,
        /// The failure in words.
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
    /// A run that needed something which was denied.
    pub const fn denied(what: Wording, hint: Wording) -> Self {
        Self::Denied { what, hint, card: None }
    }

    /// A run that used up its time.
    pub fn out_of_time(seconds: u64) -> Self {
        let detail = format!("the budget of {seconds} s of wall time is used up").into();
        Self::BudgetExhausted { limit: Limit::WallTime, detail }
    }

    /// A run whose next call the budget does not cover.
    pub fn unaffordable(refusal: &Unaffordable) -> Self {
        Self::BudgetExhausted { limit: refusal.into(), detail: Wording::of(refusal) }
    }

    /// A run in which something outside the task failed.
    pub fn failed(class: FailureKind, message: &(impl fmt::Display + ?Sized)) -> Self {
        Self::Failed { class, message: Wording::of(message) }
    }

    /// Describes it for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Delivered { verified: Verified::NotNeeded } => "answered".to_owned(),
            Self::Delivered { verified } => format!("delivered, {verified}"),
            Self::NoEditNeeded { reason } => format!("no edit needed: {reason}"),
            Self::NeedsWork { detail, .. } => format!("needs work: {detail}"),
            Self::Denied { what, card: None, .. } => format!("denied: {what}"),
            Self::Denied { what, card: Some(_), .. } => what.to_string(),
            Self::Cancelled => "stopped".to_owned(),
            Self::Paused { why } => format!("paused: {why}"),
            Self::BudgetExhausted { detail, .. } => format!("budget exhausted: {detail}"),
            Self::Failed { class, message } => format!("failed ({}): {message}", class.name()),
        }
    }

    /// Returns the same end, with what could not be done before the reason.
    #[must_use]
    pub fn because(self, what: &str) -> Self {
        match self {
            Self::Failed { class, message } => Self::failed(class, &format!("{what}: {message}")),
            Self::BudgetExhausted { limit, detail } => {
                Self::BudgetExhausted { limit, detail: format!("{what}: {detail}").into() }
            }
            Self::Delivered { .. }
            | Self::NoEditNeeded { .. }
            | Self::NeedsWork { .. }
            | Self::Denied { .. }
            | Self::Cancelled
            | Self::Paused { .. } => self,
        }
    }

    /// Returns true if the run was ended from outside, not by its own course.
    pub const fn is_from_outside(&self) -> bool {
        match self {
            Self::Cancelled | Self::Paused { .. } => true,
            Self::BudgetExhausted { limit, .. } => matches!(limit, Limit::WallTime),
            // An actor died without a successor, or a run could not be resumed.
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

/// Why a mission card was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenCard {
    /// It awaits approval.
    Waits,
    /// The user rejected it.
    Rejected,
    /// Files that it rests on have changed since it was made.
    Outdated,
    /// It was revised too often.
    RevisedTooOften,
    /// There is no such card.
    Unknown,
}

impl OpenCard {
    /// Returns the state in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waits => "card waits",
            Self::Rejected => "card rejected",
            Self::Outdated => "card outdated",
            Self::RevisedTooOften => "card revised too often",
            Self::Unknown => "no such card",
        }
    }
}

/// A limit of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Money, according to the price table.
    Usd,
    /// Prompt and answer tokens.
    Tokens,
    /// Model calls.
    Calls,
    /// Answer tokens spent on reasoning.
    Reasoning,
    /// Elapsed time; enforced by a clock, not by the ledger.
    WallTime,
    /// Money, where the model has no price.
    NoPrice,
}

impl From<&Unaffordable> for Limit {
    fn from(refusal: &Unaffordable) -> Self {
        match refusal {
            Unaffordable::Usd { .. } => Self::Usd,
            Unaffordable::Tokens { .. } => Self::Tokens,
            Unaffordable::Calls { .. } => Self::Calls,
            Unaffordable::Reasoning { .. } => Self::Reasoning,
            Unaffordable::NoPrice => Self::NoPrice,
        }
    }
}

/// What failed outside the task: a part of this program, or the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An actor died and was not replaced.
    Internal,
    /// A run could not be resumed.
    Resume,
    /// The journal takes no more events.
    Journal,
    /// Admission of model calls stopped.
    #[serde(alias = "router")]
    Admission,
    /// The change could not be written.
    Write,
    /// A worktree could not be created.
    Worktree,
    /// The provider, with the class of its error.
    #[serde(untagged)]
    Model(ErrorClass),
}

impl FailureKind {
    /// Returns the kind as one word.
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

/// Why a run ended without delivering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedsWork {
    /// `max_iterations` attempts failed.
    IterationsUsedUp,
    /// Everything that fails failed before the change.
    PreExisting,
    /// Something fails that did not fail before the change, and the models have nothing to add.
    ChecksFail,
    /// The checks could not be run: denied, missing, timed out, or the machine failed.
    Unverifiable,
    /// The Architect gave no valid plan.
    NoPlan,
    /// The plan is to change a file that cannot be edited.
    Uneditable,
    /// The Editor gave no usable diff.
    NoDraft,
    /// Roles crashed more often than a run tolerates.
    Crashed,
    /// Lanes failed, or their results do not fit together.
    LanesFailed,
    /// The result is staged, not in the workspace.
    Staged,
    /// There was no usable answer to the question.
    NoAnswer,
}

/// Why a patch set is staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StagedFor {
    /// To change the workspace.
    Change,
    /// To undo changes, after something failed.
    WayBack,
}

/// The state to which an undo patch leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoTarget {
    /// The workspace at the start of the run.
    Start,
    /// The tree with the fewest failures.
    Best,
}

impl fmt::Display for UndoTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "the start",
            Self::Best => "the tree with the fewest failures",
        })
    }
}

/// An undo patch that is offered to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// Id of the staged patch set.
    pub patch: String,
    /// The state it leads to.
    pub to: UndoTarget,
}
