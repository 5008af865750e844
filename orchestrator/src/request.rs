//! A request of the user. Values only.

use crate::chat::Intent;

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// In the user's words.
    pub text: String,
    /// What it is to be treated as; decided by a model when absent.
    pub intent: Option<Intent>,
}

/// The words of a request to review what the last request changed.
pub const LAST_REQUEST: &str = "review --last-request";
