//! Assembles the events of a stream into an answer, or the reason why there is none. Pure: the client reads and waits.

use std::collections::BTreeMap;

use config::access::Secret;

use super::chunk::{CallDelta, Chunk};
use super::classify;
use super::{
    ChatRequest, FinishReason, ModelError, ModelReply, Partial, ReplyDelta, ToolCall, Usage,
};

/// Maximum number of tool calls kept of one answer, equal to the number of tools that can be offered.
const MAX_CALLS: usize = 128;

/// Whether the stream continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    /// More events may follow.
    Open,
    /// `[DONE]` was seen. Anything after it is ignored.
    Done,
}

/// An answer being assembled.
#[derive(Debug, Default)]
pub(super) struct Assembly<'a> {
    /// The key that was sent; masked in errors.
    key: Option<&'a Secret>,
    max_tokens: u32,
    max_bytes: u64,
    /// True if tools were offered to the model.
    offers_tools: bool,
    id: String,
    model: String,
    content: String,
    reasoning: String,
    /// The tool calls, by their index in the answer.
    calls: BTreeMap<usize, ToolCall>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    events: u64,
    /// Bytes of text, reasoning, tool calls and of text that is not read.
    bytes: u64,
}

impl<'a> Assembly<'a> {
    /// Creates an empty answer; `key` is the key that was sent.
    pub(super) fn new(request: &ChatRequest, key: Option<&'a Secret>) -> Self {
        let ChatRequest { max_tokens, max_bytes, .. } = *request;
        let offers_tools = !request.tools.is_empty();
        Self { key, max_tokens, max_bytes, offers_tools, ..Self::default() }
    }

    /// Adds the data of one event and passes its text on. An answer that exceeds `max_bytes` is cut; the server should
    /// have done so.
    pub(super) fn event(
        &mut self,
        data: &str,
        deltas: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<StreamState, ModelError> {
        match data.trim() {
            "[DONE]" => return Ok(StreamState::Done),
            "" => return Ok(StreamState::Open),
            _ => {}
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| ModelError::Malformed {
            message: format!("an event is invalid: {error}"),
            partial: self.partial(0),
        })?;
        if let Some(error) = &chunk.error {
            return Err(classify::in_stream(error, self.key, self.partial(0)));
        }
        self.events += 1;
        // Reported tokens are spent: a count that shrinks later is ignored.
        self.usage = match (chunk.usage(), self.usage) {
            (Some(told), Some(before)) => Some(told.at_least(before.prompt, before.output)),
            (told, before) => told.or(before),
        };
        keep_first(&mut self.id, chunk.id);
        keep_first(&mut self.model, chunk.model);
        for choice in chunk.choices {
            self.finish = choice.finish_reason.or(self.finish);
            // Thinking starts with an empty piece of reasoning, and text with an empty piece of text; neither is passed on.
            let called: usize = choice.delta.tool_calls.iter().map(CallDelta::bytes).sum();
            let hidden = called + choice.unread();
            let (reasoning, text) = (choice.delta.reasoning_content, choice.delta.content);
            self.bytes += (reasoning.len() + text.len() + hidden) as u64;
            if !reasoning.is_empty() {
                self.reasoning.push_str(&reasoning);
                deltas(ReplyDelta::Reasoning(reasoning));
            }
            if !text.is_empty() {
                self.content.push_str(&text);
                deltas(ReplyDelta::Text(text));
            }
            if hidden > 0 {
                deltas(ReplyDelta::Hidden(hidden));
            }
            choice.delta.tool_calls.into_iter().for_each(|piece| self.call(piece));
        }
        if self.bytes > self.max_bytes {
            return Err(ModelError::Length { max_tokens: self.max_tokens, usage: self.usage });
        }
        Ok(StreamState::Open)
    }

    /// Adds a piece of a tool call.
    fn call(&mut self, CallDelta { index, id, function }: CallDelta) {
        if !self.offers_tools || (self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&index))
        {
            return;
        }
        let call = self.calls.entry(index).or_default();
        keep_first(&mut call.id, id);
        keep_first(&mut call.name, function.name);
        call.arguments.push_str(&function.arguments);
    }

    /// Returns what would be lost if the stream broke now; `unfinished` is the size of the incomplete event in bytes.
    pub(super) const fn partial(&self, unfinished: usize) -> Partial {
        let bytes = self.bytes + unfinished as u64;
        Partial { events: self.events, bytes, usage: self.usage }
    }

    /// Returns whether any part of the answer has arrived.
    pub(super) const fn has_tokens(&self) -> bool {
        self.bytes > 0
    }

    /// Checks the answer after `[DONE]`.
    ///
    /// Text counts as an answer, and so do calls of offered tools. Blanks or reasoning alone are an empty answer.
    pub(super) fn finish(self) -> Result<ModelReply, ModelError> {
        let usage = self.usage;
        match self.finish {
            Some(finish @ (FinishReason::Stop | FinishReason::ToolCalls)) => {
                if self.content.trim().is_empty() && self.calls.is_empty() {
                    return Err(ModelError::Empty { usage });
                }
                Ok(ModelReply {
                    content: self.content,
                    reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
                    tool_calls: self.calls.into_iter().map(named).collect(),
                    finish,
                    usage,
                    model: self.model,
                    id: self.id,
                })
            }
            Some(FinishReason::Length) => {
                Err(ModelError::Length { max_tokens: self.max_tokens, usage })
            }
            Some(FinishReason::ContentFilter) => Err(ModelError::ContentFilter { usage }),
            Some(FinishReason::InsufficientSystemResource) => {
                Err(ModelError::OutOfCapacity { usage })
            }
            Some(FinishReason::Unknown) | None => Err(ModelError::Malformed {
                message: "the answer ended without a known finish reason".to_owned(),
                partial: self.partial(0),
            }),
        }
    }
}

/// Returns what a server may charge for that did not stream: `body` is the beginning of its answer, of `length` bytes if
/// it says so. An error costs nothing.
pub(super) fn partial_of_whole(body: &[u8], length: u64) -> Partial {
    let whole: Option<Chunk> = serde_json::from_slice(body).ok();
    if whole.as_ref().is_some_and(|whole| whole.error.is_some()) {
        return Partial::default();
    }
    let usage = whole.and_then(|whole| whole.usage());
    Partial { events: 1, bytes: length.max(body.len() as u64), usage }
}

/// Gives a tool call without an id one, so that it can be answered.
fn named((index, call): (usize, ToolCall)) -> ToolCall {
    let id = if call.id.is_empty() { format!("call_{index}") } else { call.id };
    ToolCall { id, ..call }
}

/// Keeps the first value: all chunks of an answer carry the same id and model.
fn keep_first(kept: &mut String, seen: String) {
    if kept.is_empty() {
        *kept = seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Assembles a stream of these events. Returns the result and the deltas.
    fn assemble(events: &[&str]) -> (Result<ModelReply, ModelError>, Vec<ReplyDelta>) {
        let mut assembly = Assembly { max_tokens: 100, max_bytes: 40, ..Assembly::default() };
        let mut seen = Vec::new();
        for data in events {
            match assembly.event(data, &mut |delta| seen.push(delta)) {
                Ok(StreamState::Open) => {}
                Ok(StreamState::Done) => return (assembly.finish(), seen),
                Err(error) => return (Err(error), seen),
            }
        }
        (Err(ModelError::Truncated { partial: assembly.partial(0) }), seen)
    }

    fn finished(finish: &str, content: &str) -> Result<ModelReply, ModelError> {
        let event = format!(
            r#"{{"choices":[{{"delta":{{"content":{content:?}}},"finish_reason":{finish:?}}}],"usage":{{"prompt_tokens":5,"completion_tokens":0}}}}"#
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
            r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#,
            "[DONE]",
            "after the end",
        ]);
        assert_eq!(
            reply,
            Ok(ModelReply {
                content: "9.8".into(),
                reasoning: Some("hm".into()),
                tool_calls: Vec::new(),
                finish: FinishReason::Stop,
                usage: USAGE,
                model: "m".into(),
                id: "a".into(),
            })
        );
        let text = |text: &str| ReplyDelta::Text(text.into());
        assert_eq!(deltas, [ReplyDelta::Reasoning("hm".into()), text("9"), text(".8")]);
    }

    #[test]
    fn an_empty_first_piece_of_reasoning_is_not_reasoning() {
        let (reply, _) = assemble(&[
            r#"{"choices":[{"delta":{"reasoning_content":""}}]}"#,
            r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]);
        assert_eq!(reply.unwrap().reasoning, None);
    }

    #[test]
    fn text_in_fields_that_are_not_read_is_counted() {
        let piece = |fields: &str| {
            let event =
                format!(r#"{{"choices":[{{"index":0,"logprobs":{{"content":"yy"}},{fields}}}]}}"#);
            assemble(&[&event]).1
        };
        for fields in [
            r#""delta":{"role":"assistant","reasoning":"xxxx"}"#,
            r#""delta":{"refusal":"xxxx"}"#,
            r#""delta":{"reasoning":"xxxx","reasoning_details":[{"text":"xxxx"}]}"#,
            r#""delta":{"function_call":{"arguments":"xxxx"}}"#,
            r#""message":{"content":"xxxx"}"#,
            r#""text":"xxxx""#,
        ] {
            assert_eq!(piece(fields), [ReplyDelta::Hidden(4)], "{fields}");
        }
        let same = r#""delta":{"reasoning_content":"xxxx","reasoning":"xxxx"}"#;
        assert_eq!(piece(same), [ReplyDelta::Reasoning("xxxx".into())]);
        let endless = [r#"{"choices":[{"delta":{"reasoning":"0123456789"}}]}"#; 5];
        assert!(matches!(assemble(&endless).0, Err(ModelError::Length { .. })));
    }

    #[test]
    fn an_answer_that_was_not_streamed_is_paid_for() {
        let body = br#"{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#;
        let length = body.len() as u64;
        assert_eq!(partial_of_whole(body, 0), Partial { events: 1, bytes: length, usage: USAGE });
        let cut = partial_of_whole(&body[..9], 7000);
        assert_eq!(cut, Partial { events: 1, bytes: 7000, usage: None });
        assert_eq!(partial_of_whole(br#"{"error":{"message":"no"}}"#, 0), Partial::default());
    }

    #[test]
    fn usage_never_shrinks() {
        let told = |usage: &str| {
            let begun = r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":90,"completion_tokens":70}}"#;
            let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":USAGE}"#;
            assemble(&[begun, &end.replace("USAGE", usage), "[DONE]"]).0.unwrap().usage
        };
        let at = |prompt, hit, output| Some(Usage { prompt, hit, output, reasoning: 0 });
        for none in ["null", "{}", r#"{"prompt_tokens":1e308,"completion_tokens":-1}"#, "\"0\""] {
            assert_eq!(told(none), at(90, 0, 70), "{none}");
        }
        let less = r#"{"prompt_tokens":3,"completion_tokens":0,"prompt_cache_hit_tokens":2}"#;
        assert_eq!(told(less), at(90, 2, 70));
        assert_eq!(told(r#"{"prompt_tokens":91,"completion_tokens":7}"#), at(91, 0, 70));
    }

    #[test]
    fn usage_may_trail_in_a_chunk_without_choices() {
        let (reply, _) = assemble(&[
            r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":null}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#,
            "[DONE]",
        ]);
        assert_eq!(reply.unwrap().usage, USAGE);
    }

    #[test]
    fn calls_of_offered_tools_are_an_answer() {
        let events = [
            r#"{"choices":[{"delta":{"content":"Let me look.","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"fs_list","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":2,"function":{"name":"fs_read","arguments":"{}"}},{"index":0,"function":{"arguments":"{\"directory\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"x","arguments":"\"src\"}"}}]},"finish_reason":"tool_calls"}]}"#,
        ];
        let calls = |offers_tools| {
            let mut assembly = Assembly { max_bytes: 400, offers_tools, ..Assembly::default() };
            for data in events {
                assembly.event(data, &mut |_| ()).unwrap();
            }
            assembly.finish().unwrap().tool_calls
        };
        let call = |id: &str, name: &str, arguments: &str| ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        };
        let list = call("a", "fs_list", r#"{"directory":"src"}"#);
        assert_eq!(calls(true), [list, call("call_2", "fs_read", "{}")]);
        assert!(calls(false).is_empty(), "calls of tools that were not offered are dropped");
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
    fn an_answer_that_exceeds_its_byte_limit_is_cut() {
        let of = |field: &str, bytes| {
            let text = "x".repeat(bytes);
            let delta = match field {
                "tool_calls" => format!(r#"[{{"function":{{"name":"f","arguments":"{text}"}}}}]"#),
                _ => format!("\"f{text}\""),
            };
            format!(r#"{{"choices":[{{"delta":{{"{field}":{delta}}}}}]}}"#)
        };
        for field in ["content", "reasoning_content", "tool_calls"] {
            let (half, most) = (of(field, 20), of(field, 18));
            let open = assemble(&[&half, &most]).0.unwrap_err();
            assert_eq!(open.partial().map(|partial| partial.bytes), Some(40), "{field}");
            let cut = assemble(&[&half, &half, "[DONE]"]).0;
            assert_eq!(cut, Err(ModelError::Length { max_tokens: 100, usage: None }), "{field}");
        }
    }

    #[test]
    fn an_incomplete_answer_reports_what_arrived() {
        let begun = r#"{"choices":[{"delta":{"content":"four"}}],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#;
        let partial = Partial { events: 1, bytes: 4, usage: USAGE };
        assert_eq!(assemble(&[begun]).0, Err(ModelError::Truncated { partial }));
        let broken = assemble(&[begun, "{\"choices\":"]).0.unwrap_err();
        assert!(matches!(broken, ModelError::Malformed { .. }));
        assert_eq!(broken.partial(), Some(partial));
        let error = assemble(&[begun, r#"{"error":{"message":"sorry"}}"#]).0;
        assert_eq!(error, Err(ModelError::Interrupted { message: "sorry".into(), partial }));
    }
}
