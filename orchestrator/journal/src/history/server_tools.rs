//! Calls of servers' tools, by tool. Pure.

use facts::event::Event;
use facts::words::ToolCallEnd;
use model::BYTES_PER_TOKEN;
use serde::Serialize;

use super::entry::KeptEntries;

/// A call of a server's tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedToolCall {
    /// When it ended.
    pub at: String,
    /// The server.
    pub server: String,
    /// The name of the tool for models.
    pub tool: String,
    /// How it ended.
    pub end: ToolCallEnd,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Tokens of the arguments, about.
    pub sent: u64,
    /// Tokens of the answer, about, before it was cut for the model.
    pub answered: u64,
}

/// The calls of one tool, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ToolTally {
    /// Their number.
    pub calls: u64,
    /// Those that failed or were refused.
    pub failed: u64,
    /// Those of which it is not known whether they were carried out.
    pub unknown: u64,
    /// Tokens of the arguments, about.
    pub sent: u64,
    /// Tokens of the answers, about.
    pub answered: u64,
    /// How long they took, in milliseconds.
    pub elapsed_ms: u64,
}

impl ToolTally {
    /// Counts a call.
    pub fn add(&mut self, call: &RecordedToolCall) {
        self.calls += 1;
        match call.end {
            ToolCallEnd::Answered => {}
            ToolCallEnd::Failed | ToolCallEnd::Refused => self.failed += 1,
            ToolCallEnd::Unknown => self.unknown += 1,
        }
        self.sent += call.sent;
        self.answered += call.answered;
        self.elapsed_ms += call.elapsed_ms;
    }
}

/// Returns the calls of servers' tools in a session, in order.
pub(super) fn tool_calls(kept: &KeptEntries) -> Vec<RecordedToolCall> {
    let (mut calls, mut sent) = (Vec::new(), 0);
    for (entry, event) in kept.known() {
        if let Event::ServerToolCalled { arguments, .. } = event {
            sent = arguments.len() as u64 / BYTES_PER_TOKEN;
        }
        if let Event::ServerToolAnswered { server, tool, end, elapsed_ms, told } = event {
            calls.push(RecordedToolCall {
                at: entry.at.clone(),
                server: server.clone(),
                tool: tool.clone(),
                end: *end,
                elapsed_ms: *elapsed_ms,
                sent: std::mem::take(&mut sent),
                answered: told.bytes / BYTES_PER_TOKEN,
            });
        }
    }
    calls
}
