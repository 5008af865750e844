//! Decides whether and when to retry a failed attempt. Pure: the caller waits and counts.

use std::time::Duration;

use super::ModelError;

/// The limits of retrying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries of one call.
    pub max_retries: u32,
    /// The first wait; it doubles with each retry.
    pub base: Duration,
    /// The longest wait that is not asked for.
    pub cap: Duration,
    /// The longest `Retry-After` that is obeyed.
    pub max_asked: Duration,
    /// How long to wait for a network; `None` if a user waits for the answer, and is told after a second attempt.
    pub patience: Option<Duration>,
}

impl From<&config::Llm> for RetryPolicy {
    fn from(llm: &config::Llm) -> Self {
        Self {
            max_retries: llm.max_retries,
            base: Duration::from_millis(llm.retry_base_ms),
            cap: Duration::from_millis(llm.retry_max_ms),
            max_asked: Duration::from_secs(llm.max_retry_after_seconds),
            patience: None,
        }
    }
}

/// The attempts of a call that have failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailedAttempts {
    /// Those that reached the server.
    pub answered: u32,
    /// Those since then that did not.
    pub unreachable: u32,
    /// How long the server has not been reached.
    pub offline: Duration,
}

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Retry after this wait.
    After(Duration),
    /// Return the error.
    GiveUp,
    /// Leave the call for later: there has been no network for too long.
    Pause,
}

/// Longest wait between two attempts without a network.
const LONGEST_OFFLINE: Duration = Duration::from_secs(30);

/// Decides what to do after `error`, when these attempts had failed before. `jitter` in 0..1 spreads the wait by ±10 %.
///
/// A `Retry-After` is waited out exactly. One beyond its limit ends the retries: the server said that retrying sooner is
/// useless.
pub fn next(
    policy: &RetryPolicy,
    error: &ModelError,
    before: FailedAttempts,
    jitter: f64,
) -> Retry {
    if !error.retryable() {
        return Retry::GiveUp;
    }
    let doubled = |times: u32, cap: Duration| {
        let spread = 0.9 + 0.2 * jitter.clamp(0.0, 1.0);
        policy.base.saturating_mul(2_u32.saturating_pow(times)).min(cap).mul_f64(spread)
    };
    if error.never_left() {
        return match policy.patience {
            None if before.unreachable > 0 || policy.max_retries == 0 => Retry::GiveUp,
            None => Retry::After(doubled(0, policy.cap)),
            Some(patience) if before.offline >= patience => Retry::Pause,
            Some(patience) => {
                let left = patience.saturating_sub(before.offline);
                Retry::After(doubled(before.unreachable, LONGEST_OFFLINE).min(left))
            }
        };
    }
    if before.answered >= policy.max_retries {
        return Retry::GiveUp;
    }
    match error.retry_after() {
        Some(wait) if wait > policy.max_asked => Retry::GiveUp,
        Some(wait) => Retry::After(wait),
        None => Retry::After(doubled(before.answered, policy.cap)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Partial;

    const POLICY: RetryPolicy = RetryPolicy {
        max_retries: 5,
        base: Duration::from_millis(500),
        cap: Duration::from_secs(10),
        max_asked: Duration::from_mins(1),
        patience: None,
    };

    /// That many attempts that reached the server.
    fn answered(answered: u32) -> FailedAttempts {
        FailedAttempts { answered, ..FailedAttempts::default() }
    }

    fn limited(seconds: Option<u64>) -> ModelError {
        let retry_after = seconds.map(Duration::from_secs);
        ModelError::RateLimited { message: String::new(), retry_after }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_end() {
        let waits: Vec<Retry> =
            (0..7).map(|retries| next(&POLICY, &limited(None), answered(retries), 0.5)).collect();
        let after = |millis| Retry::After(Duration::from_millis(millis));
        assert_eq!(
            waits,
            [
                after(500),
                after(1000),
                after(2000),
                after(4000),
                after(8000),
                Retry::GiveUp,
                Retry::GiveUp
            ]
        );
        let long = RetryPolicy { max_retries: u32::MAX, ..POLICY };
        assert_eq!(next(&long, &limited(None), answered(40), 0.5), after(10_000));
    }

    #[test]
    fn jitter_spreads_by_a_tenth() {
        let wait = |jitter| next(&POLICY, &limited(None), answered(1), jitter);
        assert_eq!(wait(0.0), Retry::After(Duration::from_millis(900)));
        assert_eq!(wait(1.0), Retry::After(Duration::from_millis(1100)));
    }

    #[test]
    fn retry_after_is_obeyed_or_ends_the_retries() {
        let after = |asked, tries| next(&POLICY, &limited(Some(asked)), answered(tries), 0.9);
        assert_eq!(after(60, 0), Retry::After(Duration::from_mins(1)));
        assert_eq!(after(0, 3), Retry::After(Duration::ZERO));
        assert_eq!(after(61, 0), Retry::GiveUp);
        assert_eq!(after(1, 5), Retry::GiveUp);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let cut = ModelError::Length { max_tokens: 1, usage: None, text: String::new() };
        assert_eq!(next(&POLICY, &cut, answered(0), 0.5), Retry::GiveUp);
        let broken = ModelError::Truncated { partial: Partial::default() };
        assert_ne!(next(&POLICY, &broken, answered(0), 0.5), Retry::GiveUp);
    }

    /// Decides after so many attempts without a network, in so many seconds.
    fn offline(patience: Option<u64>, unreachable: u32, seconds: u64, lasts: bool) -> Retry {
        let policy = RetryPolicy { patience: patience.map(Duration::from_secs), ..POLICY };
        let error = ModelError::Unreachable { url: String::new(), message: String::new(), lasts };
        let offline = Duration::from_secs(seconds);
        next(&policy, &error, FailedAttempts { answered: 5, unreachable, offline }, 0.5)
    }

    #[test]
    fn whoever_waits_for_an_answer_is_told_after_two_attempts_without_a_network() {
        let after = |millis| Retry::After(Duration::from_millis(millis));
        assert_eq!(offline(None, 0, 0, false), after(500));
        assert_eq!(offline(None, 1, 1, false), Retry::GiveUp);
        assert_eq!(offline(None, 0, 0, true), Retry::GiveUp);
        assert_eq!(offline(Some(900), 0, 0, true), Retry::GiveUp);
    }

    #[test]
    fn long_work_waits_for_a_network_and_then_pauses() {
        let after = |millis| Retry::After(Duration::from_millis(millis));
        let waits = [(0, 0), (3, 5), (20, 400), (50, 895), (51, 900)];
        let waits = waits.map(|(tries, seconds)| offline(Some(900), tries, seconds, false));
        assert_eq!(waits, [after(500), after(4000), after(30_000), after(5000), Retry::Pause]);
    }
}
