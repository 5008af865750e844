//! The content of an answer: reasoning, text and tool calls, cut or emptied as the behaviour requires. Pure.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each function lists the behaviours it handles; all others pass through"
)]

use super::cache::tokens;
use super::schema::{AnsweredToolCall, CallFunction, RequestMessage};
use super::script::ScriptedCall;
use super::{Behaviour, ScriptedReply};
use model::Usage;

/// The text if the script has none.
const DEFAULT_TEXT: &str = "ok";
/// The reasoning if a behaviour needs some and the script has none.
const DEFAULT_REASONING: &str = "Let me think.";

/// The content of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) reasoning: String,
    pub(super) text: String,
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) finish: &'static str,
    pub(super) thinks: bool,
}

impl Content {
    pub(super) fn new(behaviour: Behaviour, reply: &ScriptedReply, thinks: bool) -> Self {
        let text = reply.text.as_deref().unwrap_or(DEFAULT_TEXT);
        let thought = reply.reasoning.as_deref();
        let plain = Self {
            reasoning: thought.unwrap_or_default().to_owned(),
            text: text.to_owned(),
            calls: Vec::new(),
            finish: "stop",
            thinks,
        };
        let thoughtful = thought.unwrap_or(DEFAULT_REASONING).to_owned();
        let cut = |finish| Self { text: half(text), finish, ..plain.clone() };
        let calling =
            |calls| Self { text: String::new(), calls, finish: "tool_calls", ..plain.clone() };
        let content = match behaviour {
            Behaviour::ReasoningText => Self { reasoning: thoughtful, ..plain },
            Behaviour::ReasoningOnly => {
                Self { reasoning: thoughtful, text: String::new(), ..plain }
            }
            Behaviour::ToolCall => calling(calls(reply)),
            Behaviour::TextThenToolCall => Self { text: text.to_owned(), ..calling(calls(reply)) },
            Behaviour::LengthMidArguments => {
                Self { finish: "length", ..calling(with_arguments(reply, half)) }
            }
            Behaviour::InvalidJsonArguments => {
                calling(with_arguments(reply, |arguments| format!("{arguments}}}")))
            }
            Behaviour::Length => cut("length"),
            Behaviour::ContentFilter => cut("content_filter"),
            Behaviour::InsufficientSystemResource => cut("insufficient_system_resource"),
            Behaviour::EmptyStop => Self { reasoning: String::new(), text: String::new(), ..plain },
            Behaviour::BlankJson => Self { text: " ".repeat(text.len()), ..plain },
            _ => plain,
        };
        if thinks { content } else { Self { reasoning: String::new(), ..content } }
    }

    /// Returns the token counts of a call with this prompt. An answer that was cut at its length has used all of that.
    pub(super) fn usage(&self, prompt: usize, hit: usize, max_tokens: u64) -> Usage {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let called: u64 =
            self.calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments)).sum();
        let reasoning = tokens(&self.reasoning);
        Usage {
            prompt: number(prompt),
            hit: Some(number(hit)),
            output: if self.finish == "length" {
                max_tokens
            } else {
                reasoning + tokens(&self.text) + called
            },
            reasoning: Some(reasoning),
        }
    }

    /// Returns the message that a client would send back.
    pub(super) fn message(&self, number: u64) -> RequestMessage {
        let calls = self.calls.iter().enumerate().map(|(at, call)| AnsweredToolCall {
            id: call_id(number, at),
            function: CallFunction { name: call.name.clone(), arguments: call.arguments.clone() },
        });
        RequestMessage::Assistant {
            content: Some(self.text.clone()),
            reasoning_content: Some(self.reasoning.clone()),
            tool_calls: Some(calls.collect()),
        }
    }
}

/// Returns the id of the call at index `at` in the answer to request `number`.
pub(super) fn call_id(number: u64, at: usize) -> String {
    format!("call_{at:02}_{number:024}")
}

fn calls(reply: &ScriptedReply) -> Vec<ScriptedCall> {
    if !reply.tool_calls.is_empty() {
        return reply.tool_calls.clone();
    }
    vec![ScriptedCall { name: "lookup".to_owned(), arguments: r#"{"word": "mock"}"#.to_owned() }]
}

fn with_arguments(reply: &ScriptedReply, change: impl Fn(&str) -> String) -> Vec<ScriptedCall> {
    calls(reply)
        .into_iter()
        .map(|call| ScriptedCall { arguments: change(&call.arguments), ..call })
        .collect()
}

fn half(text: &str) -> String {
    text.chars().take(text.chars().count().div_ceil(2)).collect()
}
