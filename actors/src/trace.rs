//! What is recorded of an effect: where it stands, and what an event tells of it. How one is done is said elsewhere.

use crate::event::Event;

/// What is looked up in a record.
pub(crate) trait Traced {
    /// What comes of it.
    type Outcome;
    /// Where it stands.
    const POSITION: Position;

    /// What a recorded event tells of it.
    fn look(&mut self, event: &Event) -> Trace<Self::Outcome>;

    /// Whether it may be done although this event is still to be followed.
    fn may_precede(&self, event: &Event) -> bool;
}

/// Where an effect stands in what is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// It comes next, or once what others do in the same scope was followed. It is done when the record is over.
    Next,
    /// It comes next, or nothing is recorded of it: then it is done at once.
    NextIfAtAll,
    /// Somewhere ahead, where it is told of later. It is done when the record is over.
    Ahead,
    /// Somewhere ahead, or nothing is recorded of it: then it is done at once.
    AheadIfAtAll,
}

/// What an event tells of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace<T> {
    /// Nothing.
    Absent,
    /// It had begun; the effect has noted how far it had come.
    Begun,
    /// What came of it. The event is followed by that.
    Done(T),
    /// What came of it. The event is still to come: it is made, and compared, by whoever asked.
    Foretold(T),
    /// It is not recorded: no event behind this one is looked at.
    Over,
}
