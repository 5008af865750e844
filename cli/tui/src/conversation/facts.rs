//! What a conversation keeps to, and what of it can be changed between two requests. Values only.

use config::Config;
use front::run_view::Commits;
use front::told::{approval, word};
use orchestrator::chat::Intent;

/// What stays the same in a conversation.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// How far requests may go: `agent`, `hetun`.
    pub mode: String,
    /// When the user is asked: `suggest`, `auto`, `never`, or what the mode makes of it.
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
    /// How the user is called.
    pub calls: Calls,
    /// The models that are known, for completion.
    pub models: Vec<String>,
    /// The keys of the configuration, for completion.
    pub keys: Vec<String>,
}

/// How the user is called, when a question waits or a long request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Calls {
    /// By the bell.
    #[default]
    ByBell,
    /// By a notification of the desktop, which the terminal shows.
    ByNotification,
}

impl Calls {
    /// The bytes that call the user for this reason.
    pub(crate) fn bytes(self, why: &str) -> String {
        match self {
            Self::ByBell => "\x07".to_owned(),
            Self::ByNotification => format!("\x1b]9;deepseek: {why}\x07"),
        }
    }
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
    /// How far requests may go.
    Mode,
}

impl Setting {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Thinking => "thinking",
            Self::Approval => "approval",
            Self::Mode => "mode",
        }
    }

    /// What it can be set to.
    pub(crate) const fn takes(self) -> &'static str {
        match self {
            Self::Model => "/model NAME",
            Self::Thinking => "/thinking on, off or auto",
            Self::Approval => "/approval suggest, auto or never",
            Self::Mode => "/mode plan, agent, yolo or hetun",
        }
    }
}

impl Facts {
    /// The mode after this one, or before it.
    pub(super) fn next_mode(&self, by: isize) -> &'static str {
        const MODES: [&str; 4] = ["plan", "agent", "yolo", "hetun"];
        let at = MODES.iter().position(|mode| *mode == self.mode).unwrap_or_default();
        let count = isize::try_from(MODES.len()).unwrap_or(1);
        let next = (isize::try_from(at).unwrap_or_default() + by).rem_euclid(count);
        MODES.get(usize::try_from(next).unwrap_or_default()).copied().unwrap_or("agent")
    }

    /// The lines of `/status`.
    pub fn lines(&self) -> String {
        let Self { mode, approval, model, workspace, session, .. } = self;
        format!(
            "  session    {session}\n  workspace  {workspace}\n  model      {model}\n  mode       {mode}\n  approval   {approval}"
        )
    }

    /// Takes in what a configuration says.
    pub fn keep_to(&mut self, config: &Config) {
        self.mode = word(&config.policy.mode);
        self.approval = approval(&config.policy);
        self.model.clone_from(&config.llm.base_model.model);
        self.budget_usd = config.budget.usd;
    }
}
