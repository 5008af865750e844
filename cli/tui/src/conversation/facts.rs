//! What a conversation keeps to, and what of it can be changed between two requests. Values only.

use config::Config;
use front::run_view::Commits;
use front::told::word;
use orchestrator::chat::Intent;

/// What stays the same in a conversation.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// How far requests may go: `agent`, `yolo`.
    pub mode: String,
    /// When the user is asked: `suggest`, `auto`, `never`.
    pub approval: String,
    /// The model that answers.
    pub model: String,
    /// What a request may spend, in US dollars; nothing when there is no limit.
    pub budget_usd: f64,
    /// The workspace.
    pub workspace: String,
    /// The id of the session.
    pub session: String,
    /// What every message is, if a flag says so.
    pub intent: Option<Intent>,
    /// Whether what is delivered can be committed.
    pub commits: Commits,
    /// Whether there are screens of their own.
    pub visits: Visits,
}

/// Whether what wants a whole screen has one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Visits {
    /// It has.
    #[default]
    Allowed,
    /// The main screen is never left.
    Never,
}

/// What of the configuration can be changed between two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The model of every role.
    Model,
    /// Whether models think before they answer.
    Thinking,
    /// When the user is asked.
    Approval,
}

impl Setting {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Thinking => "thinking",
            Self::Approval => "approval",
        }
    }

    /// What it can be set to.
    pub(super) const fn takes(self) -> &'static str {
        match self {
            Self::Model => "/model NAME",
            Self::Thinking => "/thinking on, off or auto",
            Self::Approval => "/approval suggest, auto or never",
        }
    }
}

impl Facts {
    /// Takes in what a configuration says.
    pub fn keep_to(&mut self, config: &Config) {
        self.mode = word(&config.policy.mode);
        self.approval = word(&config.policy.approval);
        self.model.clone_from(&config.llm.base_model.model);
        self.budget_usd = config.budget.usd;
    }
}
