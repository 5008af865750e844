//! What can be wrong with a template.

use std::fmt;

use crate::lexer::Place;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    UnclosedTag,
    UnknownTag(String),
    UnexpectedTag(String),
    MissingEnd(&'static str),
    Expected(&'static str),
    UnexpectedWord(String),
    BadName(String),
    UnknownFilter(String),
    UnknownVariable(String),
    NotAList(String),
    NotText(String),
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::UnclosedTag => write!(f, "tag is not closed"),
            ErrorKind::UnknownTag(word) => write!(f, "unknown tag {word:?}"),
            ErrorKind::UnexpectedTag(word) => write!(f, "unexpected tag {word:?}"),
            ErrorKind::MissingEnd(word) => write!(f, "no end for {word:?}"),
            ErrorKind::Expected(word) => write!(f, "expected {word:?}"),
            ErrorKind::UnexpectedWord(word) => write!(f, "unexpected {word:?}"),
            ErrorKind::BadName(name) => write!(f, "bad name {name:?}"),
            ErrorKind::UnknownFilter(name) => write!(f, "unknown filter {name:?}"),
            ErrorKind::UnknownVariable(name) => write!(f, "unknown variable {name:?}"),
            ErrorKind::NotAList(name) => write!(f, "{name:?} is not a list"),
            ErrorKind::NotText(name) => write!(f, "{name:?} is not a text"),
        }
    }
}

/// An error and its place in the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    pub line: usize,
    pub column: usize,
    pub kind: ErrorKind,
}

impl TemplateError {
    pub(crate) fn new(place: Place, kind: ErrorKind) -> Self {
        TemplateError { line: place.line, column: place.column, kind }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.kind)
    }
}

impl std::error::Error for TemplateError {}
