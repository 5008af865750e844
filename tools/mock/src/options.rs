//! The settings of the fake, apart from its answers.

use serde::{Deserialize, Serialize};

/// The server's settings; `[server]` in a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// True if a request must carry `Authorization: Bearer …`.
    pub require_key: bool,
    /// The only key that is accepted; `None` accepts any.
    pub expected_key: Option<String>,
    /// True to refuse every request for lack of balance.
    pub empty_balance: bool,
    /// Number of requests in flight above which the server answers 429, without using up a reply; 0 for no limit.
    pub concurrency_429: usize,
    /// How long connections are refused after the start, in milliseconds.
    pub connection_refused_ms: u64,
    /// The dialect that it speaks, by its name in the configuration.
    pub dialect: String,
    /// The models that are served.
    pub models: Vec<String>,
    /// Maximum tokens of prompt and answer together.
    pub context_tokens: u64,
    /// Which assistant messages must carry their reasoning when the request thinks and has tools.
    pub reasoning_check: ReasoningCheck,
    /// What the prefix cache stores.
    pub cache: CacheMode,
    /// The seed of `random`.
    pub seed: u64,
    /// Number of requests to remember; older ones are forgotten.
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
            dialect: super::dialect::DEEPSEEK.to_owned(),
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

/// Which assistant messages must carry their reasoning.
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

/// What the prefix cache stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Nothing.
    Off,
    /// Prompts, and prompts with their answers.
    Boundaries,
    /// Also prefixes common to two requests, once the second has been answered.
    CommonPrefix,
}
