//! The answers of the fake: a list of replies that are used up in order, or a function of the request.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Behaviour, Options, ReceivedRequest};
use model::Usage;

/// One answer. In a script, the role and the order of replies matter; a function just returns one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedReply {
    /// Only for requests with this `X-Agent-Role`; `None` for any.
    pub role: Option<String>,
    /// Only for requests with this `X-Agent-Lane`; `None` for any, with or without a lane.
    pub lane: Option<String>,
    /// Only for requests whose last message contains this text; `None` for any.
    pub asks: Option<String>,
    /// True to keep the reply after use, so that it answers all later requests.
    pub repeat: bool,
    /// How to answer.
    pub behaviour: Behaviour,
    /// The text of the answer, or the message of the error.
    pub text: Option<String>,
    /// A file with the text, relative to the script.
    pub file: Option<PathBuf>,
    /// Reasoning before the text; sent only to requests that think.
    pub reasoning: Option<String>,
    /// Tool calls, for behaviours that make some.
    pub tool_calls: Vec<ScriptedCall>,
    /// Wait before the first byte, in milliseconds.
    pub delay_ms: u64,
    /// Characters in each piece of text; 0 sends the text in one piece.
    pub chunk_chars: usize,
    /// Wait before each event and before the end, in milliseconds.
    pub chunk_delay_ms: u64,
    /// Time between comments, in milliseconds; 0 means 10.
    pub keepalive_ms: u64,
    /// Time for which `keepalive_then_text` sends comments, in milliseconds; 0 means 50.
    pub keepalive_total_ms: u64,
    /// The `Retry-After` header of an error.
    pub retry_after: Option<String>,
    /// Token counts that replace the computed ones.
    pub usage: UsageOverride,
    /// The media type of `raw`.
    pub media_type: Option<String>,
    /// A value to send as `usage`, of any type.
    pub usage_told: Option<serde_json::Value>,
    /// The behaviours that `random` chooses from.
    pub of: Vec<Behaviour>,
}

impl ScriptedReply {
    /// Creates a complete answer with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Creates an answer with this behaviour and the default text.
    pub fn of(behaviour: Behaviour) -> Self {
        Self { behaviour, ..Self::default() }
    }

    /// Restricts the reply to requests of `role`.
    #[must_use]
    pub fn to(self, role: impl Into<String>) -> Self {
        Self { role: Some(role.into()), ..self }
    }

    /// Restricts the reply to requests of `lane`.
    #[must_use]
    pub fn in_lane(self, lane: impl Into<String>) -> Self {
        Self { lane: Some(lane.into()), ..self }
    }

    /// Restricts the reply to requests whose last message contains this text.
    #[must_use]
    pub fn when_asked(self, asks: impl Into<String>) -> Self {
        Self { asks: Some(asks.into()), ..self }
    }

    /// Makes the reply answer all later requests as well.
    #[must_use]
    pub fn forever(self) -> Self {
        Self { repeat: true, ..self }
    }
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The name of the function.
    pub name: String,
    /// The arguments: JSON in a string.
    pub arguments: String,
}

/// Token counts that replace the computed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsageOverride {
    /// Prompt tokens.
    pub prompt: Option<u64>,
    /// Prompt tokens found in the cache.
    pub hit: Option<u64>,
    /// Answer tokens.
    pub output: Option<u64>,
    /// Reasoning tokens, included in the answer tokens.
    pub reasoning: Option<u64>,
}

impl UsageOverride {
    pub(super) fn over(&self, usage: Usage) -> Usage {
        Usage {
            prompt: self.prompt.unwrap_or(usage.prompt),
            hit: self.hit.or(usage.hit),
            output: self.output.unwrap_or(usage.output),
            reasoning: self.reasoning.or(usage.reasoning),
        }
    }
}

/// Returns the reply to a request, when it is known.
type Asked = dyn Fn(ReceivedRequest) -> BoxFuture<'static, ScriptedReply> + Send + Sync;

/// Who is asked for replies.
#[derive(Clone)]
pub struct Answerer(Arc<Asked>);

impl Answerer {
    /// Returns the reply to a request, when it is known.
    pub(super) fn reply(&self, request: ReceivedRequest) -> BoxFuture<'static, ScriptedReply> {
        self.0(request)
    }
}

impl fmt::Debug for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answerer")
    }
}

/// The source of replies.
#[derive(Clone)]
pub enum Replies {
    /// Uses the first reply that matches the role, the lane and the last message of the request, and drops it unless it
    /// repeats.
    Script(Vec<ScriptedReply>),
    /// Calls a function with the request.
    Driven(Arc<dyn Fn(&ReceivedRequest) -> ScriptedReply + Send + Sync>),
    /// Asks for each reply and waits for it. Other requests are answered meanwhile.
    Asked(Answerer),
}

impl Replies {
    /// Creates replies from a function.
    pub fn driven(
        reply: impl Fn(&ReceivedRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self::Driven(Arc::new(reply))
    }

    /// Creates replies that are waited for, such as answers by a person.
    pub fn asked<F>(reply: impl Fn(ReceivedRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ScriptedReply> + Send + 'static,
    {
        Self::Asked(Answerer(Arc::new(move |request| Box::pin(reply(request)))))
    }

    /// Returns the reply to `request`; `None` if the script is exhausted.
    pub fn take(&mut self, request: &ReceivedRequest) -> Option<ScriptedReply> {
        match self {
            Self::Script(replies) => {
                let is_for = |wanted: &Option<String>, header: &str| {
                    wanted.is_none() || wanted.as_deref() == request.header(header)
                };
                let at = replies.iter().position(|reply| {
                    is_for(&reply.role, "x-agent-role")
                        && is_for(&reply.lane, "x-agent-lane")
                        && reply.asks.as_ref().is_none_or(|asks| request.asks(asks))
                })?;
                let repeats = replies.get(at)?.repeat;
                if repeats { replies.get(at).cloned() } else { Some(replies.remove(at)) }
            }
            Self::Driven(reply) => Some(reply(request)),
            // The server has asked before.
            Self::Asked(_) => None,
        }
    }
}

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(replies) => f.debug_tuple("Script").field(&replies.len()).finish(),
            Self::Driven(_) => f.write_str("Driven"),
            Self::Asked(_) => f.write_str("Asked"),
        }
    }
}

impl From<Vec<ScriptedReply>> for Replies {
    fn from(replies: Vec<ScriptedReply>) -> Self {
        Self::Script(replies)
    }
}

/// A script: the settings of the server, and its answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The settings of the server.
    pub server: Options,
    /// The replies, in order.
    #[serde(rename = "reply")]
    pub replies: Vec<ScriptedReply>,
}

/// Why a script cannot be used.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
    /// The TOML is invalid.
    #[error("the script is not valid")]
    Toml(#[source] toml::de::Error),
    /// A line of the JSONL is invalid.
    #[error("line {line} of the script is not valid")]
    Line {
        /// The number of the line, from one.
        line: usize,
        /// The error.
        #[source]
        source: serde_json::Error,
    },
    /// A reply has both `text` and `file`.
    #[error("reply {reply} of the script has both a text and a file")]
    TwoTexts {
        /// The number of the reply, from one.
        reply: usize,
    },
}

/// A line of a JSONL script with the server's settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerLine {
    server: Options,
}

impl Script {
    /// Loads a script. A file that ends in `.jsonl` has one reply per line; any other file is TOML.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = read(path)?;
        let jsonl = path.extension().is_some_and(|extension| extension == "jsonl");
        let script = if jsonl { Self::from_jsonl(&text) } else { Self::from_toml(&text) }?;
        script.with_files(path.parent().unwrap_or(Path::new("")))
    }

    /// Parses TOML with a table `server` and tables `reply`.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        toml::from_str(text).map_err(ScriptError::Toml)
    }

    /// Parses JSONL with one reply per line; a line `{"server": {…}}` contains the server's settings.
    pub fn from_jsonl(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |source| ScriptError::Line { line: at + 1, source };
            if line.trim_start().starts_with(r#"{"server""#) {
                script.server = serde_json::from_str::<ServerLine>(line).map_err(wrong)?.server;
            } else {
                script.replies.push(serde_json::from_str(line).map_err(wrong)?);
            }
        }
        Ok(script)
    }

    /// Replaces file names by the contents of the files.
    fn with_files(mut self, base: &Path) -> Result<Self, ScriptError> {
        for (at, reply) in self.replies.iter_mut().enumerate() {
            let Some(file) = reply.file.take() else { continue };
            if reply.text.is_some() {
                return Err(ScriptError::TwoTexts { reply: at + 1 });
            }
            reply.text = Some(read(&base.join(file))?);
        }
        Ok(self)
    }
}

fn read(path: &Path) -> Result<String, ScriptError> {
    std::fs::read_to_string(path)
        .map_err(|source| ScriptError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &mut Replies, roles: &[&str]) -> Vec<Option<String>> {
        roles
            .iter()
            .map(|role| source.take(&ReceivedRequest::for_role(role)).and_then(|reply| reply.text))
            .collect()
    }

    #[test]
    fn replies_are_used_up_in_order_and_by_role() {
        let mut source = Replies::from(vec![
            ScriptedReply::text("plan").to("architect"),
            ScriptedReply::text("diff 1").to("editor"),
            ScriptedReply::text("any"),
            ScriptedReply::text("diff 2").to("editor").forever(),
        ]);
        let seen =
            texts(&mut source, &["editor", "architect", "editor", "editor", "editor", "intent"]);
        let expected =
            ["diff 1", "plan", "any", "diff 2", "diff 2"].map(|text| Some(text.to_owned()));
        assert_eq!(seen[..5], expected);
        assert_eq!(seen[5], None);
    }

    #[test]
    fn toml_and_jsonl_are_equivalent() {
        let toml = Script::from_toml(
            "[server]\nrequire_key = false\n\n[[reply]]\nrole = \"editor\"\ntext = '''\n--- a/x\n+++ b/x\n'''\n\
             \n[[reply]]\nbehaviour = \"http_429\"\nretry_after = \"1\"\nusage = { output = 5 }\n",
        )
        .unwrap();
        let jsonl = Script::from_jsonl(
            "{\"server\":{\"require_key\":false}}\n\n{\"role\":\"editor\",\"text\":\"--- a/x\\n+++ b/x\\n\"}\n\
             {\"behaviour\":\"http_429\",\"retry_after\":\"1\",\"usage\":{\"output\":5}}\n",
        )
        .unwrap();
        assert_eq!(toml, jsonl);
        assert_eq!(toml.replies[1].behaviour, Behaviour::Http429);
        assert!(!toml.server.require_key);
    }

    #[test]
    fn unknown_keys_and_values_are_refused() {
        assert!(Script::from_toml("[[reply]]\nbehavior = \"text\"").is_err());
        assert!(Script::from_toml("[[reply]]\nbehaviour = \"texts\"").is_err());
        let error = Script::from_jsonl("{}\n{\"tex\":1}").unwrap_err();
        assert!(matches!(error, ScriptError::Line { line: 2, .. }));
    }

    #[test]
    fn texts_can_come_from_files_next_to_the_script() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plan.txt"), "the plan\n").unwrap();
        let script = dir.path().join("s.toml");
        std::fs::write(&script, "[[reply]]\nfile = \"plan.txt\"").unwrap();
        assert_eq!(Script::load(&script).unwrap().replies[0].text.as_deref(), Some("the plan\n"));
        std::fs::write(&script, "[[reply]]\nfile = \"plan.txt\"\ntext = \"x\"").unwrap();
        assert!(matches!(Script::load(&script), Err(ScriptError::TwoTexts { reply: 1 })));
        std::fs::write(&script, "[[reply]]\nfile = \"gone.txt\"").unwrap();
        assert!(matches!(Script::load(&script), Err(ScriptError::Read { .. })));
    }
}
