//! Models, where they are served, and their prices. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Dialect, FinishReasons, by_pattern};

/// Models and the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Llm {
    /// Base URL of an OpenAI-compatible server; `/chat/completions` is appended.
    pub base_url: String,
    /// Name of the environment variable that holds the key.
    pub api_key_env: String,
    /// The dialect of the server: a name in `dialects`, or `auto` for the one of its host.
    pub dialect: String,
    /// Whether models that answer questions are offered tool calls; otherwise they look things up with lines of text.
    pub native_tools: bool,
    /// Seconds to wait for a connection.
    pub connect_timeout_seconds: u64,
    /// Seconds to wait for the first token, keep-alive comments notwithstanding.
    pub first_token_timeout_seconds: u64,
    /// Seconds without a single byte; once the answer has begun, without a part of it.
    pub idle_timeout_seconds: u64,
    /// Seconds one attempt may take in total.
    pub call_timeout_seconds: u64,
    /// Bytes of one response body, whatever its content.
    pub max_stream_bytes: u64,
    /// Retries of one call after transient errors.
    pub max_retries: u32,
    /// First retry delay in milliseconds; doubles with each retry.
    pub retry_base_ms: u64,
    /// Longest retry delay that the server did not ask for, in milliseconds.
    pub retry_max_ms: u64,
    /// Longest `Retry-After` that is waited out, in seconds; a longer one ends the retries.
    pub max_retry_after_seconds: u64,
    /// Seconds that an autopilot, a mission or a lane waits for a network before it pauses.
    pub offline_patience_seconds: u64,
    /// Concurrent model calls of this process.
    pub max_concurrent_calls: usize,
    /// Context window of a model that `context_windows` does not name: tokens of prompt and answer together.
    pub context_window_tokens: u64,
    /// Context windows in tokens, by model id.
    pub context_windows: BTreeMap<String, u64>,
    /// The Architect's model.
    pub max_think_model: ModelRole,
    /// The model of the Editor, analysis and chat.
    pub base_model: ModelRole,
    /// The model for intent and other short questions.
    pub flash_model: ModelRole,
    /// How servers differ, by the name of the dialect.
    pub dialects: BTreeMap<String, Dialect>,
    /// What finish reasons mean; any other ends a complete answer.
    pub finish_reasons: FinishReasons,
    /// USD per million tokens, by model id.
    pub prices: BTreeMap<String, Price>,
    /// When the peak prices apply.
    pub peak: Peak,
    /// Images in requests.
    pub images: ImageSettings,
}

impl Llm {
    /// Returns the context window of a model, in tokens of prompt and answer together.
    pub fn context_window(&self, model: &str) -> u64 {
        *by_pattern(&self.context_windows, model).unwrap_or(&self.context_window_tokens)
    }
}

/// Images in requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSettings {
    /// Models that take images, as patterns in which `*` stands for any text.
    pub models: Vec<String>,
    /// Images sent with one request.
    pub max_count: usize,
    /// Length of an image in base64, in bytes; a larger one is shrunk.
    pub max_base64_bytes: u64,
    /// Width and height of an image, in pixels; a larger one is shrunk.
    pub max_side: u32,
    /// Pixels that count as one token.
    pub pixels_per_token: u64,
}

/// The model of a role, with its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRole {
    /// Model id, passed through to the server.
    pub model: String,
    /// Whether the model thinks before it answers.
    pub thinking: bool,
    /// How hard it thinks; only sent when `thinking` is on.
    pub effort: Effort,
    /// Maximum answer length in tokens, reasoning included.
    pub max_output_tokens: u32,
}

/// Reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Short reasoning.
    Low,
    /// The provider's default.
    High,
    /// As long as it takes.
    Max,
}

/// Price of a model, USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens found in the provider's cache.
    pub hit: f64,
    /// Prompt tokens not found in the cache.
    pub miss: f64,
    /// Answer tokens, reasoning included.
    pub output: f64,
    /// Factor on all three prices during the peak window.
    pub peak_factor: f64,
}

/// The peak window, in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Days with a peak window: 1 is Monday, 7 is Sunday.
    pub weekdays: Vec<u8>,
    /// `HH:MM-HH:MM`, start inclusive, end exclusive.
    pub windows: Vec<String>,
    /// Dates without a peak window, `YYYY-MM-DD`.
    pub holidays: Vec<String>,
}
