//! Why an attempt failed, and what a caller may conclude from it. `classify` and `reply` recognize the failures.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Usage;

/// What arrived of an answer that was never completed. The provider may bill for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Partial {
    /// Events of the answer, including empty ones but not keep-alives. Above zero, the provider has processed the prompt.
    pub events: u64,
    /// Bytes of text, reasoning and tool calls, and of an incomplete event.
    pub bytes: u64,
    /// The provider's token counts, if they had arrived.
    pub usage: Option<Usage>,
}

/// What did not arrive in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// The connection. Only in old recordings: without one, the server is unreachable.
    Connection,
    /// The first token of the answer.
    FirstToken,
    /// Any data.
    Byte,
    /// The end of the answer.
    End,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "no connection",
            Self::FirstToken => "no first token",
            Self::Byte => "no data",
            Self::End => "no complete answer",
        })
    }
}

/// Why an attempt gave no usable answer.
#[derive(Debug, Clone, Error, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case")]
pub enum ModelError {
    /// 401 or 403.
    #[error("the provider refused the key: {message}")]
    Auth {
        /// The provider's message, with the key masked.
        message: String,
    },
    /// The account is out of balance or quota.
    #[error("the account has no balance or quota left: {message}")]
    Quota {
        /// The provider's message.
        message: String,
    },
    /// 429 for a temporary reason.
    #[error("the provider is rate limiting requests: {message}{}", asked_to_wait(*retry_after))]
    RateLimited {
        /// The provider's message.
        message: String,
        /// How long the provider asked to wait.
        retry_after: Option<Duration>,
    },
    /// The conversation does not fit the model.
    #[error("the conversation is too long for the model: {message}")]
    ContextTooLong {
        /// The provider's message.
        message: String,
    },
    /// Another 4xx.
    #[error("the provider refused the request with status {status}: {message}")]
    InvalidRequest {
        /// HTTP status.
        status: u16,
        /// The provider's message.
        message: String,
        /// What of the request the provider says is wrong.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        parameter: Option<String>,
    },
    /// 5xx: overload or an outage.
    #[error("{} with status {status}: {message}{}", server_trouble(*status), asked_to_wait(*retry_after))]
    Server {
        /// HTTP status.
        status: u16,
        /// The provider's message.
        message: String,
        /// How long the provider asked to wait.
        retry_after: Option<Duration>,
    },
    /// No connection was made, so nothing was sent.
    #[error("no connection to {url}: {message}")]
    Unreachable {
        /// The URL, without credentials, and the proxy on the way.
        url: String,
        /// The cause in plain words.
        message: String,
        /// Whether trying again cannot help, because something answered, but not as it has to.
        lasts: bool,
    },
    /// The connection broke.
    #[error("the connection to {url} failed: {message}")]
    Transport {
        /// The URL, without credentials, and the proxy on the way.
        url: String,
        /// What went wrong.
        message: String,
        /// What had arrived of an answer.
        partial: Partial,
    },
    /// The provider asked for a longer wait than is allowed.
    #[error("{cause}, and llm.max_retry_after_seconds is {most}")]
    WaitTooLong {
        /// What it refused, and how long to wait.
        cause: String,
        /// The longest wait, in seconds.
        most: u64,
    },
    /// A deadline passed.
    #[error("the provider timed out: {what} within {seconds} s")]
    TimedOut {
        /// What did not arrive in time.
        what: Awaited,
        /// The length of the timeout, in seconds.
        seconds: u64,
        /// What had arrived of an answer.
        partial: Partial,
    },
    /// The stream ended without `[DONE]`.
    #[error("the answer was cut off before its end")]
    Truncated {
        /// What had arrived of an answer.
        partial: Partial,
    },
    /// An error in the middle of a stream that had begun with status 200.
    #[error("the provider aborted the answer: {message}")]
    Interrupted {
        /// The provider's message.
        message: String,
        /// What had arrived of an answer.
        partial: Partial,
    },
    /// The stream violates the protocol.
    #[error("the provider sent an unreadable answer: {message}")]
    Malformed {
        /// What is wrong with it.
        message: String,
        /// What had arrived of an answer.
        partial: Partial,
    },
    /// A complete but empty answer.
    #[error("the model gave an empty answer")]
    Empty {
        /// The tokens used.
        usage: Option<Usage>,
    },
    /// Cut at `max_tokens`.
    #[error("the answer was cut at its limit of {max_tokens} tokens")]
    Length {
        /// The limit.
        max_tokens: u32,
        /// The tokens used.
        usage: Option<Usage>,
        /// The text that had arrived. It is recorded as an answer is, not with the error.
        #[serde(skip)]
        text: String,
    },
    /// Cut before `max_tokens`.
    #[error(
        "the answer was cut after {output} tokens, before its limit of {max_tokens}: the server allows no more, or prompt and answer fill the model's context of about {total} tokens"
    )]
    Full {
        /// The limit that was sent.
        max_tokens: u32,
        /// Tokens of the answer.
        output: u64,
        /// Tokens of prompt and answer.
        total: u64,
        /// The tokens used.
        usage: Option<Usage>,
    },
    /// Withheld by the provider's filter.
    #[error("the provider's content filter withheld the answer")]
    ContentFilter {
        /// The tokens used.
        usage: Option<Usage>,
    },
    /// The provider ran out of capacity during the answer.
    #[error("the provider ran out of capacity during the answer")]
    OutOfCapacity {
        /// The tokens used.
        usage: Option<Usage>,
    },
    /// This program was killed before it recorded the answer. The provider may still bill for it.
    #[error("the program was killed before the answer was saved")]
    Lost,
}

/// Returns what a status says of the server: 503 is its answer to more requests than it can serve.
const fn server_trouble(status: u16) -> &'static str {
    match status {
        503 => "the provider is overloaded and refused the request",
        _ => "the provider failed",
    }
}

fn asked_to_wait(retry_after: Option<Duration>) -> String {
    retry_after.map_or(String::new(), |wait| format!(" (it asks to wait {} s)", wait.as_secs()))
}

/// The class of a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The key was refused.
    Auth,
    /// The account has no balance or quota left.
    Quota,
    /// Too many requests.
    RateLimited,
    /// The prompt is longer than the model's context.
    ContextTooLong,
    /// The request was refused.
    InvalidRequest,
    /// The server failed.
    Server,
    /// No connection was made.
    Unreachable,
    /// The connection broke.
    Transport,
    /// The provider asked for too long a wait.
    WaitTooLong,
    /// A timeout expired.
    TimedOut,
    /// The stream ended too early.
    Truncated,
    /// The server aborted the answer.
    Interrupted,
    /// The answer could not be read.
    Malformed,
    /// The answer was empty.
    Empty,
    /// The answer was cut at its token limit.
    Length,
    /// The provider's content filter withheld the answer.
    ContentFilter,
    /// The provider ran out of capacity.
    OutOfCapacity,
    /// The program was killed before the answer was saved.
    Lost,
}

impl ErrorClass {
    /// Returns the class as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::RateLimited => "rate_limited",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::Server => "server",
            Self::Unreachable => "unreachable",
            Self::Transport => "transport",
            Self::WaitTooLong => "wait_too_long",
            Self::TimedOut => "timed_out",
            Self::Truncated => "truncated",
            Self::Interrupted => "interrupted",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::OutOfCapacity => "out_of_capacity",
            Self::Lost => "lost",
        }
    }
}

impl ModelError {
    /// Returns the class of this error.
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Auth { .. } => ErrorClass::Auth,
            Self::Quota { .. } => ErrorClass::Quota,
            Self::RateLimited { .. } => ErrorClass::RateLimited,
            Self::ContextTooLong { .. } | Self::Full { .. } => ErrorClass::ContextTooLong,
            Self::InvalidRequest { .. } => ErrorClass::InvalidRequest,
            Self::Server { .. } => ErrorClass::Server,
            Self::Unreachable { .. } => ErrorClass::Unreachable,
            Self::Transport { .. } => ErrorClass::Transport,
            Self::WaitTooLong { .. } => ErrorClass::WaitTooLong,
            Self::TimedOut { .. } => ErrorClass::TimedOut,
            Self::Truncated { .. } => ErrorClass::Truncated,
            Self::Interrupted { .. } => ErrorClass::Interrupted,
            Self::Malformed { .. } => ErrorClass::Malformed,
            Self::Empty { .. } => ErrorClass::Empty,
            Self::Length { .. } => ErrorClass::Length,
            Self::ContentFilter { .. } => ErrorClass::ContentFilter,
            Self::OutOfCapacity { .. } => ErrorClass::OutOfCapacity,
            Self::Lost => ErrorClass::Lost,
        }
    }

    /// Returns whether the same request may succeed a little later.
    ///
    /// True if the network, the server or the load was at fault, or if the answer was cut: none of these needs to happen
    /// again. False if the same request would fail again, as it does at a server whose answers cannot be read, or was
    /// answered in full.
    pub const fn retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Server { .. }
            | Self::Transport { .. }
            | Self::TimedOut { .. }
            | Self::Truncated { .. }
            | Self::Interrupted { .. }
            | Self::OutOfCapacity { .. }
            | Self::Lost => true,
            Self::Unreachable { lasts, .. } => !*lasts,
            Self::Auth { .. }
            | Self::Quota { .. }
            | Self::ContextTooLong { .. }
            | Self::InvalidRequest { .. }
            | Self::WaitTooLong { .. }
            | Self::Malformed { .. }
            | Self::Empty { .. }
            | Self::Length { .. }
            | Self::Full { .. }
            | Self::ContentFilter { .. } => false,
        }
    }

    /// Returns whether nothing was sent, so that there was no call.
    pub const fn never_left(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Returns whether the call is hopeless: neither the same request nor a reworded one can succeed.
    pub const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Auth { .. }
                | Self::Quota { .. }
                | Self::ContextTooLong { .. }
                | Self::Full { .. }
                | Self::InvalidRequest { .. }
                | Self::Malformed { .. }
                | Self::ContentFilter { .. }
        )
    }

    /// Returns what had arrived of an incomplete answer; `None` if the answer never began or was complete.
    pub const fn partial(&self) -> Option<Partial> {
        if let Self::Transport { partial, .. }
        | Self::TimedOut { partial, .. }
        | Self::Truncated { partial }
        | Self::Interrupted { partial, .. }
        | Self::Malformed { partial, .. } = self
        {
            Some(*partial)
        } else {
            None
        }
    }

    /// Returns the token counts that the provider sent before it failed.
    pub fn usage(&self) -> Option<Usage> {
        if let Self::Empty { usage }
        | Self::Length { usage, .. }
        | Self::Full { usage, .. }
        | Self::ContentFilter { usage }
        | Self::OutOfCapacity { usage } = self
        {
            *usage
        } else {
            self.partial().and_then(|partial| partial.usage)
        }
    }

    /// Returns whether the provider had begun to answer, so that the attempt may cost money.
    pub fn answer_started(&self) -> bool {
        let ended = matches!(
            self,
            Self::Empty { .. }
                | Self::Length { .. }
                | Self::Full { .. }
                | Self::ContentFilter { .. }
                | Self::OutOfCapacity { .. }
        );
        ended || self.partial().is_some_and(|partial| partial.events > 0 || partial.bytes > 0)
    }

    /// Returns the error as the end of a call, of which the provider may have asked to wait longer than `most`.
    #[must_use]
    pub fn given_up(self, most: Duration) -> Self {
        match self.retry_after() {
            Some(wait) if wait > most => {
                Self::WaitTooLong { cause: self.to_string(), most: most.as_secs() }
            }
            Some(_) | None => self,
        }
    }

    /// Returns how long the provider asked to wait.
    pub const fn retry_after(&self) -> Option<Duration> {
        if let Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } = self {
            *retry_after
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_cut_off_after_its_first_event_may_cost_money() {
        let silent = ModelError::Truncated { partial: Partial::default() };
        assert!(!silent.answer_started());
        let usage = Some(Usage { prompt: 7, ..Usage::default() });
        let partial = Partial { events: 1, bytes: 0, usage };
        let begun = ModelError::Malformed { message: "x".into(), partial };
        assert!(begun.answer_started());
        assert_eq!(begun.usage(), usage);
        assert!(
            ModelError::Length { max_tokens: 1, usage: None, text: String::new() }.answer_started()
        );
    }
}
