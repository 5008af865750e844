//! An effect: something a run does to the world or learns from it. This module defines how an effect is found in the
//! recording; [`Run::perform`] is the only way to perform one.

use facts::closed::JournalClosed;
use facts::event::Event;

use crate::run::Run;
use crate::run::trace::Traced;
pub use crate::run::trace::{Position, Trace};

/// Something a run does to the world or learns from it.
///
/// Only leaves are effects: a recorded effect is skipped as a whole, so no effect may perform another.
pub trait Effect: Send {
    /// Its result.
    type Outcome: Send;
    /// The error that stops the work it is part of.
    type Stop: From<JournalClosed> + Send;
    /// Where in the recording it is expected.
    const POSITION: Position = Position::Next;

    /// Interprets a recorded event. Called for events in order, so that the effect can note how far it had come.
    fn look(&mut self, event: &Event) -> Trace<Self::Outcome>;

    /// Returns true if it may be performed before this event is replayed: for effects that are recorded later than they
    /// happen.
    fn may_precede(&self, _: &Event) -> bool {
        false
    }

    /// Performs whatever is not recorded, and records the result.
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

    use facts::scope::Scope;
    use facts::words::Side;

    use super::*;
    use crate::run::recording::{AtRecordingEnd, Recorded, Recording, Requests};
    use crate::run::testing;

    /// An effect that exists only in this test: throwing a die.
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
            run.record(Event::TurnAdded { speaker, text, intent: None, card: None, course: None })
                .await?;
            Ok(self.0)
        }
    }

    #[tokio::test]
    async fn an_effect_is_performed_once_and_then_taken_from_the_recording() {
        let (run, events) = testing::run(None);
        assert_eq!(run.perform(&mut Throw(4)).await, Ok(4));
        assert_eq!(run.perform(&mut Throw(2)).await, Ok(2));
        let recorded = |(seq, event)| Recorded { seq, scope: Scope::of_run("run"), event };
        let recorded: Vec<Recorded> = (1..).zip(events()).map(recorded).collect();
        let recording = Recording::new(recorded, AtRecordingEnd::GoOn, Requests::Compared);
        let (again, new) = testing::run(Some(Arc::new(recording)));
        assert_eq!(again.perform(&mut Throw(6)).await, Ok(4));
        assert_eq!(again.perform(&mut Throw(6)).await, Ok(2));
        assert_eq!(again.perform(&mut Throw(6)).await, Ok(6), "the recording has ended");
        assert_eq!(new().len(), 1, "recorded events are not written again");
    }
}
