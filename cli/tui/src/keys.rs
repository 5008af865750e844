//! Parses the bytes from a terminal into keys. Replies of the terminal and unknown keys are dropped as a whole, so that none of
//! their bytes reaches the input. Pure.

use std::time::Duration;

use front::paint::Background;

/// How long to wait for the rest of a sequence after an escape.
const ESCAPE: Duration = Duration::from_millis(40);
/// How long a paste may pause before its end counts as lost.
const PASTE: Duration = Duration::from_secs(2);
/// Maximum length of a sequence; longer ones are not treated as sequences.
const MAX_SEQUENCE: usize = 64;

/// What a terminal sends before and after a paste.
pub(crate) const PASTE_START: &str = "\x1b[200~";
pub(crate) const PASTE_END: &str = "\x1b[201~";

/// Queries the colour of the terminal's background. Many terminals do not reply.
pub(crate) const ASK_BACKGROUND: &str = "\x1b]11;?\x07";
/// The start of the reply, after `ESC ]`.
const BACKGROUND_REPLY: &[u8] = b"11;";

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    /// Pasted text, unchanged.
    Paste(Vec<u8>),
    Enter,
    /// Ctrl-Enter, which not every terminal distinguishes from Enter.
    CtrlEnter,
    /// A new line within the input.
    Newline,
    Tab,
    BackTab,
    Esc,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    Home,
    End,
    PageUp,
    PageDown,
    /// The mouse wheel, if the terminal reports it.
    WheelUp,
    WheelDown,
    Ctrl(char),
    Alt(char),
    /// Not a key: the terminal's reply with its background.
    Background(Background),
}

/// A parser from bytes to keys, with the bytes that are not complete yet.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pending: Vec<u8>,
    /// The pasted bytes so far; `None` outside a paste.
    paste: Option<Vec<u8>>,
}

/// The result of parsing the first pending bytes.
enum Read {
    /// The number of bytes, and their key; `None` if they are to be dropped.
    Key(usize, Option<Key>),
    /// They may be the start of a longer sequence.
    Incomplete,
    /// A paste starts after this many bytes.
    Paste(usize),
}

impl Keys {
    /// Adds bytes and returns the keys that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            if let Some(paste) = &mut self.paste {
                let end = find(&self.pending, PASTE_END.as_bytes());
                // The end mark may be split between two reads.
                let sure = self.pending.len().saturating_sub(PASTE_END.len() - 1);
                paste.extend(self.pending.drain(..end.unwrap_or(sure)));
                if end.is_none() {
                    return keys;
                }
                self.pending.drain(..PASTE_END.len());
                keys.extend(self.paste.take().map(Key::Paste));
            }
            match read(&self.pending) {
                Read::Key(length, key) => {
                    self.pending.drain(..length);
                    keys.extend(key);
                }
                Read::Paste(length) => {
                    self.pending.drain(..length);
                    self.paste = Some(Vec::new());
                }
                Read::Incomplete => return keys,
            }
        }
    }

    /// Returns how long to wait for more bytes before [`Self::lapse`]; `None` if nothing is pending.
    pub(crate) fn patience(&self) -> Option<Duration> {
        match (&self.paste, self.pending.as_slice()) {
            (Some(_), _) => Some(PASTE),
            (None, []) => None,
            // A reply of the terminal, which may arrive in pieces over a slow line; none of them may reach the input.
            (None, [0x1b, b']', rest @ ..]) if rest.starts_with(BACKGROUND_REPLY) => Some(PASTE),
            (None, _) => Some(ESCAPE),
        }
    }

    /// Ends the wait for more bytes, and returns the keys that the pending bytes are on their own.
    pub(crate) fn lapse(&mut self) -> Vec<Key> {
        let rest = std::mem::take(&mut self.pending);
        if let Some(mut paste) = self.paste.take() {
            paste.extend(rest);
            return vec![Key::Paste(paste)];
        }
        match rest.as_slice() {
            [0x1b] => vec![Key::Esc],
            [0x1b, b'['] => vec![Key::Alt('[')],
            [0x1b, b'O'] => vec![Key::Alt('O')],
            // A truncated sequence or character: not something that was typed.
            _ => Vec::new(),
        }
    }
}

fn read(bytes: &[u8]) -> Read {
    let Some((&first, rest)) = bytes.split_first() else { return Read::Incomplete };
    let key = match first {
        0x1b => return escape(rest),
        b'\r' => Key::Enter,
        b'\n' => Key::Newline,
        b'\t' => Key::Tab,
        0x08 | 0x7f => Key::Backspace,
        0x01..=0x1a => Key::Ctrl(char::from(first - 1 + b'a')),
        0x00 | 0x1c..=0x1f => return Read::Key(1, None),
        0x20..=0x7e => Key::Char(char::from(first)),
        0x80.. => return character(bytes),
    };
    Read::Key(1, Some(key))
}

/// Parses what follows an escape.
fn escape(rest: &[u8]) -> Read {
    match rest.split_first() {
        None => Read::Incomplete,
        Some((b'[', rest)) => sequence(rest),
        Some((b'O', rest)) => match rest.first() {
            None => Read::Incomplete,
            Some(letter) => Read::Key(3, moved(*letter, 1)),
        },
        // An operating system command or another string up to its terminator.
        Some((b']' | b'P' | b'_' | b'^' | b'X', rest)) => string(rest),
        Some((b'\r' | b'\n', _)) => Read::Key(2, Some(Key::Newline)),
        Some((0x08 | 0x7f, _)) => Read::Key(2, Some(Key::Ctrl('w'))),
        Some((b'b', _)) => Read::Key(2, Some(Key::WordLeft)),
        Some((b'f', _)) => Read::Key(2, Some(Key::WordRight)),
        Some((letter @ 0x21..=0x7e, _)) => Read::Key(2, Some(Key::Alt(char::from(*letter)))),
        // Another key in the same read, perhaps a second Esc.
        Some(_) => Read::Key(1, Some(Key::Esc)),
    }
}

fn string(rest: &[u8]) -> Read {
    let bell = rest.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
    let end = bell.or_else(|| find(rest, b"\x1b\\").map(|at| at + 2));
    match end {
        Some(end) => Read::Key(2 + end, rest.get(..end).and_then(replied)),
        None if rest.len() > MAX_SEQUENCE => Read::Key(2, None),
        None => Read::Incomplete,
    }
}

/// Parses a terminal's reply to a query; `None` if it is to be dropped.
fn replied(string: &[u8]) -> Option<Key> {
    let string = std::str::from_utf8(string.strip_prefix(BACKGROUND_REPLY)?).ok()?;
    let colour = string.trim_end_matches(['\x07', '\x1b', '\\']);
    Background::of_reply(colour).map(Key::Background)
}

/// Parses a control sequence, after `ESC [`.
fn sequence(rest: &[u8]) -> Read {
    let Some(end) = rest.iter().position(|byte| matches!(byte, 0x40..=0x7e)) else {
        return if rest.len() > MAX_SEQUENCE { Read::Key(2, None) } else { Read::Incomplete };
    };
    let length = 2 + end + 1;
    let (parameters, last) = (rest.get(..end).unwrap_or_default(), rest.get(end).copied());
    let numbers: Vec<u32> = parameters
        .split(|byte| *byte == b';')
        .map(|digits| {
            // In `97:65`, only the first number counts.
            let digits = digits.split(|byte| *byte == b':').next().unwrap_or_default();
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(1)
        })
        .collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or(1);
    let key = match last {
        Some(b'~') => match number(0) {
            200 => return Read::Paste(length),
            1 | 7 => Some(Key::Home),
            4 | 8 => Some(Key::End),
            3 => Some(Key::Delete),
            5 => Some(Key::PageUp),
            6 => Some(Key::PageDown),
            27 => coded(number(2), number(1)),
            _ => None,
        },
        Some(b'u') if parameters.first().is_some_and(u8::is_ascii_digit) => {
            coded(number(0), number(1))
        }
        Some(b'Z') => Some(Key::BackTab),
        // The mouse: the wheel counts as buttons.
        Some(b'M' | b'm') if parameters.first() == Some(&b'<') => match parameters.get(1..4) {
            Some(b"64;") => Some(Key::WheelUp),
            Some(b"65;") => Some(Key::WheelDown),
            _ => None,
        },
        Some(letter) => moved(letter, number(1)),
        None => None,
    };
    Read::Key(length, key)
}

/// Returns the cursor key for the last letter of a sequence. `modifiers` is encoded as in [`coded`].
const fn moved(letter: u8, modifiers: u32) -> Option<Key> {
    let by_word = modifiers > 2;
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' if by_word => Key::WordRight,
        b'D' if by_word => Key::WordLeft,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        _ => return None,
    })
}

/// Returns the key with this code. `modifiers` is one more than the sum of shift 1, alt 2, ctrl 4.
fn coded(code: u32, modifiers: u32) -> Option<Key> {
    let held = modifiers.saturating_sub(1);
    Some(match (code, held) {
        (13, 0) => Key::Enter,
        (13, held) if held & 4 != 0 => Key::CtrlEnter,
        (13, _) => Key::Newline,
        (9, 0) => Key::Tab,
        (9, _) => Key::BackTab,
        (27, _) => Key::Esc,
        (127, 0 | 1) => Key::Backspace,
        (127, _) => Key::Ctrl('w'),
        (code, held) => match (char::from_u32(code)?, held) {
            (c, 0 | 1) if !c.is_control() => Key::Char(c),
            (c @ 'a'..='z', held) if held & 4 != 0 => Key::Ctrl(c),
            (c @ 'a'..='z', 2) => Key::Alt(c),
            _ => return None,
        },
    })
}

/// Parses a character of several bytes.
fn character(bytes: &[u8]) -> Read {
    const LONGEST_CHAR: usize = 4;
    let front = bytes.get(..LONGEST_CHAR.min(bytes.len())).unwrap_or_default();
    let (valid, error) = match std::str::from_utf8(front) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = front.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), Some(error))
        }
    };
    match (valid.chars().next(), error.map(|error| error.error_len())) {
        (Some(c), _) => Read::Key(c.len_utf8(), Some(c).filter(|c| !c.is_control()).map(Key::Char)),
        (None, Some(None)) => Read::Incomplete,
        (None, _) => Read::Key(1, None),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        let mut all = keys.feed(bytes);
        all.extend(keys.lapse());
        // Byte by byte, the result is the same.
        let mut slow = Keys::default();
        let mut slow_keys: Vec<Key> = bytes.iter().flat_map(|byte| slow.feed(&[*byte])).collect();
        slow_keys.extend(slow.lapse());
        assert_eq!(all, slow_keys, "{bytes:?}");
        all
    }

    #[test]
    fn every_encoding_of_a_new_line_is_recognised() {
        for bytes in [&b"\x1b[13;2u"[..], b"\x1b[27;2;13~", b"\x1b\r", b"\n"] {
            assert_eq!(keys(bytes), [Key::Newline], "{bytes:?}");
        }
        assert_eq!(keys(b"\r"), [Key::Enter]);
    }

    #[test]
    fn keys_are_parsed_as_terminals_send_them() {
        for (bytes, expected) in [
            (&b"a"[..], Key::Char('a')),
            ("你".as_bytes(), Key::Char('你')),
            (b"\x1b[A", Key::Up),
            (b"\x1b[<64;10;5M", Key::WheelUp),
            (b"\x1b[<65;10;5M", Key::WheelDown),
            (b"\x1bOA", Key::Up),
            (b"\x1b[1;5D", Key::WordLeft),
            (b"\x1bf", Key::WordRight),
            (b"\x1b[3~", Key::Delete),
            (b"\x1b[H", Key::Home),
            (b"\x1b[4~", Key::End),
            (b"\x1b[Z", Key::BackTab),
            (b"\x1b", Key::Esc),
            (b"\x03", Key::Ctrl('c')),
            (b"\x1b[99;5u", Key::Ctrl('c')),
            (b"\x7f", Key::Backspace),
        ] {
            assert_eq!(keys(bytes), [expected], "{bytes:?}");
        }
        assert_eq!(keys(b"\x1b\x1b"), [Key::Esc, Key::Esc]);
        assert_eq!(keys(b"\x1b\x15"), [Key::Esc, Key::Ctrl('u')]);
    }

    #[test]
    fn replies_of_the_terminal_are_not_input() {
        for reply in [
            &b"\x1b[12;40R"[..],
            b"\x1b[?64;1c",
            b"\x1b[?1u",
            b"\x1b]10;rgb:00/00/00\x07",
            b"\x1b]11;?\x07",
            b"\x1b[I",
        ] {
            assert_eq!(keys(reply), [], "{reply:?}");
        }
    }

    #[test]
    fn the_background_is_read_from_every_form_of_reply() {
        for (reply, background) in [
            (&b"\x1b]11;rgb:ffff/ffff/ffff\x07"[..], Background::Light),
            (b"\x1b]11;rgb:00/00/00\x1b\\", Background::Dark),
        ] {
            assert_eq!(keys(reply), [Key::Background(background)], "{reply:?}");
        }
        let mut slow = Keys::default();
        assert_eq!(slow.feed(b"\x1b]11;rgb:ff"), []);
        assert_eq!(slow.patience(), Some(PASTE));
    }

    #[test]
    fn a_paste_keeps_its_bytes_and_ends_even_without_its_end_mark() {
        let text = b"$1\tx\r\n\x1b y \x1b[A";
        let whole = [b"\x1b[200~", &text[..], PASTE_END.as_bytes(), b"z"].concat();
        assert_eq!(keys(&whole), [Key::Paste(text.to_vec()), Key::Char('z')]);
        let mut lost = Keys::default();
        assert_eq!(lost.feed(b"\x1b[200~abc"), []);
        assert_eq!(lost.patience(), Some(PASTE));
        assert_eq!(lost.lapse(), [Key::Paste(b"abc".to_vec())]);
        assert_eq!(lost.feed(b"d"), [Key::Char('d')]);
    }
}
