//! The server that is used and the API key for it: the only place that finds a key and decides where it may be sent.
//!
//! Pure. The rule that matters: a key of the user is never sent to a server that a workspace chose.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Settings, Source, WorkspaceTrust};

/// An API key. It can be sent, and nothing else: it has no `Display`, and its `Debug` is masked.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the key itself, for the request header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(key: String) -> Self {
        Self(key)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The server and the key to use with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Base URL.
    pub base_url: String,
    /// The key, if there is one.
    pub key: Option<Secret>,
    /// The base URL that the workspace proposes instead; it is used only if the user agrees.
    pub proposed_url: Option<String>,
    /// Where the key came from, to show to the user.
    pub key_source: String,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Decides the server and the key from the settings, the environment, the user's stored key with the place it is stored
/// in, and the text of the workspace's `.env`.
///
/// The environment overrides the stored key, and that overrides `.env`. A base URL in `.env` is used only if the
/// workspace is trusted; if the key is also from `.env`, or there is none, the URL is returned as a proposal to ask the
/// user about.
pub fn access(
    settings: &Settings,
    env: &BTreeMap<String, String>,
    kept: Option<(&str, &str)>,
    dotenv: Option<&str>,
) -> Access {
    let variable = &settings.config.llm.api_key_env;
    let dotenv = parse_dotenv(dotenv.unwrap_or_default());
    let in_env = env.get(variable).map(String::as_str).filter(|key| !key.trim().is_empty());
    let own = in_env.map(|key| (key, format!("env {variable}")));
    let own = own.or_else(|| kept.map(|(key, place)| (key, place.to_owned())));
    let theirs = dotenv.get(variable).filter(|key| !key.trim().is_empty());
    let mut warnings = Vec::new();

    let configured = settings.get("llm.base_url").map(|(_, source)| source);
    let open = !matches!(configured, Some(Source::Env(_) | Source::Flag(_) | Source::Profile(_)));
    let mut proposed_url = None;
    let base_url = match dotenv.get("DEEPSEEK_BASE_URL") {
        Some(url) if open && settings.trust == WorkspaceTrust::Trusted => url,
        Some(url) if open && own.is_none() => {
            proposed_url = Some(url.clone());
            &settings.config.llm.base_url
        }
        Some(_) if open => {
            warnings.push(
                "DEEPSEEK_BASE_URL in the workspace's .env is ignored: your own key is only sent to servers that you chose \
                 (trust the workspace, or set the variable yourself)"
                    .to_owned(),
            );
            &settings.config.llm.base_url
        }
        Some(_) | None => &settings.config.llm.base_url,
    };
    let (key, key_source) = match (own, theirs) {
        (Some((key, place)), _) => (Some(key), place),
        (None, Some(key)) => (Some(key.as_str()), format!("{variable} in .env")),
        (None, None) => (None, "none".to_owned()),
    };
    Access {
        base_url: base_url.clone(),
        proposed_url,
        key: key.map(|key| Secret(key.trim().to_owned())),
        key_source,
        warnings,
    }
}

/// Parses `KEY=value` lines. Handles `export`, quotes and comments; expands nothing.
fn parse_dotenv(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line);
            let (key, value) = line.split_once('=')?;
            let key = key.trim();
            (!key.is_empty() && !key.starts_with('#'))
                .then(|| (key.to_owned(), unquote(value.trim()).to_owned()))
        })
        .collect()
}

/// Returns the text within a pair of quotes, or up to a comment.
fn unquote(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote))
        {
            return inner;
        }
    }
    value.split_once(" #").map_or(value, |(before, _)| before.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileText, Inputs, resolve_layers};

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    const EVIL: &str = "# x\nexport DEEPSEEK_BASE_URL=\"http://evil\" # y\nDEEPSEEK_API_KEY='k1'\n";

    #[test]
    fn dotenv_gives_a_key_and_proposes_a_url() {
        let settings = resolve_layers(&Inputs::default()).unwrap();
        let access = access(&settings, &env(&[]), None, Some(EVIL));
        assert_eq!(access.base_url, "https://api.deepseek.com");
        assert_eq!(access.proposed_url.as_deref(), Some("http://evil"));
        assert_eq!(access.key, Some(Secret("k1".to_owned())));
        assert!(access.warnings.is_empty());
    }

    #[test]
    fn the_users_key_is_never_sent_to_a_server_a_workspace_chose() {
        let settings = resolve_layers(&Inputs::default()).unwrap();
        let own = env(&[("DEEPSEEK_API_KEY", "mine")]);
        for (env, kept) in
            [(own.clone(), None), (env(&[]), Some(("mine", "a file"))), (own, Some(("k", "f")))]
        {
            let got = access(&settings, &env, kept, Some(EVIL));
            assert_eq!(
                (got.base_url.as_str(), got.proposed_url),
                ("https://api.deepseek.com", None)
            );
            assert_eq!(got.key, Some(Secret("mine".to_owned())));
            assert_eq!(got.warnings.len(), 1);
        }

        let trusting = Inputs {
            user: Some(FileText { path: "c".into(), text: "trust.workspaces = [\"/w\"]".into() }),
            workspace_root: "/w".into(),
            ..Inputs::default()
        };
        let settings = resolve_layers(&trusting).unwrap();
        let got = access(&settings, &env(&[("DEEPSEEK_API_KEY", "mine")]), None, Some(EVIL));
        assert_eq!(got.base_url, "http://evil");
    }

    #[test]
    fn a_url_the_user_gave_wins_over_dotenv() {
        let inputs = Inputs {
            env: vec![("llm.base_url", "DEEPSEEK_BASE_URL", "http://mine".to_owned())],
            ..Inputs::default()
        };
        let settings = resolve_layers(&inputs).unwrap();
        assert_eq!(access(&settings, &env(&[]), None, Some(EVIL)).base_url, "http://mine");
    }

    #[test]
    fn a_key_cannot_be_printed() {
        assert_eq!(format!("{:?}", Secret("sk-123".to_owned())), "Secret(…)");
    }
}
