//! A binary heap of tickets that knows the place of each ticket.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::ticket::Ticket;

/// A ticket, and when it came.
#[derive(Debug, Clone)]
pub struct Entry {
    pub ticket: Ticket,
    pub since: u64,
}

impl Entry {
    /// `Less` if this entry comes before the other one.
    pub fn order(&self, other: &Entry) -> Ordering {
        other.ticket.priority.cmp(&self.ticket.priority)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Heap {
    entries: Vec<Entry>,
    places: HashMap<u32, usize>,
}

impl Heap {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn first(&self) -> Option<&Entry> {
        self.entries.first()
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn get(&self, id: u32) -> Option<&Entry> {
        self.places.get(&id).map(|&place| &self.entries[place])
    }

    /// Adds an entry. Its id must not be in the heap.
    pub fn push(&mut self, entry: Entry) {
        let place = self.entries.len();
        self.places.insert(entry.ticket.id, place);
        self.entries.push(entry);
        self.up(place);
    }

    /// Takes an entry out, wherever it is.
    pub fn remove(&mut self, id: u32) -> Option<Entry> {
        let place = self.places.remove(&id)?;
        let entry = self.entries.swap_remove(place);
        if let Some(moved) = self.entries.get(place) {
            self.places.insert(moved.ticket.id, place);
            self.down(place);
        }
        Some(entry)
    }

    /// Moves the priority of an entry to a new value. Returns the old one.
    pub fn change(&mut self, id: u32, priority: i32) -> Option<i32> {
        let place = *self.places.get(&id)?;
        let old = std::mem::replace(&mut self.entries[place].ticket.priority, priority);
        self.up(place);
        Some(old)
    }

    fn up(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.entries[place].order(&self.entries[parent]) != Ordering::Less {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
    }

    fn down(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            if left >= self.entries.len() {
                return;
            }
            let right = left + 1;
            let mut child = left;
            if right < self.entries.len() - 1 && self.entries[right].order(&self.entries[left]) == Ordering::Less {
                child = right;
            }
            if self.entries[place].order(&self.entries[child]) != Ordering::Greater {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.entries.swap(one, other);
        self.places.insert(self.entries[one].ticket.id, one);
        self.places.insert(self.entries[other].ticket.id, other);
    }
}
