//! The body of a chat request as the real server's types parse it, with the real server's error messages.

use serde::Deserialize;
use serde_json::Value;

use super::refusal::RefusedRequest;

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RequestBody {
    pub(super) model: String,
    pub(super) messages: Vec<RequestMessage>,
    pub(super) thinking: Option<RequestedThinking>,
    pub(super) reasoning_effort: Option<RequestedEffort>,
    pub(super) max_tokens: Option<i64>,
    pub(super) response_format: Option<ResponseFormat>,
    pub(super) stop: Option<StopWords>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) tools: Option<Vec<OfferedTool>>,
    pub(super) tool_choice: Option<Value>,
    pub(super) logprobs: Option<bool>,
    pub(super) top_logprobs: Option<i64>,
    pub(super) user_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum RequestMessage {
    System {
        content: String,
    },
    User {
        content: UserContent,
    },
    Assistant {
        content: Option<String>,
        reasoning_content: Option<String>,
        tool_calls: Option<Vec<AnsweredToolCall>>,
    },
    Tool {
        content: String,
        tool_call_id: String,
    },
    LatestReminder {
        content: String,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum UserContent {
    Text(String),
    Parts(Vec<Value>),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct AnsweredToolCall {
    pub(super) id: String,
    pub(super) function: CallFunction,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct CallFunction {
    pub(super) name: String,
    pub(super) arguments: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RequestedThinking {
    #[serde(rename = "type")]
    pub(super) kind: ThinkingKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ThinkingKind {
    Enabled,
    Disabled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RequestedEffort {
    None,
    #[serde(alias = "minimal")]
    Low,
    #[serde(alias = "medium", alias = "xhigh")]
    High,
    #[serde(alias = "ultra")]
    Max,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ResponseFormat {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum StopWords {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct StreamOptions {
    #[serde(default)]
    pub(super) include_usage: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct OfferedTool {
    pub(super) function: ToolFunction,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ToolFunction {
    pub(super) name: String,
    pub(super) parameters: Option<Value>,
    pub(super) strict: Option<bool>,
}

impl RequestBody {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, RefusedRequest> {
        serde_json::from_slice(bytes).map_err(|error| {
            if error.is_data() {
                let path = path_of_the_fault(bytes);
                let target = "Failed to deserialize the JSON body into the target type";
                RefusedRequest::invalid(format!("{target}: {path}{error}"))
            } else {
                RefusedRequest::invalid(format!(
                    "Failed to parse the request body as JSON: {error}"
                ))
            }
        })
    }

    pub(super) fn thinks(&self) -> bool {
        self.thinking.as_ref().is_none_or(|thinking| thinking.kind == ThinkingKind::Enabled)
            && self.reasoning_effort != Some(RequestedEffort::None)
    }

    pub(super) fn effort(&self) -> RequestedEffort {
        if self.thinks() {
            self.reasoning_effort.unwrap_or(RequestedEffort::High)
        } else {
            RequestedEffort::None
        }
    }

    pub(super) fn has_tools(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| !tools.is_empty())
    }

    /// Returns the limit that applies; without an explicit one, it depends on the mode.
    pub(super) fn max_tokens(&self) -> u64 {
        let unset = match self.effort() {
            RequestedEffort::None => 8 * 1024,
            RequestedEffort::Low | RequestedEffort::High => 64 * 1024,
            RequestedEffort::Max => 128 * 1024,
        };
        self.max_tokens.map_or(unset, |tokens| u64::try_from(tokens).unwrap_or(0))
    }

    pub(super) fn streams(&self) -> bool {
        self.stream == Some(true)
    }

    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }
}

/// Returns the path of the message that cannot be parsed, as the real server reports it; empty if the error is elsewhere.
fn path_of_the_fault(bytes: &[u8]) -> String {
    let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let fault = messages.enumerate().find_map(|(at, message)| {
        let error = RequestMessage::deserialize(message).err()?;
        Some((at, error.to_string().starts_with("unknown variant")))
    });
    match fault {
        Some((at, true)) => format!("messages[{at}].role: "),
        Some((at, false)) => format!("messages[{at}]: "),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(body: &str) -> String {
        RequestBody::parse(body.as_bytes()).unwrap_err().message
    }

    #[test]
    fn error_messages_match_the_real_server() {
        let target = "Failed to deserialize the JSON body into the target type: ";
        assert_eq!(
            complaint(r#"{"model":"m","messages":[{"role":"developer","content":"x"}]}"#),
            format!(
                "{target}messages[0].role: unknown variant `developer`, expected one of `system`, `user`, \
                 `assistant`, `tool`, `latest_reminder` at line 1 column 44"
            )
        );
        let array = complaint(
            r#"{"model":"m","messages":[{"role":"user","content":"x"},{"role":"system","content":[]}]}"#,
        );
        assert!(
            array.starts_with(&format!(
                "{target}messages[1]: invalid type: sequence, expected a string at line 1 column"
            )),
            "{array}"
        );
        let missing = complaint(r#"{"model":"m","messages":[{"role":"system"}]}"#);
        assert!(
            missing.starts_with(&format!("{target}messages[0]: missing field `content` at line 1")),
            "{missing}"
        );
        assert!(
            complaint(r#"{"messages":[]}"#).starts_with(&format!("{target}missing field `model`"))
        );
        assert!(complaint("{").starts_with("Failed to parse the request body as JSON: EOF"));
    }

    #[test]
    fn thinking_is_on_unless_it_is_turned_off() {
        let effort = |fields: &str| {
            let body = format!(r#"{{"model":"m","messages":[]{fields}}}"#);
            let body = RequestBody::parse(body.as_bytes()).unwrap();
            (body.effort(), body.max_tokens())
        };
        assert_eq!(effort(""), (RequestedEffort::High, 65_536));
        assert_eq!(effort(r#","reasoning_effort":"none""#), (RequestedEffort::None, 8192));
        assert_eq!(
            effort(r#","reasoning_effort":"ultra","max_tokens":null"#),
            (RequestedEffort::Max, 131_072)
        );
        let off = r#","thinking":{"type":"disabled"},"max_tokens":7"#;
        assert_eq!(effort(off), (RequestedEffort::None, 7));
    }
}
