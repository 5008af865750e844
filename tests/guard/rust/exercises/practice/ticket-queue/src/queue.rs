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
    /// How many tickets have come so far.
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
        if self.limit == Some(self.heap.len()) {
            return Ok(Some(ticket));
        }
        if self.heap.get(ticket.id).is_some() {
            return Err(QueueError::Duplicate(ticket.id));
        }
        self.place(ticket);
        Ok(None)
    }

    /// Takes the first ticket.
    pub fn pop(&mut self) -> Option<Ticket> {
        let id = self.heap.first()?.ticket.id;
        self.remove(id)
    }

    /// Takes the first ticket that may be looked at.
    pub fn pop_ready(&mut self, now: u64) -> Option<Ticket> {
        if self.heap.first()?.ticket.not_before > now {
            let passed = self.pop()?;
            let found = self.pop_ready(now);
            self.place(passed);
            return found;
        }
        self.pop()
    }

    /// Takes a ticket out of the queue.
    pub fn remove(&mut self, id: u32) -> Option<Ticket> {
        self.heap.remove(id).map(|entry| entry.ticket)
    }

    /// Changes the priority of a ticket. Returns the old one, or None if the ticket is not there.
    pub fn set_priority(&mut self, id: u32, priority: i32) -> Option<i32> {
        self.heap.change(id, priority)
    }

    /// All tickets, first one first.
    pub fn sorted(&self) -> Vec<&Ticket> {
        let mut entries: Vec<&Entry> = self.heap.entries().iter().collect();
        entries.sort_by_key(|entry| (-entry.ticket.priority, entry.since));
        entries.into_iter().map(|entry| &entry.ticket).collect()
    }

    fn place(&mut self, ticket: Ticket) {
        self.count += 1;
        self.heap.push(Entry { ticket, since: self.count });
    }
}
