//! The words of the chat-completions wire, and the one deterministic encoding of a request.

use std::time::Duration;

use bytes::Bytes;
use config::Effort;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Who in the program is asking; sent as `X-Agent-Role`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentRole {
    /// Writes the plan.
    Architect,
    /// Writes the diff.
    Editor,
    /// Answers a question.
    Analysis,
    /// Tells an edit from a question.
    Intent,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// Standing instructions.
    System {
        /// The text.
        content: String,
    },
    /// What the user, or the program in the user's place, says.
    User {
        /// The text.
        content: String,
    },
    /// What the model answered.
    Assistant {
        /// The text.
        content: String,
        /// Its reasoning, kept so that it can be replayed where the provider wants it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reasoning_content: Option<String>,
    },
}

/// A request, complete but for the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    /// Sent as `X-Agent-Role`.
    pub role: AgentRole,
    /// Sent as `X-Agent-Run`.
    pub run: String,
    /// Sent as `X-Agent-Lane`, when in a lane.
    pub lane: Option<String>,
    /// Model id.
    pub model: String,
    /// Effort of thinking; `None` turns thinking off.
    pub thinking: Option<Effort>,
    /// Upper bound of the answer in tokens.
    pub max_tokens: u32,
    /// The conversation.
    pub messages: Vec<Message>,
}

impl ChatRequest {
    /// The body as it goes over the wire. The same request always gives the same bytes; `messages` come last, so that the
    /// body of a grown conversation shares all but its last three bytes with the one before.
    pub fn body(&self) -> Bytes {
        Bytes::new()
    }
}

/// A piece of a streaming answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Text of the reasoning.
    Reasoning(String),
    /// The server said that it is alive.
    KeepAlive,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// Cut at `max_tokens`.
    Length,
    /// Withheld by the provider.
    ContentFilter,
    /// The model wants tools.
    ToolCalls,
    /// The provider ran out of capacity in the middle.
    InsufficientSystemResource,
    /// Something this client does not know.
    #[serde(other)]
    Unknown,
}

/// Tokens of one call, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, hit and miss together.
    pub prompt: u64,
    /// Of those, found in the provider's cache.
    pub hit: u64,
    /// Answer tokens, reasoning included.
    pub output: u64,
    /// Of those, reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Prompt tokens that were not in the cache.
    pub const fn miss(&self) -> u64 {
        self.prompt.saturating_sub(self.hit)
    }

    /// Prompt and answer together.
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
    /// Why it stopped: `stop` or `tool_calls`.
    pub finish: FinishReason,
    /// What it used; absent when the server did not say.
    pub usage: Option<Usage>,
    /// The model the server named.
    pub model: String,
    /// The server's id of the answer.
    pub id: String,
}

/// Why an attempt gave no usable answer.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum ModelError {
    /// 401 or 403.
    #[error("the provider refused the key: {message}")]
    Auth {
        /// What it said, with the key masked.
        message: String,
    },
    /// The account is out of balance or quota.
    #[error("the account has no balance or quota left: {message}")]
    Quota {
        /// What it said.
        message: String,
    },
    /// 429 of the transient kind.
    #[error("the provider is throttling: {message}")]
    RateLimited {
        /// What it said.
        message: String,
        /// How long it asked to wait.
        retry_after: Option<Duration>,
    },
    /// The conversation does not fit the model.
    #[error("the conversation is too long for the model: {message}")]
    ContextTooLong {
        /// What it said.
        message: String,
    },
    /// Another 4xx.
    #[error("the provider refused the request with status {status}: {message}")]
    InvalidRequest {
        /// HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// 5xx.
    #[error("the provider failed with status {status}: {message}")]
    Server {
        /// HTTP status.
        status: u16,
        /// What it said.
        message: String,
        /// How long it asked to wait.
        retry_after: Option<Duration>,
    },
    /// The connection could not be made or broke.
    #[error("cannot talk to {url}: {message}")]
    Transport {
        /// Where, without credentials.
        url: String,
        /// What went wrong.
        message: String,
        /// Whether any byte of an answer had arrived.
        answer_started: bool,
    },
    /// A deadline passed.
    #[error("the provider took too long: {what} after {seconds} s")]
    TimedOut {
        /// Which deadline: `no connection`, `no first token`, `silence`, `no end`.
        what: &'static str,
        /// Its length.
        seconds: u64,
        /// Whether any byte of an answer had arrived.
        answer_started: bool,
    },
    /// The stream ended without `[DONE]`.
    #[error("the answer broke off before its end")]
    Truncated,
    /// The stream was not what the wire promises.
    #[error("the provider sent something unreadable: {message}")]
    Malformed {
        /// What was wrong with it.
        message: String,
    },
    /// A complete answer with nothing in it.
    #[error("the model answered nothing")]
    Empty {
        /// What it used.
        usage: Option<Usage>,
    },
    /// Cut at `max_tokens`.
    #[error("the answer was cut at its limit of {max_tokens} tokens")]
    Length {
        /// The limit.
        max_tokens: u32,
        /// What it used.
        usage: Option<Usage>,
    },
    /// Withheld by the provider's filter.
    #[error("the provider's content filter withheld the answer")]
    ContentFilter {
        /// What it used.
        usage: Option<Usage>,
    },
    /// The provider ran out of capacity in the middle.
    #[error("the provider ran out of capacity in the middle of the answer")]
    OutOfCapacity {
        /// What it used.
        usage: Option<Usage>,
    },
}
