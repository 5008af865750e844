//! The provider: requests, answers, errors and prices.

mod bounds;
mod chunk;
mod classify;
mod client;
mod error;
pub mod price;
mod reply;
pub mod retry;
mod sse;
mod wire;

pub use bounds::AnswerBounds;
pub use client::{ClientError, DeepSeekClient};
pub use error::{Awaited, ErrorClass, ModelError, Partial};
pub use sse::{SseError, SseEvent, SseParser};
pub use wire::{
    AgentRole, BYTES_PER_TOKEN, ChatMessage, ChatRequest, FinishReason, ModelReply, ReplyDelta,
    ToolCall, ToolChoice, ToolOffer, Usage,
};

use futures_util::future::BoxFuture;

/// Answers chat requests. One call is one attempt; callers retry.
///
/// Dropping the returned future cancels the attempt and closes its connection.
pub trait ChatModel: Send + Sync + 'static {
    /// Sends `request` and passes the answer to `deltas` as it arrives.
    ///
    /// Succeeds only when the answer is complete (`[DONE]` seen, finish reason `stop` or `tool_calls`, not empty).
    /// The deltas of a failed attempt must not be used.
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        deltas: &'a mut (dyn FnMut(ReplyDelta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;
}

/// A model that always fails, for code that never calls one.
#[derive(Debug, Clone, Copy)]
pub struct NoModel;

impl ChatModel for NoModel {
    fn attempt<'a>(
        &'a self,
        _: &'a ChatRequest,
        _: &'a mut (dyn FnMut(ReplyDelta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let message = "no model is available here".to_owned();
        Box::pin(std::future::ready(Err(ModelError::InvalidRequest { status: 0, message })))
    }
}
