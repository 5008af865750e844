//! What the user says to a run that is at work: the model that is asked next is told.

use std::sync::{Arc, Mutex, PoisonError};

use crate::closed::JournalClosed;
use crate::effect::{Effect, Position, Trace};
use crate::event::Event;
use crate::recording::Recording;
use crate::run::Run;

/// What was said and is not told yet.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<Vec<String>>>);

impl Steering {
    /// What no model was told of a run that is driven again.
    pub fn left_of(recording: Option<&Arc<Recording>>) -> Self {
        let unheard = recording.map(|recording| recording.unheard().to_vec());
        Self(Arc::new(Mutex::new(unheard.unwrap_or_default())))
    }

    /// Says something, without secrets.
    pub fn say(&self, words: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the user said since the last call. Parts of a run are not spoken to: a word would reach any of them.
pub(crate) async fn said_meanwhile(run: &Run) -> Result<Vec<String>, JournalClosed> {
    if run.scope().is_part() {
        return Ok(Vec::new());
    }
    run.perform(&mut Hearing).await
}

/// The effect of hearing what the user said.
struct Hearing;

impl Effect for Hearing {
    type Outcome = Vec<String>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Vec<String>> {
        // Where nothing is recorded, nothing was said.
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
