//! Sets as text, such as `1-3,7`.

use std::fmt;
use std::str::FromStr;

use crate::range::DayRange;
use crate::set::DaySet;

/// What is wrong with a text. Items count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    Empty { item: usize },
    NoDay { item: usize, text: String },
    Backwards { item: usize, text: String },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Empty { item } => write!(f, "item {item}: empty"),
            ParseError::NoDay { item, text } => write!(f, "item {item}: {text:?} is no day"),
            ParseError::Backwards { item, text } => write!(f, "item {item}: {text:?} is backwards"),
        }
    }
}

impl std::error::Error for ParseError {}

impl DaySet {
    /// Reads a list of days and ranges.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        text.split(',').enumerate().map(|(item, part)| parse_item(item, part)).collect()
    }
}

fn parse_item(item: usize, text: &str) -> Result<DayRange, ParseError> {
    if text.is_empty() {
        return Err(ParseError::Empty { item });
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let day = |end: &str| end.parse().map_err(|_| ParseError::NoDay { item, text: end.to_string() });
    DayRange::new(day(first)?, day(last)?).ok_or_else(|| ParseError::Backwards { item, text: text.to_string() })
}

impl FromStr for DaySet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        DaySet::parse(text)
    }
}

impl fmt::Display for DaySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for range in self.ranges() {
            write!(f, "{range},")?;
        }
        Ok(())
    }
}
