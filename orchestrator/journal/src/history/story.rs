//! One session with all its details. Values only.

use super::entry::{KeptEntries, StoryEntry};
use super::summary::Summary;
use super::usage::{RecordedCall, calls};
use crate::staged::{Fates, StagedPatch};

/// A session with all its events.
#[derive(Debug)]
pub struct Story {
    /// Summary of the session.
    pub summary: Summary,
    /// Its events, in order.
    pub entries: Vec<StoryEntry>,
    calls: Vec<RecordedCall>,
    fates: Fates,
}

impl Story {
    /// Builds the story from all events of a session; `None` if the session has not begun.
    pub(super) fn of(kept: KeptEntries, fates: Fates) -> Option<Self> {
        let (summary, calls) = (Summary::of(&kept)?, calls(&kept));
        Some(Self { summary, entries: kept.entries, calls, fates })
    }

    /// Returns the call that an event begins or ends.
    pub fn call(&self, entry: &StoryEntry) -> Option<&RecordedCall> {
        let replied = |call: &RecordedCall| call.reply.as_ref().map(|reply| reply.seq);
        self.calls.iter().rfind(|it| it.seq == entry.seq || replied(it) == Some(entry.seq))
    }

    /// Returns the patch set that an event stages.
    pub fn patch(&self, entry: &StoryEntry) -> Option<StagedPatch> {
        StagedPatch::of(&self.summary.id, entry.event.as_ref()?, &self.fates)
    }

    /// Returns the event with this number, if it is there.
    pub fn entry(&self, seq: u64) -> Option<&StoryEntry> {
        let at = self.entries.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        self.entries.get(at)
    }
}
