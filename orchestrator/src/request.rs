//! A request of the user. Values only.

use actors::words::CardStep;

use crate::chat::Intent;

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// In the user's words.
    pub text: String,
    /// What it is to be treated as; decided by a model when absent.
    pub intent: Option<Intent>,
    /// What the user says to the card of a mission that was researched before.
    pub card: Option<CardStep>,
}

impl Request {
    /// A request in these words, and what it is to be treated as.
    pub fn new(text: impl Into<String>, intent: Option<Intent>) -> Self {
        Self { text: text.into(), intent, card: None }
    }
}

/// The words of a request to review what the last request changed.
pub const LAST_REQUEST: &str = "review --last-request";
