//! How an answer is packed: a stream of events, or one JSON object. Told apart by how it begins, since the media type
//! may say anything. Pure.

use super::{SseError, SseEvent, SseParser};

/// How much of an answer is kept to show what it is, in bytes.
const SHOWN_BYTES: usize = 2048;

/// Reads the events of an answer from its bytes.
#[derive(Debug)]
pub(super) struct BodyReader {
    packing: Packing,
    max_event_bytes: usize,
    /// Its first bytes.
    begins: Vec<u8>,
}

#[derive(Debug)]
enum Packing {
    /// Nothing but blanks has arrived.
    Unknown,
    Stream(SseParser),
    Whole(Vec<u8>),
}

impl BodyReader {
    /// Creates a reader that refuses events of more than `max_event_bytes`.
    pub(super) const fn new(max_event_bytes: usize) -> Self {
        Self { packing: Packing::Unknown, max_event_bytes, begins: Vec::new() }
    }

    /// Adds bytes from the network, split anywhere.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        let room = SHOWN_BYTES.saturating_sub(self.begins.len()).min(bytes.len());
        self.begins.extend_from_slice(bytes.get(..room).unwrap_or_default());
        if matches!(self.packing, Packing::Unknown) {
            // A byte order mark counts as blank.
            let is_blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte);
            let Some(first) = bytes.iter().find(|byte| !is_blank(byte)) else { return Ok(()) };
            self.packing = match first {
                b'{' | b'<' => Packing::Whole(Vec::new()),
                _ => Packing::Stream(SseParser::new(self.max_event_bytes)),
            };
        }
        match &mut self.packing {
            Packing::Unknown => {}
            Packing::Stream(parser) => parser.feed(bytes),
            Packing::Whole(body) => {
                if body.len().saturating_add(bytes.len()) > self.max_event_bytes {
                    return Err(SseError::TooLarge { max: self.max_event_bytes });
                }
                body.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// Returns the next complete event of a stream, if there is one.
    pub(super) fn next_event(&mut self) -> Result<Option<SseEvent>, SseError> {
        match &mut self.packing {
            Packing::Stream(parser) => parser.next_event(),
            Packing::Unknown | Packing::Whole(_) => Ok(None),
        }
    }

    /// Returns what is left at the end: the whole answer, or an event without the blank line that ends it.
    pub(super) fn last_event(&mut self) -> Result<Option<String>, SseError> {
        match &mut self.packing {
            Packing::Unknown => Ok(None),
            Packing::Stream(parser) => parser.last_event(),
            Packing::Whole(body) => {
                let text = std::str::from_utf8(body).map_err(|_| SseError::NotUtf8)?;
                Ok(Some(text.trim_start_matches('\u{feff}').to_owned()))
            }
        }
    }

    /// Returns true if the answer is one object, which is complete if it can be parsed.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(self.packing, Packing::Whole(_))
    }

    /// Returns the size of what is not yet an event, in bytes.
    pub(super) fn unfinished(&self) -> usize {
        match &self.packing {
            Packing::Unknown => 0,
            Packing::Stream(parser) => parser.unfinished(),
            Packing::Whole(body) => body.len(),
        }
    }

    /// Returns true if it is a stream of events, or nothing at all.
    pub(super) fn is_stream(&self) -> bool {
        const FIELDS: [&str; 5] = ["", "data", "event", "id", "retry"];
        let begins = self.begins();
        let begins = begins.trim_start_matches('\u{feff}').trim_start();
        let field = begins.split_once(':').map(|(field, _)| field);
        begins.is_empty() || field.is_some_and(|it| FIELDS.contains(&it))
    }

    /// Returns how the answer begins.
    pub(super) fn begins(&self) -> String {
        String::from_utf8_lossy(&self.begins).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(body: &str, size: usize) -> Vec<String> {
        let mut reader = BodyReader::new(100);
        let mut events = Vec::new();
        for bytes in body.as_bytes().chunks(size) {
            reader.feed(bytes).unwrap();
            while let Some(event) = reader.next_event().unwrap() {
                if let SseEvent::Data(data) = event {
                    events.push(data);
                }
            }
        }
        events.extend(reader.last_event().unwrap());
        events
    }

    #[test]
    fn the_packing_is_told_by_the_first_byte_that_is_not_blank() {
        for size in [1, 7, 1000] {
            assert_eq!(events("\n\ndata: 1\n\n: x\n\ndata: 2", size), ["1", "2"]);
            assert_eq!(events("\u{feff}data: 1\r\n\r\n", size), ["1"]);
            assert_eq!(events(" \n{\"a\":\n1}\n", size).join("").trim(), "{\"a\":\n1}");
            assert_eq!(events("<html>\n", size).join("").trim(), "<html>");
            assert!(events(" \n ", size).is_empty());
        }
    }

    #[test]
    fn a_whole_answer_has_the_limit_of_an_event() {
        let mut reader = BodyReader::new(100);
        reader.feed(b"{").unwrap();
        assert!(reader.feed(&[b' '; 100]).is_err());
    }
}
