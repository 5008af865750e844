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
            column += segment.len() + 1;
        }
        Ok(Glob { segments })
    }

    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matcher::path(&self.segments, &names)
    }
}

fn parse(segment: &str, first: usize) -> Result<Vec<Part>, GlobError> {
    let mut parts = Vec::new();
    let mut rest = segment.char_indices();
    while let Some((at, character)) = rest.next() {
        parts.push(match character {
            '*' => Part::AnyText,
            '?' => Part::AnyChar,
            '[' => {
                let Some(end) = segment[at..].find(']') else {
                    return Err(GlobError { column: first + at, message: "class is not closed" });
                };
                let inside = &segment[at + 1..at + end];
                rest = segment[at + end + 1..].char_indices();
                class(inside)
            }
            '\\' => match rest.next() {
                Some((_, escaped)) => Part::Literal(escaped),
                None => return Err(GlobError { column: first + at, message: "nothing after the backslash" }),
            },
            other => Part::Literal(other),
        });
    }
    Ok(parts)
}

fn class(inside: &str) -> Part {
    let negated = inside.starts_with('!');
    let mut members = inside.trim_start_matches('!').chars().peekable();
    let mut ranges = Vec::new();
    while let Some(low) = members.next() {
        if members.peek() == Some(&'-') {
            members.next();
            let high = members.next().unwrap_or(low);
            ranges.push((low, high));
        } else {
            ranges.push((low, low));
        }
    }
    Part::Class { negated, ranges }
}
