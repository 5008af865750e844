//! Renders the content of an answer as a response, in the format and with the fault that the behaviour requires. Pure.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each function lists the behaviours it handles; all others pass through"
)]

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::answer::{AnswerPieces, ConnectionEnd, Response, ResponseStep};
use super::content::{Content, call_id};
use super::dialect;
use super::play::COMMENT;
use super::refusal::RefusedRequest;
use super::{Behaviour, ScriptedReply};
use config::Dialect;
use model::Usage;

/// Default time between comments, in milliseconds.
const KEEPALIVE_MS: u64 = 10;
/// Default time for which comments are sent, in milliseconds.
const KEEPALIVE_TOTAL_MS: u64 = 50;
/// Default wait before each event of `slow`, in milliseconds.
const SLOW_MS: u64 = 10;
/// Default wait between the events of an endless answer, in milliseconds.
const ENDLESS_MS: u64 = 1;
/// The creation time of all answers; the fake has no clock.
const CREATED: u64 = 1_781_234_567;

/// The beginning of an event whose text never ends.
const UNCLOSED: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"";

/// Everything needed to render an answer.
#[derive(Debug)]
pub(super) struct RenderedTurn<'a> {
    pub(super) number: u64,
    pub(super) model: &'a str,
    pub(super) behaviour: Behaviour,
    pub(super) reply: &'a ScriptedReply,
    pub(super) content: &'a Content,
    pub(super) usage: Usage,
    pub(super) streams: bool,
    /// True if every chunk has a `usage` field, possibly null.
    pub(super) names_usage: bool,
    /// The dialect, unless it is DeepSeek's own.
    pub(super) dialect: Option<&'a Dialect>,
}

/// Returns the response of a behaviour that does not depend on the conversation; `None` for the others.
pub(super) fn failure(behaviour: Behaviour, reply: &ScriptedReply) -> Option<Response> {
    let (status, message) = match behaviour {
        Behaviour::ResetBeforeHeaders => return Some(Response::reset()),
        Behaviour::Http502Html => {
            let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1>\
                        </center>\r\n<hr><center>openresty</center>\r\n</body>\r\n</html>\r\n";
            return Some(Response::plain(502, "text/html", page));
        }
        Behaviour::HtmlPage => {
            let page = "<!doctype html>\n<html><head><title>Welcome</title></head><body>Sign in</body></html>\n";
            return Some(Response::plain(200, "text/html; charset=utf-8", page));
        }
        Behaviour::Raw => {
            let kind = reply.media_type.as_deref().unwrap_or("text/event-stream");
            return Some(Response::plain(200, kind, reply.text.clone().unwrap_or_default()));
        }
        Behaviour::Http400 => (400, "Invalid request"),
        Behaviour::Http401 => (401, "Authentication Fails, Your api key: ****fcc2 is invalid"),
        Behaviour::Http402 => (402, "Insufficient Balance"),
        Behaviour::Http413 => (413, "Request body is too large"),
        Behaviour::Http422 => (422, "Failed to deserialize the JSON body into the target type"),
        Behaviour::Http429 => (429, "Rate limit reached for TPM"),
        Behaviour::Http500 => (500, "Internal server error"),
        Behaviour::Http503 => (503, "The server is overloaded, please retry later"),
        _ => return None,
    };
    let message = reply.text.as_deref().unwrap_or(message);
    let mut answer = Response::refused(&RefusedRequest::new(status, message));
    if let Some(wait) = &reply.retry_after {
        answer.headers.push(("retry-after", wait.clone()));
    }
    Some(answer)
}

impl RenderedTurn<'_> {
    /// Renders the response.
    pub(super) fn answer(&self) -> Response {
        if self.behaviour == Behaviour::NonstreamEmptyLines {
            return self.after_empty_lines();
        }
        if !self.streams {
            return Response::json(200, self.completion().to_string());
        }
        let events = self.events();
        let half = events.len() / 2;
        let mut answer = Response::stream(self.paced(&events));
        match self.behaviour {
            Behaviour::StallAfterHeaders => answer.cut(0, ConnectionEnd::Hang),
            Behaviour::KeepaliveForever => answer.cut(0, self.comments()),
            Behaviour::KeepaliveMid => answer.cut(half, self.comments()),
            Behaviour::StallMid => answer.cut(half, ConnectionEnd::Hang),
            Behaviour::ResetMid => answer.cut(half, ConnectionEnd::Reset),
            Behaviour::OneByteWrites => answer.writes = AnswerPieces::Bytewise(Duration::ZERO),
            Behaviour::Stutter => answer.writes = AnswerPieces::Bytewise(self.pause(SLOW_MS)),
            Behaviour::EndlessText
            | Behaviour::EndlessReasoning
            | Behaviour::EndlessUnknownField
            | Behaviour::EndlessLine
            | Behaviour::EndlessEvents => {
                if self.behaviour == Behaviour::EndlessLine {
                    answer.steps = vec![ResponseStep::Send(Bytes::from_static(UNCLOSED))];
                } else {
                    answer.cut(1, ConnectionEnd::Hang);
                }
                let (piece, every) = (self.repeated(), self.pause(ENDLESS_MS));
                answer.end = ConnectionEnd::Repeat { piece, every };
            }
            Behaviour::Utf8Split => answer.steps = split_characters(&events.concat()),
            Behaviour::WrongContentType => {
                answer.headers = vec![("content-type", "text/html".to_owned())];
            }
            Behaviour::Gzip => {
                answer.headers.push(("content-encoding", "gzip".to_owned()));
                answer.steps = vec![ResponseStep::Send(gzip(&events.concat()))];
            }
            Behaviour::KeepaliveThenText => {
                let total = or_default(self.reply.keepalive_total_ms, KEEPALIVE_TOTAL_MS);
                answer.steps.insert(0, ResponseStep::Comments { every: self.keepalive(), total });
            }
            _ => {}
        }
        answer
    }

    fn keepalive(&self) -> Duration {
        or_default(self.reply.keepalive_ms, KEEPALIVE_MS)
    }

    fn comments(&self) -> ConnectionEnd {
        ConnectionEnd::Repeat { piece: Bytes::from_static(COMMENT), every: self.keepalive() }
    }

    fn pause(&self, default: u64) -> Duration {
        or_default(self.reply.chunk_delay_ms, default)
    }

    /// Returns the piece that an endless answer repeats.
    fn repeated(&self) -> Bytes {
        let text = self.content.text.as_str();
        let delta = match self.behaviour {
            Behaviour::EndlessLine => return text.to_owned().into(),
            Behaviour::EndlessReasoning => json!({"content": null, "reasoning_content": text}),
            Behaviour::EndlessUnknownField => json!({"content": null, "thoughts": text}),
            Behaviour::EndlessEvents => self.text_delta(""),
            _ => self.text_delta(text),
        };
        event(&self.chunk(&delta, None)).into()
    }

    /// Adds a wait before each event, and before the end of the body.
    fn paced(&self, events: &[String]) -> Vec<ResponseStep> {
        let pause = match self.behaviour {
            Behaviour::Slow => self.pause(SLOW_MS),
            Behaviour::Stutter => Duration::ZERO,
            _ => self.pause(0),
        };
        let send = |event: &String| ResponseStep::Send(Bytes::from(event.clone()));
        if pause.is_zero() {
            return events.iter().map(send).collect();
        }
        let paced = events.iter().flat_map(|event| [ResponseStep::Pause(pause), send(event)]);
        paced.chain([ResponseStep::Pause(pause)]).collect()
    }

    /// Renders the events of the stream, with the faults in their text.
    fn events(&self) -> Vec<String> {
        let mut events: Vec<String> = self.chunks().iter().map(event).collect();
        let half = events.len() / 2;
        match self.behaviour {
            Behaviour::EofNoDone => return events,
            Behaviour::DoneWithoutBlankLine => {
                events.push("data: [DONE]\n".to_owned());
                return events;
            }
            Behaviour::MalformedJsonEvent => {
                events.insert(half, "data: {\"choices\":[{\"index\":0,\n\n".to_owned());
            }
            Behaviour::ErrorEvent => {
                let message = self.reply.text.as_deref().unwrap_or("The server had an error");
                let error = json!({"error": {"message": message, "type": "server_error", "param": null, "code": null}});
                events.insert(half, event(&error));
            }
            _ => {}
        }
        events.push("data: [DONE]\n\n".to_owned());
        if self.behaviour == Behaviour::CrlfAndBom {
            let first = events.first_mut().into_iter();
            first.for_each(|event| event.insert(0, '\u{feff}'));
            events = events.iter().map(|event| event.replace('\n', "\r\n")).collect();
        }
        events
    }

    fn chunks(&self) -> Vec<Value> {
        let mut chunks = vec![self.chunk(&self.opening(), None)];
        let chars = self.reply.chunk_chars;
        for piece in pieces(&self.content.reasoning, chars) {
            chunks.push(self.chunk(&json!({"content": null, self.reasoning_field(): piece}), None));
        }
        for piece in pieces(&self.content.text, chars) {
            chunks.push(self.chunk(&self.text_delta(&piece), None));
        }
        for (at, call) in self.content.calls.iter().enumerate() {
            let id = call_id(self.number, at);
            let function = json!({"name": call.name, "arguments": ""});
            let opening = json!({"index": at, "id": id, "type": "function", "function": function});
            chunks.push(self.chunk(&json!({"tool_calls": [opening]}), None));
            for piece in pieces(&call.arguments, chars) {
                let more = json!({"index": at, "function": {"arguments": piece}});
                chunks.push(self.chunk(&json!({"tool_calls": [more]}), None));
            }
        }
        chunks.push(self.chunk(&self.text_delta(""), Some(self.content.finish)));
        self.with_usage(&mut chunks);
        match self.behaviour {
            Behaviour::ChoicesNull => without_choices(&mut chunks),
            Behaviour::UnknownFields => chunks.iter_mut().for_each(with_unknown_fields),
            _ => {}
        }
        chunks
    }

    /// The first delta: an empty piece of reasoning if the model thinks, otherwise an empty piece of text.
    fn opening(&self) -> Value {
        if self.content.thinks {
            json!({"role": "assistant", "content": null, self.reasoning_field(): ""})
        } else {
            json!({"role": "assistant", "content": ""})
        }
    }

    fn text_delta(&self, piece: &str) -> Value {
        if self.content.thinks {
            json!({"content": piece, self.reasoning_field(): null})
        } else {
            json!({"content": piece})
        }
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        let mut chunk = json!({
            "id": self.id(),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "system_fingerprint": "fp_mock",
            "choices": [choice],
        });
        if self.names_usage {
            set(&mut chunk, "usage", Value::Null);
        }
        chunk
    }

    /// Adds the usage to the last chunk, or to an extra chunk as older servers did.
    fn with_usage(&self, chunks: &mut Vec<Value>) {
        match self.behaviour {
            Behaviour::UsageAbsent => {
                for chunk in chunks {
                    chunk.as_object_mut().and_then(|fields| fields.remove("usage"));
                }
            }
            Behaviour::UsageTrailingChunk => {
                let mut last = self.chunk(&Value::Null, None);
                set(&mut last, "choices", json!([]));
                set(&mut last, "usage", self.usage());
                chunks.push(last);
            }
            _ => {
                if let Some(last) = chunks.last_mut() {
                    set(last, "usage", self.usage());
                }
            }
        }
    }

    fn reasoning_field(&self) -> &str {
        let named = self.dialect.and_then(|dialect| dialect.reasoning.first());
        named.map_or("reasoning_content", String::as_str)
    }

    fn id(&self) -> String {
        format!("00000000-0000-4000-8000-{:012x}", self.number)
    }

    fn usage(&self) -> Value {
        if let Some(told) = &self.reply.usage_told {
            return told.clone();
        }
        if let Some(dialect) = self.dialect {
            return dialect::usage(dialect, &self.usage);
        }
        let Usage { prompt, hit, output, reasoning } = self.usage;
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": self.usage.total(),
            "prompt_tokens_details": {"cached_tokens": hit},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
            "prompt_cache_hit_tokens": hit,
            "prompt_cache_miss_tokens": self.usage.miss(),
        })
    }

    /// Renders the answer as one object, without streaming.
    fn completion(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content.text});
        if self.content.thinks {
            set(&mut message, self.reasoning_field(), self.content.reasoning.as_str().into());
        }
        if !self.content.calls.is_empty() {
            let calls = self.content.calls.iter().enumerate().map(|(at, call)| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": call_id(self.number, at), "type": "function", "function": function})
            });
            set(&mut message, "tool_calls", calls.collect());
        }
        json!({
            "id": self.id(),
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "system_fingerprint": "fp_mock",
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": self.content.finish}],
            "usage": self.usage(),
        })
    }

    fn after_empty_lines(&self) -> Response {
        let line =
            [ResponseStep::Send(Bytes::from_static(b"\n")), ResponseStep::Pause(self.keepalive())];
        let mut steps = [line.clone(), line.clone(), line].concat();
        steps.push(ResponseStep::Send(Bytes::from(self.completion().to_string())));
        Response {
            headers: vec![("content-type", "application/json".to_owned())],
            ..Response::stream(steps)
        }
    }
}

impl Response {
    /// Keeps this many events, and then ends the response with a fault.
    fn cut(&mut self, events: usize, end: ConnectionEnd) {
        let mut left = events;
        self.steps.retain(|step| {
            let is_event = matches!(step, ResponseStep::Send(_));
            let kept = left > 0;
            left = left.saturating_sub(usize::from(is_event));
            kept
        });
        self.end = end;
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn or_default(millis: u64, default: u64) -> Duration {
    Duration::from_millis(if millis == 0 { default } else { millis })
}

/// Splits `text` into pieces of `chars` characters; 0 keeps it whole.
fn pieces(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    let chars = if chars == 0 { all.len().max(1) } else { chars };
    all.chunks(chars).map(|piece| piece.iter().collect()).collect()
}

/// Inserts chunks with `choices` null, missing and empty between the others.
fn without_choices(chunks: &mut Vec<Value>) {
    let Some(first) = chunks.first().cloned() else { return };
    let (mut null, mut missing, mut empty) = (first.clone(), first.clone(), first);
    set(&mut null, "choices", Value::Null);
    missing.as_object_mut().and_then(|fields| fields.remove("choices"));
    set(&mut empty, "choices", json!([]));
    chunks.insert(0, null);
    chunks.insert(2, missing);
    chunks.insert(3, empty);
}

fn with_unknown_fields(chunk: &mut Value) {
    set(chunk, "service_tier", json!({"name": "unknown"}));
    if let Some(choice) = chunk.pointer_mut("/choices/0") {
        set(choice, "matched_stop", json!([1, "two", null]));
    }
    if let Some(delta) = chunk.pointer_mut("/choices/0/delta") {
        set(delta, "audio", json!({"id": null}));
    }
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

fn gzip(text: &str) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.expect("a Vec takes everything").into()
}

/// Splits a text inside every multi-byte character.
fn split_characters(text: &str) -> Vec<ResponseStep> {
    let inside = text.char_indices().filter(|(_, char)| char.len_utf8() > 1).map(|(at, _)| at + 1);
    let mut steps = Vec::new();
    let mut rest = Bytes::from(text.to_owned());
    let mut from = 0;
    for at in inside {
        steps.extend([ResponseStep::Send(rest.split_to(at - from)), ResponseStep::Flush]);
        from = at;
    }
    steps.push(ResponseStep::Send(rest));
    steps
}
