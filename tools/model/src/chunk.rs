//! One event of a streaming answer, or a whole answer, read field by field: any field may be missing, null or of another
//! type, and of unknown ones only the size counts. Pure.

use std::collections::BTreeSet;

use config::{Dialect, UsageFields};
use serde_json::{Map, Value};

use super::Usage;

/// A piece of an answer, or an error in place of one.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) id: String,
    pub(super) model: String,
    /// The piece of the first choice; more than one is never asked for.
    pub(super) choice: Option<ChoicePiece>,
    pub(super) usage: Option<Usage>,
    /// Undocumented, but servers send it when they fail after the status line.
    pub(super) error: Option<Value>,
}

/// What a chunk adds to the answer.
#[derive(Debug, Default)]
pub(super) struct ChoicePiece {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<CallPiece>,
    pub(super) finish_reason: Option<String>,
    /// The size of text in fields that are not read, in bytes: the server charges for it as well. A text that stands in
    /// several fields counts once.
    pub(super) unread: usize,
}

/// A piece of a tool call: the first piece names the tool, all of them add to its arguments.
#[derive(Debug, Default)]
pub(super) struct CallPiece {
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl CallPiece {
    pub(super) const fn bytes(&self) -> usize {
        self.name.len() + self.arguments.len()
    }
}

impl Chunk {
    /// Reads a chunk; fails if `json` is not a JSON object.
    pub(super) fn read(json: &str, dialect: &Dialect) -> Result<Self, serde_json::Error> {
        let fields: Map<String, Value> = serde_json::from_str(json)?;
        let choices = fields.get("choices").and_then(Value::as_array);
        Ok(Self {
            id: string(fields.get("id")),
            model: string(fields.get("model")),
            choice: choices.and_then(|all| all.first()).map(|it| ChoicePiece::read(it, dialect)),
            usage: fields.get("usage").and_then(|usage| counts(usage, &dialect.usage)),
            error: fields.get("error").filter(|error| !error.is_null()).cloned(),
        })
    }
}

impl ChoicePiece {
    fn read(choice: &Value, dialect: &Dialect) -> Self {
        // Not written by the model, or written elsewhere as well.
        const KNOWN: [&str; 5] = ["index", "logprobs", "role", "stop_reason", "finish_reason"];
        let mut piece = Self::default();
        let Some(fields) = choice.as_object() else { return piece };
        piece.finish_reason =
            fields.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
        let is_said = |name: &&str| fields.get(*name).is_some_and(Value::is_object);
        let Some(said) = ["delta", "message"].into_iter().find(is_said) else {
            piece.unread = size_of_others(
                fields.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())),
                &[],
            );
            return piece;
        };
        let message = fields.get(said).and_then(Value::as_object).into_iter().flatten();
        let is_reasoning = |name: &str| dialect.reasoning.iter().any(|field| field == name);
        let mut others = Vec::new();
        for (name, value) in message {
            match name.as_str() {
                "content" => piece.content(value),
                "tool_calls" => {
                    piece.calls =
                        value.as_array().into_iter().flatten().map(CallPiece::read).collect();
                }
                name if is_reasoning(name) && piece.reasoning.is_empty() => {
                    piece.reasoning = string(Some(value));
                }
                name if !KNOWN.contains(&name) => others.push((name, value)),
                _ => {}
            }
        }
        let beside =
            fields.iter().filter(|(name, _)| *name != said && !KNOWN.contains(&name.as_str()));
        let beside = beside.map(|(name, value)| (name.as_str(), value));
        piece.unread =
            size_of_others(others.into_iter().chain(beside), &[&piece.text, &piece.reasoning]);
        piece
    }

    /// Adds the content: a text, or a list of parts, some of which may be reasoning.
    fn content(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.text.push_str(text),
            Value::Array(parts) => parts.iter().for_each(|part| self.content(part)),
            Value::Object(part) => match (part.get("text"), part.get("thinking")) {
                (Some(text), _) => self.content(text),
                (None, Some(thinking)) => {
                    let mut inner = Self::default();
                    inner.content(thinking);
                    self.reasoning.push_str(&inner.text);
                }
                (None, None) => {}
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl CallPiece {
    fn read(call: &Value) -> Self {
        let function = call.get("function");
        let arguments = function.and_then(|function| function.get("arguments"));
        Self {
            index: call.get("index").and_then(Value::as_u64),
            id: string(call.get("id")),
            name: string(function.and_then(|function| function.get("name"))),
            arguments: match arguments {
                Some(object @ Value::Object(_)) => object.to_string(),
                text => string(text),
            },
        }
    }
}

/// Returns a text, or a number as text; anything else is empty.
fn string(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Returns the server's token counts. A missing or impossible count is not zero: `None` then. Hits are capped at the
/// prompt and reasoning at the output, whatever the server says.
fn counts(usage: &Value, fields: &UsageFields) -> Option<Usage> {
    let is_possible = |count: &u64| u32::try_from(*count).is_ok();
    let count = |paths: &[String]| {
        let found = paths.iter().find_map(|path| usage.pointer(path).and_then(Value::as_u64));
        found.filter(is_possible)
    };
    let (prompt, output) = (count(&fields.prompt)?, count(&fields.output)?);
    Some(Usage {
        prompt,
        hit: count(&fields.cached).map(|hit| hit.min(prompt)),
        output,
        reasoning: count(&fields.reasoning).map(|reasoning| reasoning.min(output)),
    })
}

/// Returns the size of the texts in these fields that are not in `read`.
fn size_of_others<'v, N>(fields: impl Iterator<Item = (N, &'v Value)>, read: &[&String]) -> usize {
    let mut texts = BTreeSet::new();
    fields.for_each(|(_, value)| collect_texts(value, &mut texts));
    texts.iter().filter(|text| !read.iter().any(|read| read == *text)).map(|text| text.len()).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(json: &str) -> Chunk {
        let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
        Chunk::read(json, &llm.dialects["deepseek"]).unwrap()
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
            r#"{"choices":{"0":1},"id":[],"model":{},"usage":"none"}"#,
            r#"{"choices":[7]}"#,
            r#"{"choices":[{"delta":"x","finish_reason":7}]}"#,
            r#"{"choices":[{"delta":{"content":7,"reasoning_content":[],"tool_calls":{}}}]}"#,
        ] {
            let chunk = chunk(json);
            let piece = chunk.choice.unwrap_or_default();
            assert_eq!((piece.text, piece.finish_reason), (String::new(), None), "{json}");
            assert_eq!(chunk.usage, None, "{json}");
        }
    }

    #[test]
    fn content_is_a_text_or_parts_of_a_delta_or_a_message() {
        for (choice, text, reasoning) in [
            (r#"{"delta":{"content":"a"}}"#, "a", ""),
            (r#"{"message":{"content":"a","reasoning":"b"}}"#, "a", "b"),
            (r#"{"delta":null,"message":{"content":"a"}}"#, "a", ""),
            (r#"{"delta":{"content":[{"type":"text","text":"a"},"b"]}}"#, "ab", ""),
            (
                r#"{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]},{"text":"a"}]}}"#,
                "a",
                "b",
            ),
        ] {
            let piece = chunk(&format!(r#"{{"id":7,"choices":[{choice}]}}"#));
            assert_eq!(piece.id, "7");
            let piece = piece.choice.unwrap();
            assert_eq!(
                (piece.text.as_str(), piece.reasoning.as_str()),
                (text, reasoning),
                "{choice}"
            );
        }
    }

    #[test]
    fn both_spellings_of_the_cache_hit_are_read() {
        let both = Some(Usage { prompt: 283, hit: Some(256), output: 69, reasoning: Some(24) });
        let new = r#"{"usage":{"prompt_tokens":283,"completion_tokens":69,"prompt_tokens_details":{"cached_tokens":256},
            "completion_tokens_details":{"reasoning_tokens":24}}}"#;
        let old = r#"{"usage":{"prompt_tokens":283,"completion_tokens":69,"prompt_cache_hit_tokens":256,
            "prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":24}}}"#;
        assert_eq!(chunk(new).usage, both);
        assert_eq!(chunk(old).usage, both);
        let short = r#"{"usage":{"completion_tokens":9,"prompt_tokens":17,"total_tokens":26}}"#;
        assert_eq!(chunk(short).usage, Some(Usage { prompt: 17, output: 9, ..Usage::default() }));
    }

    #[test]
    fn an_invalid_count_is_not_zero() {
        let told = |prompt: &str, output: &str| {
            let usage = format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":{output}}}"#);
            chunk(&format!(r#"{{"usage":{usage}}}"#)).usage
        };
        assert_eq!(told("0", "0"), Some(Usage::default()));
        for none in ["null", "-1", "\"7\"", "1.5", "[]", "1e30", "18446744073709551615"] {
            assert_eq!((told(none, "1"), told("1", none)), (None, None), "{none}");
        }
        for usage in ["7", "\"much\"", "[]", "{}", r#"{"prompt_tokens":7}"#] {
            assert_eq!(chunk(&format!(r#"{{"usage":{usage}}}"#)).usage, None, "{usage}");
        }
        let odd = r#"{"usage":{"prompt_tokens":7,"completion_tokens":1,"prompt_cache_hit_tokens":-3,
            "completion_tokens_details":"none"}}"#;
        assert_eq!(chunk(odd).usage, Some(Usage { prompt: 7, output: 1, ..Usage::default() }));
    }
}
