//! Calls of models, and what they used, added up. Pure.

use std::collections::BTreeMap;

use actors::event::{Blob, Event};
use actors::lane_id::LaneId;
use model::price::Usd;
use model::{AgentRole, Usage};
use serde::Serialize;

use super::entry::{Kept, StoryEntry};

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The session it was made in.
    #[serde(skip)]
    pub session: String,
    /// Number of the event of its request.
    #[serde(skip)]
    pub seq: u64,
    /// When it was asked.
    #[serde(skip)]
    pub at: String,
    /// The run it was made in.
    #[serde(skip)]
    pub run: Option<String>,
    /// The lane that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneId>,
    /// Number of the call in its run, or in its lane.
    pub call: u64,
    /// Who asked.
    pub role: AgentRole,
    /// Who was asked.
    pub model: String,
    /// Which try it was, from zero.
    pub retry: u32,
    /// The exact request.
    pub body: Blob,
    /// What came back; none when nobody knows.
    pub reply: Option<CallReply>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallReply {
    /// Number of its event.
    pub seq: u64,
    /// `ok`, or the class of the error.
    pub outcome: String,
    /// The error in words.
    pub message: String,
    /// What it used, if the server said.
    pub usage: Option<Usage>,
    /// What it cost, if that is known.
    pub cost_nano_usd: Option<Usd>,
    /// Tokens sent before that the cache did not have.
    pub avoidable_misses: u64,
    /// The answer.
    pub answer: Option<Blob>,
}

/// The calls of a session, each with the first reply to it.
pub(super) fn calls(kept: &Kept) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for (entry, event) in kept.known() {
        if let Some(call) = asked(&kept.session, entry, event) {
            calls.push(call);
        } else if let Some((call, reply)) = answered(entry.seq, event) {
            // Each lane numbers its calls.
            let is_it = |it: &&mut Call| {
                (it.call, it.lane, &it.run) == (call, entry.lane, &entry.run) && it.reply.is_none()
            };
            for asked in calls.iter_mut().filter(is_it) {
                asked.reply = Some(reply.clone());
            }
        }
    }
    calls
}

fn asked(session: &str, entry: &StoryEntry, event: &Event) -> Option<Call> {
    let Event::ModelRequest { call, role, model, retry, body, .. } = event else { return None };
    Some(Call {
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

/// The number of a call, with what came of it.
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
        Event::CallDropped { call, charged } => Some((
            *call,
            CallReply {
                seq,
                outcome: "dropped".to_owned(),
                message: String::new(),
                usage: None,
                cost_nano_usd: Some(charged.nano_usd),
                avoidable_misses: 0,
                answer: None,
            },
        )),
        _ => None,
    }
}

/// What some calls used together. What nobody knows is counted, and never taken for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Attempts.
    pub calls: u64,
    /// Prompt tokens.
    pub prompt: u64,
    /// Of those, found in the provider's cache.
    pub hit: u64,
    /// Answer tokens, reasoning included.
    pub output: u64,
    /// Of those, reasoning.
    pub reasoning: u64,
    /// Prompt tokens that were sent before, and not found in the cache.
    pub avoidable_misses: u64,
    /// Calls whose tokens are not known.
    pub calls_of_unknown_usage: u64,
    /// What the calls cost whose cost is known: an estimate, by the price table.
    pub cost_nano_usd: Usd,
    /// Calls whose cost is not known.
    pub calls_of_unknown_cost: u64,
}

impl Tally {
    /// All these calls together.
    pub fn of<'c>(calls: impl IntoIterator<Item = &'c Call>) -> Self {
        let mut tally = Self::default();
        calls.into_iter().for_each(|call| tally.add(call));
        tally
    }

    fn add(&mut self, call: &Call) {
        self.calls += 1;
        let usage = call.reply.as_ref().and_then(|reply| reply.usage);
        let cost = call.reply.as_ref().and_then(|reply| reply.cost_nano_usd);
        match usage {
            Some(usage) => {
                self.prompt = self.prompt.saturating_add(usage.prompt);
                self.hit = self.hit.saturating_add(usage.hit);
                self.output = self.output.saturating_add(usage.output);
                self.reasoning = self.reasoning.saturating_add(usage.reasoning);
            }
            None => self.calls_of_unknown_usage += 1,
        }
        match cost {
            Some(cost) => self.cost_nano_usd = self.cost_nano_usd + cost,
            None => self.calls_of_unknown_cost += 1,
        }
        let avoidable = call.reply.as_ref().map_or(0, |reply| reply.avoidable_misses);
        self.avoidable_misses = self.avoidable_misses.saturating_add(avoidable);
    }

    /// What they cost, in words: what is known, and that there is more.
    pub fn cost(&self) -> String {
        match (self.calls - self.calls_of_unknown_cost, self.calls_of_unknown_cost) {
            (_, 0) => self.cost_nano_usd.to_string(),
            (0, _) => "unknown".to_owned(),
            (_, unknown) => format!("{} + {unknown} unknown", self.cost_nano_usd),
        }
    }
}

impl Call {
    /// The day it was made on, in UTC.
    pub fn day(&self) -> &str {
        self.at.split_once('T').map_or(&self.at, |(day, _)| day)
    }
}

/// What calls used, told apart by a key, in the order of the keys.
pub fn told_apart(calls: &[Call], key: impl Fn(&Call) -> String) -> BTreeMap<String, Tally> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for call in calls {
        tallies.entry(key(call)).or_default().add(call);
    }
    tallies
}
