//! A request of the user, what it keeps to on its way, and how it ended in a line.

use std::sync::Arc;

use actors::delivery::Delivery;
use config::Config;
use thiserror::Error;
use tools::model::price::{PriceError, Prices};
use tools::policy::{PolicyError, Rules};

use crate::chat::Intent;

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// In the user's words.
    pub text: String,
    /// What it is to be treated as; decided by words or a model when absent.
    pub intent: Option<Intent>,
}

/// Why a run can not keep to a configuration.
#[derive(Debug, Error)]
pub enum TermsError {
    /// A rule of the policy can not be used.
    #[error("the policy can not be used")]
    Policy(#[from] PolicyError),
    /// The price table can not be used.
    #[error("the price table can not be used")]
    Prices(#[from] PriceError),
}

/// What a run keeps to from its beginning to its end.
#[derive(Clone)]
pub(crate) struct Terms {
    /// The configuration.
    pub(crate) config: Arc<Config>,
    /// What may be done.
    pub(crate) rules: Arc<Rules>,
    /// What must not be done any more, since the user forbade it after the run began.
    pub(crate) bars: Option<Arc<Rules>>,
    /// What calls cost.
    pub(crate) prices: Arc<Prices>,
}

impl Terms {
    pub(crate) fn new(config: Arc<Config>) -> Result<Self, TermsError> {
        let rules = Arc::new(Rules::new(&config.policy, config.agent_loop.safety_gate)?);
        let prices = Arc::new(Prices::new(&config.llm.prices, &config.llm.peak)?);
        Ok(Self { config, rules, bars: None, prices })
    }
}

/// How a request ended, in a line, for the evidence of the next.
pub(crate) fn outcome_line(request: &str, delivery: &Delivery) -> String {
    let ended = match delivery {
        Delivery::Delivered { .. } => "delivered".to_owned(),
        Delivery::NoEditNeeded { .. } => "no edit was needed".to_owned(),
        Delivery::NeedsWork { detail, .. } => format!("not delivered: {detail}"),
        Delivery::Denied { what, .. } => format!("denied: {what}"),
        Delivery::Cancelled => "cancelled".to_owned(),
        Delivery::BudgetExhausted { .. } => "the budget was exhausted".to_owned(),
        Delivery::Failed { class, .. } => format!("failed: {}", class.name()),
    };
    format!("{request}: {ended}")
}
