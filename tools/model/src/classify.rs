//! Maps a refusal to an error: status, headers and body in, one `ModelError` out. Pure. Never lets a key through.

use std::sync::LazyLock;
use std::time::Duration;

use config::access::Secret;
use regex::Regex;
use serde_json::Value;

use super::{ModelError, Partial};

/// Maximum length of a provider's message, in characters; the rest is cut.
const MAX_MESSAGE_CHARS: usize = 500;

/// A response other than a stream.
#[derive(Debug)]
pub(super) struct ProviderRefusal<'a> {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: &'a [u8],
}

/// Classifies a refusal; `model` is the one that was asked for, and `key` the key that was sent.
pub(super) fn classify_refusal(
    refusal: &ProviderRefusal<'_>,
    model: &str,
    key: Option<&Secret>,
) -> ModelError {
    let body = String::from_utf8_lossy(refusal.body);
    let message = match message(&body) {
        message if message.is_empty() => "no message".to_owned(),
        message => masked_text(&message, key),
    };
    let ProviderRefusal { status, retry_after, .. } = *refusal;
    match (status, topic(&message)) {
        // A page is the answer of a proxy or a firewall, which knows nothing of the key.
        (403, None) if is_page(&body) => {
            ModelError::InvalidRequest { status, message, parameter: None }
        }
        (401 | 403, _) => ModelError::Auth { message },
        (402, _) | (_, Some(Topic::Quota)) => ModelError::Quota { message },
        (429, _) => ModelError::RateLimited { message, retry_after },
        (400 | 413 | 422, Some(Topic::Context)) => ModelError::ContextTooLong { message },
        (408 | 500.., _) => ModelError::Server { status, message, retry_after },
        // A message that the model does not exist need not say which.
        _ => {
            let named = message.contains(model);
            let asked =
                if named { String::new() } else { format!(" (the model asked for is `{model}`)") };
            let message = message + &asked;
            ModelError::InvalidRequest { status, message, parameter: parameter(&body) }
        }
    }
}

/// Classifies an error that arrived as an event of a stream.
pub(super) fn in_stream(error: &Value, key: Option<&Secret>, partial: Partial) -> ModelError {
    let message = masked_text(&text_of(error).unwrap_or_else(|| error.to_string()), key);
    match topic(&message) {
        Some(Topic::Quota) => ModelError::Quota { message },
        Some(Topic::Context) => ModelError::ContextTooLong { message },
        None => ModelError::Interrupted { message, partial },
    }
}

/// Parses `Retry-After`: seconds, or an HTTP date. A date is compared with the `Date` of the same response, so both
/// come from one clock.
pub(super) fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let instant = |date: &str| Some(jiff::fmt::rfc2822::parse(date).ok()?.timestamp());
    let wait = instant(value)?.duration_since(instant(date?)?);
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

/// Returns `text` on one line, shortened, with `key` and anything that looks like a key masked.
pub(super) fn masked_text(text: &str, key: Option<&Secret>) -> String {
    static KEY_LIKE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)(\bbearer\s+)[\w.~+/=-]{8,}|\bsk-[\w-]{4,}|\*{2,}[\w-]*|[\w-]*\*{2,}[\w-]*",
        )
        .expect("the pattern is fixed")
    });
    let text = match key.map(Secret::expose) {
        Some(key) if key.len() >= 4 => text.replace(key, "****"),
        Some(_) | None => text.to_owned(),
    };
    let text = KEY_LIKE.replace_all(&text, "${1}****");
    let one_line: Vec<&str> = text.split_whitespace().collect();
    shortened(&one_line.join(" "))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A subject of an error message that determines its class, whatever the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    Quota,
    Context,
}

/// Finds the topic of a message. "Balance" alone is not a quota error: the concurrency limit depends on the balance and
/// is temporary.
fn topic(message: &str) -> Option<Topic> {
    static QUOTA: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)(insufficient|exhausted|exceeded your|out of|run out of)[\w ,]{0,20}\b(balance|quota|credits?)\b|\b(balance|quota|credits?)\b[\w ,]{0,20}(insufficient|exhausted|used up)|insufficient_quota")
            .expect("the pattern is fixed")
    });
    static CONTEXT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            // A refusal that speaks of the size of the context is about nothing else.
            r"(?i)\bcontext[ _-]?(length|size|window)|too long for this model",
        )
        .expect("the pattern is fixed")
    });
    if QUOTA.is_match(message) {
        Some(Topic::Quota)
    } else if CONTEXT.is_match(message) {
        Some(Topic::Context)
    } else {
        None
    }
}

/// Extracts the human-readable message from a JSON, HTML or plain text body.
fn message(body: &str) -> String {
    static TAGS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?is)<(style|script)\b.*?</(style|script)>|<[^>]*>")
            .expect("the pattern is fixed")
    });
    match serde_json::from_str::<Value>(body) {
        Ok(json) => text_of(&json).unwrap_or_else(|| body.to_owned()),
        Err(_) if is_page(body) => TAGS.replace_all(body, " ").trim().to_owned(),
        Err(_) => body.trim().to_owned(),
    }
}

/// Returns true if a body is HTML or XML.
fn is_page(body: &str) -> bool {
    body.trim_start().starts_with('<')
}

/// Returns what the error of a body says is wrong with the request.
fn parameter(body: &str) -> Option<String> {
    let json: Value = serde_json::from_str(body).ok()?;
    let named =
        ["/error/param", "/param"].into_iter().find_map(|path| json.pointer(path)?.as_str());
    named.map(str::to_owned)
}

/// Finds the message of a JSON error in any of the places where servers put it.
fn text_of(json: &Value) -> Option<String> {
    match json {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => ["error", "message", "detail", "msg"]
            .iter()
            .filter_map(|name| fields.get(*name))
            .find_map(text_of),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(status: u16, body: &str) -> &'static str {
        let refused = ProviderRefusal { status, retry_after: None, body: body.as_bytes() };
        classify_refusal(&refused, "deepseek-flash", None).class().name()
    }

    #[test]
    fn real_error_messages_are_classified() {
        let error =
            |message: &str| format!("{{\"error\":{{\"message\":{message:?},\"type\":\"x\"}}}}");
        for (status, message, expected) in [
            (401, "Authentication Fails, Your api key: ****fcc2 is invalid", "auth"),
            (403, "no", "auth"),
            (402, "Insufficient Balance", "quota"),
            (429, "You exceeded your current quota, please check your plan", "quota"),
            (400, "account credits exhausted", "quota"),
            (
                429,
                "Your current concurrency is 40, which exceeds your concurrency limit of 39 based on your remaining \
                 balance. Please top up your balance to restore your concurrency.",
                "rate_limited",
            ),
            (429, "Rate limit reached for TPM", "rate_limited"),
            (
                400,
                "This model's maximum context length is 1048576 tokens. However, you requested 1248055 tokens \
                 (1248039 in the messages, 16 in the completion).",
                "context_too_long",
            ),
            (
                400,
                "The supported API model names are deepseek-flash, deepseek-v4-pro",
                "invalid_request",
            ),
            (413, "too big", "invalid_request"),
            (422, "what", "invalid_request"),
            (404, "where", "invalid_request"),
            (308, "elsewhere", "invalid_request"),
            (408, "slow", "server"),
            (500, "oops", "server"),
            (503, "busy", "server"),
        ] {
            assert_eq!(class(status, &error(message)), expected, "{status} {message}");
        }
        assert_eq!(class(502, "<html>\n<title>Bad Gateway</title>"), "server");
        assert_eq!(class(503, ""), "server");
        assert_eq!(class(403, "<html><h1>Access denied by the firewall</h1>"), "invalid_request");
    }

    #[test]
    fn the_message_is_found_in_any_kind_of_body() {
        assert_eq!(message(r#"{"error":{"message":"a b","code":1}}"#), "a b");
        assert_eq!(message(r#"{"error":"a"}"#), "a");
        assert_eq!(message(r#"{"detail":"a"}"#), "a");
        assert_eq!(message(r#"{"x":1}"#), r#"{"x":1}"#);
        let html = "<html><style>b{}</style><h1>502</h1>\n<p>Bad  Gateway</p>";
        assert_eq!(masked_text(&message(html), None), "502 Bad Gateway");
        assert_eq!(message(" busy \n"), "busy");
    }

    #[test]
    fn no_part_of_a_key_survives() {
        let key = Secret::from("abcd1234efgh5678".to_owned());
        for text in [
            "Your api key: ****5678 is invalid",
            "key sk-0123456789abcdef is bad",
            "Authorization: Bearer abcd1234efgh5678",
            "authorization: bearer another-token-5678",
            "you sent abcd1234efgh5678!",
            "key abcd********5678",
        ] {
            let masked = masked_text(text, Some(&key));
            assert!(masked.contains("****"), "{masked}");
            assert!(!masked.contains("5678") && !masked.contains("cdef"), "{masked}");
        }
    }

    #[test]
    fn long_messages_are_cut_at_a_character_boundary() {
        let long = masked_text(&"é".repeat(600), None);
        assert_eq!(long.chars().count(), 501);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Some("Fri, 20 Nov 2026 10:00:00 GMT");
        assert_eq!(retry_after(" 3 ", None), Some(Duration::from_secs(3)));
        let seven = "Fri, 20 Nov 2026 10:00:07 GMT";
        assert_eq!(retry_after(seven, now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 09:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after(seven, None), None);
        assert_eq!(retry_after("soon", now), None);
    }
}
