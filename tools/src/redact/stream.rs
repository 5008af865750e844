//! Masks secrets in output that arrives in pieces. Pure.

use super::Redactor;

/// Most bytes that are held back while the end of a line or of a key block is awaited.
const MOST_HELD: usize = 256 * 1024;

/// Output that is masked line by line. A key block of several lines is held back until it ends.
#[derive(Debug)]
pub struct MaskedStream {
    redactor: Redactor,
    held: Vec<u8>,
}

impl MaskedStream {
    /// Creates a stream that masks what `redactor` finds.
    pub const fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// Takes in the next bytes, and returns the masked lines that are complete.
    pub fn take_in(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        if self.held.len() > MOST_HELD {
            return self.end();
        }
        let Some(end) = memchr::memrchr(b'\n', &self.held) else { return Vec::new() };
        if !bytes.contains(&b'\n') || is_in_a_block(&self.held) {
            return Vec::new();
        }
        let rest = self.held.split_off(end + 1);
        let lines = std::mem::replace(&mut self.held, rest);
        self.masked(&lines)
    }

    /// Returns what was held back, masked.
    pub fn end(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.masked(&held)
    }

    fn masked(&self, bytes: &[u8]) -> Vec<u8> {
        self.redactor.redact(&String::from_utf8_lossy(bytes)).into_owned().into_bytes()
    }
}

/// Returns true if `text` ends within a block of several lines, or may do so.
fn is_in_a_block(text: &[u8]) -> bool {
    let last = |what: &str| memchr::memmem::rfind(text, what.as_bytes());
    last("-----BEGIN ") > last("-----END ") || last("Private-Lines: ").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes `text` in pieces of `size` bytes. Returns the masked output.
    fn passed(text: &str, size: usize) -> String {
        let mut stream = MaskedStream::new(Redactor::new("", ["Tr0ub4dor-and-3".to_owned()]));
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            out.extend(stream.take_in(piece));
        }
        out.extend(stream.end());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn secrets_are_masked_wherever_the_output_is_split() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
        let name = "PRIVATE KEY-----\n";
        let block = format!("-----BEGIN {name}{}-----END {name}", line.repeat(20));
        let text = format!("a Tr0ub4dor-and-3 é\n\n{block}done Tr0ub4dor-and-3");
        let whole = Redactor::new("", ["Tr0ub4dor-and-3".to_owned()]).redact(&text).into_owned();
        assert!(!whole.contains("Tr0ub4dor") && !whole.contains("MIIEv"), "{whole}");
        for size in [1, 2, 7, 64, 100_000] {
            assert_eq!(passed(&text, size), whole, "{size}");
        }
    }

    #[test]
    fn complete_lines_are_not_held_back() {
        let mut stream = MaskedStream::new(Redactor::default());
        assert_eq!(stream.take_in(b"one\ntw"), b"one\n");
        assert_eq!(stream.take_in(b"o"), b"");
        assert_eq!(stream.take_in(b"\n"), b"two\n");
        assert_eq!(stream.take_in(&b"x".repeat(MOST_HELD + 1)).len(), MOST_HELD + 1);
        assert_eq!(stream.end(), b"");
    }
}
