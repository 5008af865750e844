//! A sentence for people, which is stored and shown and nothing else. It has no equality, hash or accessor, so code
//! that compares it, uses it as a key or parses it does not compile.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text that no decision depends on.
#[derive(Clone, Default)]
pub struct Wording(String);

impl Wording {
    /// Formats a displayable value.
    pub fn of(shown: &(impl fmt::Display + ?Sized)) -> Self {
        Self(shown.to_string())
    }
}

impl From<String> for Wording {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for Wording {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl fmt::Display for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Serializes as text in human-readable formats, and as unit in the binary format in which events are compared
/// (`Event::decisions` in `facts`).
impl Serialize for Wording {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.serialize_str(&self.0) } else { to.serialize_unit() }
    }
}

impl<'de> Deserialize<'de> for Wording {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self)
    }
}

/// Formats a number in short form: `950`, `12.3k`, `4.5M`.
pub fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}.{}k", number / 1_000, number / 100 % 10),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}
