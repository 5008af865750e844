//! Model calls and their combined usage. Pure.

use std::collections::{BTreeMap, HashMap};

use facts::event::{Blob, Event};
use facts::lane_id::LaneId;
use model::price::Usd;
use model::{AgentRole, ErrorClass, Usage};
use serde::Serialize;

use super::entry::{KeptEntries, StoryEntry};

/// A model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedCall {
    /// The session it was made in.
    #[serde(skip)]
    pub session: String,
    /// Number of the event of its request.
    #[serde(skip)]
    pub seq: u64,
    /// When the request was sent.
    #[serde(skip)]
    pub at: String,
    /// The run it was made in.
    #[serde(skip)]
    pub run: Option<String>,
    /// The lane that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneId>,
    /// Number of the call in its run, or in its lane.
    pub call: u64,
    /// The role that made the call.
    pub role: AgentRole,
    /// The model's name.
    pub model: String,
    /// Number of the attempt, from zero.
    pub retry: u32,
    /// The exact request.
    pub body: Blob,
    /// The reply; `None` if it is not known.
    pub reply: Option<CallReply>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallReply {
    /// Number of the reply's event.
    pub seq: u64,
    /// `ok`, or the class of the error.
    pub outcome: String,
    /// The error message.
    pub message: String,
    /// Token usage, if the server reported it.
    pub usage: Option<Usage>,
    /// The cost, if known.
    pub cost_nano_usd: Option<Usd>,
    /// Prompt tokens that were sent before but missed the cache.
    pub avoidable_misses: u64,
    /// The answer.
    pub answer: Option<Blob>,
}

impl CallReply {
    /// Returns true if no connection was made: that is no call.
    fn says_it_never_left(&self) -> bool {
        self.outcome == ErrorClass::Unreachable.name()
    }
}

/// Returns the calls of a session, each with its first reply.
pub(super) fn calls(kept: &KeptEntries) -> Vec<RecordedCall> {
    let mut calls = CallFold::of(kept.session.clone());
    kept.entries.iter().for_each(|entry| calls.hear(entry));
    calls.all
}

/// The calls of a session while its events pass by.
pub(super) struct CallFold {
    session: String,
    pub(super) all: Vec<RecordedCall>,
    /// The calls without a reply. Each lane numbers its own.
    open: HashMap<(u64, Option<LaneId>, Option<String>), Vec<usize>>,
}

impl CallFold {
    pub(super) fn of(session: String) -> Self {
        Self { session, all: Vec::new(), open: HashMap::new() }
    }

    /// Takes in the next event.
    pub(super) fn hear(&mut self, entry: &StoryEntry) {
        let Some(event) = &entry.event else { return };
        let place = |call| (call, entry.lane, entry.run.clone());
        if let Some(call) = asked(&self.session, entry, event) {
            self.open.entry(place(call.call)).or_default().push(self.all.len());
            self.all.push(call);
        } else if let Some((call, reply)) = answered(entry.seq, event) {
            for at in self.open.remove(&place(call)).unwrap_or_default() {
                if let Some(asked) = self.all.get_mut(at) {
                    asked.reply = Some(reply.clone());
                }
            }
        }
    }
}

fn asked(session: &str, entry: &StoryEntry, event: &Event) -> Option<RecordedCall> {
    let Event::ModelRequest { call, role, model, retry, body, .. } = event else { return None };
    Some(RecordedCall {
        session: session.to_owned(),
        seq: entry.seq,
        at: entry.at.clone(),
        run: entry.run.clone(),
        lane: entry.lane,
        call: *call,
        role: *role,
        model: model.clone(),
        retry: *retry,
        body: body.clone(),
        reply: None,
    })
}

/// Returns the number of a call and its result, if the event is a reply.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others are not about calls")]
fn answered(seq: u64, event: &Event) -> Option<(u64, CallReply)> {
    match event {
        Event::ModelReply {
            call,
            outcome,
            message,
            usage,
            cost_nano_usd,
            avoidable_misses,
            answer,
            ..
        } => Some((
            *call,
            CallReply {
                seq,
                outcome: outcome.clone(),
                message: message.as_ref().map(ToString::to_string).unwrap_or_default(),
                usage: *usage,
                cost_nano_usd: *cost_nano_usd,
                avoidable_misses: *avoidable_misses,
                answer: answer.clone(),
            },
        )),
        Event::CallDropped { call, .. } => Some((
            *call,
            CallReply {
                seq,
                outcome: "dropped".to_owned(),
                message: String::new(),
                usage: None,
                cost_nano_usd: None,
                avoidable_misses: 0,
                answer: None,
            },
        )),
        _ => None,
    }
}

/// Combined usage of several calls. Unknown values are counted separately, never as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Attempts.
    pub calls: u64,
    /// Prompt tokens.
    pub prompt: u64,
    /// Of those, found in the provider's cache; `None` if no call is known.
    pub hit: Option<u64>,
    /// Prompt tokens of which the provider does not say whether they were in its cache.
    pub prompt_of_unknown_hit: u64,
    /// Answer tokens, reasoning included.
    pub output: u64,
    /// Of those, reasoning; `None` if no call is known.
    pub reasoning: Option<u64>,
    /// Prompt tokens that were sent before, and not found in the cache.
    pub avoidable_misses: u64,
    /// Calls whose tokens are not known.
    pub calls_of_unknown_usage: u64,
    /// Total cost of the calls whose cost is known, an estimate from the price table; `None` if no call is known.
    pub cost_nano_usd: Option<Usd>,
    /// Calls whose cost is not known.
    pub calls_of_unknown_cost: u64,
}

impl Tally {
    /// Adds up the usage of all these calls.
    pub fn of<'c>(calls: impl IntoIterator<Item = &'c RecordedCall>) -> Self {
        let mut tally = Self::default();
        calls.into_iter().for_each(|call| tally.add(call));
        tally
    }

    fn add(&mut self, call: &RecordedCall) {
        if call.reply.as_ref().is_some_and(CallReply::says_it_never_left) {
            return;
        }
        self.calls += 1;
        let usage = call.reply.as_ref().and_then(|reply| reply.usage);
        let cost = call.reply.as_ref().and_then(|reply| reply.cost_nano_usd);
        match usage {
            Some(usage) => {
                self.prompt = self.prompt.saturating_add(usage.prompt);
                match usage.hit {
                    Some(hit) => self.hit = Some(self.hit.unwrap_or_default().saturating_add(hit)),
                    None => self.prompt_of_unknown_hit += usage.prompt,
                }
                self.output = self.output.saturating_add(usage.output);
                if let Some(more) = usage.reasoning {
                    let known = self.reasoning.unwrap_or_default();
                    self.reasoning = Some(known.saturating_add(more));
                }
            }
            None => self.calls_of_unknown_usage += 1,
        }
        match cost {
            Some(cost) => {
                self.cost_nano_usd = Some(self.cost_nano_usd.unwrap_or_default() + cost);
            }
            None => self.calls_of_unknown_cost += 1,
        }
        let avoidable = call.reply.as_ref().map_or(0, |reply| reply.avoidable_misses);
        self.avoidable_misses = self.avoidable_misses.saturating_add(avoidable);
    }

    /// Returns the prompt tokens that were not in the cache.
    pub fn miss(&self) -> u64 {
        let told = self.prompt.saturating_sub(self.prompt_of_unknown_hit);
        told.saturating_sub(self.hit.unwrap_or_default())
    }

    /// Returns the share of prompt tokens that were in the cache, in percent; `None` if the provider does not say.
    pub fn hit_percent(&self) -> Option<u64> {
        let told = self.prompt.saturating_sub(self.prompt_of_unknown_hit);
        self.hit?.saturating_mul(100).checked_div(told)
    }

    /// Formats the cost; calls of unknown cost are mentioned.
    pub fn cost(&self) -> String {
        cost_of(self.cost_nano_usd, self.calls_of_unknown_cost)
    }
}

/// Formats a cost; calls of unknown cost are mentioned.
pub(super) fn cost_of(known: Option<Usd>, unknown_calls: u64) -> String {
    match (known, unknown_calls) {
        (known, 0) => known.unwrap_or_default().to_string(),
        (None, _) => "unknown".to_owned(),
        (Some(known), unknown) => format!("{known} + {unknown} unknown"),
    }
}

impl RecordedCall {
    /// Returns the day of the call, in UTC.
    pub fn day(&self) -> &str {
        self.at.split_once('T').map_or(&self.at, |(day, _)| day)
    }
}

/// Groups usage by a key, in the order of the keys.
pub fn told_apart(
    calls: &[RecordedCall],
    key: impl Fn(&RecordedCall) -> String,
) -> BTreeMap<String, Tally> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for call in calls {
        tallies.entry(key(call)).or_default().add(call);
    }
    tallies
}
