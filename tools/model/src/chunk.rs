//! One event of a streaming answer, parsed leniently: any field may be missing or null, and of unknown ones only the size counts.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{FinishReason, Usage};

/// A chunk of an answer, or an error in place of one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) choices: Vec<ChunkChoice>,
    #[serde(default)]
    usage: Option<Value>,
    /// Undocumented, but servers send it when they fail after the status line.
    #[serde(default)]
    pub(super) error: Option<Value>,
}

impl Chunk {
    /// Returns the server's token counts, if this chunk has them. A missing or impossible count is not zero: `None`
    /// then. Hits are capped at the prompt and reasoning at the output, whatever the server says.
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = self.usage.as_ref()?;
        let is_possible = |count: &u64| u32::try_from(*count).is_ok();
        let count = |path| usage.pointer(path).and_then(Value::as_u64).filter(is_possible);
        let (prompt, output) = (count("/prompt_tokens")?, count("/completion_tokens")?);
        // Both spellings of the cache hit; the second is the older one.
        let hit = count("/prompt_tokens_details/cached_tokens")
            .or_else(|| count("/prompt_cache_hit_tokens"));
        let reasoning = count("/completion_tokens_details/reasoning_tokens");
        Some(Usage {
            prompt,
            hit: hit.unwrap_or(0).min(prompt),
            output,
            reasoning: reasoning.unwrap_or(0).min(output),
        })
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ChunkChoice {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) delta: WireDelta,
    #[serde(default)]
    pub(super) finish_reason: Option<FinishReason>,
    /// Other fields, such as the `text` or the `message` of other protocols.
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireDelta {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) reasoning_content: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) tool_calls: Vec<CallDelta>,
    /// Other fields, such as `reasoning` or `refusal`.
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl ChunkChoice {
    /// Returns the size of text in fields that are not read, in bytes: the server charges for it as well. A text that
    /// stands in several fields counts once.
    pub(super) fn unread(&self) -> usize {
        // Not written by the model, or written elsewhere as well.
        const KNOWN: [&str; 4] = ["index", "logprobs", "role", "stop_reason"];
        let read = [self.delta.content.as_str(), &self.delta.reasoning_content];
        let mut texts = BTreeSet::new();
        for (name, value) in self.others.iter().chain(&self.delta.others) {
            if !KNOWN.contains(&name.as_str()) {
                collect_texts(value, &mut texts);
            }
        }
        texts.iter().filter(|text| !read.contains(text)).map(|text| text.len()).sum()
    }
}

/// Collects all strings in a value.
fn collect_texts<'v>(value: &'v Value, texts: &mut BTreeSet<&'v str>) {
    match value {
        Value::String(text) => drop(texts.insert(text)),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A piece of a tool call: the first piece names the tool, all of them add to its arguments.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CallDelta {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) index: usize,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) function: FunctionDelta,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionDelta {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) arguments: String,
}

impl CallDelta {
    pub(super) const fn bytes(&self) -> usize {
        self.function.name.len() + self.function.arguments.len()
    }
}

/// Treats null like a missing value.
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

    #[test]
    fn an_invalid_count_is_not_zero() {
        let told = |prompt: &str, output: &str| {
            let usage = format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":{output}}}"#);
            chunk(&format!(r#"{{"usage":{usage}}}"#)).usage()
        };
        assert_eq!(told("0", "0"), Some(Usage::default()));
        for none in ["null", "-1", "\"7\"", "1.5", "[]", "1e30", "18446744073709551615"] {
            assert_eq!((told(none, "1"), told("1", none)), (None, None), "{none}");
        }
        for usage in ["7", "\"much\"", "[]", "{}", r#"{"prompt_tokens":7}"#] {
            assert_eq!(chunk(&format!(r#"{{"usage":{usage}}}"#)).usage(), None, "{usage}");
        }
        let odd = r#"{"usage":{"prompt_tokens":7,"completion_tokens":1,"prompt_cache_hit_tokens":-3,
            "completion_tokens_details":"none"}}"#;
        assert_eq!(chunk(odd).usage(), Some(Usage { prompt: 7, output: 1, ..Usage::default() }));
    }
}
