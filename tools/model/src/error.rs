//! Why an attempt failed, and what a caller may conclude from it. How a failure is recognised is decided in `classify` and `reply`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Usage;

/// What had arrived of an answer that never became whole. The provider may bill for it all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Partial {
    /// Events of the answer, empty ones included; keep-alives are none. Above zero, the prompt has been worked through.
    pub events: u64,
    /// Bytes of text, reasoning and tool calls, and of an event that had no end yet.
    pub bytes: u64,
    /// What the provider had counted, if it had come to that.
    pub usage: Option<Usage>,
}

/// Something that is waited for, and was not there in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// The connection.
    Connection,
    /// The first token of the answer.
    FirstToken,
    /// Any byte at all.
    Byte,
    /// The end of the answer.
    End,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "no connection",
            Self::FirstToken => "no first token",
            Self::Byte => "silence",
            Self::End => "no end",
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
        /// What of an answer had arrived.
        partial: Partial,
    },
    /// A deadline passed.
    #[error("the provider took too long: {what} after {seconds} s")]
    TimedOut {
        /// What was not there in time.
        what: Awaited,
        /// Its length.
        seconds: u64,
        /// What of an answer had arrived.
        partial: Partial,
    },
    /// The stream ended without `[DONE]`.
    #[error("the answer broke off before its end")]
    Truncated {
        /// What of an answer had arrived.
        partial: Partial,
    },
    /// An error in the middle of a stream that had begun with status 200.
    #[error("the provider broke off the answer: {message}")]
    Interrupted {
        /// What it said.
        message: String,
        /// What of an answer had arrived.
        partial: Partial,
    },
    /// The stream was not what the wire promises.
    #[error("the provider sent something unreadable: {message}")]
    Malformed {
        /// What was wrong with it.
        message: String,
        /// What of an answer had arrived.
        partial: Partial,
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
    /// This program was killed before it could write the answer down. It may have to be paid all the same.
    #[error("the program was killed before the answer was kept")]
    Lost,
}

/// The classes of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The key was refused.
    Auth,
    /// The account has no money left.
    Quota,
    /// Too many requests.
    RateLimited,
    /// The prompt is longer than the model can hold.
    ContextTooLong,
    /// The request was refused.
    InvalidRequest,
    /// The server failed.
    Server,
    /// The connection failed.
    Transport,
    /// Nothing was heard in time.
    TimedOut,
    /// The stream ended too early.
    Truncated,
    /// The server broke the answer off.
    Interrupted,
    /// The answer could not be read.
    Malformed,
    /// There was no answer in the answer.
    Empty,
    /// The answer was cut at its limit.
    Length,
    /// The filter of the provider refused it.
    ContentFilter,
    /// The provider had no room.
    OutOfCapacity,
    /// The program was killed before the answer was kept.
    Lost,
}

impl ErrorClass {
    /// The class as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::RateLimited => "rate_limited",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::Server => "server",
            Self::Transport => "transport",
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
    /// Its class.
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Auth { .. } => ErrorClass::Auth,
            Self::Quota { .. } => ErrorClass::Quota,
            Self::RateLimited { .. } => ErrorClass::RateLimited,
            Self::ContextTooLong { .. } => ErrorClass::ContextTooLong,
            Self::InvalidRequest { .. } => ErrorClass::InvalidRequest,
            Self::Server { .. } => ErrorClass::Server,
            Self::Transport { .. } => ErrorClass::Transport,
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

    /// Whether the same request may do better a little later.
    ///
    /// Yes where the fault was the network's, the server's or the moment's, and where the model gave nothing or nothing
    /// readable: none of that repeats by necessity. No where the same request must fail again, or was answered in full.
    pub const fn retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Server { .. }
            | Self::Transport { .. }
            | Self::TimedOut { .. }
            | Self::Truncated { .. }
            | Self::Interrupted { .. }
            | Self::Malformed { .. }
            | Self::OutOfCapacity { .. }
            | Self::Lost => true,
            Self::Auth { .. }
            | Self::Quota { .. }
            | Self::ContextTooLong { .. }
            | Self::InvalidRequest { .. }
            | Self::Empty { .. }
            | Self::Length { .. }
            | Self::ContentFilter { .. } => false,
        }
    }

    /// Whether it ends what the call was for: neither the same request nor another way to ask can do better.
    pub const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Auth { .. }
                | Self::Quota { .. }
                | Self::ContextTooLong { .. }
                | Self::InvalidRequest { .. }
                | Self::ContentFilter { .. }
        )
    }

    /// What had arrived of an answer that broke off; `None` where an answer never began or came to its end.
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

    /// What the provider counted before it failed.
    pub fn usage(&self) -> Option<Usage> {
        if let Self::Empty { usage }
        | Self::Length { usage, .. }
        | Self::ContentFilter { usage }
        | Self::OutOfCapacity { usage } = self
        {
            *usage
        } else {
            self.partial().and_then(|partial| partial.usage)
        }
    }

    /// Whether the provider had begun to answer, so that the attempt may cost money.
    pub fn answer_started(&self) -> bool {
        let ended = matches!(
            self,
            Self::Empty { .. }
                | Self::Length { .. }
                | Self::ContentFilter { .. }
                | Self::OutOfCapacity { .. }
        );
        ended || self.partial().is_some_and(|partial| partial.events > 0 || partial.bytes > 0)
    }

    /// How long the provider asked to wait.
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
    fn what_broke_off_after_its_first_event_may_cost_money() {
        let silent = ModelError::Truncated { partial: Partial::default() };
        assert!(!silent.answer_started());
        let usage = Some(Usage { prompt: 7, ..Usage::default() });
        let partial = Partial { events: 1, bytes: 0, usage };
        let begun = ModelError::Malformed { message: "x".into(), partial };
        assert!(begun.answer_started());
        assert_eq!(begun.usage(), usage);
        assert!(ModelError::Length { max_tokens: 1, usage: None }.answer_started());
    }
}
