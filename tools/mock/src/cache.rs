//! The prefix cache: decides which part of a prompt is a cache hit. Deterministic, modeled on recorded sessions with
//! the real server.
//!
//! A request hits only prefixes that were stored as a whole: earlier prompts, and earlier prompts with their answers.
//! One token is counted per four bytes, 1,024 per image, and a hit is rounded down to a multiple of 128 tokens. The cache
//! stores hashes at the places where a hit can end, not texts.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use super::options::CacheMode;
use super::schema::{AnsweredToolCall, RequestBody, RequestMessage, UserContent};

const BYTES_PER_TOKEN: usize = 4;
const IMAGE_TOKENS: usize = 1024;
const UNIT_TOKENS: usize = 128;
const UNIT_BYTES: usize = UNIT_TOKENS * BYTES_PER_TOKEN;

/// Returns the number of tokens in a text.
pub(super) fn tokens(text: &str) -> u64 {
    u64::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

/// A conversation as the cache sees it: equal bytes if the provider would consider it equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Canonical {
    bytes: Vec<u8>,
    /// The end of each message, as an offset.
    ends: Vec<usize>,
    with_reasoning: bool,
}

impl Canonical {
    /// The model, user, tools and effort come before the messages. Reasoning counts only when there are tools.
    pub(super) fn new(body: &RequestBody, raw: &serde_json::Value) -> Self {
        let mut canonical = Self { with_reasoning: body.has_tools(), ..Self::default() };
        let tools = if body.has_tools() { raw["tools"].to_string() } else { String::new() };
        let effort = format!("{:?}", body.effort());
        for part in [&body.model, body.user_id.as_deref().unwrap_or_default(), &tools, &effort] {
            canonical.part(part);
        }
        for message in &body.messages {
            canonical.message(message);
        }
        canonical
    }

    pub(super) fn message(&mut self, message: &RequestMessage) {
        match message {
            RequestMessage::System { content } => self.parts(&["system", content]),
            RequestMessage::User { content: UserContent::Text(text) } => {
                self.parts(&["user", text]);
            }
            RequestMessage::User { content: UserContent::Parts(parts) } => {
                self.part("user");
                for part in parts {
                    match part["type"].as_str() {
                        Some("text") => self.part(part["text"].as_str().unwrap_or_default()),
                        _ => self.image(&part.to_string()),
                    }
                }
            }
            RequestMessage::Assistant { content, reasoning_content, tool_calls } => {
                self.parts(&["assistant", content.as_deref().unwrap_or_default()]);
                if self.with_reasoning {
                    self.part(reasoning_content.as_deref().unwrap_or_default());
                }
                for AnsweredToolCall { id, function } in tool_calls.iter().flatten() {
                    self.parts(&[id, &function.name, &function.arguments]);
                }
            }
            RequestMessage::Tool { content, tool_call_id } => {
                self.parts(&["tool", tool_call_id, content]);
            }
            RequestMessage::LatestReminder { content } => self.parts(&["latest_reminder", content]),
        }
        self.bytes.push(b'\n');
        self.ends.push(self.bytes.len());
    }

    /// Adds an image: it counts as the same number of tokens whatever its content.
    fn image(&mut self, image: &str) {
        let mut hasher = DefaultHasher::new();
        hasher.write(image.as_bytes());
        let words = format!("{:016x}", hasher.finish());
        self.part(&words.repeat(IMAGE_TOKENS * BYTES_PER_TOKEN / words.len()));
    }

    fn parts(&mut self, parts: &[&str]) {
        for part in parts {
            self.part(part);
        }
    }

    fn part(&mut self, part: &str) {
        self.bytes.extend_from_slice(part.as_bytes());
        self.bytes.push(0);
    }

    pub(super) const fn tokens(&self) -> usize {
        self.bytes.len() / BYTES_PER_TOKEN
    }

    /// Returns every place where a stored prefix can end, with the hash of all bytes before it.
    fn marks(&self) -> Vec<Mark> {
        let units = (1..=self.bytes.len() / UNIT_BYTES).map(|unit| unit * UNIT_BYTES);
        let mut places: Vec<usize> = self.ends.iter().copied().chain(units).collect();
        places.sort_unstable();
        places.dedup();
        let mut hasher = DefaultHasher::new();
        let mut from = 0;
        places
            .into_iter()
            .map(|end| {
                hasher.write(self.bytes.get(from..end).unwrap_or_default());
                from = end;
                Mark { end, hash: hasher.finish() }
            })
            .collect()
    }

    fn end(&self) -> Option<Mark> {
        self.marks().pop().filter(|mark| mark.end == self.bytes.len())
    }
}

/// A prefix: its length in bytes, and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Mark {
    end: usize,
    hash: u64,
}

/// The prefixes stored so far.
#[derive(Debug)]
pub(super) struct Cache {
    mode: CacheMode,
    stored: HashSet<Mark>,
    /// Prefixes of earlier prompts that will be stored when a second request has them.
    seen: HashSet<Mark>,
}

impl Cache {
    pub(super) fn new(mode: CacheMode) -> Self {
        Self { mode, stored: HashSet::new(), seen: HashSet::new() }
    }

    /// Returns how many tokens of `prompt` are in the cache.
    pub(super) fn hit(&self, prompt: &Canonical) -> usize {
        let longest = prompt.marks().into_iter().rev().find(|mark| self.stored.contains(mark));
        longest.map_or(0, |mark| mark.end / UNIT_BYTES * UNIT_TOKENS)
    }

    /// Stores the prefixes of an answered request.
    pub(super) fn store(&mut self, prompt: &Canonical, answer: &RequestMessage) {
        if self.mode == CacheMode::Off {
            return;
        }
        if self.mode == CacheMode::CommonPrefix {
            let marks = prompt.marks();
            let common = marks.iter().rev().find(|mark| self.seen.contains(mark));
            self.stored.extend(common);
            self.seen.extend(marks);
        }
        let mut answered = prompt.clone();
        answered.message(answer);
        self.stored.extend(prompt.end());
        self.stored.extend(answered.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(tools: bool, messages: &[(&str, &str)]) -> (RequestBody, serde_json::Value) {
        let messages: Vec<serde_json::Value> = messages
            .iter()
            .map(|(role, content)| serde_json::json!({"role": role, "content": content}))
            .collect();
        let mut raw = serde_json::json!({"model": "m", "messages": messages});
        if tools {
            raw["tools"] = serde_json::json!([{"type":"function","function":{"name":"f"}}]);
        }
        (RequestBody::parse(raw.to_string().as_bytes()).unwrap(), raw)
    }

    fn canonical(messages: &[(&str, &str)]) -> Canonical {
        let (body, raw) = body(false, messages);
        Canonical::new(&body, &raw)
    }

    fn answer(text: &str) -> RequestMessage {
        RequestMessage::Assistant {
            content: Some(text.into()),
            reasoning_content: Some("hm".into()),
            tool_calls: None,
        }
    }

    #[test]
    fn a_growing_conversation_hits_all_but_its_newest_message() {
        let long = "x".repeat(4000);
        let mut cache = Cache::new(CacheMode::Boundaries);
        let first = canonical(&[("user", &long)]);
        assert_eq!(cache.hit(&first), 0);
        cache.store(&first, &answer(&long));
        assert_eq!(cache.hit(&first), first.tokens() / 128 * 128);
        let second = canonical(&[("user", &long), ("assistant", &long), ("user", "more")]);
        let both = canonical(&[("user", &long), ("assistant", &long)]);
        assert_eq!(cache.hit(&second), both.tokens() / 128 * 128);
    }

    #[test]
    fn an_image_counts_alike_whatever_its_length_and_differs_by_its_content() {
        let seen = |url: String| {
            let parts = serde_json::json!([
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": url}},
            ]);
            let messages = serde_json::json!([{"role": "user", "content": parts}]);
            let raw = serde_json::json!({"model": "m", "messages": messages});
            let body = RequestBody::parse(raw.to_string().as_bytes()).unwrap();
            Canonical::new(&body, &raw)
        };
        let (short, long) = (seen("data:a".into()), seen("b".repeat(1 << 20)));
        assert_eq!(short.tokens(), long.tokens());
        assert!((1024..1100).contains(&short.tokens()), "{}", short.tokens());
        assert_ne!(short.bytes, long.bytes);
    }

    #[test]
    fn a_changed_message_or_model_hits_nothing() {
        let long = "x".repeat(4000);
        let mut cache = Cache::new(CacheMode::Boundaries);
        cache.store(&canonical(&[("system", &long), ("user", "one")]), &answer("1"));
        assert_eq!(cache.hit(&canonical(&[("system", &long), ("user", "two")])), 0);
        let (body, raw) = body(true, &[("system", &long), ("user", "one")]);
        assert_eq!(cache.hit(&Canonical::new(&body, &raw)), 0);
    }

    #[test]
    fn a_common_prefix_is_stored_by_the_second_request_and_hit_by_the_third() {
        let long = "x".repeat(4000);
        let request = |text: &str| canonical(&[("system", &long), ("user", text)]);
        let mut cache = Cache::new(CacheMode::CommonPrefix);
        cache.store(&request("one"), &answer("1"));
        assert_eq!(cache.hit(&request("two")), 0);
        cache.store(&request("two"), &answer("2"));
        assert_eq!(cache.hit(&request("three")), 896);
        let mut off = Cache::new(CacheMode::Off);
        off.store(&request("one"), &answer("1"));
        assert_eq!(off.hit(&request("one")), 0);
    }

    #[test]
    fn reasoning_counts_only_with_tools() {
        let length = |tools| {
            let (body, raw) = body(tools, &[("user", "x")]);
            let mut canonical = Canonical::new(&body, &raw);
            let before = canonical.bytes.len();
            canonical.message(&answer("a"));
            canonical.bytes.len() - before
        };
        assert_eq!(length(true) - length(false), "hm\0".len());
    }
}
