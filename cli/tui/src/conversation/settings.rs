//! The facts and settings of a conversation, and which of them can change between requests. Values only.

use config::Config;
use front::describe::{approval, word};
use front::run_view::Commits;
use orchestrator::request::intent::RequestIntent;

use crate::nearest::nearest;

/// The mode that asks about almost nothing.
pub(crate) const YOLO: &str = "yolo";

/// The modes, in the order in which Tab switches them.
const MODES: [&str; 4] = ["plan", "agent", YOLO, "hetun"];

/// The facts and settings of a conversation.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The mode: `plan`, `agent`, `yolo` or `hetun`.
    pub mode: String,
    /// When the user is asked: `suggest`, `auto` or `never`, or a description of what the mode does instead.
    pub approval: String,
    /// The model that answers.
    pub model: String,
    /// Budget of a request, in US dollars; 0 if there is no limit.
    pub budget_usd: f64,
    /// The workspace.
    pub workspace: String,
    /// The id of the session.
    pub session: String,
    /// The intent of every message, if a flag sets it.
    pub intent: Option<RequestIntent>,
    /// Whether delivered changes can be committed.
    pub commits: Commits,
    /// Whether full-screen views are allowed.
    pub alternate_screen: AlternateScreen,
    /// How the user is called.
    pub calls: UserCall,
    /// The known models, for completion.
    pub models: Vec<String>,
    /// The keys of the configuration, for completion.
    pub keys: Vec<String>,
}

/// How the user is called when a question is waiting or a long request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserCall {
    /// By the bell.
    #[default]
    ByBell,
    /// By a desktop notification of the terminal.
    ByNotification,
}

impl UserCall {
    /// Returns the bytes that call the user for this reason.
    pub(crate) fn bytes(self, why: &str) -> String {
        match self {
            Self::ByBell => "\x07".to_owned(),
            Self::ByNotification => format!("\x1b]9;deepseek: {why}\x07"),
        }
    }
}

/// Whether full-screen views may use the alternate screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlternateScreen {
    /// Full-screen views use the alternate screen.
    #[default]
    Allowed,
    /// As `Allowed`, and the mouse wheel scrolls there.
    WithMouse,
    /// The main screen is never left.
    Never,
}

impl AlternateScreen {
    /// Returns true if it may be used.
    pub const fn is_allowed(self) -> bool {
        match self {
            Self::Allowed | Self::WithMouse => true,
            Self::Never => false,
        }
    }
}

/// A setting that can be changed between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationSetting {
    /// The model of every role.
    Model,
    /// Whether models think before they answer.
    Thinking,
    /// When the user is asked.
    Approval,
    /// What requests may do.
    Mode,
}

impl ConversationSetting {
    /// Returns the name of the setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Thinking => "thinking",
            Self::Approval => "approval",
            Self::Mode => "mode",
        }
    }

    /// Returns the possible values, given the known models.
    pub(crate) fn values(self, models: &[String]) -> Vec<&str> {
        match self {
            Self::Model => models.iter().map(String::as_str).collect(),
            Self::Thinking => vec!["on", "off", "auto"],
            Self::Approval => vec!["suggest", "auto", "never"],
            Self::Mode => MODES.to_vec(),
        }
    }

    /// Checks a value. The error names the possible values, and the one that is probably meant. Where the server may have
    /// `other_models`, only a mistyped name of a known one is an error.
    pub fn check(self, value: &str, models: &[String], other_models: bool) -> Result<(), String> {
        let values = self.values(models);
        let is_one = |known: &&str| config::matches_pattern(known, value);
        if values.iter().any(is_one) {
            return Ok(());
        }
        let meant = nearest(value, values.iter().copied());
        if self == Self::Model && other_models && meant.is_none() {
            return Ok(());
        }
        let choose =
            meant.map_or("; choose".to_owned(), |it| format!("; did you mean {it}? Choose"));
        let (name, others) = match self {
            Self::Model => ("model", " (llm.prices adds others)"),
            Self::Thinking => ("value of thinking", ""),
            Self::Approval => ("approval mode", ""),
            Self::Mode => ("mode", ""),
        };
        Err(format!("unknown {name} `{value}`{choose} {}{others}", alternatives(&values)))
    }

    /// Returns the command with its possible values.
    pub(crate) const fn takes(self) -> &'static str {
        match self {
            Self::Model => "/model NAME",
            Self::Thinking => "/thinking on, off or auto",
            Self::Approval => "/approval suggest, auto or never",
            Self::Mode => "/mode plan, agent, yolo or hetun",
        }
    }
}

/// Formats values to choose from: `a, b or c`.
fn alternatives(values: &[&str]) -> String {
    match values {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        values => values.concat(),
    }
}

impl Facts {
    /// Returns the mode that is `by` steps after the current one; negative steps go backwards.
    pub(super) fn next_mode(&self, by: isize) -> &'static str {
        let at = MODES.iter().position(|mode| *mode == self.mode).unwrap_or_default();
        let count = isize::try_from(MODES.len()).unwrap_or(1);
        let next = (isize::try_from(at).unwrap_or_default() + by).rem_euclid(count);
        MODES.get(usize::try_from(next).unwrap_or_default()).copied().unwrap_or("agent")
    }

    /// Returns the lines of `/status`.
    pub fn lines(&self) -> String {
        let Self { mode, approval, model, workspace, session, .. } = self;
        format!(
            "  session    {session}\n  workspace  {workspace}\n  model      {model}\n  mode       {mode}\n  approval   {approval}"
        )
    }

    /// Takes the settings from a configuration.
    pub fn update(&mut self, config: &Config) {
        self.mode = word(&config.policy.mode);
        self.approval = approval(&config.policy);
        self.model.clone_from(&config.llm.base_model.model);
        self.budget_usd = config.budget.usd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_value_of_a_setting_is_refused_with_the_known_ones() {
        let models = ["deepseek-flash", "deepseek-v4-pro"].map(str::to_owned);
        for (setting, value, why) in [
            (
                ConversationSetting::Model,
                "flash",
                "unknown model `flash`; did you mean deepseek-flash? Choose deepseek-flash or deepseek-v4-pro (llm.prices adds others)",
            ),
            (
                ConversationSetting::Model,
                "foo",
                "unknown model `foo`; choose deepseek-flash or deepseek-v4-pro (llm.prices adds others)",
            ),
            (
                ConversationSetting::Mode,
                "yolow",
                "unknown mode `yolow`; did you mean yolo? Choose plan, agent, yolo or hetun",
            ),
            (
                ConversationSetting::Thinking,
                "loud",
                "unknown value of thinking `loud`; choose on, off or auto",
            ),
            (
                ConversationSetting::Approval,
                "atuo",
                "unknown approval mode `atuo`; did you mean auto? Choose suggest, auto or never",
            ),
        ] {
            assert_eq!(setting.check(value, &models, false), Err(why.to_owned()));
        }
        for (setting, value) in
            [(ConversationSetting::Model, "deepseek-flash"), (ConversationSetting::Mode, "hetun")]
        {
            assert_eq!(setting.check(value, &models, false), Ok(()));
        }
        let elsewhere = |name: &str| ConversationSetting::Model.check(name, &models, true).is_ok();
        assert!(elsewhere("gpt-5") && !elsewhere("falsh"));
    }
}
