//! What the user says to an active run; it is passed on with the next model call.

use std::sync::{Arc, Mutex, PoisonError};

use crate::closed::JournalClosed;
use crate::effect::{Effect, Position, Trace};
use crate::event::Event;
use crate::recording::Recording;
use crate::run::Run;

/// Messages that no model has received yet.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<Vec<String>>>);

impl Steering {
    /// Returns the messages of a replayed run that no model received.
    pub fn left_of(recording: Option<&Arc<Recording>>) -> Self {
        let unheard = recording.map(|recording| recording.unheard().to_vec());
        Self(Arc::new(Mutex::new(unheard.unwrap_or_default())))
    }

    /// Adds a message, in which secrets are already masked.
    pub fn say(&self, words: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns what the user said since the last call. Parts of a run receive nothing, since any one of them might get a
/// message.
pub(crate) async fn said_meanwhile(run: &Run) -> Result<Vec<String>, JournalClosed> {
    if run.scope().is_part() {
        return Ok(Vec::new());
    }
    run.perform(&mut Hearing).await
}

/// The effect of receiving the user's messages.
struct Hearing;

impl Effect for Hearing {
    type Outcome = Vec<String>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Vec<String>> {
        // If nothing is recorded, nothing was said.
        let Event::UserSteered { words } = event else { return Trace::Foretold(Vec::new()) };
        Trace::Done(words.clone())
    }

    async fn act(&mut self, run: &Run) -> Result<Vec<String>, JournalClosed> {
        let words: Vec<String> = run.steering.take();
        if !words.is_empty() {
            run.record(Event::UserSteered { words: words.clone() }).await?;
        }
        Ok(words)
    }
}
