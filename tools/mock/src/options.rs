//! How the fake is set up, apart from what it answers.

use serde::{Deserialize, Serialize};

/// The server's settings; `[server]` in a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether a request must carry `Authorization: Bearer …`.
    pub require_key: bool,
    /// The only key that is accepted; any when absent.
    pub expected_key: Option<String>,
    /// Whether every request is refused for lack of balance.
    pub empty_balance: bool,
    /// Requests in flight beyond which 429 is answered, using up no reply; zero is no limit.
    pub concurrency_429: usize,
    /// How long connections are refused after the start.
    pub connection_refused_ms: u64,
    /// Models that are served.
    pub models: Vec<String>,
    /// Tokens of prompt and answer together.
    pub context_tokens: u64,
    /// Which assistant messages must bring their reasoning back, when the request thinks and has tools.
    pub reasoning_check: ReasoningCheck,
    /// What the prefix cache keeps.
    pub cache: CacheMode,
    /// Where `random` starts.
    pub seed: u64,
    /// Requests that are remembered; the oldest are forgotten.
    pub remember: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            require_key: true,
            expected_key: None,
            empty_balance: false,
            concurrency_429: 0,
            connection_refused_ms: 0,
            models: ["deepseek-flash", "deepseek-v4-pro", "deepseek-v4-flash"]
                .map(str::to_owned)
                .into(),
            context_tokens: 1_048_576,
            reasoning_check: ReasoningCheck::ToolCalls,
            cache: CacheMode::Boundaries,
            seed: 0,
            remember: 10_000,
        }
    }
}

/// Which assistant messages must bring their reasoning back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningCheck {
    /// None.
    Off,
    /// Those with tool calls.
    ToolCalls,
    /// All.
    All,
}

/// What the prefix cache keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Nothing.
    Off,
    /// Prompts, and prompts with their answers.
    Boundaries,
    /// Also what two requests have in common, from the second of them on.
    CommonPrefix,
}
