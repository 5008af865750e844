//! The wait between two attempts of a call: shown, and ended with the run. Whether there is another attempt is recorded, or
//! decided by `model::retry`.

use std::time::Duration;

use model::ModelError;
use model::retry::{self, FailedAttempts, Retry, RetryPolicy};
use tokio::time::Instant;
use tools::clock;

use super::{CallError, Caller};

/// The failed attempts of a call.
#[derive(Default)]
pub(super) struct FailedCalls {
    attempts: FailedAttempts,
    /// When the server could not be reached for the first time since it last was.
    offline_since: Option<Instant>,
    /// True if the last attempt was in the recording.
    pub(super) follows: bool,
}

impl FailedCalls {
    /// Returns what had failed before `error`. Only this process waits for a network: what is recorded does not count.
    fn before(&mut self, error: &ModelError) -> FailedAttempts {
        if self.follows || !error.never_left() {
            (self.attempts.unreachable, self.offline_since) = (0, None);
        }
        if error.never_left() {
            self.attempts.offline = self.offline_since.get_or_insert_with(Instant::now).elapsed();
        }
        self.attempts
    }

    fn count(&mut self, error: &ModelError) {
        let failed = if error.never_left() {
            &mut self.attempts.unreachable
        } else {
            &mut self.attempts.answered
        };
        *failed += 1;
    }
}

impl Caller {
    /// Waits before the next attempt after one that failed. The error is returned if there is none.
    pub(super) async fn wait(
        &self,
        error: ModelError,
        failed: &mut FailedCalls,
    ) -> Result<(), CallError> {
        let (llm, publisher) = (&self.run.config().llm, &self.run.publisher);
        let patience = Duration::from_secs(llm.offline_patience_seconds);
        let patience = self.run.offline.waits.then_some(patience);
        let policy = RetryPolicy { patience, ..RetryPolicy::from(llm) };
        let before = failed.before(&error);
        let next = match publisher.recorded_retry(self.role) {
            Some(true) => Retry::After(Duration::ZERO),
            Some(false) => Retry::GiveUp,
            // A run that was resumed has to find out whether there is a network now.
            None if failed.follows && error.never_left() => Retry::After(Duration::ZERO),
            None => retry::next(&policy, &error, before, clock::chance()),
        };
        match next {
            Retry::GiveUp => return Err(error.given_up(policy.max_asked).into()),
            Retry::Pause => return self.run.offline.pause(error).await,
            Retry::After(_) if publisher.follows() => {}
            Retry::After(wait) => {
                let seconds = wait.as_secs_f64();
                let next = match patience {
                    Some(patience) if error.never_left() => {
                        let left = patience.saturating_sub(before.offline).as_secs();
                        format!("tried again in {seconds:.0} s, for at most {left} s")
                    }
                    None if error.never_left() => format!("tried once more in {seconds:.1} s"),
                    Some(_) | None => {
                        let (next, most) = (before.answered + 2, policy.max_retries + 1);
                        format!("attempt {next} of {most} in {seconds:.1} s")
                    }
                };
                publisher.show_wait(format!("{error}; {next}"));
                tokio::time::sleep(wait).await;
            }
        }
        failed.count(&error);
        Ok(())
    }
}
