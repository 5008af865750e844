//! Server-sent events: turns bytes, split anywhere, into events. Does not interpret the events, and does no I/O.
//!
//! Follows the parsing rules of the HTML standard, with two differences: comments are reported, since they prove that
//! the server is alive, and text that is not UTF-8 is an error instead of being replaced.

use thiserror::Error;

/// An event or a comment from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseEvent {
    /// The `data` of one event, its lines joined by `\n`.
    Data(String),
    /// A comment, such as `: keep-alive`.
    Comment,
}

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SseError {
    /// An event or a line exceeds the limit.
    #[error("an event has more than {max} bytes")]
    TooLarge {
        /// The limit in bytes.
        max: usize,
    },
    /// Bytes that are not text.
    #[error("an event is not UTF-8")]
    NotUtf8,
}

/// An incremental parser: feed it, then take events until there are none.
///
#[derive(Debug)]
pub struct SseParser {
    /// The bytes fed so far; those not yet parsed start at `read`.
    buffer: Vec<u8>,
    read: usize,
    /// Number of bytes after `read` that are known to contain no line end.
    searched: usize,
    /// `data` of the event being read; `None` before its first `data` line.
    data: Option<String>,
    start: bool,
    after_cr: bool,
    max_event_bytes: usize,
}

impl SseParser {
    /// Creates a parser that refuses events of more than `max_event_bytes`.
    pub const fn new(max_event_bytes: usize) -> Self {
        Self {
            buffer: Vec::new(),
            read: 0,
            searched: 0,
            data: None,
            start: true,
            after_cr: false,
            max_event_bytes,
        }
    }

    /// Adds bytes from the network, split anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.read);
        self.read = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the size of the incomplete event, in bytes.
    pub fn unfinished(&self) -> usize {
        self.buffer.len().saturating_sub(self.read) + self.data.as_ref().map_or(0, String::len)
    }

    /// Returns the next complete event, if there is one.
    pub fn next_event(&mut self) -> Result<Option<SseEvent>, SseError> {
        while let Some(line) = self.next_line()? {
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Ok(Some(SseEvent::Data(data)));
                }
            } else if line.starts_with(':') {
                return Ok(Some(SseEvent::Comment));
            } else {
                self.field(&line)?;
            }
        }
        Ok(None)
    }

    /// Returns the event that was begun when the stream ended, without the blank line that ends an event.
    pub fn last_event(&mut self) -> Result<Option<String>, SseError> {
        self.feed(b"\n\n");
        let event = self.next_event()?;
        Ok(event.and_then(|event| match event {
            SseEvent::Data(data) => Some(data),
            SseEvent::Comment => None,
        }))
    }

    /// Handles one field. Only `data` matters here; `event`, `id` and `retry` are ignored.
    fn field(&mut self, line: &str) -> Result<(), SseError> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name != "data" {
            return Ok(());
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
        self.bounded(self.data.as_ref().map_or(0, String::len))
    }

    /// Returns the next complete line without its end: LF, CR or CRLF. A CR ends the line immediately; an LF after it
    /// is skipped later.
    fn next_line(&mut self) -> Result<Option<String>, SseError> {
        let mut rest = self.buffer.get(self.read..).unwrap_or_default();
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            if let Some(beyond) = rest.strip_prefix(b"\n") {
                self.read += 1;
                rest = beyond;
            }
        }
        let unsearched = rest.get(self.searched..).unwrap_or_default();
        let Some(end) = unsearched.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = rest.len();
            self.bounded(rest.len())?;
            return Ok(None);
        };
        let length = self.searched + end;
        self.bounded(length)?;
        let (line, ending) = rest.split_at(length);
        self.after_cr = ending.first() == Some(&b'\r');
        let line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        let line = if self.start { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        let line = line.to_owned();
        self.start = false;
        self.searched = 0;
        self.read += length + 1;
        Ok(Some(line))
    }

    const fn bounded(&self, bytes: usize) -> Result<(), SseError> {
        if bytes > self.max_event_bytes {
            return Err(SseError::TooLarge { max: self.max_event_bytes });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Result<Vec<SseEvent>, SseError> {
        let mut parser = SseParser::new(64);
        let mut events = Vec::new();
        for piece in pieces {
            parser.feed(piece);
            while let Some(event) = parser.next_event()? {
                events.push(event);
            }
        }
        Ok(events)
    }

    fn data(text: &str) -> SseEvent {
        SseEvent::Data(text.into())
    }

    #[test]
    fn events_end_with_a_blank_line_of_any_kind() {
        for text in
            ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r"]
        {
            assert_eq!(parse(&[text.as_bytes()]), Ok(vec![data("a"), data("b")]), "{text:?}");
        }
    }

    #[test]
    fn an_event_without_a_final_blank_line_is_dropped() {
        assert_eq!(parse(&[b"data: a\n\ndata: [DONE]\n"]), Ok(vec![data("a")]));
        assert_eq!(parse(&[b"data: [DONE]"]), Ok(vec![]));
    }

    #[test]
    fn lines_of_data_are_joined_and_one_space_is_dropped() {
        assert_eq!(parse(&[b"data:a\ndata:  b\ndata\ndata:\n\n"]), Ok(vec![data("a\n b\n\n")]));
    }

    #[test]
    fn crlf_is_one_line_end_even_when_split() {
        let joined = Ok(vec![data("a\nb")]);
        assert_eq!(parse(&[b"data: a\r\ndata: b\r\n\r\n"]), joined);
        assert_eq!(parse(&[b"data: a\r", b"\ndata: b\r", b"", b"\n\r", b"\n"]), joined);
    }

    #[test]
    fn comments_are_reported_and_other_fields_are_not() {
        assert_eq!(
            parse(&[b": keep-alive\n\nevent: x\nid: 1\nretry: 5\nwhat\n\n:\ndata: a\n\n"]),
            Ok(vec![SseEvent::Comment, SseEvent::Comment, data("a")])
        );
    }

    #[test]
    fn a_byte_order_mark_is_dropped_at_the_start_only() {
        assert_eq!(
            parse(&["\u{feff}data: a\n\n\u{feff}data: b\n\ndata: \u{feff}c\n\n".as_bytes()]),
            Ok(vec![data("a"), data("\u{feff}c")])
        );
    }

    #[test]
    fn a_character_may_be_split_but_must_be_complete() {
        assert_eq!(parse(&[b"data: \xe4\xbd", b"\xa0\n\n"]), Ok(vec![data("你")]));
        assert_eq!(parse(&[b"data: \xe4\xbd\n\n"]), Err(SseError::NotUtf8));
    }

    #[test]
    fn an_endless_line_or_event_is_refused() {
        let line = [b'x'; 65];
        assert_eq!(parse(&[&line]), Err(SseError::TooLarge { max: 64 }));
        let lines = b"data: 0123456789\n".repeat(7);
        assert_eq!(parse(&[&lines]), Err(SseError::TooLarge { max: 64 }));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            lines in prop::collection::vec(
                prop_oneof![
                    Just("\u{feff}"), Just("data: "), Just("data:"), Just("data: 你好🎉"), Just("\n"), Just("\r\n"),
                    Just("\r"), Just("\n\n"), Just(": hi"), Just("event: x"), Just("\u{a0}"),
                ],
                0..24,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text = lines.concat();
            let whole = parse(&[text.as_bytes()]);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&text.as_bytes()[from..cut]);
                from = cut;
            }
            pieces.push(&text.as_bytes()[from..]);
            prop_assert_eq!(parse(&pieces), whole.clone());
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            prop_assert_eq!(parse(&bytes), whole);
        }
    }
}
