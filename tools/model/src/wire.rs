//! A request of the chat-completions API, and its one deterministic encoding.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use config::{Dialect, Effort, Parameter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
                message.content = Cow::Owned(format!("{system}\n\n{}", message.content));
            }
        }
        messages
    }

    /// Returns the number of bytes of the messages and tools.
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
        let said = |role, content: &'a str| {
            let content = Cow::Borrowed(content);
            WireMessage { role, content, ..WireMessage::default() }
        };
        match message {
            ChatMessage::System { content } => said("system", content),
            ChatMessage::User { content } => said("user", content),
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

#[derive(Default, Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
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
        self.content.len() + self.reasoning_content.map_or(0, str::len) + called
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
mod tests {
    use super::*;

    fn dialect(name: &str) -> Arc<Dialect> {
        let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
        Arc::new(llm.dialects[name].clone())
    }

    fn request(messages: Vec<ChatMessage>) -> ChatRequest {
        ChatRequest {
            role: AgentRole::Editor,
            run: "r1".into(),
            lane: None,
            model: "deepseek-flash".into(),
            thinking: Some(Effort::High),
            max_tokens: 4096,
            max_bytes: 16384,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            dialect: dialect("deepseek"),
            messages,
        }
    }

    fn user(content: &str) -> ChatMessage {
        ChatMessage::User { content: content.into() }
    }

    fn text(request: &ChatRequest) -> String {
        String::from_utf8(request.body().to_vec()).unwrap()
    }

    #[test]
    fn a_body_has_its_fields_in_a_fixed_order_and_the_messages_last() {
        insta::assert_snapshot!(
            text(&request(vec![ChatMessage::System { content: "be brief".into() }, user("say \"hi\"\n")])),
            @r#"{"model":"deepseek-flash","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"thinking":{"type":"enabled"},"reasoning_effort":"high","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"say \"hi\"\n"}]}"#
        );
    }

    #[test]
    fn without_thinking_there_is_no_effort() {
        let body = text(&ChatRequest { thinking: None, ..request(vec![user("hi")]) });
        insta::assert_snapshot!(body, @r#"{"model":"deepseek-flash","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"thinking":{"type":"disabled"},"messages":[{"role":"user","content":"hi"}]}"#);
    }

    #[test]
    fn each_dialect_is_written_in_its_own_way() {
        let asked = request(vec![
            ChatMessage::System { content: "be brief".into() },
            user("hi"),
            user("?"),
        ]);
        let written = |name: &str, thinking| {
            let dialect = dialect(name);
            text(&ChatRequest { dialect, thinking, ..asked.clone() }).replace("\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"user\",\"content\":\"?\"}]", "…")
        };
        let (high, usage) = (Some(Effort::High), r#""stream_options":{"include_usage":true},"#);
        for (name, thinking, expected) in [
            (
                "openai",
                high,
                format!(r#"{usage}"max_completion_tokens":4096,"reasoning_effort":"high""#),
            ),
            ("openai", None, format!(r#"{usage}"max_completion_tokens":4096"#)),
            (
                "openrouter",
                high,
                format!(
                    r#"{usage}"max_tokens":4096,"reasoning":{{"enabled":true,"effort":"high"}}"#
                ),
            ),
            (
                "vllm",
                None,
                format!(
                    r#"{usage}"max_tokens":4096,"chat_template_kwargs":{{"thinking":false,"enable_thinking":false}}"#
                ),
            ),
            ("mistral", None, r#""max_tokens":4096"#.to_owned()),
        ] {
            let whole = format!(r#"{{"model":"deepseek-flash","stream":true,{expected},…}}"#);
            assert_eq!(written(name, thinking), whole, "{name}");
        }
        let mut without = Dialect::clone(&asked.dialect);
        without.parameters = BTreeSet::from([Parameter::MaxTokens]);
        let bare = ChatRequest { dialect: Arc::new(without), ..asked };
        insta::assert_snapshot!(text(&bare), @r#"{"model":"deepseek-flash","stream":true,"max_tokens":4096,"messages":[{"role":"user","content":"be brief\n\nhi"},{"role":"user","content":"?"}]}"#);
    }

    #[test]
    fn a_grown_conversation_shares_all_but_the_last_two_bytes() {
        let mut messages = vec![user("one")];
        let before = request(messages.clone()).body();
        messages.push(ChatMessage::Assistant {
            content: "two".into(),
            reasoning_content: Some("because".into()),
            tool_calls: Vec::new(),
        });
        messages.push(user("three"));
        let after = request(messages).body();
        assert_eq!(after[..before.len() - 2], before[..before.len() - 2]);
    }

    #[test]
    fn prompt_bytes_counts_the_content_of_the_messages() {
        let asked =
            request(vec![ChatMessage::System { content: "be\nbrief".into() }, user("你好")]);
        assert_eq!(asked.prompt_bytes(), 14);
    }

    /// A conversation with one tool call and its result.
    fn looked() -> Vec<ChatMessage> {
        let call = ToolCall { id: "c1".into(), name: "look".into(), arguments: "{ }".into() };
        let (content, reasoning_content) = (String::new(), Some("2+2".into()));
        vec![
            user("2+2?"),
            ChatMessage::Assistant { content, reasoning_content, tool_calls: vec![call] },
            ChatMessage::Tool { tool_call_id: "c1".into(), content: "4".into() },
        ]
    }

    #[test]
    fn reasoning_is_sent_back_where_tools_are_offered_and_only_there() {
        let without = request(looked());
        assert!(!text(&without).contains("reasoning_content"));
        assert!(serde_json::to_string(&looked()).unwrap().contains("2+2"));
        let parameters = serde_json::json!({"type": "object"});
        let tools =
            vec![ToolOffer { name: "look".into(), description: "looks".into(), parameters }];
        let with = ChatRequest { tools, ..without.clone() };
        insta::assert_snapshot!(text(&with), @r#"{"model":"deepseek-flash","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"thinking":{"type":"enabled"},"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"","reasoning_content":"2+2","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{ }"}}]},{"role":"tool","content":"4","tool_call_id":"c1"}]}"#);
        let free = text(&with);
        let bound = text(&ChatRequest { tool_choice: ToolChoice::None, ..with.clone() });
        assert_eq!(bound, free.replace(",\"messages\"", ",\"tool_choice\":\"none\",\"messages\""));
        let bare = ChatRequest { tool_choice: ToolChoice::None, ..without.clone() };
        assert_eq!(text(&bare), text(&without), "without tools there is no tool choice");
        let unthinking = ChatRequest { thinking: None, ..with.clone() };
        assert!(!text(&unthinking).contains("reasoning_content"));
        assert!(with.prompt_bytes() > without.prompt_bytes() + 3);
    }

    #[test]
    fn roles_are_sent_as_they_are_journaled() {
        for role in AgentRole::ALL {
            assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
        }
    }
}
