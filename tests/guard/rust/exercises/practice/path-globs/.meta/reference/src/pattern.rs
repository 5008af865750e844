//! The parsed form of a glob.

use std::fmt;

use crate::matcher;

/// A glob for a whole path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// `**`
    AnyDepth,
    One(Vec<Part>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(char),
    AnyChar,
    AnyText,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// A mistake in a glob. The column counts characters from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobError {
    pub column: usize,
    pub message: &'static str,
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for GlobError {}

impl Glob {
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let mut segments = Vec::new();
        let mut column = 1;
        for segment in text.split('/') {
            segments.push(if segment == "**" { Segment::AnyDepth } else { Segment::One(parse(segment, column)?) });
            column += segment.chars().count() + 1;
        }
        Ok(Glob { segments })
    }

    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matcher::path(&self.segments, &names)
    }
}

/// Parses a segment whose first character is at the given column.
fn parse(segment: &str, first: usize) -> Result<Vec<Part>, GlobError> {
    let characters: Vec<char> = segment.chars().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        parts.push(match characters[at] {
            '*' => Part::AnyText,
            '?' => Part::AnyChar,
            '[' => {
                let (part, end) = class(&characters, at, first)?;
                at = end;
                part
            }
            _ => Part::Literal(literal(&characters, &mut at, first)?),
        });
        at += 1;
    }
    Ok(parts)
}

/// Parses the class that begins at a place. Returns it with the place of its `]`.
fn class(characters: &[char], start: usize, first: usize) -> Result<(Part, usize), GlobError> {
    let not_closed = GlobError { column: first + start, message: "class is not closed" };
    let mut at = start + 1;
    let negated = matches!(characters.get(at), Some('!' | '^'));
    if negated {
        at += 1;
    }
    let mut ranges = Vec::new();
    loop {
        match characters.get(at) {
            None => return Err(not_closed),
            Some(']') if !ranges.is_empty() => return Ok((Part::Class { negated, ranges }, at)),
            Some(_) => {}
        }
        let begin = at;
        let low = literal(characters, &mut at, first)?;
        let mut high = low;
        if characters.get(at + 1) == Some(&'-') && characters.get(at + 2).is_some_and(|&end| end != ']') {
            at += 2;
            high = literal(characters, &mut at, first)?;
        }
        if high < low {
            return Err(GlobError { column: first + begin, message: "range is backwards" });
        }
        ranges.push((low, high));
        at += 1;
    }
}

/// The character at a place, or the one after it if a backslash is there. The place is then that of the latter.
fn literal(characters: &[char], at: &mut usize, first: usize) -> Result<char, GlobError> {
    if characters[*at] != '\\' {
        return Ok(characters[*at]);
    }
    *at += 1;
    let nothing = GlobError { column: first + *at - 1, message: "nothing after the backslash" };
    characters.get(*at).copied().ok_or(nothing)
}
