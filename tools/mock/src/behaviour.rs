//! The fake's ways to answer: everything the real server has been seen to do, and some network failures.

use serde::{Deserialize, Serialize};

macro_rules! behaviours {
    ($($(#[$attribute:meta])+ $variant:ident = $name:literal,)+) => {
        /// A way to answer, named in scripts by its `name`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
        pub enum Behaviour {
            $($(#[$attribute])+ #[serde(rename = $name)] $variant,)+
        }

        impl Behaviour {
            /// All behaviours.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The behaviours that repeat the text forever.
            pub const ENDLESS_TEXTS: [Self; 4] = [
                Self::EndlessText,
                Self::EndlessReasoning,
                Self::EndlessUnknownField,
                Self::EndlessLine,
            ];

            /// Returns its name in scripts and logs.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

behaviours! {
    /// The text, then `stop`. Reasoning comes first if the script has any and the request thinks.
    #[default]
    Text = "text",
    /// Like `text`, with default reasoning if the script has none.
    ReasoningText = "reasoning_text",
    /// Reasoning, no text, `stop`.
    ReasoningOnly = "reasoning_only",
    /// Tool calls, `tool_calls`.
    ToolCall = "tool_call",
    /// The text, tool calls, `tool_calls`.
    TextThenToolCall = "text_then_tool_call",
    /// Half of the text, `length`.
    Length = "length",
    /// Tool calls cut in their arguments, `length`.
    LengthMidArguments = "length_mid_arguments",
    /// Half of the text, `content_filter`.
    ContentFilter = "content_filter",
    /// Half of the text, `insufficient_system_resource`.
    InsufficientSystemResource = "insufficient_system_resource",
    /// Nothing, `stop`.
    EmptyStop = "empty_stop",
    /// Blanks instead of the text, as in JSON mode, `stop`.
    BlankJson = "blank_json",
    /// Tool calls whose arguments are not valid JSON.
    InvalidJsonArguments = "invalid_json_arguments",
    /// The text; the usage follows in an extra chunk without choices.
    UsageTrailingChunk = "usage_trailing_chunk",
    /// The text, without usage.
    UsageAbsent = "usage_absent",
    /// Comments for `keepalive_total_ms`, then the text.
    KeepaliveThenText = "keepalive_then_text",
    /// Comments forever.
    KeepaliveForever = "keepalive_forever",
    /// Empty lines, then the answer as one JSON object, even if a stream was requested.
    NonstreamEmptyLines = "nonstream_empty_lines",
    /// Half of the stream, then comments forever.
    KeepaliveMid = "keepalive_mid",
    /// Headers, then nothing.
    StallAfterHeaders = "stall_after_headers",
    /// Half of the stream, then nothing.
    StallMid = "stall_mid",
    /// The connection is reset before any answer.
    ResetBeforeHeaders = "reset_before_headers",
    /// The connection is reset after half of the stream.
    ResetMid = "reset_mid",
    /// The stream ends properly, but without `[DONE]`.
    EofNoDone = "eof_no_done",
    /// The blank line after `[DONE]` is missing.
    DoneWithoutBlankLine = "done_without_blank_line",
    /// An event in the middle is broken JSON.
    MalformedJsonEvent = "malformed_json_event",
    /// An event in the middle is an error object.
    ErrorEvent = "error_event",
    /// Chunks with `choices` null, missing and empty between the others.
    ChoicesNull = "choices_null",
    /// Unknown fields wherever possible.
    UnknownFields = "unknown_fields",
    /// A byte order mark, and CRLF at the end of lines.
    CrlfAndBom = "crlf_and_bom",
    /// Writes that end within characters.
    Utf8Split = "utf8_split",
    /// Every byte in a separate write.
    OneByteWrites = "one_byte_writes",
    /// Every byte in a separate write, with a wait before each: `chunk_delay_ms`, or 10.
    Stutter = "stutter",
    /// The text over and over, forever; `chunk_delay_ms`, or 1, between the events.
    EndlessText = "endless_text",
    /// The text as reasoning, over and over, forever.
    EndlessReasoning = "endless_reasoning",
    /// The text over and over, forever, in a field that the API does not have.
    EndlessUnknownField = "endless_unknown_field",
    /// The text over and over in one event that never ends.
    EndlessLine = "endless_line",
    /// Events without content, forever.
    EndlessEvents = "endless_events",
    /// The body compressed.
    Gzip = "gzip",
    /// The stream, with the content type of HTML.
    WrongContentType = "wrong_content_type",
    /// Status 200 with an HTML page.
    HtmlPage = "html_page",
    /// Status 200 with the text as the whole body, of the type `media_type`.
    Raw = "raw",
    /// Status 400.
    Http400 = "http_400",
    /// Status 401.
    Http401 = "http_401",
    /// Status 402.
    Http402 = "http_402",
    /// Status 413.
    Http413 = "http_413",
    /// Status 422.
    Http422 = "http_422",
    /// Status 429, with `Retry-After` if the script has `retry_after`.
    Http429 = "http_429",
    /// Status 500.
    Http500 = "http_500",
    /// Status 502 with an HTML page.
    Http502Html = "http_502_html",
    /// Status 503, with `Retry-After` if the script has `retry_after`.
    Http503 = "http_503",
    /// A wait before each event and the end: `chunk_delay_ms`, or 10.
    Slow = "slow",
    /// One of `of`, chosen at random with the server's `seed`.
    Random = "random",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_scripts_are_the_names_in_logs() {
        for behaviour in Behaviour::ALL {
            assert_eq!(serde_json::to_value(behaviour).unwrap(), behaviour.name());
        }
    }
}
