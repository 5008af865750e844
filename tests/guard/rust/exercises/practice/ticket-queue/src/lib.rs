//! A queue of support tickets.

mod heap;
mod queue;
mod ticket;

pub use queue::{Queue, QueueError};
pub use ticket::Ticket;
