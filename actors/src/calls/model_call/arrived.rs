//! What had arrived of an answer when its call failed.

use model::{Awaited, FinishReason, ModelError, ModelReply};

use crate::calls::admission::Permit;

/// Returns what arrived of an answer that was cut at its limit, if it has text: it is recorded as an answer is.
pub(super) fn cut_reply(error: &ModelError, model: &str) -> Option<ModelReply> {
    let ModelError::Length { usage, text, .. } = error else { return None };
    if text.is_empty() {
        return None;
    }
    let (content, usage, finish) = (text.clone(), *usage, FinishReason::Length);
    let (model, id) = (model.to_owned(), String::new());
    Some(ModelReply { content, reasoning: None, tool_calls: Vec::new(), finish, usage, model, id })
}

/// Returns true if part of an answer arrived, even if an error followed.
pub(super) fn answer_began(permit: &Permit, error: &ModelError) -> bool {
    error.answer_started() || permit.heard_tokens() > 0
}

/// Returns true if the request was accepted and timed out before anything arrived.
pub(super) fn kept_silent(error: &ModelError) -> bool {
    matches!(error, ModelError::TimedOut { what, .. } if *what != Awaited::Connection)
}
