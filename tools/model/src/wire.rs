//! A request of the chat-completions API, and its one deterministic encoding.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use config::{Dialect, Effort, Parameter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::image::PromptImage;

/// Estimated bytes per token, for when the server's counts are missing or not trusted.
pub const BYTES_PER_TOKEN: u64 = 4;

/// The role of the program that sends a request; sent as `X-Agent-Role`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentRole {
    /// Writes the plan.
    Architect,
    /// Writes the diff.
    Editor,
    /// Splits a task into lanes.
    LanePlanner,
    /// Answers a question.
    Analysis,
    /// Decides whether a request is an edit or a question.
    Intent,
    /// Leads the research of a mission and writes its card.
    Researcher,
    /// Answers one of the many child questions of a mission.
    Child,
}

impl AgentRole {
    /// All roles.
    pub const ALL: [Self; 7] = [
        Self::Architect,
        Self::Editor,
        Self::LanePlanner,
        Self::Analysis,
        Self::Intent,
        Self::Researcher,
        Self::Child,
    ];

    /// Returns the role's name as sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Editor => "editor",
            Self::LanePlanner => "lane-planner",
            Self::Analysis => "analysis",
            Self::Intent => "intent",
            Self::Researcher => "researcher",
            Self::Child => "child",
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum ChatMessage {
    /// Fixed instructions.
    System {
        /// The text.
        content: String,
    },
    /// A message of the user, or of the program on the user's behalf.
    User {
        /// The text.
        content: String,
        /// The images that follow it.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        images: Vec<PromptImage>,
    },
    /// An answer of the model.
    Assistant {
        /// The text.
        content: String,
        /// The reasoning, kept so that it can be sent back where the provider wants it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reasoning_content: Option<String>,
        /// The tool calls in the answer.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        tool_calls: Vec<ToolCall>,
    },
    /// The result of a tool call. The results must follow directly after the answer with the calls, one for each call.
    Tool {
        /// The id of the call.
        tool_call_id: String,
        /// The result; never empty.
        content: String,
    },
}

impl ChatMessage {
    /// Creates a message of the user without images.
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into(), images: Vec::new() }
    }

    fn images(&self) -> &[PromptImage] {
        if let Self::User { images, .. } = self { images } else { &[] }
    }
}

/// A tool offered to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolOffer {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What the tool is for.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolCall {
    /// Identifies the call within its answer.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments; should be JSON.
    pub arguments: String,
}

/// Whether a model may call the offered tools. The tools stay in the request either way, so that the provider's cache
/// keeps the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model may call tools.
    #[default]
    Auto,
    /// The model must answer without tools.
    None,
}

impl ToolChoice {
    /// Returns whether this is the provider's default when tools are offered.
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// How many tokens a prompt has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptTokens {
    /// At most: a token of text is at least one byte.
    pub most: u64,
    /// Estimated.
    pub estimated: u64,
}

/// A request, complete except for the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    /// Sent as `X-Agent-Role`.
    pub role: AgentRole,
    /// Sent as `X-Agent-Run`.
    pub run: String,
    /// Sent as `X-Agent-Lane`; `None` outside lanes.
    pub lane: Option<String>,
    /// The model's id.
    pub model: String,
    /// The thinking effort; `None` turns thinking off.
    pub thinking: Option<Effort>,
    /// Maximum length of the answer, in tokens.
    pub max_tokens: u32,
    /// Size at which the client cuts the answer, in bytes, even if the server ignores `max_tokens`.
    pub max_bytes: u64,
    /// The tools offered to the model.
    pub tools: Vec<ToolOffer>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
    /// How the server wants it written.
    pub dialect: Arc<Dialect>,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
}

impl ChatRequest {
    /// Returns the request body. The same request always gives the same bytes. `messages` come last, so that the body
    /// of a longer conversation starts with all but the last two bytes of the shorter one.
    pub fn body(&self) -> Bytes {
        let has = |parameter| self.dialect.has(parameter);
        let limit = |parameter| has(parameter).then_some(self.max_tokens);
        let thinks = self.thinking.is_some();
        let tools = if has(Parameter::Tools) { self.tools.as_slice() } else { &[] };
        let body = Body {
            model: &self.model,
            stream: true,
            stream_options: has(Parameter::StreamOptions)
                .then_some(StreamOptions { include_usage: true }),
            max_tokens: limit(Parameter::MaxTokens),
            max_completion_tokens: limit(Parameter::MaxCompletionTokens),
            thinking: has(Parameter::Thinking)
                .then_some(Thinking { kind: if thinks { "enabled" } else { "disabled" } }),
            chat_template_kwargs: has(Parameter::ChatTemplateKwargs)
                .then_some(TemplateArguments { thinking: thinks, enable_thinking: thinks }),
            reasoning: has(Parameter::Reasoning)
                .then_some(Reasoning { enabled: thinks, effort: self.thinking }),
            reasoning_effort: self.thinking.filter(|_| has(Parameter::ReasoningEffort)),
            tools: tools.iter().map(|function| Offered { kind: FUNCTION, function }).collect(),
            tool_choice: if tools.is_empty() || !has(Parameter::ToolChoice) {
                ToolChoice::Auto
            } else {
                self.tool_choice
            },
            messages: self.wire_messages(),
        };
        serde_json::to_vec(&body).expect("strings and numbers always serialize").into()
    }

    /// Returns what the request has of the parameters that not every server understands.
    pub fn parameters(&self) -> BTreeSet<Parameter> {
        let has_tools = !self.tools.is_empty();
        let is_sent = |parameter: &Parameter| match parameter {
            Parameter::ReasoningEffort => self.thinking.is_some(),
            Parameter::Tools | Parameter::ReasoningContent => has_tools,
            Parameter::ToolChoice => has_tools && !self.tool_choice.is_auto(),
            Parameter::MaxTokens
            | Parameter::MaxCompletionTokens
            | Parameter::StreamOptions
            | Parameter::Thinking
            | Parameter::ChatTemplateKwargs
            | Parameter::Reasoning
            | Parameter::System => true,
        };
        self.dialect.parameters.iter().copied().filter(is_sent).collect()
    }

    /// Returns the messages as sent. Where the server has no instructions, they are put before the first message of the
    /// user.
    fn wire_messages(&self) -> Vec<WireMessage<'_>> {
        let mut messages: Vec<_> =
            self.messages.iter().map(|message| self.on_the_wire(message)).collect();
        if self.dialect.has(Parameter::System) {
            return messages;
        }
        let first = messages.iter().position(|message| message.role == "user");
        let is_system = |message: &WireMessage<'_>| message.role == "system";
        if let (true, Some(first)) = (messages.first().is_some_and(is_system), first) {
            let system = messages.remove(0).content;
            if let Some(message) = messages.get_mut(first - 1) {
                message.content.prepend(&system);
            }
        }
        messages
    }

    /// Returns the number of tokens of the prompt. An image counts by its pixels, however long its content is.
    pub fn prompt_tokens(&self) -> PromptTokens {
        let images = || self.messages.iter().flat_map(ChatMessage::images);
        let sent: u64 = images().map(|image| image.url.len() as u64).sum();
        let seen: u64 = images().map(|image| image.tokens).sum();
        let text = (self.body().len() as u64).saturating_sub(sent);
        PromptTokens { most: text + seen, estimated: text / BYTES_PER_TOKEN + seen }
    }

    /// Returns the number of bytes of the messages and tools, without images.
    pub fn prompt_bytes(&self) -> u64 {
        let said = self.messages.iter().map(|message| self.on_the_wire(message).bytes());
        let offered =
            self.tools.iter().map(|tool| serde_json::to_vec(tool).map_or(0, |json| json.len()));
        said.chain(offered).sum::<usize>() as u64
    }

    /// Converts a message to its wire form, independently of the messages around it.
    ///
    /// Reasoning is included when tools are offered, because the provider requires it then. Otherwise the provider
    /// ignores it.
    fn on_the_wire<'a>(&self, message: &'a ChatMessage) -> WireMessage<'a> {
        let said = |role, content: &'a str| WireMessage {
            role,
            content: Content::of(content),
            ..WireMessage::default()
        };
        match message {
            ChatMessage::System { content } => said("system", content),
            ChatMessage::User { content, images } => {
                WireMessage { content: Content::with(content, images), ..said("user", content) }
            }
            ChatMessage::Assistant { content, reasoning_content, tool_calls } => WireMessage {
                reasoning_content: (!self.tools.is_empty()
                    && self.thinking.is_some()
                    && self.dialect.has(Parameter::ReasoningContent))
                .then(|| reasoning_content.as_deref().unwrap_or(NO_REASONING)),
                tool_calls: tool_calls.iter().map(Called::from).collect(),
                ..said("assistant", content)
            },
            ChatMessage::Tool { tool_call_id, content } => {
                WireMessage { tool_call_id: Some(tool_call_id), ..said("tool", content) }
            }
        }
    }
}

const FUNCTION: &str = "function";
/// Sent where the provider requires reasoning and there was none.
const NO_REASONING: &str = "(none)";

/// The fields, in the order in which they are sent.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<TemplateArguments>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Effort>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(skip_serializing_if = "ToolChoice::is_auto")]
    tool_choice: ToolChoice,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// Models differ in the name of the switch in their template; each takes its own and ignores the other.
#[derive(Serialize)]
struct TemplateArguments {
    thinking: bool,
    enable_thinking: bool,
}

#[derive(Serialize)]
struct Reasoning {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
}

#[derive(Serialize)]
struct Offered<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: &'a ToolOffer,
}

/// The content of a message: a string, or parts if there are images.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: &'a str,
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::of("")
    }
}

impl<'a> Content<'a> {
    const fn of(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    fn with(text: &'a str, images: &'a [PromptImage]) -> Self {
        if images.is_empty() {
            return Self::of(text);
        }
        let text = Part::Text { text: Cow::Borrowed(text) };
        let image =
            |image: &'a PromptImage| Part::ImageUrl { image_url: ImageUrl { url: &image.url } };
        Self::Parts(std::iter::once(text).chain(images.iter().map(image)).collect())
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.iter().find_map(Part::text).unwrap_or_default(),
        }
    }

    /// Puts instructions before the text.
    fn prepend(&mut self, instructions: &Content<'_>) {
        let text = match self {
            Self::Text(text) => Some(text),
            Self::Parts(parts) => parts.iter_mut().find_map(|part| match part {
                Part::Text { text } => Some(text),
                Part::ImageUrl { .. } => None,
            }),
        };
        if let Some(text) = text {
            *text = Cow::Owned(format!("{}\n\n{text}", instructions.text()));
        }
    }
}

impl Part<'_> {
    fn text(&self) -> Option<&str> {
        if let Self::Text { text } = self { Some(text) } else { None }
    }
}

#[derive(Default, Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Called<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl WireMessage<'_> {
    fn bytes(&self) -> usize {
        let called: usize = self.tool_calls.iter().map(Called::bytes).sum();
        self.content.text().len() + self.reasoning_content.map_or(0, str::len) + called
    }
}

/// A tool call as sent back, byte for byte as it was received.
#[derive(Serialize)]
struct Called<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl Called<'_> {
    const fn bytes(&self) -> usize {
        self.id.len() + self.function.name.len() + self.function.arguments.len()
    }
}

impl<'a> From<&'a ToolCall> for Called<'a> {
    fn from(ToolCall { id, name, arguments }: &'a ToolCall) -> Self {
        Self { id, kind: FUNCTION, function: CalledFunction { name, arguments } }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
