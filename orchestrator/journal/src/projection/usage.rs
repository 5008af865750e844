//! What calls of models used, added up. Pure.

use std::collections::BTreeMap;

use serde::Serialize;
use tools::model::price::Usd;

use super::answers::Call;

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

/// What calls are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The day they were made on, in UTC.
    Day,
    /// Their session.
    Session,
    /// Who was asked.
    Model,
    /// Who asked.
    Role,
    /// The lane that asked; `-` for those of none.
    Lane,
}

impl By {
    fn key(self, call: &Call) -> &str {
        match self {
            Self::Day => day(&call.at),
            Self::Session => &call.session,
            Self::Model => &call.model,
            Self::Role => &call.role,
            Self::Lane => call.lane.as_deref().unwrap_or("-"),
        }
    }
}

/// The day of a time as it stands in a journal.
pub fn day(at: &str) -> &str {
    at.split_once('T').map_or(at, |(day, _)| day)
}

/// What calls used, told apart, in the order of what they are told apart by.
pub fn told_apart<'c>(
    by: By,
    calls: impl IntoIterator<Item = &'c Call>,
) -> BTreeMap<String, Tally> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for call in calls {
        tallies.entry(by.key(call).to_owned()).or_default().add(call);
    }
    tallies
}
