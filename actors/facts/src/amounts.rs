//! Amounts of what budgets limit: what is allowed, what was spent, and why something is not affordable. Values only.

use std::fmt;

use model::price::Usd;
use model::{ModelError, Usage};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tools::count::counted;

/// The limits of a budget; `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allowance {
    /// US dollars, according to the price table.
    pub usd: Option<Usd>,
    /// Prompt and answer tokens.
    pub tokens: Option<u64>,
    /// Model calls, retries included.
    pub calls: Option<u64>,
    /// Answer tokens spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reasoning: Option<u64>,
}

impl From<&config::Budget> for Allowance {
    fn from(budget: &config::Budget) -> Self {
        let some = |limit: u64| (limit > 0).then_some(limit);
        Self {
            usd: (budget.usd > 0.0).then(|| Usd::from_dollars(budget.usd)),
            tokens: some(budget.tokens),
            calls: some(budget.calls),
            reasoning: some(budget.reasoning_tokens),
        }
    }
}

/// An amount of each quantity that budgets limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Billionths of a US dollar, according to the price table; zero if the price is unknown.
    pub nano_usd: Usd,
    /// Prompt and answer tokens.
    pub tokens: u64,
    /// Model calls, retries included.
    pub calls: u64,
    /// Answer tokens spent on reasoning; absent if zero, and in events of early versions.
    #[serde(skip_serializing_if = "is_none", default)]
    pub reasoning: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires this signature")]
const fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}

/// What a call is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// What it cost, as far as the provider or our count tells.
    Known(Amount),
    /// The most that it can have cost: its answer was lost, or it was stopped.
    AtMost(Amount),
}

impl Charge {
    /// Returns what a call was charged: one that failed without a count by the provider may have cost less.
    pub const fn of(charged: Amount, usage: Option<&Usage>, error: Option<&ModelError>) -> Self {
        if error.is_some() && usage.is_none() && charged.tokens > 0 {
            Self::AtMost(charged)
        } else {
            Self::Known(charged)
        }
    }

    /// Returns what is spent with it.
    pub fn spending(self) -> Spending {
        match self {
            Self::Known(known) => Spending { known, ..Spending::default() },
            Self::AtMost(unknown) => Spending { unknown, ..Spending::default() },
        }
    }
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spending {
    /// By calls whose cost is known.
    pub known: Amount,
    /// The most that the other calls can have cost.
    pub unknown: Amount,
}

impl Spending {
    /// Returns what counts against a budget.
    #[must_use]
    pub fn at_most(self) -> Amount {
        self.known.plus(self.unknown)
    }

    /// Adds up two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { known: self.known.plus(other.known), unknown: self.unknown.plus(other.unknown) }
    }

    /// Subtracts what was spent before.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { known: self.known.minus(other.known), unknown: self.unknown.minus(other.unknown) }
    }
}

/// Why the budget does not cover a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unaffordable {
    /// The money is used up.
    #[error("the next call could cost {least} or more, but only {} {of} of {} is left", .left.in_full(), .limit.in_full())]
    Usd {
        /// What it would be paid from.
        #[serde(default)]
        of: Purse,
        /// The limit of the budget.
        limit: Usd,
        /// What is left of it.
        left: Usd,
        /// The maximum cost of the call with a short answer.
        least: Usd,
    },
    /// The tokens are used up.
    #[error("the next call could exceed what is left {of} of {}", counted(*.limit, "token"))]
    Tokens {
        /// What it would be paid from.
        #[serde(default)]
        of: Purse,
        /// The limit of the budget.
        limit: u64,
    },
    /// The calls are used up.
    #[error("nothing is left {of} of {}", counted(*.limit, "call"))]
    Calls {
        /// What it would be paid from.
        #[serde(default)]
        of: Purse,
        /// The limit of the budget.
        limit: u64,
    },
    /// The tokens for reasoning are used up.
    #[error("the next call could exceed what is left of the budget of {} for reasoning", counted(*.limit, "token"))]
    Reasoning {
        /// The limit.
        limit: u64,
    },
    /// A money limit cannot be kept for a model without a price.
    #[error("budget.usd is set, but the model has no price in llm.prices")]
    NoPrice,
}

/// What a call is paid from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purse {
    /// The budget of the run.
    #[default]
    Budget,
    /// The share that a part of the run was given.
    Share,
}

impl fmt::Display for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "of the budget",
            Self::Share => "of this part's share of the budget",
        })
    }
}

impl From<Allowance> for Amount {
    /// All that is allowed; zero where there is no limit.
    fn from(Allowance { usd, tokens, calls, reasoning }: Allowance) -> Self {
        Self {
            nano_usd: usd.unwrap_or_default(),
            tokens: tokens.unwrap_or_default(),
            calls: calls.unwrap_or_default(),
            reasoning: reasoning.unwrap_or_default(),
        }
    }
}

impl Amount {
    /// Returns true if it is nothing.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Subtracts another amount.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            nano_usd: self.nano_usd.saturating_sub(other.nano_usd),
            tokens: self.tokens.saturating_sub(other.tokens),
            calls: self.calls.saturating_sub(other.calls),
            reasoning: self.reasoning.saturating_sub(other.reasoning),
        }
    }

    /// Adds another amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nano_usd: self.nano_usd + other.nano_usd,
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}
