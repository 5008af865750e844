//! The way of an event into the journal. Values only.

use crossbeam_channel::Sender;
use tokio::sync::{mpsc, oneshot, watch};

use crate::event::Event;
use crate::scope::Scope;
use crate::signal::Signal;

/// An event on its way to the journal.
#[derive(Debug)]
pub struct Submission {
    /// The event.
    pub event: Event,
    /// The scope it belongs to.
    pub scope: Scope,
    /// Receives the sequence number once this event and all before it are on disk.
    pub durable: Option<oneshot::Sender<u64>>,
}

/// Where an open journal takes events.
#[derive(Debug, Clone)]
pub struct JournalInlet {
    /// The bounded queue of the journal.
    pub queue: Sender<Submission>,
    /// Where the journal shows what it has written, and others what is not written.
    pub screen: mpsc::Sender<Signal>,
    /// Changes when the reader of the queue ends.
    pub lives: watch::Receiver<()>,
}
