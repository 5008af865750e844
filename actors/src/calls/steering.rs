//! What the user says to an active run: it is passed on with the next model call, and to every dialogue that goes on or
//! begins after that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use facts::closed::JournalClosed;
use facts::event::Event;

use crate::run::effect::{Effect, Position, Trace};
use crate::run::recording::Recording;
use crate::run::{Run, UserWord};
use crate::talk::dialogue::Dialogue;

/// What the user says to a run.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    /// Messages that no model has received yet.
    waiting: Vec<String>,
    /// Messages that have been passed on, oldest first.
    heard: Vec<String>,
}

impl Steering {
    /// Returns the messages of a replayed run that no model received.
    pub fn left_of(recording: Option<&Arc<Recording>>) -> Self {
        let unheard = recording.map(|recording| recording.unheard().to_vec());
        let (waiting, heard) = (unheard.unwrap_or_default(), Vec::new());
        Self(Arc::new(Mutex::new(Said { waiting, heard })))
    }

    /// Adds a message, in which secrets are already masked.
    pub fn say(&self, words: String) {
        self.said().waiting.push(words);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.said().waiting)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what the user said to the run so far and `dialogue` was not told, and counts it as told. Only the run itself
/// receives new messages, since any of its parts might get one; a part is told what was received before.
pub(crate) async fn untold(
    run: &Run,
    dialogue: &mut Dialogue,
) -> Result<Vec<String>, JournalClosed> {
    if !run.scope().is_part() {
        let new = run.perform(&mut Hearing).await?;
        let words = new.iter().map(|words| UserWord::Said { words: words.clone() });
        run.user_said.lock().unwrap_or_else(PoisonError::into_inner).extend(words);
        run.steering.said().heard.extend(new);
    }
    let heard = run.steering.said().heard.clone();
    let told = dialogue.steered(heard.len());
    Ok(heard.into_iter().skip(told).collect())
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

#[cfg(test)]
mod tests {
    use facts::lane_id::LaneId;
    use facts::scope::Segment;

    use super::*;
    use crate::run::testing;

    #[tokio::test]
    async fn every_dialogue_is_told_once_and_parts_are_told_what_was_heard_before() {
        let (run, _) = testing::run(None);
        let lane = run.at(&run.scope().within(Segment::Lane(LaneId::new(1).unwrap())));
        let new = || Dialogue::new(String::new(), &run.redactor);
        let (mut one, mut other, mut of_lane) = (new(), new(), new());
        run.steering.say("be brief".to_owned());
        assert_eq!(untold(&lane, &mut new()).await, Ok(vec![]), "any part might have got it");
        assert_eq!(untold(&run, &mut one).await, Ok(vec!["be brief".to_owned()]));
        assert_eq!(untold(&run, &mut one).await, Ok(vec![]));
        run.steering.say("in German".to_owned());
        let both = vec!["be brief".to_owned(), "in German".to_owned()];
        assert_eq!(untold(&run, &mut other).await, Ok(both.clone()));
        assert_eq!(untold(&run, &mut one).await, Ok(vec!["in German".to_owned()]));
        assert_eq!(untold(&lane, &mut of_lane).await, Ok(both));
    }
}
