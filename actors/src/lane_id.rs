//! The number of a lane. A value only.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a lane: two digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LaneId(u8);

impl LaneId {
    /// Where the lanes come together: no lane of a plan has this number.
    pub const TOGETHER: Self = Self(0);

    /// The lane of that number, 1 to 99.
    pub const fn new(number: u8) -> Option<Self> {
        if number >= 1 && number <= 99 { Some(Self(number)) } else { None }
    }

    /// Reads two digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        if digits { text.parse().ok().map(Self) } else { None }
    }
}

impl fmt::Display for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}", self.0)
    }
}

impl From<LaneId> for String {
    fn from(id: LaneId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for LaneId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a lane has two digits")
    }
}
