//! A response as a plan of bytes and pauses, which the server carries out.

use std::time::Duration;

use bytes::Bytes;

use super::refusal::RefusedRequest;

/// What is sent, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) framing: Framing,
    pub(super) writes: AnswerPieces,
    pub(super) steps: Vec<ResponseStep>,
    pub(super) end: ConnectionEnd,
}

/// How the length of a body is indicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// `Transfer-Encoding: chunked`, one chunk for each piece sent.
    Chunked,
    /// `Content-Length`.
    Length,
}

/// How bytes are written to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerPieces {
    /// As many at a time as there are.
    Whole,
    /// One at a time, with a wait before each.
    Bytewise(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResponseStep {
    Send(Bytes),
    /// Writes out everything sent so far.
    Flush,
    Pause(Duration),
    Comments {
        every: Duration,
        total: Duration,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The body ends properly; the connection stays open.
    Complete,
    /// The connection is reset.
    Reset,
    /// The connection is reset, and nothing was sent before.
    ResetUnanswered,
    /// Nothing more is sent.
    Hang,
    /// The same piece is sent over and over until the client disconnects.
    Repeat { piece: Bytes, every: Duration },
}

impl Response {
    /// Creates a response with a body of known length.
    pub(super) fn plain(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            framing: Framing::Length,
            writes: AnswerPieces::Whole,
            steps: vec![ResponseStep::Send(body.into())],
            end: ConnectionEnd::Complete,
        }
    }

    pub(super) fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self::plain(status, "application/json", body)
    }

    pub(super) fn refused(refusal: &RefusedRequest) -> Self {
        Self::json(refusal.status, refusal.body())
    }

    /// Creates a stream of events.
    pub(super) fn stream(steps: Vec<ResponseStep>) -> Self {
        Self {
            status: 200,
            headers: vec![
                ("content-type", "text/event-stream; charset=utf-8".to_owned()),
                ("cache-control", "no-cache".to_owned()),
            ],
            framing: Framing::Chunked,
            writes: AnswerPieces::Whole,
            steps,
            end: ConnectionEnd::Complete,
        }
    }

    pub(super) const fn reset() -> Self {
        Self {
            status: 0,
            headers: Vec::new(),
            framing: Framing::Length,
            writes: AnswerPieces::Whole,
            steps: Vec::new(),
            end: ConnectionEnd::ResetUnanswered,
        }
    }

    /// Returns the status that the client sees; `None` if it sees none.
    pub(super) fn status(&self) -> Option<u16> {
        (self.end != ConnectionEnd::ResetUnanswered).then_some(self.status)
    }

    /// Returns the status line and headers.
    pub(super) fn head(&self) -> Vec<u8> {
        let length = || self.steps.iter().map(ResponseStep::length).sum::<usize>();
        let framing = match self.framing {
            Framing::Chunked => "transfer-encoding: chunked".to_owned(),
            Framing::Length => format!("content-length: {}", length()),
        };
        let fields = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let fields: String = fields.collect();
        let (status, reason) = (self.status, reason(self.status));
        format!("HTTP/1.1 {status} {reason}\r\n{fields}{framing}\r\n\r\n").into_bytes()
    }
}

impl ResponseStep {
    fn length(&self) -> usize {
        match self {
            Self::Send(bytes) => bytes.len(),
            Self::Flush | Self::Pause(_) | Self::Comments { .. } => 0,
        }
    }
}

/// Returns the reason phrase, which clients at most display.
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Payload Too Large",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
