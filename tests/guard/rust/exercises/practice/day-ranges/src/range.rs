//! A range of days.

use std::fmt;

/// All days from `first` to `last`. Both belong to it, so it is never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayRange {
    first: u32,
    last: u32,
}

impl DayRange {
    /// None if the ends are in the wrong order.
    pub fn new(first: u32, last: u32) -> Option<Self> {
        (first <= last).then_some(DayRange { first, last })
    }

    pub fn first(self) -> u32 {
        self.first
    }

    pub fn last(self) -> u32 {
        self.last
    }

    pub fn contains(self, day: u32) -> bool {
        self.first <= day && day <= self.last
    }
}

impl fmt::Display for DayRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}
