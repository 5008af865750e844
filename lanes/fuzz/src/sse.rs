//! The stream parser: however the bytes are split, the events are those that the standard defines for the whole, and
//! the data buffered for an unfinished event is bounded.
//!
//! The first byte selects how the rest is split. Bytes above ASCII are kept, because invalid UTF-8 must be detected.

use model::{SseError, SseEvent, SseParser};

/// Larger than any input.
const ROOM: usize = 1 << 20;

/// Parses `input` as a stream, in several pieces.
pub fn check(input: &[u8]) {
    let (split, stream) = input.split_first().map_or((1, input), |(first, rest)| (*first, rest));
    let expected = events(stream);
    for size in [usize::from(split).max(1), 1, stream.len().max(1)] {
        assert_eq!(read(stream, size, ROOM), expected, "in pieces of {size}");
    }
    let small = usize::from(split % 32);
    if let Err(SseError::TooLarge { max }) =
        read(stream, usize::from(split).max(1), small).1.map_or(Ok(()), Err)
    {
        assert_eq!(max, small);
    }
}

/// The events received, and the error that ended the stream.
type Read = (Vec<SseEvent>, Option<SseError>);

fn read(stream: &[u8], size: usize, max: usize) -> Read {
    let mut parser = SseParser::new(max);
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        parser.feed(piece);
        loop {
            match parser.next_event() {
                Ok(Some(event)) => {
                    if let SseEvent::Data(data) = &event {
                        assert!(data.len() <= max, "an event of {} bytes", data.len());
                    }
                    events.push(event);
                }
                Ok(None) => break,
                Err(error) => return (events, Some(error)),
            }
        }
        // An unfinished line and the data before it may each reach the bound.
        assert!(parser.unfinished() <= 2 * max, "{} bytes are buffered", parser.unfinished());
    }
    (events, None)
}

/// Parses the stream the way the standard describes, in the simplest form.
fn events(stream: &[u8]) -> Read {
    let mut events = Vec::new();
    let mut data: Option<Vec<String>> = None;
    let mut rest = stream;
    let mut first = true;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let (line, behind) = rest.split_at(end);
        let ends = ["\r\n", "\n", "\r"].map(str::as_bytes);
        rest = ends.iter().find_map(|end| behind.strip_prefix(*end)).unwrap_or_default();
        let Ok(line) = std::str::from_utf8(line) else {
            return (events, Some(SseError::NotUtf8));
        };
        let line = if first { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        first = false;
        match line.split_once(':') {
            _ if line.is_empty() => {
                events.extend(data.take().map(|lines| SseEvent::Data(lines.join("\n"))));
            }
            Some(("", _)) => events.push(SseEvent::Comment),
            Some(("data", value)) => {
                let value = value.strip_prefix(' ').unwrap_or(value);
                data.get_or_insert_default().push(value.to_owned());
            }
            None if line == "data" => data.get_or_insert_default().push(String::new()),
            _ => {}
        }
    }
    (events, None)
}
