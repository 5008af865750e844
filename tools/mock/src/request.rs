//! A request as it arrived, and what was made of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::Behaviour;
use model::Usage;

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// Counted from one, in order of arrival.
    pub number: u64,
    /// `POST`.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Bytes,
    /// The body parsed; null when it is no JSON.
    pub json: Value,
}

impl ReceivedRequest {
    /// The first header of this name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Role and text of each message whose text is a string.
    pub fn messages(&self) -> impl Iterator<Item = (&str, &str)> {
        let messages = self.json.get("messages").and_then(Value::as_array);
        messages.into_iter().flatten().filter_map(|message| {
            let text = |name| message.get(name).and_then(Value::as_str);
            Some((text("role")?, text("content")?))
        })
    }

    /// Whether the last message has this text in it.
    pub fn asks(&self, text: &str) -> bool {
        self.messages().last().is_some_and(|(_, said)| said.contains(text))
    }

    #[cfg(test)]
    pub(super) fn for_role(role: &str) -> Self {
        Self {
            number: 1,
            method: "POST".into(),
            path: "/chat/completions".into(),
            headers: vec![("x-agent-role".into(), role.into())],
            body: Bytes::new(),
            json: Value::Null,
        }
    }
}

/// A request and what was decided about it before the first byte of the answer was written.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What was asked.
    pub request: Arc<ReceivedRequest>,
    /// Time from the start of the server to the arrival.
    pub at: Duration,
    /// The connection it came on, counted from one.
    pub connection: u64,
    /// Requests being answered at the arrival, this one included.
    pub in_flight: usize,
    /// HTTP status; `None` when the connection is reset instead.
    pub status: Option<u16>,
    /// How it is answered; `None` when it was refused before a reply was looked for.
    pub behaviour: Option<Behaviour>,
    /// Why it was refused.
    pub refusal: Option<String>,
    /// What it used, whether the answer says so or not.
    pub usage: Option<Usage>,
    /// What was counted, whatever the script has it say; without what was repeated.
    pub(super) counted: Option<Usage>,
    /// Tokens that an answer without end repeats.
    pub(super) piece: u64,
    /// How often it did so.
    pub(super) repeated: Arc<AtomicU64>,
}

impl Exchange {
    /// What it really used so far; nothing where it was refused.
    pub fn counted(&self) -> Usage {
        let counted = self.counted.unwrap_or_default();
        let repeated = self.piece.saturating_mul(self.repeated.load(Ordering::Relaxed));
        Usage { output: counted.output.saturating_add(repeated), ..counted }
    }

    /// As a line of the log, without the key. `raw` is the body as it arrived, `body` the same parsed.
    pub fn to_json(&self) -> Value {
        let request = &self.request;
        let headers: serde_json::Map<String, Value> = request
            .headers
            .iter()
            .map(|(name, value)| {
                let value = if name == "authorization" { "****" } else { value };
                (name.clone(), value.into())
            })
            .collect();
        json!({
            "number": request.number,
            "at_ms": u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX),
            "connection": self.connection,
            "in_flight": self.in_flight,
            "method": request.method,
            "path": request.path,
            "role": request.header("x-agent-role"),
            "run": request.header("x-agent-run"),
            "lane": request.header("x-agent-lane"),
            "status": self.status,
            "behaviour": self.behaviour,
            "refusal": self.refusal,
            "usage": self.usage,
            "headers": headers,
            "body": request.json,
            "raw": String::from_utf8_lossy(&request.body),
        })
    }
}
