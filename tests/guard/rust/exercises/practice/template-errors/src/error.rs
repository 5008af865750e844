//! What can be wrong with a template.

use std::fmt;

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
    /// An error of the time before there were kinds.
    Other(String),
}

/// An error and its place in the template. Both numbers are 0 if the place is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    pub line: usize,
    pub column: usize,
    pub kind: ErrorKind,
}

impl From<String> for TemplateError {
    fn from(text: String) -> Self {
        TemplateError { line: 0, column: 0, kind: ErrorKind::Other(text) }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Other(text) => f.write_str(text),
            kind => write!(f, "line {}, column {}: {kind:?}", self.line, self.column),
        }
    }
}

impl std::error::Error for TemplateError {}
