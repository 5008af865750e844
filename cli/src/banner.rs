//! The two-line banner of a conversation. Pure.

use config::{Config, Mode};
use front::describe::{approval, word};
use tools::ids::short_id;

/// The facts shown in the banner.
pub(crate) struct Banner<'b> {
    /// The program's version.
    pub(crate) version: &'b str,
    /// The workspace, without control characters.
    pub(crate) workspace: &'b str,
    /// The current directory relative to the workspace, if it is not the workspace itself.
    pub(crate) from: Option<&'b str>,
    /// The settings in effect.
    pub(crate) config: &'b Config,
    /// The session.
    pub(crate) session: SessionStart<'b>,
}

/// How a session begins.
pub(crate) enum SessionStart<'b> {
    /// Empty.
    New,
    /// With the turns of the session with this id.
    Continued(&'b str),
    /// By resuming the interrupted request of the session with this id.
    Interrupted(&'b str),
}

impl Banner<'_> {
    /// Formats the two lines.
    pub(crate) fn lines(&self) -> String {
        let Self { version, workspace, from, config, session } = self;
        let from = from.map(|from| format!(" (from {from}/)")).unwrap_or_default();
        let session = match session {
            SessionStart::New => String::new(),
            SessionStart::Continued(id) => format!(" · continues session {}", short_id(id)),
            SessionStart::Interrupted(id) => {
                format!(" · resumes the interrupted request of session {}", short_id(id))
            }
        };
        let (mode, asks) = (word(&config.policy.mode), approval(&config.policy));
        let asks = match config.policy.mode {
            Mode::Agent => format!("approval {asks}"),
            Mode::Plan | Mode::Yolo | Mode::Hetun => asks,
        };
        let model = &config.llm.base_model.model;
        let sandbox = word(&config.sandbox.mode);
        let budget = match config.budget.usd {
            0.0 => "no budget".to_owned(),
            usd => format!("budget ${usd}"),
        };
        format!(
            "deepseek {version} in {workspace}{from}{session}\n{model} · {mode} · {asks} · sandbox {sandbox} · {budget} · /help"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_says_workspace_session_and_settings() {
        let mut config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
        let mut of = |from, session, usd| {
            config.budget.usd = usd;
            let (version, workspace) = ("1.2.3", "/w");
            Banner { version, workspace, from, config: &config, session }.lines()
        };
        insta::assert_snapshot!(of(None, SessionStart::New, 0.0), @"
        deepseek 1.2.3 in /w
        deepseek-flash · agent · approval suggest · sandbox auto · no budget · /help
        ");
        insta::assert_snapshot!(of(Some("src"), SessionStart::Continued("01m80aa9hr33yegy"), 0.5), @"
        deepseek 1.2.3 in /w (from src/) · continues session 33yegy
        deepseek-flash · agent · approval suggest · sandbox auto · budget $0.5 · /help
        ");
        insta::assert_snapshot!(of(None, SessionStart::Interrupted("01m80aa9hr33yegy"), 12.0), @"
        deepseek 1.2.3 in /w · resumes the interrupted request of session 33yegy
        deepseek-flash · agent · approval suggest · sandbox auto · budget $12 · /help
        ");
        config.policy.mode = Mode::Yolo;
        let (version, workspace, from) = ("1.2.3", "/w", None);
        let yolo = Banner { version, workspace, from, config: &config, session: SessionStart::New };
        insta::assert_snapshot!(yolo.lines(), @"
        deepseek 1.2.3 in /w
        deepseek-flash · yolo · asks only for unconfined commands · sandbox auto · budget $12 · /help
        ");
    }
}
