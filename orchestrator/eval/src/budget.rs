//! What the attempts of an evaluation may spend together.

use std::sync::{Mutex, PoisonError};

use model::price::Usd;

use crate::results::compare::EvalReport;
use crate::setup::RunLimits;

/// The least that an attempt may spend, in dollars; with less left, none begins.
const LEAST: f64 = 0.0005;

/// What is left of the budget.
#[derive(Debug)]
pub(crate) struct EvalBudget {
    limits: RunLimits,
    /// What is spent or reserved.
    spent: Mutex<Usd>,
    is_told: Mutex<bool>,
}

impl EvalBudget {
    pub(crate) fn of(report: &EvalReport, limits: RunLimits) -> Self {
        let costs = report.variants.iter().filter_map(|it| it.sums.used.cost_nano_usd);
        Self { limits, spent: Mutex::new(costs.sum()), is_told: Mutex::new(false) }
    }

    /// Reserves what an attempt may spend: a share of what is left. `Ok(None)` without a limit.
    pub(crate) fn reserve(&self) -> Result<Option<Usd>, Usd> {
        let Some(budget) = self.limits.budget else { return Ok(None) };
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let left = budget.saturating_sub(*spent);
        let shares = u64::try_from(self.limits.parallel.max(1)).unwrap_or(1);
        let share = Usd::from_nanos(left.nanos() / shares);
        if share.dollars() < LEAST {
            return Err(*spent);
        }
        *spent = *spent + share;
        Ok(Some(share))
    }

    /// Replaces what was reserved by what was spent.
    pub(crate) fn settle(&self, reserved: Option<Usd>, cost: Option<Usd>) {
        let Some(reserved) = reserved else { return };
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        // What is not known may have been all of it.
        *spent = spent.saturating_sub(reserved) + cost.unwrap_or(reserved);
    }

    /// Returns true for the first call.
    pub(crate) fn is_first_to_tell(&self) -> bool {
        !std::mem::replace(&mut *self.is_told.lock().unwrap_or_else(PoisonError::into_inner), true)
    }
}
