//! The difference between a run and its recording. Pure.

use std::fmt;

use facts::event::Event;

use super::Recorded;

/// The first point where a run differs from its recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The recorded event; `None` if the run continues past the end of the recording.
    pub recorded: Option<Recorded>,
    /// What the run did; `None` if it did nothing more.
    pub done: Option<Event>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.recorded, &self.done) {
            (Some(Recorded { seq, event, .. }), Some(done)) if event.kind() == done.kind() => {
                write!(f, "event {seq} is {}, but its content is different now", event.kind())
            }
            (Some(Recorded { seq, event, .. }), Some(done)) => {
                write!(f, "event {seq} is {}, but now it would be {}", event.kind(), done.kind())
            }
            (Some(Recorded { seq, event, .. }), None) => {
                write!(f, "event {seq} is {}, but now it does not happen", event.kind())
            }
            (None, Some(done)) => {
                write!(f, "the recording ends here, but now {} follows", done.kind())
            }
            (None, None) => f.write_str("no difference"),
        }
    }
}
