//! The source of truth for a session: an append-only log of events, together with the content they name. This crate knows
//! events, but not their publishers.
//!
//! [`log`] writes it from a single thread, [`read`] reads it back and checks it, and [`repair`] cuts off damage. Nothing
//! else changes a journal in place: continuing from an earlier point makes a [`fork`]. Queries about the past go through
//! [`History`].

mod blobs;
mod delta;
pub mod fork;
mod history;
pub mod log;
mod moved;
mod projection;
pub mod read;
pub mod repair;
mod session;
mod staged;

use facts::lane_id::LaneId;
use serde::Serialize;
use tree::FileHash;

pub use self::history::{
    CallReply, DecidedBy, DecidedQuestion, Explained, Gathered, History, HistoryError, Homes,
    LaneState, LaneWork, Reach, RecordedCall, RecordedToolCall, Story, StoryEntry, Summary, Tally,
    ToolTally, told_apart,
};
pub use self::moved::{AdoptError, adopt, find_moved, note_place, workspace_state};
pub use self::staged::{StagedPatch, staged_changes};

/// The line of an event, without its checksum.
#[derive(Serialize)]
struct Line<'a, D> {
    seq: u64,
    at: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<LaneId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    data: &'a D,
    prev: &'a str,
}

impl<D: Serialize> Line<'_, D> {
    /// Appends the line to `text` and returns its checksum.
    fn append_to(&self, text: &mut Vec<u8>) -> serde_json::Result<String> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.pop();
        let sum = checksum(&bytes);
        text.extend_from_slice(&bytes);
        text.extend_from_slice(format!(",\"sum\":\"{sum}\"}}\n").as_bytes());
        Ok(sum)
    }
}

/// Name of the log in a session's directory.
const EVENTS: &str = "events.jsonl";

/// Hexadecimal digits of a checksum: 64 bits of SHA-256.
const SUM_DIGITS: usize = 16;

/// Returns the checksum of a line up to its own `sum`.
fn checksum(line: &[u8]) -> String {
    FileHash::of(line).to_string().chars().take(SUM_DIGITS).collect()
}
