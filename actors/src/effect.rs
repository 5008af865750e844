//! An effect: something a run does to the world or learns from it. How one is looked up in what is recorded is said here;
//! [`Run::perform`] is the only way to do one.

use crate::closed::JournalClosed;
use crate::event::Event;
use crate::run::Run;
use crate::trace::Traced;
pub use crate::trace::{Position, Trace};

/// Something a run does to the world or learns from it.
///
/// Only leaves are effects: what an effect does inside is skipped when it is recorded, so no effect performs another.
pub trait Effect: Send {
    /// What comes of it.
    type Outcome: Send;
    /// What ends the work that it is part of.
    type Stop: From<JournalClosed> + Send;
    /// Where it stands in what is recorded.
    const POSITION: Position = Position::Next;

    /// What a recorded event tells of it. Called for events in their order, so that it can note how far it had come.
    fn look(&mut self, event: &Event) -> Trace<Self::Outcome>;

    /// Whether it may be done although this event is still to be followed: one that is told later than it happened.
    fn may_precede(&self, _: &Event) -> bool {
        false
    }

    /// Does what is not recorded, and records what came of it.
    fn act(&mut self, run: &Run) -> impl Future<Output = Result<Self::Outcome, Self::Stop>> + Send;
}

impl<E: Effect> Traced for E {
    type Outcome = E::Outcome;
    const POSITION: Position = E::POSITION;

    fn look(&mut self, event: &Event) -> Trace<E::Outcome> {
        Effect::look(self, event)
    }

    fn may_precede(&self, event: &Event) -> bool {
        Effect::may_precede(self, event)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::recording::{Beyond, Recorded, Recording, Requests};
    use crate::scope::Scope;
    use crate::testing;
    use crate::words::Side;

    /// An effect that no release has: a die is thrown.
    struct Throw(u8);

    impl Effect for Throw {
        type Outcome = u8;
        type Stop = JournalClosed;

        fn look(&mut self, event: &Event) -> Trace<u8> {
            let Event::TurnAdded { speaker: Side::Assistant, text, .. } = event else {
                return Trace::Absent;
            };
            text.parse().map_or(Trace::Absent, Trace::Done)
        }

        async fn act(&mut self, run: &Run) -> Result<u8, JournalClosed> {
            let (speaker, text) = (Side::Assistant, self.0.to_string());
            run.record(Event::TurnAdded { speaker, text, intent: None, card: None }).await?;
            Ok(self.0)
        }
    }

    #[tokio::test]
    async fn an_effect_is_done_once_and_recalled_ever_after() {
        let (run, events) = testing::run(None);
        assert_eq!(run.perform(&mut Throw(4)).await, Ok(4));
        assert_eq!(run.perform(&mut Throw(2)).await, Ok(2));
        let recorded = |(seq, event)| Recorded { seq, scope: Scope::of_run("run"), event };
        let recorded: Vec<Recorded> = (1..).zip(events()).map(recorded).collect();
        let recording = Recording::new(recorded, Beyond::GoOn, Requests::Compared);
        let (again, new) = testing::run(Some(Arc::new(recording)));
        assert_eq!(again.perform(&mut Throw(6)).await, Ok(4));
        assert_eq!(again.perform(&mut Throw(6)).await, Ok(2));
        assert_eq!(again.perform(&mut Throw(6)).await, Ok(6), "the record is over");
        assert_eq!(new().len(), 1, "what is recorded is not written again");
    }
}
