//! The provider: requests, answers, errors and prices.

mod address;
mod body;
mod bounds;
mod chunk;
mod classify;
mod client;
mod dialect;
mod error;
mod image;
mod model_reply;
mod network;
pub mod price;
mod reply;
pub mod retry;
mod sse;
mod thought;
mod wire;

pub use address::AddressError;
pub use bounds::AnswerBounds;
pub use client::{ClientError, DeepSeekClient};
pub use dialect::SpokenDialect;
pub use error::{Awaited, ErrorClass, ModelError, Partial};
pub use image::{PromptImage, image_tokens, takes_images};
pub use model_reply::{FinishReason, ModelReply, ReplyDelta, Usage};
pub use network::{NoConnection, ServerRoute};
pub use sse::{SseError, SseEvent, SseParser};
pub use wire::{
    AgentRole, BYTES_PER_TOKEN, ChatMessage, ChatRequest, PromptTokens, ToolCall, ToolChoice,
    ToolOffer,
};

use futures_util::future::BoxFuture;

/// Answers chat requests. One call is one attempt; callers retry.
///
/// Dropping the returned future cancels the attempt and closes its connection.
pub trait ChatModel: Send + Sync + 'static {
    /// Sends `request` and passes the answer to `deltas` as it arrives.
    ///
    /// Succeeds only when the answer is complete (`[DONE]` or a finish reason was seen) and not empty.
    /// The deltas of a failed attempt must not be used.
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        deltas: &'a mut (dyn FnMut(ReplyDelta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;

    /// Returns the dialect in which requests to `model` are written.
    fn dialect(&self, model: &str) -> SpokenDialect {
        let _ = model;
        SpokenDialect::default()
    }

    /// Remembers that the server answered a request to `model` that was written in `dialect`.
    fn remember(&self, model: &str, dialect: &SpokenDialect) {
        let _ = (model, dialect);
    }
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
        Box::pin(std::future::ready(Err(ModelError::InvalidRequest {
            status: 0,
            message,
            parameter: None,
        })))
    }
}
