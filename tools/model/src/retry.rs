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
    /// The longest wait, and the longest `Retry-After` that is obeyed.
    pub cap: Duration,
}

impl From<&config::Llm> for RetryPolicy {
    fn from(llm: &config::Llm) -> Self {
        Self {
            max_retries: llm.max_retries,
            base: Duration::from_millis(llm.retry_base_ms),
            cap: Duration::from_millis(llm.retry_max_ms),
        }
    }
}

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Retry after this wait.
    After(Duration),
    /// Return the error.
    GiveUp,
}

/// Decides what to do after `error`, when `retries_so_far` retries have been made. `jitter` in 0..1 spreads the wait by
/// ±10 %.
///
/// A `Retry-After` is waited out exactly. One beyond the cap ends the retries: the server said that retrying sooner is
/// useless.
pub fn next(policy: &RetryPolicy, error: &ModelError, retries_so_far: u32, jitter: f64) -> Retry {
    if retries_so_far >= policy.max_retries || !error.retryable() {
        return Retry::GiveUp;
    }
    match error.retry_after() {
        Some(wait) if wait > policy.cap => Retry::GiveUp,
        Some(wait) => Retry::After(wait),
        None => {
            let doubled = policy.base.saturating_mul(2_u32.saturating_pow(retries_so_far));
            let spread = 0.9 + 0.2 * jitter.clamp(0.0, 1.0);
            Retry::After(doubled.min(policy.cap).mul_f64(spread))
        }
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
    };

    fn limited(seconds: Option<u64>) -> ModelError {
        let retry_after = seconds.map(Duration::from_secs);
        ModelError::RateLimited { message: String::new(), retry_after }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_end() {
        let waits: Vec<Retry> =
            (0..7).map(|retries| next(&POLICY, &limited(None), retries, 0.5)).collect();
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
        assert_eq!(next(&long, &limited(None), 40, 0.5), after(10_000));
    }

    #[test]
    fn jitter_spreads_by_a_tenth() {
        let wait = |jitter| next(&POLICY, &limited(None), 1, jitter);
        assert_eq!(wait(0.0), Retry::After(Duration::from_millis(900)));
        assert_eq!(wait(1.0), Retry::After(Duration::from_millis(1100)));
    }

    #[test]
    fn retry_after_is_obeyed_or_ends_the_retries() {
        assert_eq!(
            next(&POLICY, &limited(Some(10)), 0, 0.9),
            Retry::After(Duration::from_secs(10))
        );
        assert_eq!(next(&POLICY, &limited(Some(0)), 3, 0.9), Retry::After(Duration::ZERO));
        assert_eq!(next(&POLICY, &limited(Some(11)), 0, 0.9), Retry::GiveUp);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let cut = ModelError::Length { max_tokens: 1, usage: None };
        assert_eq!(next(&POLICY, &cut, 0, 0.5), Retry::GiveUp);
        let broken = ModelError::Truncated { partial: Partial::default() };
        assert_ne!(next(&POLICY, &broken, 0, 0.5), Retry::GiveUp);
    }
}
