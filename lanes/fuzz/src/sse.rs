//! The reader of streams: however the bytes are split, the events are those that the standard reads from the whole; and what waits
//! for its end is bounded.
//!
//! The first byte says how the rest is split. Bytes above ASCII stand for themselves: what is no text has to be found.

use model::{SseError, SseEvent, SseParser};

/// More than any input.
const ROOM: usize = 1 << 20;

/// Reads `input` as a stream, in several pieces.
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

/// The events that came, and the error that ended it.
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
        // A line and the data before it, each up to the bound.
        assert!(parser.unfinished() <= 2 * max, "{} bytes wait", parser.unfinished());
    }
    (events, None)
}

/// What the standard reads, as simply as it is put there.
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
