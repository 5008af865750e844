//! Calls of servers' tools, by tool. Pure.

use std::collections::HashMap;

use facts::event::Event;
use facts::words::ToolCallEnd;
use model::price::Usd;
use model::{BYTES_PER_TOKEN, Usage};
use serde::Serialize;

use super::entry::KeptEntries;
use super::usage::cost_of;

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
    /// The model that called it.
    pub model: String,
}

impl RecordedToolCall {
    /// Returns what the model was used for: it wrote the arguments, and read the answer once.
    pub fn usage(&self) -> Usage {
        Usage { prompt: self.answered, output: self.sent, ..Usage::default() }
    }
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
    /// What models cost that wrote the arguments and read the answers once, about; `None` if no price is known.
    pub cost_nano_usd: Option<Usd>,
    /// Calls of models whose price is not known.
    pub calls_of_unknown_cost: u64,
}

impl ToolTally {
    /// Counts a call with its cost.
    pub fn add(&mut self, call: &RecordedToolCall, cost: Option<Usd>) {
        self.calls += 1;
        match call.end {
            ToolCallEnd::Answered => {}
            ToolCallEnd::Failed | ToolCallEnd::Refused => self.failed += 1,
            ToolCallEnd::Unknown => self.unknown += 1,
        }
        self.sent += call.sent;
        self.answered += call.answered;
        self.elapsed_ms += call.elapsed_ms;
        match cost {
            Some(cost) => {
                self.cost_nano_usd = Some(self.cost_nano_usd.unwrap_or_default() + cost);
            }
            None => self.calls_of_unknown_cost += 1,
        }
    }

    /// Formats the cost; calls of unknown cost are mentioned.
    pub fn cost(&self) -> String {
        cost_of(self.cost_nano_usd, self.calls_of_unknown_cost)
    }
}

/// Returns the calls of servers' tools in a session, in order.
pub(super) fn tool_calls(kept: &KeptEntries) -> Vec<RecordedToolCall> {
    let (mut calls, mut sent) = (Vec::new(), 0);
    let mut asked = HashMap::new();
    for (entry, event) in kept.known() {
        if let Event::ModelRequest { model, .. } = event {
            asked.insert(entry.lane, model.clone());
        }
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
                model: asked.get(&entry.lane).cloned().unwrap_or_default(),
            });
        }
    }
    calls
}
