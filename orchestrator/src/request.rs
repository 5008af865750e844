//! A request of the user, and how it ended in a line.

use actors::delivery::Delivery;

use crate::chat::Intent;

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// In the user's words.
    pub text: String,
    /// What it is to be treated as; decided by words or a model when absent.
    pub intent: Option<Intent>,
}

/// How a request ended, in a line, for the evidence of the next.
pub(crate) fn outcome_line(request: &str, delivery: &Delivery) -> String {
    let ended = match delivery {
        Delivery::Delivered { .. } => "delivered".to_owned(),
        Delivery::NoEditNeeded { .. } => "no edit was needed".to_owned(),
        Delivery::NeedsWork { detail, .. } => format!("not delivered: {detail}"),
        Delivery::Denied { what, .. } => format!("denied: {what}"),
        Delivery::Cancelled => "cancelled".to_owned(),
        Delivery::BudgetExhausted { .. } => "the budget was exhausted".to_owned(),
        Delivery::Failed { class, .. } => format!("failed: {}", class.name()),
    };
    format!("{request}: {ended}")
}
