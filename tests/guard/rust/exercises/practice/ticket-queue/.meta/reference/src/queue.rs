//! The queue.

use std::fmt;

use crate::heap::{Entry, Heap};
use crate::ticket::Ticket;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueError {
    /// The id is in the queue already.
    Duplicate(u32),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueError::Duplicate(id) => write!(f, "ticket {id} is in the queue already"),
        }
    }
}

impl std::error::Error for QueueError {}

/// Tickets in the order of their priority.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    heap: Heap,
    limit: Option<usize>,
    /// Grows with each place that is given to a ticket.
    count: u64,
}

impl Queue {
    pub fn new() -> Self {
        Self::default()
    }

    /// A queue that drops tickets if there are more than this.
    pub fn with_limit(limit: usize) -> Self {
        Queue { limit: Some(limit), ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a ticket. Returns the ticket that was dropped for it, if any.
    pub fn push(&mut self, ticket: Ticket) -> Result<Option<Ticket>, QueueError> {
        if self.heap.get(ticket.id).is_some() {
            return Err(QueueError::Duplicate(ticket.id));
        }
        self.place(ticket);
        if !self.limit.is_some_and(|limit| self.heap.len() > limit) {
            return Ok(None);
        }
        let last = self.heap.entries().iter().max_by(|one, other| one.order(other)).map(|entry| entry.ticket.id);
        Ok(last.and_then(|id| self.remove(id)))
    }

    /// Takes the first ticket.
    pub fn pop(&mut self) -> Option<Ticket> {
        let id = self.heap.first()?.ticket.id;
        self.remove(id)
    }

    /// Takes the first ticket that may be looked at.
    pub fn pop_ready(&mut self, now: u64) -> Option<Ticket> {
        let ready = self.heap.entries().iter().filter(|entry| entry.ticket.not_before <= now);
        let id = ready.min_by(|one, other| one.order(other))?.ticket.id;
        self.remove(id)
    }

    /// Takes a ticket out of the queue.
    pub fn remove(&mut self, id: u32) -> Option<Ticket> {
        self.heap.remove(id).map(|entry| entry.ticket)
    }

    /// Changes the priority of a ticket. Returns the old one, or None if the ticket is not there.
    pub fn set_priority(&mut self, id: u32, priority: i32) -> Option<i32> {
        let old = self.heap.get(id)?.ticket.priority;
        if old != priority {
            let ticket = self.remove(id)?;
            self.place(Ticket { priority, ..ticket });
        }
        Some(old)
    }

    /// All tickets, first one first.
    pub fn sorted(&self) -> Vec<&Ticket> {
        let mut entries: Vec<&Entry> = self.heap.entries().iter().collect();
        entries.sort_by(|one, other| one.order(other));
        entries.into_iter().map(|entry| &entry.ticket).collect()
    }

    fn place(&mut self, ticket: Ticket) {
        self.count += 1;
        self.heap.push(Entry { ticket, since: self.count });
    }
}
