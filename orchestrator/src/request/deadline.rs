//! The time limit of a request: what is left of it, and the wait for its end.

use std::time::Duration;

use actors::run::Run;
use actors::run::effect::{Effect, Trace};
use actors::run::terms::Terms;
use facts::closed::JournalClosed;
use facts::event::Event;

/// Returns the time that a run has left, if it is limited.
pub(crate) fn time_left(terms: &Terms, elapsed: Duration) -> Option<Duration> {
    let seconds = terms.config.budget.wall_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds).saturating_sub(elapsed))
}

/// The effect of a time limit: time passes only while the run does something new.
pub(crate) struct Deadline {
    pub(crate) left: Duration,
}

impl Effect for Deadline {
    type Outcome = ();
    type Stop = JournalClosed;

    fn look(&mut self, _: &Event) -> Trace<()> {
        Trace::Absent
    }

    async fn act(&mut self, run: &Run) -> Result<(), JournalClosed> {
        let mut stop = run.stop.clone();
        tokio::select! {
            () = tokio::time::sleep(self.left) => Ok(()),
            _ = stop.wait_for(|stopped| *stopped) => Err(JournalClosed),
        }
    }
}
