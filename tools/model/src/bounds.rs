//! The four timeouts of an attempt, which of them expires first, and the size limit. Pure except for the instants
//! passed in.

use std::time::Duration;

use tokio::time::Instant;

use super::{Awaited, ModelError, Partial};

/// How long to wait for the counts of an answer that has ended.
const LAST_COUNTS: Duration = Duration::from_secs(5);

/// The limits of one attempt: how long it may take, in parts and in total, and how large the answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerBounds {
    /// Until the connection is established.
    pub connect: Duration,
    /// Until the first token; SSE comments do not count.
    pub first_token: Duration,
    /// Without any byte; once the answer has begun, without a piece of the answer, since a server that is sending
    /// tokens needs no keep-alives.
    pub idle: Duration,
    /// For the whole attempt.
    pub whole: Duration,
    /// Maximum size of the response body, in bytes.
    pub stream_bytes: u64,
}

impl From<&config::Llm> for AnswerBounds {
    fn from(llm: &config::Llm) -> Self {
        Self {
            connect: Duration::from_secs(llm.connect_timeout_seconds),
            first_token: Duration::from_secs(llm.first_token_timeout_seconds),
            idle: Duration::from_secs(llm.idle_timeout_seconds),
            whole: Duration::from_secs(llm.call_timeout_seconds),
            stream_bytes: llm.max_stream_bytes,
        }
    }
}

/// A timeout that expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) what: Awaited,
    pub(super) after: Duration,
}

impl Passed {
    pub(super) const fn error(self, partial: Partial) -> ModelError {
        ModelError::TimedOut { what: self.what, seconds: self.after.as_secs(), partial }
    }
}

/// The timeouts of a running attempt, and what has been received.
#[derive(Debug)]
pub(super) struct Watch {
    bounds: AnswerBounds,
    start: Instant,
    last_sign: Instant,
    waiting_for_token: bool,
    has_ended: bool,
    bytes: u64,
}

impl Watch {
    pub(super) const fn new(bounds: AnswerBounds, start: Instant) -> Self {
        Self {
            bounds,
            start,
            last_sign: start,
            waiting_for_token: true,
            has_ended: false,
            bytes: 0,
        }
    }

    /// Records received bytes. Returns false when they exceed the limit.
    pub(super) const fn bytes(&mut self, count: u64, now: Instant) -> bool {
        if self.waiting_for_token {
            self.last_sign = now;
        }
        self.bytes = self.bytes.saturating_add(count);
        self.bytes <= self.bounds.stream_bytes
    }

    /// Records a piece of the answer.
    pub(super) const fn event(&mut self, now: Instant) {
        self.last_sign = now;
    }

    pub(super) const fn token(&mut self) {
        self.waiting_for_token = false;
    }

    /// Records that the answer has ended, although the response may go on.
    pub(super) const fn ended(&mut self) {
        self.has_ended = true;
    }

    /// Returns the earliest deadline, and which timeout it is.
    pub(super) fn next(&self) -> (Instant, Passed) {
        let AnswerBounds { first_token, idle, whole, .. } = self.bounds;
        let idle = if self.has_ended { idle.min(LAST_COUNTS) } else { idle };
        let silence = (self.last_sign + idle, Passed { what: Awaited::Byte, after: idle });
        let end = (self.start + whole, Passed { what: Awaited::End, after: whole });
        let token =
            (self.start + first_token, Passed { what: Awaited::FirstToken, after: first_token });
        let nearest = if end.0 < silence.0 { end } else { silence };
        if self.waiting_for_token && token.0 < nearest.0 { token } else { nearest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: AnswerBounds = AnswerBounds {
        connect: Duration::from_secs(1),
        first_token: Duration::from_secs(20),
        idle: Duration::from_secs(10),
        whole: Duration::from_secs(100),
        stream_bytes: 100,
    };

    #[test]
    fn the_earliest_deadline_wins() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut watch = Watch::new(BOUNDS, start);
        let next = |watch: &Watch| (watch.next().0 - start, watch.next().1.what);
        assert_eq!(next(&watch), (Duration::from_secs(10), Awaited::Byte));
        watch.bytes(1, after(9));
        assert_eq!(next(&watch), (Duration::from_secs(19), Awaited::Byte));
        watch.bytes(1, after(15));
        assert_eq!(next(&watch), (Duration::from_secs(20), Awaited::FirstToken));
        watch.token();
        assert_eq!(next(&watch), (Duration::from_secs(25), Awaited::Byte));
        watch.bytes(1, after(24));
        assert_eq!(
            next(&watch).0,
            Duration::from_secs(25),
            "a comment is not a piece of an answer"
        );
        watch.event(after(95));
        assert_eq!(next(&watch), (Duration::from_secs(100), Awaited::End));
    }

    #[test]
    fn all_received_bytes_are_counted() {
        let mut watch = Watch::new(BOUNDS, Instant::now());
        assert!(watch.bytes(60, watch.start) && watch.bytes(40, watch.start));
        assert!(!watch.bytes(1, watch.start));
    }
}
