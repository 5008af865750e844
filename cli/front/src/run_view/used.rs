//! Tokens, cost and calls of a run, summed up from its events. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use anstyle::AnsiColor;
use facts::event::Event;
use facts::lane_id::LaneId;
use model::price::Usd;
use model::{AgentRole, ModelError, Usage};
use tools::count::counted;
use tools::ids;

use super::{Accounts, RunView};
use crate::diff::harmless;
use crate::lanes::lines::labelled;
use checks::wording::short_number;

/// Unit of the provider's prompt cache, in tokens.
const CACHE_UNIT_TOKENS: u64 = 128;

/// What a run has used so far, according to its events.
#[derive(Debug, Clone, Default)]
pub struct Used {
    /// Answered calls.
    calls: u64,
    /// Prompt tokens.
    pub prompt: u64,
    /// Prompt tokens found in the provider's cache.
    pub hit: u64,
    /// Prompt tokens of which the provider does not say whether they were in its cache.
    pub hit_unknown: u64,
    /// Answer tokens.
    pub output: u64,
    in_units: u64,
    lost: u64,
    /// The estimated cost; `None` if the price table has none of the models.
    pub cost: Option<Usd>,
    cost_unknown: bool,
    usage_unknown: u64,
    /// Prompt tokens by role: those that missed the cache, those found in it, and those of which the provider does not say.
    roles: BTreeMap<&'static str, [u64; 3]>,
}

impl Used {
    /// Adds a call with what the server said of it.
    fn add(&mut self, role: AgentRole, usage: Option<&Usage>, cost: Option<Usd>, avoidable: u64) {
        self.calls += 1;
        match usage {
            Some(usage) => {
                self.prompt += usage.prompt;
                self.output += usage.output;
                let [new, cached, not_told] = self.roles.entry(role.as_str()).or_default();
                if let Some(hit) = usage.hit {
                    self.hit += hit;
                    *new += usage.prompt.saturating_sub(hit);
                    *cached += hit;
                } else {
                    self.hit_unknown += usage.prompt;
                    *not_told += usage.prompt;
                }
                // Caches do not keep the last unit of a prompt, because it is not full.
                let in_unit = avoidable.min(CACHE_UNIT_TOKENS - 1);
                self.in_units += in_unit;
                self.lost += avoidable - in_unit;
            }
            None => self.usage_unknown += 1,
        }
        match cost {
            Some(cost) => self.cost = Some(self.cost.unwrap_or_default() + cost),
            None => self.cost_unknown = true,
        }
    }

    /// Returns the cache hits and the misses by cause, then a line with the tokens of each role.
    fn in_full(&self) -> String {
        let (hit, miss) = (self.hit, self.prompt - self.hit - self.hit_unknown);
        let new = miss.saturating_sub(self.in_units + self.lost);
        let unknown = unknown(self.hit_unknown);
        format!(
            "cache: {hit} hit, {miss} miss ({new} new, {} in partly filled units, {} avoidable){unknown}\n{}",
            self.in_units,
            self.lost,
            self.by_role()
        )
    }

    /// Returns a line with the prompt tokens of each role; empty if there are none.
    fn by_role(&self) -> String {
        let role = |(role, [new, cached, not_told]): (&&str, &[u64; 3])| {
            format!("{role} {new} new, {cached} cached{}", unknown(*not_told))
        };
        let roles: Vec<String> = self.roles.iter().map(role).collect();
        if roles.is_empty() { String::new() } else { format!("{}\n", roles.join(" · ")) }
    }
}

/// Names tokens of which the provider does not say whether they were in its cache; nothing if there are none.
fn unknown(tokens: u64) -> String {
    if tokens == 0 { String::new() } else { format!(", {tokens} unknown") }
}

impl RunView {
    /// Ends the line of an answer that was shown in part.
    fn end_streamed(&mut self) {
        if !self.streamed.is_empty() {
            self.result("\n");
            self.streamed.clear();
        }
    }

    /// Adds the usage of a call, and shows a failure unless it was just shown.
    pub(super) fn count(&mut self, event: &Event, lane: Option<LaneId>) {
        if let Event::ModelRequest { role: AgentRole::Analysis, .. } = event {
            // The text shown so far belongs to an earlier answer.
            self.end_streamed();
        }
        let Event::ModelReply {
            role,
            outcome,
            message,
            error,
            usage,
            cost_nano_usd: cost,
            avoidable_misses,
            ..
        } = event
        else {
            return;
        };
        // What never left is no call.
        if !error.as_ref().is_some_and(ModelError::never_left) {
            self.used.add(*role, usage.as_ref(), *cost, *avoidable_misses);
        }
        if outcome != "ok" {
            self.end_streamed();
            // A failure that ends the request is shown when it ends.
            let is_shown_later = lane.is_none() && error.as_ref().is_some_and(ModelError::is_final);
            if *error != self.last_failure && !is_shown_later {
                error.clone_into(&mut self.last_failure);
                let message = message.as_ref().map(ToString::to_string).unwrap_or_default();
                let title = self.style(AnsiColor::Yellow, "a call failed:");
                let label = lane.map_or("  ".to_owned(), |lane| labelled(lane, self.options.paint));
                self.say(format!("{label}{title} {}", harmless(&message)));
            }
        }
    }

    /// Returns the usage of the run in one line; with [`Accounts::InFull`], also the cache and the roles.
    pub(super) fn summary(&self, spent_calls: u64, session: &str, at: Duration) -> String {
        let used = &self.used;
        let calls = used.calls.max(spent_calls);
        let unknown = used.usage_unknown + (calls - used.calls);
        let without =
            if unknown > 0 { format!(" ({unknown} without usage)") } else { String::new() };
        let cost = match (used.cost, used.cost_unknown || unknown > 0) {
            (Some(cost), false) if cost.to_string().starts_with('<') => cost.to_string(),
            (Some(cost), false) => format!("about {cost}"),
            (Some(cost), true) => format!("at least {cost}"),
            (None, _) => "cost unknown".to_owned(),
        };
        let calls = counted(calls, "call");
        let seconds = at.saturating_sub(self.started).as_secs_f64();
        let (prompt, output) = (short_number(used.prompt), short_number(used.output));
        let line = format!(
            "{calls}{without} · {prompt} tokens in, {output} out · {cost} · {seconds:.1} s · session {}",
            ids::short_id(session)
        );
        match self.options.accounts {
            Accounts::InALine => line,
            Accounts::InFull => format!("{line}\n{}", used.in_full()).trim_end().to_owned(),
        }
    }
}
