//! What callers get of an answer.

use serde::{Deserialize, Serialize};

use super::ToolCall;

/// A piece of a streaming answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyDelta {
    /// Text of the answer.
    Text(String),
    /// Text of the reasoning.
    Reasoning(String),
    /// The size, in bytes, of a piece that is not shown: of a tool call, or of text in a field that is not read.
    Hidden(usize),
    /// A keep-alive from the server.
    KeepAlive,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was cut at its limit. Such a reply is recorded, but never an answer.
    Length,
    /// The answer is complete.
    Stop,
    /// The model called tools.
    ToolCalls,
}

/// Token counts of one call, as reported by the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, cache hits included.
    pub prompt: u64,
    /// Prompt tokens found in the provider's cache; `None` if the provider does not say.
    #[serde(default)]
    pub hit: Option<u64>,
    /// Answer tokens, reasoning included.
    pub output: u64,
    /// Answer tokens spent on reasoning; `None` if the provider does not say.
    #[serde(default)]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Returns the prompt tokens that are not known to have been in the cache.
    pub fn miss(&self) -> u64 {
        self.prompt.saturating_sub(self.hit.unwrap_or_default())
    }

    /// Raises the counts to at least these values, because a server may report too few.
    #[must_use]
    pub fn at_least(self, prompt: u64, output: u64) -> Self {
        Self { prompt: self.prompt.max(prompt), output: self.output.max(output), ..self }
    }

    /// Returns the sum of prompt and answer tokens.
    pub const fn total(&self) -> u64 {
        self.prompt.saturating_add(self.output)
    }
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text.
    pub content: String,
    /// The reasoning, if there was any.
    pub reasoning: Option<String>,
    /// The tools to call; empty if none were offered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tool_calls: Vec<ToolCall>,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// The tokens used; `None` if the server did not report them.
    pub usage: Option<Usage>,
    /// The model named by the server.
    pub model: String,
    /// The server's id of the answer.
    pub id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_at_least_what_was_counted() {
        let told = Usage { prompt: 7, hit: Some(7), output: 1, reasoning: Some(1) };
        let more = told.at_least(10, 0);
        assert_eq!((more, more.miss()), (Usage { prompt: 10, ..told }, 3));
        assert_eq!(told.at_least(1, 5), Usage { output: 5, ..told });
    }
}
