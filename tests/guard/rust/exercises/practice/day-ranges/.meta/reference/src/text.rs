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
        if text.trim().is_empty() {
            return Ok(DaySet::new());
        }
        text.split(',').zip(1..).map(|(part, item)| parse_item(item, part.trim())).collect()
    }
}

fn parse_item(item: usize, text: &str) -> Result<DayRange, ParseError> {
    if text.is_empty() {
        return Err(ParseError::Empty { item });
    }
    let day = |end: &str| {
        // The parser of the standard library allows a plus sign.
        let digits = end.bytes().all(|byte| byte.is_ascii_digit());
        let no_day = || ParseError::NoDay { item, text: end.to_string() };
        end.parse().ok().filter(|_| digits).ok_or_else(no_day)
    };
    let (first, last) = match text.split_once('-').map(|(first, last)| (first.trim_end(), last.trim_start())) {
        None => (day(text)?, day(text)?),
        Some(("", "")) => return Err(ParseError::NoDay { item, text: text.to_string() }),
        Some((first, "")) => (day(first)?, u32::MAX),
        Some(("", last)) => (0, day(last)?),
        Some((first, last)) => (day(first)?, day(last)?),
    };
    DayRange::new(first, last).ok_or_else(|| ParseError::Backwards { item, text: text.to_string() })
}

impl FromStr for DaySet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        DaySet::parse(text)
    }
}

impl fmt::Display for DaySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, range) in self.ranges().iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            if range.last() == u32::MAX && range.first() < u32::MAX {
                write!(f, "{}-", range.first())?;
            } else {
                write!(f, "{range}")?;
            }
        }
        Ok(())
    }
}
