//! A model whose answers a test provides.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use model::{ChatModel, ChatRequest, FinishReason, ModelError, ModelReply, ReplyDelta, Usage};

/// The source of a scripted model's answers.
pub trait AnswerSource: Send + Sync + 'static {
    /// Returns the answer to a request.
    fn answer(
        &self,
        request: &ChatRequest,
    ) -> impl Future<Output = Result<String, ModelError>> + Send;
}

/// A model that answers from `S`.
pub struct ScriptedModel<S>(pub Arc<S>);

impl<S: AnswerSource> ChatModel for ScriptedModel<S> {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _: &'a mut (dyn FnMut(ReplyDelta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let content = self.0.answer(request).await?;
            let (prompt, output) = (request.body().len() as u64 / 4, content.len() as u64);
            Ok(ModelReply {
                content,
                reasoning: None,
                tool_calls: Vec::new(),
                finish: FinishReason::Stop,
                usage: Some(Usage { prompt, output, ..Usage::default() }),
                model: request.model.clone(),
                id: String::new(),
            })
        })
    }
}
