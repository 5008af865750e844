//! What an evaluation tells while it is at work. Values only.

use std::sync::Arc;

use model::price::Usd;
use serde::Serialize;

use crate::results::record::{AttemptResult, CaseGround, LeftOutCase};

/// Something that happened, to be shown.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum EvalEvent {
    /// A commit was looked at and left out.
    LeftOut(LeftOutCase),
    /// A case is being checked.
    Checking {
        /// The id of the case.
        case: String,
    },
    /// A case was checked.
    Checked {
        /// The id of the case.
        case: String,
        /// What was found.
        ground: CaseGround,
    },
    /// An attempt begins.
    Began {
        /// The id of the case.
        case: String,
        /// The name of the variant.
        variant: String,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// An attempt was judged.
    Judged {
        /// The id of the case.
        case: String,
        /// The name of the variant.
        variant: String,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The result.
        result: AttemptResult,
    },
    /// No attempt begins any more, because the budget is used up.
    OverBudget {
        /// What is spent.
        spent: Usd,
    },
}

/// Receives events.
pub type EvalSink = Arc<dyn Fn(EvalEvent) + Send + Sync>;
