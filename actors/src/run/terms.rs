//! The terms of a run: the settings that are fixed from start to end.

use std::sync::Arc;

use config::{Config, Llm, Mode, ModelRole};
use model::AgentRole;
use model::price::{PriceError, Prices};
use policy::{PolicyError, PolicyRules};
use thiserror::Error;

use crate::talk::prompts::Prompts;

/// The settings that are fixed for a run from start to end.
#[derive(Clone)]
pub struct Terms {
    /// The configuration.
    pub config: Arc<Config>,
    /// The compiled policy.
    pub rules: Arc<PolicyRules>,
    /// The price table.
    pub prices: Arc<Prices>,
    /// The prompts.
    pub prompts: Arc<Prompts>,
    /// What no request of the run may differ from.
    pub(crate) chosen: ChosenTerms,
}

impl Terms {
    /// Compiles the rules and prices of a configuration.
    pub fn new(config: Arc<Config>, prompts: Prompts) -> Result<Self, TermsError> {
        let rules = Arc::new(PolicyRules::new(&config.policy, config.agent_loop.safety_gate)?);
        let prices = Arc::new(Prices::new(&config.llm.prices, &config.llm.peak)?);
        let chosen = ChosenTerms::of(&config);
        Ok(Self { config, rules, prices, prompts: Arc::new(prompts), chosen })
    }
}

/// What the user chose when the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChosenTerms {
    pub(crate) mode: Mode,
    /// The roles whose models reason.
    reasoning: [bool; AgentRole::ALL.len()],
}

impl ChosenTerms {
    fn of(config: &Config) -> Self {
        let reasoning = AgentRole::ALL.map(|role| settings_of(&config.llm, role).thinking);
        Self { mode: config.policy.mode, reasoning }
    }

    /// Returns true if the model of a role reasons.
    pub(crate) fn thinking(self, role: AgentRole) -> bool {
        let mut all = AgentRole::ALL.iter().zip(self.reasoning);
        all.any(|(it, reasons)| *it == role && reasons)
    }
}

/// Why a configuration cannot be used for a run.
#[derive(Debug, Error)]
pub enum TermsError {
    /// A rule of the policy is invalid.
    #[error("the policy is invalid")]
    Policy(#[from] PolicyError),
    /// The price table is invalid.
    #[error("the price table is invalid")]
    Prices(#[from] PriceError),
}

/// Returns the configured model of a role.
pub const fn settings_of(llm: &Llm, role: AgentRole) -> &ModelRole {
    match role {
        AgentRole::Architect | AgentRole::LanePlanner | AgentRole::Researcher => {
            &llm.max_think_model
        }
        AgentRole::Editor | AgentRole::Analysis => &llm.base_model,
        AgentRole::Intent | AgentRole::Child => &llm.flash_model,
    }
}
