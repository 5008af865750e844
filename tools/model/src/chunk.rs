//! One event of a streaming answer, read leniently: everything may be missing or null, and nothing unknown is an error.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{FinishReason, Usage};

/// A chunk of an answer, or an error in its place.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<WireUsage>,
    /// Not in the documentation, but what servers send when they fail after the status line.
    #[serde(default)]
    pub(super) error: Option<Value>,
}

impl Chunk {
    /// What the server counted, if this chunk says so.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.as_ref().map(WireUsage::usage)
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) delta: WireDelta,
    #[serde(default)]
    pub(super) finish_reason: Option<FinishReason>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireDelta {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) reasoning_content: String,
}

/// Both spellings of the cache hit, the second of them older.
#[derive(Debug, Default, Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens_details: PromptDetails,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens_details: CompletionDetails,
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "lenient")]
    reasoning_tokens: u64,
}

impl WireUsage {
    /// A hit is never more than the prompt, nor reasoning more than the output, whatever the server says.
    fn usage(&self) -> Usage {
        let hit = self.prompt_tokens_details.cached_tokens.or(self.prompt_cache_hit_tokens);
        Usage {
            prompt: self.prompt_tokens,
            hit: hit.unwrap_or(0).min(self.prompt_tokens),
            output: self.completion_tokens,
            reasoning: self.completion_tokens_details.reasoning_tokens.min(self.completion_tokens),
        }
    }
}

/// Null is the same as missing.
fn lenient<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(json: &str) -> Chunk {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn anything_may_be_missing_null_or_unknown() {
        for json in [
            "{}",
            r#"{"choices":null,"usage":null,"id":null,"model":null}"#,
            r#"{"choices":[],"what":{"is":["this"]}}"#,
            r#"{"choices":[{"delta":null,"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":null,"role":null,"tool_calls":[{"index":0}]}}]}"#,
            r#"{"choices":[{"index":0,"finish_reason":null,"logprobs":null}]}"#,
        ] {
            let chunk = chunk(json);
            assert!(chunk.choices.iter().all(|choice| choice.delta.content.is_empty()), "{json}");
            assert_eq!(chunk.usage(), None, "{json}");
        }
        let unknown = chunk(r#"{"choices":[{"finish_reason":"tired"}]}"#);
        assert_eq!(unknown.choices[0].finish_reason, Some(FinishReason::Unknown));
    }

    #[test]
    fn both_spellings_of_the_cache_hit_are_read() {
        let both = Some(Usage { prompt: 283, hit: 256, output: 69, reasoning: 24 });
        let new = r#"{"usage":{"prompt_tokens":283,"completion_tokens":69,"prompt_tokens_details":{"cached_tokens":256},
            "completion_tokens_details":{"reasoning_tokens":24}}}"#;
        let old = r#"{"usage":{"prompt_tokens":283,"completion_tokens":69,"prompt_cache_hit_tokens":256,
            "prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":24}}}"#;
        assert_eq!(chunk(new).usage(), both);
        assert_eq!(chunk(old).usage(), both);
        let short = r#"{"usage":{"completion_tokens":9,"prompt_tokens":17,"total_tokens":26}}"#;
        assert_eq!(chunk(short).usage(), Some(Usage { prompt: 17, output: 9, ..Usage::default() }));
    }
}
