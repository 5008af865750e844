//! A request of the user, and below it how one begins, is understood and is handed on. What outlasts it belongs to
//! [`crate::session`].

pub(crate) mod begin;
pub(crate) mod deadline;
pub(crate) mod dispatch;
pub(crate) mod evidence;
pub(crate) mod gathering;
pub mod intent;
pub(crate) mod review;
pub(crate) mod router;
pub(crate) mod routing;

use facts::words::CardStep;

use crate::request::intent::RequestIntent;

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The user's words.
    pub text: String,
    /// How to treat it; decided by a model if `None`.
    pub intent: Option<RequestIntent>,
    /// The user's answer to the card of an earlier mission.
    pub card: Option<CardStep>,
}

impl Request {
    /// Creates a request with an optional intent.
    pub fn new(text: impl Into<String>, intent: Option<RequestIntent>) -> Self {
        Self { text: text.into(), intent, card: None }
    }
}

/// Text of a request to review the changes of the last request.
pub const LAST_REQUEST: &str = "review --last-request";
