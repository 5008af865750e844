//! A sentence for people. It is kept and shown, and that is all: without equality, hash or a way to look inside, the compiler
//! finds whoever would compare it, key by it or read it back as a state.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text that no decision depends on.
#[derive(Clone, Default)]
pub struct Wording(String);

impl Wording {
    /// The words of something that can be shown.
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

/// As text where people read, and as nothing where only machines do: what events are compared in is a binary form
/// ([`crate::event::Event::decisions`]).
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

/// A number of tokens: `950`, `12.3k`, `4.5M`.
pub fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}.{}k", number / 1_000, number / 100 % 10),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}
