//! The four waits of one attempt and which of them ends first. Pure but for the instants it is given.

use std::time::Duration;

use tokio::time::Instant;

use super::{Awaited, ModelError, Partial};

/// How long an attempt may take, in parts and in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// To establish a connection.
    pub connect: Duration,
    /// To the first token; comments are none.
    pub first_token: Duration,
    /// Without a single byte; comments are some.
    pub idle: Duration,
    /// For the whole attempt.
    pub whole: Duration,
}

impl From<&config::Llm> for Deadlines {
    fn from(llm: &config::Llm) -> Self {
        Self {
            connect: Duration::from_secs(llm.connect_timeout_seconds),
            first_token: Duration::from_secs(llm.first_token_timeout_seconds),
            idle: Duration::from_secs(llm.idle_timeout_seconds),
            whole: Duration::from_secs(llm.call_timeout_seconds),
        }
    }
}

/// Which wait came to its end.
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

/// The waits of a running attempt.
#[derive(Debug)]
pub(super) struct Watch {
    deadlines: Deadlines,
    start: Instant,
    last_byte: Instant,
    waiting_for_token: bool,
}

impl Watch {
    pub(super) const fn new(deadlines: Deadlines, start: Instant) -> Self {
        Self { deadlines, start, last_byte: start, waiting_for_token: true }
    }

    pub(super) const fn byte(&mut self, now: Instant) {
        self.last_byte = now;
    }

    pub(super) const fn token(&mut self) {
        self.waiting_for_token = false;
    }

    /// The nearest end of a wait, and which one it is.
    pub(super) fn next(&self) -> (Instant, Passed) {
        let Deadlines { connect: _, first_token, idle, whole } = self.deadlines;
        let silence = (self.last_byte + idle, Passed { what: Awaited::Byte, after: idle });
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

    const DEADLINES: Deadlines = Deadlines {
        connect: Duration::from_secs(1),
        first_token: Duration::from_secs(20),
        idle: Duration::from_secs(10),
        whole: Duration::from_secs(100),
    };

    #[test]
    fn the_nearest_wait_ends_first() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut watch = Watch::new(DEADLINES, start);
        let next = |watch: &Watch| (watch.next().0 - start, watch.next().1.what);
        assert_eq!(next(&watch), (Duration::from_secs(10), Awaited::Byte));
        watch.byte(after(9));
        assert_eq!(next(&watch), (Duration::from_secs(19), Awaited::Byte));
        watch.byte(after(15));
        assert_eq!(next(&watch), (Duration::from_secs(20), Awaited::FirstToken));
        watch.token();
        assert_eq!(next(&watch), (Duration::from_secs(25), Awaited::Byte));
        watch.byte(after(95));
        assert_eq!(next(&watch), (Duration::from_secs(100), Awaited::End));
    }
}
