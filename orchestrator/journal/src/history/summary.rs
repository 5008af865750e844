//! The summary of a session. Pure.

use std::cmp::Reverse;

use facts::delivery::{Delivery, Verified};
use facts::event::Event;
use facts::words::{SessionState, Side};
use serde::Serialize;
use tools::clock::Timestamp;

use super::entry::{Fold, KeptEntries, StoryEntry};
use super::usage::{CallFold, Tally};

/// The summary of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The session's id.
    pub id: String,
    /// When it began.
    pub started: String,
    /// When something last happened in it.
    pub used: String,
    /// The session's workspace.
    pub workspace: String,
    /// Version of the program that started it.
    pub version: String,
    /// Its current state, or its last one.
    pub state: SessionState,
    /// The user's messages, in order.
    pub requests: Vec<String>,
    /// How the last request ended; `None` if it has not.
    pub ended: Option<&'static str>,
    /// The first patch set applied in it.
    pub applied: Option<String>,
    /// Number of events.
    pub events: u64,
    /// Usage of its model calls.
    #[serde(skip)]
    pub usage: Tally,
}

impl Summary {
    /// Returns a key that sorts the session that was used last first.
    pub fn last_used(&self) -> Reverse<Option<Timestamp>> {
        Reverse(self.used.parse().ok())
    }

    /// Returns true if its last request has not ended.
    pub fn is_cut_short(&self) -> bool {
        !self.requests.is_empty() && self.ended.is_none()
    }

    /// Summarises a session; `None` if it has not begun.
    pub(super) fn of(kept: &KeptEntries) -> Option<Self> {
        let mut summing = Summing::begin(kept.session.clone(), kept.events);
        kept.entries.iter().for_each(|entry| summing.hear(entry));
        summing.done()
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a few words leave out most events")]
    fn take_in(&mut self, event: &Event) {
        match event {
            Event::SessionStateChanged { to, .. } => self.state = *to,
            Event::TurnAdded { speaker: Side::User, text, .. } => {
                self.requests.push(text.clone());
                self.ended = None;
            }
            // The task stands for the session until its first step.
            Event::AutopilotBegan { task, .. } if self.requests.is_empty() => {
                self.requests.push(task.clone());
            }
            Event::AutopilotAsked { .. } => self.ended = None,
            Event::RunFinished { delivery, .. } => self.ended = Some(ending(delivery)),
            Event::PatchApplied { patch } => {
                self.applied.get_or_insert_with(|| patch.clone());
            }
            _ => {}
        }
    }
}

/// The summary of a session while its events pass by.
pub(super) struct Summing {
    session: String,
    events: u64,
    /// `None` before the first event, and if that does not begin a session.
    summary: Option<Summary>,
    calls: CallFold,
}

impl Fold for Summing {
    fn begin(session: String, events: u64) -> Self {
        let calls = CallFold::of(session.clone());
        Self { session, events, summary: None, calls }
    }

    fn take_in(&mut self, entry: StoryEntry) {
        self.hear(&entry);
    }
}

impl Summing {
    fn hear(&mut self, entry: &StoryEntry) {
        let Some(event) = &entry.event else { return };
        self.calls.hear(entry);
        if let Some(summary) = &mut self.summary {
            summary.used.clone_from(&entry.at);
            summary.take_in(event);
        } else if let (1, Event::SessionStarted { workspace, version, .. }) = (entry.seq, event) {
            self.summary = Some(Summary {
                id: self.session.clone(),
                started: entry.at.clone(),
                used: entry.at.clone(),
                workspace: workspace.clone(),
                version: version.clone(),
                state: SessionState::Idle,
                requests: Vec::new(),
                ended: None,
                applied: None,
                events: self.events,
                usage: Tally::default(),
            });
        }
    }

    /// Returns the summary; `None` if the session has not begun.
    pub(super) fn done(self) -> Option<Summary> {
        Some(Summary { usage: Tally::of(&self.calls.all), ..self.summary? })
    }
}

/// Returns how a request ended: the name of its delivery in the journal, unless it was a question.
const fn ending(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Delivered { verified: Verified::NotNeeded } => "answered",
        Delivery::Delivered { .. } => "delivered",
        Delivery::NoEditNeeded { .. } => "no_edit_needed",
        Delivery::NeedsWork { .. } => "needs_work",
        Delivery::Denied { card: None, .. } => "denied",
        Delivery::Denied { card: Some(card), .. } => card.name(),
        Delivery::Cancelled => "cancelled",
        Delivery::Paused { .. } => "paused",
        Delivery::BudgetExhausted { .. } => "budget_exhausted",
        Delivery::Failed { .. } => "failed",
    }
}
