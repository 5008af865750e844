//! A request as received, and how it was answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::Behaviour;
use model::Usage;

/// A request as received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// The number of the request, from one, in order of arrival.
    pub number: u64,
    /// The HTTP method, such as `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// The body as JSON; null if it is not valid JSON.
    pub json: Value,
}

impl ReceivedRequest {
    /// Returns the first header of this name, which must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Iterates over the role and text of each message whose content is a string.
    pub fn messages(&self) -> impl Iterator<Item = (&str, &str)> {
        let messages = self.json.get("messages").and_then(Value::as_array);
        messages.into_iter().flatten().filter_map(|message| {
            let text = |name| message.get(name).and_then(Value::as_str);
            Some((text("role")?, text("content")?))
        })
    }

    /// Returns whether the last message contains this text.
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

/// A request and the decision about it, made before the first byte of the answer was written.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The request.
    pub request: Arc<ReceivedRequest>,
    /// Time from the start of the server to the arrival of the request.
    pub at: Duration,
    /// The number of the connection, from one.
    pub connection: u64,
    /// Number of requests in flight at the arrival, including this one.
    pub in_flight: usize,
    /// The HTTP status; `None` if the connection is reset instead.
    pub status: Option<u16>,
    /// The behaviour of the answer; `None` if the request was refused before a reply was chosen.
    pub behaviour: Option<Behaviour>,
    /// Why the request was refused.
    pub refusal: Option<String>,
    /// The tokens used, even if the answer does not report them.
    pub usage: Option<Usage>,
    /// The computed token counts, before overrides by the script and without repetitions.
    pub(super) counted: Option<Usage>,
    /// Number of tokens that an endless answer repeats.
    pub(super) piece: u64,
    /// Number of repetitions so far.
    pub(super) repeated: Arc<AtomicU64>,
}

impl Exchange {
    /// Returns the tokens really used so far; zero if the request was refused.
    pub fn counted(&self) -> Usage {
        let counted = self.counted.unwrap_or_default();
        let repeated = self.piece.saturating_mul(self.repeated.load(Ordering::Relaxed));
        Usage { output: counted.output.saturating_add(repeated), ..counted }
    }

    /// Formats the exchange for the log, without the key. `raw` is the body as received, `body` the parsed body.
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
