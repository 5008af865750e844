//! Refuses invalid chat requests like the real server: the same checks in the same order, with the same messages. Pure.

mod strict;

use super::ReceivedRequest;
use super::cache::Canonical;
use super::options::{Options, ReasoningCheck};
use super::refusal::RefusedRequest;
use super::schema::{RequestBody, RequestMessage, StopWords, UserContent};

/// The largest `max_tokens`.
const MAX_OUTPUT_TOKENS: i64 = 393_216;

/// A valid request.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) body: RequestBody,
    pub(super) prompt: Canonical,
}

/// Checks the whole body, in order; `in_flight` includes this request.
pub(super) fn chat(
    request: &ReceivedRequest,
    options: &Options,
    beta: bool,
    in_flight: usize,
) -> Result<Accepted, RefusedRequest> {
    let body = RequestBody::parse(&request.body)?;
    model(&body, options)?;
    if options.empty_balance {
        return Err(RefusedRequest::new(402, "Insufficient Balance"));
    }
    ranges(&body)?;
    tools(&body, beta)?;
    response_format(&body)?;
    structure(&body.messages)?;
    thinking(&body, options.reasoning_check)?;
    let prompt = Canonical::new(&body, &request.json);
    context(&body, &prompt, options.context_tokens)?;
    if options.concurrency_429 > 0 && in_flight > options.concurrency_429 {
        return Err(concurrency(in_flight, options.concurrency_429));
    }
    Ok(Accepted { body, prompt })
}

/// The error for too many concurrent requests.
pub(super) fn concurrency(in_flight: usize, limit: usize) -> RefusedRequest {
    let message = format!(
        "Your current concurrency is {in_flight}, which exceeds your concurrency limit of {limit} based on your \
         remaining balance. Please top up your balance to restore your concurrency."
    );
    RefusedRequest::new(429, message)
}

fn model(body: &RequestBody, options: &Options) -> Result<(), RefusedRequest> {
    if options.models.contains(&body.model) {
        return Ok(());
    }
    let names = options.models.join(", ");
    Err(RefusedRequest::invalid(format!(
        "The supported API model names are {names}, but you passed {}.",
        body.model
    )))
}

fn ranges(body: &RequestBody) -> Result<(), RefusedRequest> {
    let invalid = |field: &str, range: &str| {
        Err(RefusedRequest::invalid(format!(
            "Invalid {field} value, the valid range of {field} is {range}"
        )))
    };
    if body.messages.is_empty() {
        return Err(RefusedRequest::invalid("Empty input messages"));
    }
    if body.max_tokens.is_some_and(|tokens| !(1..=MAX_OUTPUT_TOKENS).contains(&tokens)) {
        return invalid("max_tokens", "[1, 393216]");
    }
    if body.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        return invalid("temperature", "[0, 2]");
    }
    if body.top_p.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
        return invalid("top_p", "[0, 1]");
    }
    if body.top_logprobs.is_some_and(|count| !(0..=20).contains(&count)) {
        return invalid("top_logprobs", "[0, 20]");
    }
    if body.top_logprobs.is_some() && body.logprobs != Some(true) {
        return Err(RefusedRequest::invalid("top_logprobs requires logprobs to be true"));
    }
    if matches!(&body.stop, Some(StopWords::Many(stops)) if stops.len() > 16) {
        return Err(RefusedRequest::invalid(
            "Invalid stop value, at most 16 sequences are supported",
        ));
    }
    if body.stream_options.is_some() && !body.streams() {
        return Err(RefusedRequest::invalid(
            "stream_options should be set along with stream = true",
        ));
    }
    let user = body.user_id.as_deref().unwrap_or("user");
    if user.len() > 512 || !is_name(user) {
        return Err(RefusedRequest::invalid(
            "Invalid user_id value, it should match [a-zA-Z0-9\\-_]{1,512}",
        ));
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn tools(body: &RequestBody, beta: bool) -> Result<(), RefusedRequest> {
    let tools = body.tools.as_deref().unwrap_or_default();
    if tools.len() > 128 {
        return Err(RefusedRequest::invalid(
            "Invalid tools value, at most 128 functions are supported",
        ));
    }
    for tool in tools {
        let function = &tool.function;
        if function.name.len() > 64 || !is_name(&function.name) {
            return Err(RefusedRequest::invalid(format!(
                "Invalid function name {:?}, it should match [a-zA-Z0-9_-]{{1,64}}",
                function.name
            )));
        }
        if function.strict != Some(true) {
            continue;
        }
        if !beta {
            return Err(RefusedRequest::invalid(
                "strict mode is only supported with the beta base url",
            ));
        }
        if let Some(fault) = function.parameters.as_ref().and_then(strict::fault) {
            return Err(RefusedRequest::invalid(format!(
                "Invalid schema of {}: {fault}",
                function.name
            )));
        }
    }
    Ok(())
}

fn response_format(body: &RequestBody) -> Result<(), RefusedRequest> {
    let Some(format) = &body.response_format else { return Ok(()) };
    match format.kind.as_str() {
        "text" => Ok(()),
        "json_object" if mentions_json(&body.messages) => Ok(()),
        "json_object" => Err(RefusedRequest::invalid(
            "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
        )),
        _ => Err(RefusedRequest::invalid("This response_format type is unavailable now")),
    }
}

fn mentions_json(messages: &[RequestMessage]) -> bool {
    let says = |text: &str| text.to_ascii_lowercase().contains("json");
    messages.iter().any(|message| match message {
        RequestMessage::System { content }
        | RequestMessage::User { content: UserContent::Text(content) } => says(content),
        RequestMessage::User { content: UserContent::Parts(parts) } => {
            parts.iter().any(|part| part["text"].as_str().is_some_and(says))
        }
        RequestMessage::Assistant { .. }
        | RequestMessage::Tool { .. }
        | RequestMessage::LatestReminder { .. } => false,
    })
}

/// Checks that every call is answered by the tool messages directly after it, and that tool messages answer nothing else.
fn structure(messages: &[RequestMessage]) -> Result<(), RefusedRequest> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if let RequestMessage::Tool { tool_call_id, .. } = message {
            let Some(at) = open.iter().position(|id| id == tool_call_id) else {
                return Err(RefusedRequest::invalid(
                    "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
                ));
            };
            open.remove(at);
            continue;
        }
        if !open.is_empty() {
            return Err(unanswered());
        }
        if let RequestMessage::Assistant { content, tool_calls, .. } = message {
            let calls = tool_calls.as_deref().unwrap_or_default();
            if content.is_none() && calls.is_empty() {
                return Err(RefusedRequest::invalid(
                    "Invalid assistant message: content or tool_calls must be set",
                ));
            }
            open = calls.iter().map(|call| call.id.as_str()).collect();
        }
    }
    if open.is_empty() { Ok(()) } else { Err(unanswered()) }
}

fn unanswered() -> RefusedRequest {
    RefusedRequest::invalid(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         (insufficient tool messages following tool_calls message)",
    )
}

fn thinking(body: &RequestBody, check: ReasoningCheck) -> Result<(), RefusedRequest> {
    if !body.thinks() {
        return Ok(());
    }
    let free = |choice: &serde_json::Value| matches!(choice.as_str(), Some("auto" | "none"));
    if body.tool_choice.as_ref().is_some_and(|choice| !choice.is_null() && !free(choice)) {
        return Err(RefusedRequest::invalid("Thinking mode does not support this tool_choice"));
    }
    let lacking = body.messages.iter().any(|message| {
        let RequestMessage::Assistant { reasoning_content: None, tool_calls, .. } = message else {
            return false;
        };
        match check {
            ReasoningCheck::Off => false,
            ReasoningCheck::ToolCalls => tool_calls.as_ref().is_some_and(|calls| !calls.is_empty()),
            ReasoningCheck::All => true,
        }
    });
    if body.has_tools() && lacking {
        return Err(RefusedRequest::invalid(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ));
    }
    Ok(())
}

fn context(body: &RequestBody, prompt: &Canonical, limit: u64) -> Result<(), RefusedRequest> {
    let prompt = u64::try_from(prompt.tokens()).unwrap_or(u64::MAX);
    let output = body.max_tokens();
    let all = prompt.saturating_add(output);
    if all <= limit {
        return Ok(());
    }
    Err(RefusedRequest::invalid(format!(
        "This model's maximum context length is {limit} tokens. However, you requested {all} tokens ({prompt} in the \
         messages, {output} in the completion). Please reduce the length of the messages or completion."
    )))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;

    fn request(body: &Value) -> ReceivedRequest {
        ReceivedRequest {
            body: Bytes::from(body.to_string()),
            json: body.clone(),
            ..ReceivedRequest::for_role("editor")
        }
    }

    /// Returns the error for a valid request with these fields set, or an empty string.
    fn complaint(fields: &Value) -> String {
        let mut body =
            json!({"model": "deepseek-flash", "messages": [{"role": "user", "content": "hi"}]});
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        match chat(&request(&body), &Options::default(), false, 1) {
            Ok(_) => String::new(),
            Err(refusal) => {
                assert_eq!(refusal.status, 400);
                refusal.message
            }
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert_eq!(complaint(&json!({})), "");
        assert_eq!(
            complaint(&json!({"model": "deepseek-chat"})),
            "The supported API model names are deepseek-flash, deepseek-v4-pro, deepseek-v4-flash, but you passed \
             deepseek-chat."
        );
        assert_eq!(
            complaint(&json!({"max_tokens": 0})),
            "Invalid max_tokens value, the valid range of max_tokens is [1, 393216]"
        );
        for (fields, part) in [
            (json!({"temperature": 2.1}), "temperature"),
            (json!({"top_p": 1.1}), "top_p"),
            (json!({"top_logprobs": 3}), "logprobs"),
            (json!({"stop": vec!["x"; 17]}), "stop"),
            (json!({"user_id": "a b"}), "user_id"),
            (json!({"stream_options": {"include_usage": true}}), "stream_options"),
            (json!({"messages": []}), "Empty"),
            (json!({"tools": vec![json!({"function": {"name": "f"}}); 129]}), "128"),
            (json!({"tools": [{"function": {"name": "a b"}}]}), "function name"),
            (json!({"tools": [{"function": {"name": "f", "strict": true}}]}), "beta"),
            (json!({"response_format": {"type": "json_schema"}}), "unavailable now"),
            (json!({"response_format": {"type": "json_object"}}), "'json'"),
            (
                json!({"max_tokens": 393_216, "messages": [{"role":"user","content":"x".repeat(2_700_000)}]}),
                "maximum context length is 1048576 tokens. However, you requested 1068",
            ),
        ] {
            let said = complaint(&fields);
            assert!(said.contains(part), "{said:?} has no {part:?}");
        }
    }

    #[test]
    fn tool_calls_and_results_must_match() {
        let call = json!({"role": "assistant", "content": "", "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
        let user = json!({"role": "user", "content": "hi"});
        let tool = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "out"});
        let with = |messages: Value| complaint(&json!({"messages": messages}));
        assert_eq!(with(json!([user, call, tool("c1"), user])), "");
        assert!(with(json!([user, call, user])).contains("insufficient tool messages"));
        assert!(with(json!([user, call])).contains("insufficient tool messages"));
        assert!(with(json!([user, tool("c1")])).contains("must be a response"));
        assert!(with(json!([user, call, tool("c2")])).contains("must be a response"));
        let neither = json!({"role": "assistant", "content": null});
        assert!(with(json!([user, neither])).contains("content or tool_calls must be set"));
    }

    #[test]
    fn thinking_has_restrictions_of_its_own() {
        let tools = json!([{"type": "function", "function": {"name": "f"}}]);
        let call = json!({"role": "assistant", "content": "",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
        let messages = json!([{"role": "user", "content": "hi"}, call,
            {"role": "tool", "tool_call_id": "c1", "content": "out"}]);
        let said = complaint(&json!({"tools": tools, "messages": messages}));
        assert_eq!(
            said,
            "The `reasoning_content` in the thinking mode must be passed back to the API."
        );
        assert_eq!(complaint(&json!({"messages": messages})), "");
        let off = json!({"type": "disabled"});
        assert_eq!(complaint(&json!({"tools": tools, "messages": messages, "thinking": off})), "");
        let said = complaint(&json!({"tools": tools, "tool_choice": "required"}));
        assert_eq!(said, "Thinking mode does not support this tool_choice");
        assert_eq!(complaint(&json!({"tools": tools, "tool_choice": "auto"})), "");
    }

    #[test]
    fn balance_and_concurrency_are_checked_in_order() {
        let body = json!({"model": "deepseek-flash", "max_tokens": 0, "messages": [{"role": "user", "content": "hi"}]});
        let poor = Options { empty_balance: true, ..Options::default() };
        assert_eq!(chat(&request(&body), &poor, false, 1).unwrap_err().status, 402);
        let narrow = Options { concurrency_429: 1, ..Options::default() };
        assert_eq!(chat(&request(&body), &narrow, false, 2).unwrap_err().status, 400);
        let mut body = body;
        body["max_tokens"] = json!(1);
        assert_eq!(chat(&request(&body), &narrow, false, 2).unwrap_err().status, 429);
        assert!(chat(&request(&body), &narrow, false, 1).is_ok());
    }
}
