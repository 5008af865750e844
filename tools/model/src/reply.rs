//! Puts the events of a stream together to an answer, or to the reason why there is none. Pure: reading and waiting are the client's.

use config::access::Secret;

use super::chunk::Chunk;
use super::classify;
use super::{Delta, FinishReason, ModelError, ModelReply, Partial, Usage};

/// Whether the stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// There is more to come.
    Open,
    /// `[DONE]` was seen. What may follow it means nothing.
    Done,
}

/// An answer in the making.
#[derive(Debug, Default)]
pub(super) struct Assembly<'a> {
    /// What must not appear in an error.
    key: Option<&'a Secret>,
    id: String,
    model: String,
    content: String,
    reasoning: String,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    events: u64,
}

impl<'a> Assembly<'a> {
    /// An answer of which nothing has come yet; `key` is the one that was sent.
    pub(super) fn new(key: Option<&'a Secret>) -> Self {
        Self { key, ..Self::default() }
    }

    /// Takes in the data of one event and passes its text on.
    pub(super) fn event(
        &mut self,
        data: &str,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Stream, ModelError> {
        match data.trim() {
            "[DONE]" => return Ok(Stream::Done),
            "" => return Ok(Stream::Open),
            _ => {}
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| ModelError::Malformed {
            message: format!("an event is not a chunk: {error}"),
            partial: self.partial(),
        })?;
        if let Some(error) = &chunk.error {
            return Err(classify::in_stream(error, self.key, self.partial()));
        }
        self.events += 1;
        self.usage = chunk.usage().or(self.usage);
        keep_first(&mut self.id, chunk.id);
        keep_first(&mut self.model, chunk.model);
        for choice in chunk.choices {
            self.finish = choice.finish_reason.or(self.finish);
            // Thinking opens with an empty piece of reasoning, and text with an empty piece of text: neither is a delta.
            let (reasoning, text) = (choice.delta.reasoning_content, choice.delta.content);
            if !reasoning.is_empty() {
                self.reasoning.push_str(&reasoning);
                deltas(Delta::Reasoning(reasoning));
            }
            if !text.is_empty() {
                self.content.push_str(&text);
                deltas(Delta::Text(text));
            }
        }
        Ok(Stream::Open)
    }

    /// What would be lost if the stream broke off now.
    pub(super) fn partial(&self) -> Partial {
        let bytes = self.content.len() + self.reasoning.len();
        Partial {
            events: self.events,
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            usage: self.usage,
        }
    }

    /// Whether any text or reasoning has come.
    pub(super) const fn has_tokens(&self) -> bool {
        !self.content.is_empty() || !self.reasoning.is_empty()
    }

    /// Judges the answer after `[DONE]`.
    ///
    /// Only text counts as an answer. One of blanks, or of reasoning or tool calls alone, is empty.
    pub(super) fn finish(self, max_tokens: u32) -> Result<ModelReply, ModelError> {
        let usage = self.usage;
        match self.finish {
            Some(finish @ (FinishReason::Stop | FinishReason::ToolCalls)) => {
                if self.content.trim().is_empty() {
                    return Err(ModelError::Empty { usage });
                }
                Ok(ModelReply {
                    content: self.content,
                    reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
                    finish,
                    usage,
                    model: self.model,
                    id: self.id,
                })
            }
            Some(FinishReason::Length) => Err(ModelError::Length { max_tokens, usage }),
            Some(FinishReason::ContentFilter) => Err(ModelError::ContentFilter { usage }),
            Some(FinishReason::InsufficientSystemResource) => {
                Err(ModelError::OutOfCapacity { usage })
            }
            Some(FinishReason::Unknown) | None => Err(ModelError::Malformed {
                message: "the answer ended without a known reason".to_owned(),
                partial: self.partial(),
            }),
        }
    }
}

/// The chunks of one answer all carry the same id and model; the first that is there is kept.
fn keep_first(kept: &mut String, seen: String) {
    if kept.is_empty() {
        *kept = seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a stream of these events, and the deltas it gave.
    fn assemble(events: &[&str]) -> (Result<ModelReply, ModelError>, Vec<Delta>) {
        let mut assembly = Assembly::default();
        let mut seen = Vec::new();
        for data in events {
            match assembly.event(data, &mut |delta| seen.push(delta)) {
                Ok(Stream::Open) => {}
                Ok(Stream::Done) => return (assembly.finish(100), seen),
                Err(error) => return (Err(error), seen),
            }
        }
        (Err(ModelError::Truncated { partial: assembly.partial() }), seen)
    }

    fn finished(finish: &str, content: &str) -> Result<ModelReply, ModelError> {
        let event = format!(
            r#"{{"choices":[{{"delta":{{"content":{content:?}}},"finish_reason":{finish:?}}}],"usage":{{"prompt_tokens":5}}}}"#
        );
        assemble(&[&event, "[DONE]"]).0
    }

    const USAGE: Option<Usage> = Some(Usage { prompt: 5, hit: 0, output: 0, reasoning: 0 });

    #[test]
    fn a_thinking_answer_is_reasoning_then_text() {
        let (reply, deltas) = assemble(&[
            r#"{"id":"a","model":"m","choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":""}}],"usage":null}"#,
            r#"{"id":"a","model":"m","choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]}"#,
            r#"{"id":"a","model":"m","choices":[{"delta":{"content":"9","reasoning_content":null}}]}"#,
            r#"{"id":"a","model":"m","choices":[{"delta":{"content":".8"}}]}"#,
            r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5}}"#,
            "[DONE]",
            "after the end",
        ]);
        assert_eq!(
            reply,
            Ok(ModelReply {
                content: "9.8".into(),
                reasoning: Some("hm".into()),
                finish: FinishReason::Stop,
                usage: USAGE,
                model: "m".into(),
                id: "a".into(),
            })
        );
        let text = |text: &str| Delta::Text(text.into());
        assert_eq!(deltas, [Delta::Reasoning("hm".into()), text("9"), text(".8")]);
    }

    #[test]
    fn the_first_empty_reasoning_does_not_open_reasoning() {
        let (reply, _) = assemble(&[
            r#"{"choices":[{"delta":{"reasoning_content":""}}]}"#,
            r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]);
        assert_eq!(reply.unwrap().reasoning, None);
    }

    #[test]
    fn usage_may_trail_in_a_chunk_without_choices() {
        let (reply, _) = assemble(&[
            r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":null}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5}}"#,
            "[DONE]",
        ]);
        assert_eq!(reply.unwrap().usage, USAGE);
    }

    #[test]
    fn only_a_stop_with_text_is_an_answer() {
        assert!(finished("stop", "x").is_ok());
        assert!(finished("tool_calls", "x").is_ok());
        assert_eq!(finished("stop", ""), Err(ModelError::Empty { usage: USAGE }));
        assert_eq!(finished("stop", " \n"), Err(ModelError::Empty { usage: USAGE }));
        assert_eq!(
            finished("length", "x"),
            Err(ModelError::Length { max_tokens: 100, usage: USAGE })
        );
        assert_eq!(
            finished("content_filter", "x"),
            Err(ModelError::ContentFilter { usage: USAGE })
        );
        assert_eq!(
            finished("insufficient_system_resource", "x"),
            Err(ModelError::OutOfCapacity { usage: USAGE })
        );
        assert!(matches!(finished("tired", "x"), Err(ModelError::Malformed { .. })));
        assert!(matches!(assemble(&["[DONE]"]).0, Err(ModelError::Malformed { .. })));
    }

    #[test]
    fn what_breaks_off_says_how_far_it_came() {
        let begun = r#"{"choices":[{"delta":{"content":"four"}}],"usage":{"prompt_tokens":5}}"#;
        let partial = Partial { events: 1, bytes: 4, usage: USAGE };
        assert_eq!(assemble(&[begun]).0, Err(ModelError::Truncated { partial }));
        let broken = assemble(&[begun, "{\"choices\":"]).0.unwrap_err();
        assert!(matches!(broken, ModelError::Malformed { .. }));
        assert_eq!(broken.partial(), Some(partial));
        let error = assemble(&[begun, r#"{"error":{"message":"sorry"}}"#]).0;
        assert_eq!(error, Err(ModelError::Interrupted { message: "sorry".into(), partial }));
    }
}
