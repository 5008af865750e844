//! Assembles the events of an answer, or the reason why there is none. Pure: the client reads and waits.

use config::access::Secret;
use config::{Dialect, FinishReasons};
use serde::de::IgnoredAny;

use super::body::BodyReader;
use super::chunk::{CallPiece, ChoicePiece, Chunk};
use super::classify;
use super::thought::{SplitText, ThoughtSplitter, closed_only};
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

/// How the response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerEnd {
    /// It may go on.
    Open,
    /// Within an object.
    Cut,
    /// With `[DONE]`, or with the whole answer.
    Marked,
}

/// What is known of how the server writes its answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerForm<'a> {
    pub(super) dialect: &'a Dialect,
    pub(super) reasons: &'a FinishReasons,
    /// The key that was sent; masked in errors.
    pub(super) key: Option<&'a Secret>,
}

/// An answer being assembled.
#[derive(Debug)]
pub(super) struct Assembly<'a> {
    form: AnswerForm<'a>,
    max_tokens: u32,
    max_bytes: u64,
    /// True if tools were offered to the model.
    offers_tools: bool,
    id: String,
    model: String,
    content: String,
    reasoning: String,
    splitter: ThoughtSplitter,
    /// The tool calls, with their indices in the answer.
    calls: Vec<(Option<u64>, ToolCall)>,
    finish: Option<String>,
    end: AnswerEnd,
    usage: Option<Usage>,
    events: u64,
    /// True once a field of an answer was read.
    has_choice: bool,
    /// Bytes of text, reasoning, tool calls and of text that is not read.
    bytes: u64,
}

impl<'a> Assembly<'a> {
    /// Creates an empty answer.
    pub(super) fn new(request: &ChatRequest, form: AnswerForm<'a>) -> Self {
        Self {
            form,
            max_tokens: request.max_tokens,
            max_bytes: request.max_bytes,
            offers_tools: !request.tools.is_empty(),
            id: String::new(),
            model: String::new(),
            content: String::new(),
            reasoning: String::new(),
            splitter: ThoughtSplitter::default(),
            calls: Vec::new(),
            finish: None,
            end: AnswerEnd::Open,
            usage: None,
            events: 0,
            has_choice: false,
            bytes: 0,
        }
    }

    /// Adds the data of one event and passes its text on. An answer that exceeds `max_bytes` is cut; the server should
    /// have done so.
    pub(super) fn event(
        &mut self,
        data: &str,
        deltas: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<StreamState, ModelError> {
        match data.trim() {
            "[DONE]" => {
                self.end = AnswerEnd::Marked;
                return Ok(StreamState::Done);
            }
            "" => return Ok(StreamState::Open),
            _ => {}
        }
        let chunk =
            Chunk::read(data, self.form.dialect).map_err(|error| ModelError::Malformed {
                message: format!("an event is invalid: {error}"),
                partial: self.partial(0),
            })?;
        if let Some(error) = &chunk.error {
            return Err(classify::in_stream(error, self.form.key, self.partial(0)));
        }
        self.events += 1;
        // Reported tokens are spent: a count that shrinks later is ignored.
        self.usage = match (chunk.usage, self.usage) {
            (Some(told), Some(before)) => Some(told.at_least(before.prompt, before.output)),
            (told, before) => told.or(before),
        };
        keep_first(&mut self.id, chunk.id);
        keep_first(&mut self.model, chunk.model);
        if let Some(piece) = chunk.choice {
            self.has_choice = true;
            self.piece(piece, deltas);
        }
        if self.bytes > self.max_bytes {
            let (max_tokens, usage) = (self.max_tokens, self.usage);
            let text = std::mem::take(&mut self.content);
            return Err(ModelError::Length { max_tokens, usage, text });
        }
        Ok(StreamState::Open)
    }

    /// Adds what is left at the end of the response: a whole answer, or an event without the blank line after it. What
    /// cannot be read was cut.
    pub(super) fn last(
        &mut self,
        body: &mut BodyReader,
        deltas: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<(), ModelError> {
        let Ok(Some(last)) = body.last_event() else { return Ok(()) };
        match self.event(&last, deltas) {
            Ok(_) if body.is_whole() => self.end = AnswerEnd::Marked,
            Ok(_) => {}
            Err(ModelError::Malformed { .. }) => {
                let parsed = serde_json::from_str::<IgnoredAny>(&last);
                if parsed.is_err_and(|error| error.is_eof()) {
                    self.end = AnswerEnd::Cut;
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn piece(&mut self, piece: ChoicePiece, deltas: &mut (dyn FnMut(ReplyDelta) + Send)) {
        self.finish = piece.finish_reason.filter(|it| !it.is_empty()).or(self.finish.take());
        let called: usize = piece.calls.iter().map(CallPiece::bytes).sum();
        let hidden = called + piece.unread;
        self.bytes += (piece.reasoning.len() + piece.text.len() + hidden) as u64;
        self.hear(SplitText { reasoning: piece.reasoning, text: String::new() }, deltas);
        let split = self.splitter.split(&piece.text);
        self.hear(split, deltas);
        if hidden > 0 {
            deltas(ReplyDelta::Hidden(hidden));
        }
        piece.calls.into_iter().for_each(|piece| self.call(piece));
    }

    /// Adds text and passes it on. Thinking starts with an empty piece of reasoning, and text with an empty piece of text;
    /// neither is passed on.
    fn hear(
        &mut self,
        SplitText { reasoning, text }: SplitText,
        deltas: &mut (dyn FnMut(ReplyDelta) + Send),
    ) {
        if !reasoning.is_empty() {
            self.reasoning.push_str(&reasoning);
            deltas(ReplyDelta::Reasoning(reasoning));
        }
        if !text.is_empty() {
            self.content.push_str(&text);
            deltas(ReplyDelta::Text(text));
        }
    }

    /// Adds a piece of a tool call.
    fn call(&mut self, piece: CallPiece) {
        if !self.offers_tools {
            return;
        }
        let at = self.call_of(&piece);
        if at.is_none() && self.calls.len() >= MAX_CALLS {
            return;
        }
        if at.is_none() {
            self.calls.push((piece.index, ToolCall::default()));
        }
        let at = at.unwrap_or(self.calls.len() - 1);
        if let Some((_, call)) = self.calls.get_mut(at) {
            keep_first(&mut call.id, piece.id);
            keep_first(&mut call.name, piece.name);
            call.arguments.push_str(&piece.arguments);
        }
    }

    /// Returns the position of the call that a piece continues; `None` if it begins one.
    ///
    /// An id says more than an index, which some servers always send as 0. A named piece without an id begins a call if
    /// the one before it is complete.
    fn call_of(&self, piece: &CallPiece) -> Option<usize> {
        let with_id = |(_, call): &(_, ToolCall)| call.id == piece.id;
        if let Some(at) = self.calls.iter().position(with_id).filter(|_| !piece.id.is_empty()) {
            return Some(at);
        }
        let same_index =
            |(index, _): &(Option<u64>, _)| piece.index.is_none() || *index == piece.index;
        let at = self.calls.iter().rposition(same_index)?;
        let (_, call) = self.calls.get(at)?;
        let is_new = if piece.id.is_empty() || call.id.is_empty() {
            serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok()
        } else {
            true
        };
        (piece.name.is_empty() || !is_new).then_some(at)
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

    /// Returns whether the answer is certain to be complete: the server gave a reason why it ended. Only counts may
    /// follow.
    pub(super) const fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    /// Checks the answer after its end.
    ///
    /// Text counts as an answer, and so do calls of offered tools. Blanks or reasoning alone are an empty answer.
    pub(super) fn finish(
        mut self,
        body: &BodyReader,
        media_type: &str,
        deltas: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<ModelReply, ModelError> {
        let rest = self.splitter.rest();
        self.hear(rest, deltas);
        let usage = self.usage;
        let may_go_on = match self.end {
            AnswerEnd::Marked => false,
            AnswerEnd::Cut => true,
            AnswerEnd::Open => self.has_choice || (self.events == 0 && body.is_stream()),
        };
        if may_go_on && !self.has_ended() {
            return Err(ModelError::Truncated { partial: self.partial(body.unfinished()) });
        }
        if !self.has_choice && usage.is_none() {
            let begins = classify::masked_text(&body.begins(), self.form.key);
            let message = format!("expected an answer, got {media_type}: {begins}");
            return Err(ModelError::Malformed { message, partial: self.partial(0) });
        }
        let reason = self.finish.as_deref().unwrap_or_default().to_lowercase();
        let means = |reasons: &[String]| reasons.contains(&reason);
        let reasons = self.form.reasons;
        let is_full = usage.is_some_and(|usage| usage.output >= u64::from(self.max_tokens));
        let is_known = ["stop", "tool_calls"].contains(&reason.as_str());
        if means(&reasons.length) || (is_full && !is_known) {
            let max_tokens = self.max_tokens;
            return Err(match usage {
                Some(Usage { prompt, output, .. }) if !is_full && output > 0 => {
                    ModelError::Full { max_tokens, output, total: prompt + output, usage }
                }
                _ => ModelError::Length { max_tokens, usage, text: self.content },
            });
        }
        if means(&reasons.content_filter) {
            return Err(ModelError::ContentFilter { usage });
        }
        if means(&reasons.capacity) {
            return Err(ModelError::OutOfCapacity { usage });
        }
        if self.reasoning.is_empty()
            && let Some(split) = closed_only(&self.content)
        {
            (self.reasoning, self.content) = (split.reasoning, split.text);
        }
        if self.content.trim().is_empty() && self.calls.is_empty() {
            return Err(ModelError::Empty { usage });
        }
        let calls = self.calls.into_iter().map(|(_, call)| call).enumerate().map(named);
        let finish =
            if reason == "tool_calls" { FinishReason::ToolCalls } else { FinishReason::Stop };
        Ok(ModelReply {
            content: self.content,
            reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
            tool_calls: calls.collect(),
            finish,
            usage,
            model: self.model,
            id: self.id,
        })
    }
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
    use std::sync::LazyLock;

    use super::*;

    static LLM: LazyLock<config::Llm> =
        LazyLock::new(|| config::resolve_layers(&config::Inputs::default()).unwrap().config.llm);

    /// An empty answer in the usual dialect, of up to 100 tokens.
    fn empty(max_bytes: u64, offers_tools: bool) -> Assembly<'static> {
        let dialect = &LLM.dialects["deepseek"];
        let form = AnswerForm { dialect, reasons: &LLM.finish_reasons, key: None };
        let request = ChatRequest {
            role: crate::AgentRole::Editor,
            run: String::new(),
            lane: None,
            model: String::new(),
            thinking: None,
            max_tokens: 100,
            max_bytes,
            tools: Vec::new(),
            tool_choice: crate::ToolChoice::Auto,
            dialect: dialect.clone().into(),
            messages: Vec::new(),
        };
        Assembly { offers_tools, ..Assembly::new(&request, form) }
    }

    /// Assembles a stream of these events, which ends after them. Returns the result and the deltas.
    fn assemble(events: &[&str]) -> (Result<ModelReply, ModelError>, Vec<ReplyDelta>) {
        let mut assembly = empty(40, false);
        let mut seen = Vec::new();
        for data in events {
            match assembly.event(data, &mut |delta| seen.push(delta)) {
                Ok(StreamState::Open) => {}
                Ok(StreamState::Done) => break,
                Err(error) => return (Err(error), seen),
            }
        }
        let result = assembly.finish(&BodyReader::new(100), "text/event-stream", &mut |_| ());
        (result, seen)
    }

    fn finished(finish: &str, content: &str) -> Result<ModelReply, ModelError> {
        let event = format!(
            r#"{{"choices":[{{"delta":{{"content":{content:?}}},"finish_reason":{finish:?}}}],"usage":{{"prompt_tokens":5,"completion_tokens":0}}}}"#
        );
        assemble(&[&event, "[DONE]"]).0
    }

    const USAGE: Option<Usage> = Some(Usage { prompt: 5, hit: None, output: 0, reasoning: None });

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
            r#""delta":{"role":"assistant","thoughts":"xxxx"}"#,
            r#""delta":{"refusal":"xxxx"}"#,
            r#""delta":{"thoughts":"xxxx","thought_details":[{"text":"xxxx"}]}"#,
            r#""delta":{"function_call":{"arguments":"xxxx"}}"#,
            r#""text":"xxxx""#,
        ] {
            assert_eq!(piece(fields), [ReplyDelta::Hidden(4)], "{fields}");
        }
        let same = r#""delta":{"reasoning_content":"xxxx","reasoning":"xxxx"}"#;
        assert_eq!(piece(same), [ReplyDelta::Reasoning("xxxx".into())]);
        let endless = [r#"{"choices":[{"delta":{"thoughts":"0123456789"}}]}"#; 5];
        assert!(matches!(assemble(&endless).0, Err(ModelError::Length { .. })));
    }

    #[test]
    fn usage_never_shrinks() {
        let told = |usage: &str| {
            let begun = r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":90,"completion_tokens":70}}"#;
            let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":USAGE}"#;
            assemble(&[begun, &end.replace("USAGE", usage), "[DONE]"]).0.unwrap().usage
        };
        let at = |prompt, hit, output| Some(Usage { prompt, hit, output, reasoning: None });
        for none in ["null", "{}", r#"{"prompt_tokens":1e308,"completion_tokens":-1}"#, "\"0\""] {
            assert_eq!(told(none), at(90, None, 70), "{none}");
        }
        let less = r#"{"prompt_tokens":3,"completion_tokens":0,"prompt_cache_hit_tokens":2}"#;
        assert_eq!(told(less), at(90, Some(2), 70));
        assert_eq!(told(r#"{"prompt_tokens":91,"completion_tokens":7}"#), at(91, None, 70));
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
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"\"src\"}"}}]},"finish_reason":"tool_calls"}]}"#,
        ];
        let calls = |offers_tools| {
            let mut assembly = empty(400, offers_tools);
            for data in events {
                assembly.event(data, &mut |_| ()).unwrap();
            }
            assembly.finish(&BodyReader::new(100), "", &mut |_| ()).unwrap().tool_calls
        };
        let call = |id: &str, name: &str, arguments: &str| ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        };
        let list = call("a", "fs_list", r#"{"directory":"src"}"#);
        assert_eq!(calls(true), [list, call("call_1", "fs_read", "{}")]);
        assert!(calls(false).is_empty(), "calls of tools that were not offered are dropped");
    }

    #[test]
    fn an_id_says_more_than_an_index() {
        let calls = |pieces: &[&str]| {
            let mut assembly = empty(400, true);
            for piece in pieces {
                let event = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{piece}]}}}}]}}"#);
                assembly.event(&event, &mut |_| ()).unwrap();
            }
            let of = |(_, call): (_, ToolCall)| format!("{} {}", call.name, call.arguments);
            assembly.calls.into_iter().map(of).collect::<Vec<_>>()
        };
        for pieces in [
            // Ids, and an index that is always 0.
            [
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"g","arguments":"[]"}}"#,
            ],
            // Neither ids nor indices.
            [
                r#"{"function":{"name":"f","arguments":"{}"}}"#,
                r#"{"function":{"name":"g","arguments":"[]"}}"#,
            ],
            // Arguments as an object, numbers as ids.
            [
                r#"{"id":1,"function":{"name":"f","arguments":{}}}"#,
                r#"{"id":2,"function":{"name":"g","arguments":"[]"}}"#,
            ],
        ] {
            assert_eq!(calls(&pieces), ["f {}", "g []"], "{pieces:?}");
        }
        let id_each_time = [
            r#"{"id":"a","index":0,"function":{"name":"f","arguments":"{"}}"#,
            r#"{"id":"a","index":0,"function":{"name":"f","arguments":"}"}}"#,
        ];
        assert_eq!(calls(&id_each_time), ["f {}"]);
        let name_each_time = id_each_time.map(|piece| piece.replace(r#""id":"a","#, ""));
        assert_eq!(calls(&[&name_each_time[0], &name_each_time[1]]), ["f {}"]);
    }

    #[test]
    fn only_a_stop_with_text_is_an_answer() {
        assert!(finished("stop", "x").is_ok());
        assert!(finished("tool_calls", "x").is_ok());
        assert_eq!(finished("stop", ""), Err(ModelError::Empty { usage: USAGE }));
        assert_eq!(finished("stop", " \n"), Err(ModelError::Empty { usage: USAGE }));
        assert_eq!(
            finished("length", "x"),
            Err(ModelError::Length { max_tokens: 100, usage: USAGE, text: "x".into() })
        );
        assert_eq!(
            finished("content_filter", "x"),
            Err(ModelError::ContentFilter { usage: USAGE })
        );
        assert_eq!(
            finished("insufficient_system_resource", "x"),
            Err(ModelError::OutOfCapacity { usage: USAGE })
        );
        assert!(finished("tired", "x").is_ok(), "it ended, and with text");
        assert!(matches!(finished("MAX_TOKENS", "x"), Err(ModelError::Length { .. })));
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
            let text = if field == "content" {
                format!("f{0}f{0}", "x".repeat(20))
            } else {
                String::new()
            };
            let length = ModelError::Length { max_tokens: 100, usage: None, text };
            assert_eq!(cut, Err(length), "{field}");
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
