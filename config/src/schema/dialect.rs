//! How servers differ: what each kind understands of a request, and where its answers have what.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What a kind of server understands of a request, and where its answers have what.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    /// The hosts that speak it. `*` stands for any text; the longest match wins.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// What it understands besides `model`, `messages` and `stream`.
    pub parameters: BTreeSet<Parameter>,
    /// The fields of a message that have the model's reasoning.
    #[serde(default)]
    pub reasoning: Vec<String>,
    /// The counts of the usage, as JSON pointers; the first that exists is read.
    pub usage: UsageFields,
}

/// Returns true if `text` matches a pattern in which `*` stands for any text.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let mut ends = (0..=text.len()).filter_map(|at| text.get(at..));
            ends.any(|text| matches_pattern(rest, text))
        }),
    }
}

/// Returns the value for a name: its own, or that of the longest pattern that it matches.
pub fn by_pattern<'a, V>(values: &'a BTreeMap<String, V>, name: &str) -> Option<&'a V> {
    let matching = values.iter().filter(|(pattern, _)| matches_pattern(pattern, name));
    let longest = || matching.max_by_key(|(pattern, _)| pattern.len()).map(|(_, value)| value);
    values.get(name).or_else(longest)
}

impl Dialect {
    /// Returns true if a request may have this.
    pub fn has(&self, parameter: Parameter) -> bool {
        self.parameters.contains(&parameter)
    }
}

/// Where the counts of the usage are, as JSON pointers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageFields {
    /// Tokens of the prompt.
    pub prompt: Vec<String>,
    /// Tokens of the answer.
    pub output: Vec<String>,
    /// Tokens of the prompt that were in the cache.
    #[serde(default)]
    pub cached: Vec<String>,
    /// Tokens of the answer that were reasoning.
    #[serde(default)]
    pub reasoning: Vec<String>,
}

/// Why an answer ended without being complete, in the words of servers, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishReasons {
    /// It reached its length limit.
    pub length: Vec<String>,
    /// It was withheld by a filter.
    pub content_filter: Vec<String>,
    /// The server failed or had no capacity.
    pub capacity: Vec<String>,
}

/// Something in a request that not every server understands, by its name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// The length limit of the answer.
    MaxTokens,
    /// The length limit of the answer by its newer name.
    MaxCompletionTokens,
    /// The request for token counts in a stream.
    StreamOptions,
    /// The switch for thinking of DeepSeek.
    Thinking,
    /// The switch for thinking of servers that pass it to the model's template.
    ChatTemplateKwargs,
    /// The switch for thinking of `OpenRouter`.
    Reasoning,
    /// How hard the model thinks.
    ReasoningEffort,
    /// The tools that the model may call.
    Tools,
    /// Whether it may call them.
    ToolChoice,
    /// Its reasoning in earlier answers.
    ReasoningContent,
    /// Messages of the role `system`; without it, instructions are part of the first message of the user.
    System,
}

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 11] = [
        Self::MaxTokens,
        Self::MaxCompletionTokens,
        Self::StreamOptions,
        Self::Thinking,
        Self::ChatTemplateKwargs,
        Self::Reasoning,
        Self::ReasoningEffort,
        Self::Tools,
        Self::ToolChoice,
        Self::ReasoningContent,
        Self::System,
    ];

    /// Returns its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::StreamOptions => "stream_options",
            Self::Thinking => "thinking",
            Self::ChatTemplateKwargs => "chat_template_kwargs",
            Self::Reasoning => "reasoning",
            Self::ReasoningEffort => "reasoning_effort",
            Self::Tools => "tools",
            Self::ToolChoice => "tool_choice",
            Self::ReasoningContent => "reasoning_content",
            Self::System => "system",
        }
    }
}
