//! A recorded event and its place in the journal of its session. Values only.

use facts::event::Event;
use facts::lane_id::LaneId;
use serde::Serialize;

use crate::read::Record;

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoryEntry {
    /// Its number in the journal.
    pub seq: u64,
    /// When it was written.
    pub at: String,
    /// Kind and version, as written.
    pub kind: String,
    /// The run it belongs to.
    pub run: Option<String>,
    /// The lane it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneId>,
    /// The part of the run or lane it belongs to: a child question, or the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The event; absent when this version does not know its kind or form.
    #[serde(skip)]
    pub event: Option<Event>,
}

impl From<Record> for StoryEntry {
    fn from(record: Record) -> Self {
        Self {
            lane: record.scope().lane(),
            event: record.event(),
            seq: record.seq,
            at: record.at,
            kind: record.kind,
            run: record.run,
            part: record.part,
        }
    }
}

impl StoryEntry {
    /// The kind without its version.
    pub fn name(&self) -> &str {
        self.kind.split('@').next().unwrap_or_default()
    }
}

/// The loaded events of one session: a prefix, or those of the requested topics.
#[derive(Debug)]
pub(crate) struct KeptEntries {
    /// The session's id.
    pub(crate) session: String,
    /// How many events it has in all.
    pub(crate) events: u64,
    /// The loaded events, in order.
    pub(crate) entries: Vec<StoryEntry>,
}

/// What is made of the loaded events of a session, one after the other.
pub(crate) trait Fold {
    /// Begins with a session's id, and how many events it has in all.
    fn begin(session: String, events: u64) -> Self;

    /// Takes in the next event.
    fn take_in(&mut self, entry: StoryEntry);
}

impl Fold for KeptEntries {
    fn begin(session: String, events: u64) -> Self {
        Self { session, events, entries: Vec::new() }
    }

    fn take_in(&mut self, entry: StoryEntry) {
        self.entries.push(entry);
    }
}

impl KeptEntries {
    /// Returns the events that this version knows, in order.
    pub(crate) fn known(&self) -> impl DoubleEndedIterator<Item = (&StoryEntry, &Event)> {
        self.entries.iter().filter_map(|entry| Some((entry, entry.event.as_ref()?)))
    }
}
