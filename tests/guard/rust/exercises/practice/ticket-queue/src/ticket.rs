//! A ticket.

/// A higher `priority` comes first. The ticket need not be looked at before the time `not_before`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub id: u32,
    pub priority: i32,
    pub not_before: u64,
    pub subject: String,
}

impl Ticket {
    pub fn new(id: u32, priority: i32, subject: impl Into<String>) -> Self {
        Ticket { id, priority, not_before: 0, subject: subject.into() }
    }

    /// The same ticket, but not before a time.
    #[must_use]
    pub fn not_before(self, time: u64) -> Self {
        Ticket { not_before: time, ..self }
    }
}
