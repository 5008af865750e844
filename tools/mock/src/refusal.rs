//! An error response, in the format of the real server.

use serde_json::json;

/// Why a request is refused, with the exact message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedRequest {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) message: String,
    /// What of the request is wrong.
    pub(super) parameter: Option<&'static str>,
}

impl RefusedRequest {
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        let kind = match status {
            401 => "authentication_error",
            402 => "unknown_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        Self { status, kind, message: message.into(), parameter: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub(super) fn body(&self) -> String {
        let code = if self.status < 429 { "invalid_request_error" } else { self.kind };
        let Self { message, kind, parameter, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": parameter, "code": code}})
            .to_string()
    }
}
