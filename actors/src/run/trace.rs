//! How effects are found in a recording: their position, and what an event says about them. Performing them is defined
//! in [`crate::run::effect`].

use facts::event::Event;

/// Something that is looked up in a recording.
pub(crate) trait Traced {
    /// Its result.
    type Outcome;
    /// Where in the recording it is expected.
    const POSITION: Position;

    /// Interprets a recorded event.
    fn look(&mut self, event: &Event) -> Trace<Self::Outcome>;

    /// Returns true if it may be performed before this event is replayed.
    fn may_precede(&self, event: &Event) -> bool;
}

/// Where in a recording an effect is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Next, possibly after other events of the same scope. It is performed only at the end of the recording.
    Next,
    /// Next, or not recorded: then it is performed immediately.
    NextIfAtAll,
    /// Anywhere ahead, since it is recorded later. It is performed only at the end of the recording.
    Ahead,
    /// Anywhere ahead, or not recorded: then it is performed immediately.
    AheadIfAtAll,
}

/// What an event says about an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace<T> {
    /// Nothing.
    Absent,
    /// The effect had started, and has noted how far it had come.
    Begun,
    /// The result. The event belongs to the effect and counts as replayed.
    Done(T),
    /// The result. The event does not belong to the effect: the caller will publish it, and it is compared then.
    Foretold(T),
    /// The effect is not recorded: stop looking at later events.
    Over,
}
