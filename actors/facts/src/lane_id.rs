//! The name of a lane: two digits, `01` to `99`. Pure.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The number of a lane. Lanes are ordered by it, and merged in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LaneId(u8);

/// The error of a text that is not the name of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a lane is named by two digits, 01 to 99")]
pub struct NoLaneId;

impl LaneId {
    /// The scope in which lanes that do not fit together are fixed. It is recorded as a lane and never part of a plan.
    pub const TOGETHER: Self = Self(0);

    /// Returns the lane with this number, if it is in `1..=99`.
    pub const fn new(number: u8) -> Option<Self> {
        if 1 <= number && number <= 99 { Some(Self(number)) } else { None }
    }

    /// Returns the number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}", self.0)
    }
}

impl FromStr for LaneId {
    type Err = NoLaneId;

    fn from_str(text: &str) -> Result<Self, NoLaneId> {
        // `parse` alone would accept signs and other lengths.
        let two_digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| two_digits);
        number.and_then(Self::new).ok_or(NoLaneId)
    }
}

impl From<LaneId> for String {
    fn from(id: LaneId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for LaneId {
    type Error = NoLaneId;

    fn try_from(text: String) -> Result<Self, NoLaneId> {
        if text == Self::TOGETHER.to_string() { Ok(Self::TOGETHER) } else { text.parse() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_name_a_lane() {
        for number in 1..=99 {
            let id = LaneId::new(number).unwrap();
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.to_string().len(), 2);
        }
        assert_eq!(LaneId::new(0), None);
        assert_eq!(LaneId::new(100), None);
    }

    #[test]
    fn no_other_text_names_a_lane() {
        for text in ["", "0", "1", "00", "+1", "-1", " 1", "1 ", "001", "100", "a1", "٠١", "一"]
        {
            assert_eq!(text.parse::<LaneId>(), Err(NoLaneId), "{text:?}");
        }
    }

    #[test]
    fn a_lane_id_is_serialized_as_text() {
        let id = LaneId::new(7).unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"07\"");
        assert_eq!(serde_json::from_str::<LaneId>("\"07\"").unwrap(), id);
        assert!(serde_json::from_str::<LaneId>("\"7\"").is_err());
        assert!(serde_json::from_str::<LaneId>("7").is_err());
        assert_eq!(serde_json::from_str::<LaneId>("\"00\"").unwrap(), LaneId::TOGETHER);
    }
}
