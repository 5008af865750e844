//! What a process prints, kept up to a cap.

use tools::count::counted;
use tools::redact::{Redacted, Redactor};

/// The output of a command in the order written: all of it, or its head and tail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    keep: usize,
    total: u64,
    masked: usize,
}

impl Captured {
    pub(super) fn new(keep: usize) -> Self {
        Self { keep, ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.keep.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        // Trimmed in bulk, so at most twice the cap is held.
        if self.tail.len() > self.keep * 2 {
            self.tail.drain(..self.tail.len() - self.keep);
        }
    }

    /// Returns the size of the whole output, in bytes.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Masks the secrets in it.
    pub fn mask(&mut self, redactor: &Redactor) {
        let mut masked = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let Redacted { text, count } = redactor.redacted(&text);
            self.masked += count;
            text.into_owned().into_bytes()
        };
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        (self.head, self.tail) = if left_out == 0 {
            // Joined first, to find a secret that is split between head and tail.
            (masked(&[self.head.as_slice(), &self.tail].concat()), Vec::new())
        } else {
            (masked(&self.head), masked(&self.tail))
        };
        self.total = left_out + (self.head.len() + self.tail.len()) as u64;
    }

    /// Returns the number of masked secrets.
    pub const fn masked(&self) -> usize {
        self.masked
    }

    /// Returns the text, with a line in place of the omitted middle. Invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        self.excerpt(self.keep)
    }

    /// Returns the text before and after the omitted middle; the second is empty if nothing is omitted.
    pub fn parts(&self) -> (String, String) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if self.total == (self.head.len() + self.tail.len()) as u64 {
            return (text(&[self.head.as_slice(), &self.tail].concat()), String::new());
        }
        (text(&self.head), text(&self.tail))
    }

    /// Like [`Self::text`], with at most `keep` bytes of the start and of the end.
    pub fn excerpt(&self, keep: usize) -> String {
        let (head, tail) = (self.head.as_slice(), self.tail.as_slice());
        let left_out_between = self.total - (head.len() + tail.len()) as u64;
        let whole = [head, tail].concat();
        if left_out_between == 0 && whole.len() <= keep * 2 {
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let tail = if tail.is_empty() { head } else { tail };
        let head = head.get(..keep).unwrap_or(head);
        let tail = tail.get(tail.len().saturating_sub(keep)..).unwrap_or_default();
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n… {} left out …\n{tail}", counted(left_out, "byte"))
    }
}
