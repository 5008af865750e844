//! Pieces of text that a program handles: lines of a file, which can be cited, and texts that it made. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A file that a program can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its path.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// Lines of a file, by number from one, both included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// The file.
    pub path: String,
    /// Its first line.
    pub first: usize,
    /// Its last line.
    pub last: usize,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}-{}", self.path, self.first, self.last)
    }
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Piece {
    /// Lines of a file.
    Span(Span),
    /// A text of the program's own.
    Text(String),
}

/// Why there is no such piece.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum NoPiece {
    #[error("there is no file {0}; files() lists them")]
    NoFile(String),
    #[error("{0} is not there: the file has {1} lines")]
    NoLines(Span, usize),
}

/// The files of a program.
#[derive(Debug)]
pub(crate) struct Files(Vec<(File, usize)>);

impl Files {
    pub(crate) fn new(files: Vec<File>) -> Self {
        let counted = files.into_iter().map(|file| {
            let lines = file.text.lines().count();
            (file, lines)
        });
        Self(counted.collect())
    }

    /// All of them, each as a whole. Empty ones have no lines to be named.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        let filled = self.0.iter().filter(|(_, lines)| *lines > 0);
        filled.map(|(file, lines)| Span { path: file.path.clone(), first: 1, last: *lines })
    }

    /// What a text means: the file of that path, if there is one, or itself.
    pub(crate) fn meant(&self, text: String) -> Piece {
        let named = self.0.iter().find(|(file, lines)| file.path == text && *lines > 0);
        match named {
            Some((_, lines)) => Piece::Span(Span { path: text, first: 1, last: *lines }),
            None => Piece::Text(text),
        }
    }

    /// How many lines a file has.
    pub(crate) fn lines_of(&self, path: &str) -> Result<usize, NoPiece> {
        self.file(path).map(|(_, lines)| *lines)
    }

    fn file(&self, path: &str) -> Result<&(File, usize), NoPiece> {
        let found = self.0.iter().find(|(file, _)| file.path == path);
        found.ok_or_else(|| NoPiece::NoFile(path.to_owned()))
    }

    /// The lines of a piece.
    pub(crate) fn read<'p>(&'p self, piece: &'p Piece) -> Result<Lines<'p>, NoPiece> {
        match piece {
            Piece::Text(text) => Ok(Lines { of: None, first: 1, all: text.lines().collect() }),
            Piece::Span(span) => {
                let (file, count) = self.file(&span.path)?;
                if span.first == 0 || span.last < span.first || span.last > *count {
                    return Err(NoPiece::NoLines(span.clone(), *count));
                }
                let lines = file.text.lines().skip(span.first - 1);
                let all = lines.take(span.last - span.first + 1).collect();
                Ok(Lines { of: Some(&span.path), first: span.first, all })
            }
        }
    }
}

/// The lines of a piece, which know where they stand.
#[derive(Debug, Clone)]
pub(crate) struct Lines<'p> {
    /// The file; none for a text of the program's own.
    of: Option<&'p str>,
    /// The number of the first.
    pub(crate) first: usize,
    /// What each says.
    pub(crate) all: Vec<&'p str>,
}

impl Lines<'_> {
    /// Some of them, counted from zero, the last not included; at least one, or nothing.
    pub(crate) fn part(&self, from: usize, to: usize) -> Option<Piece> {
        let to = to.min(self.all.len());
        let lines = self.all.get(from..to).filter(|lines| !lines.is_empty())?;
        let span = self.span(from, to).map(Piece::Span);
        Some(span.unwrap_or_else(|| Piece::Text(lines.join("\n"))))
    }

    /// Where some of them stand, as [`Self::part`] counts; nowhere if the program made them.
    pub(crate) fn span(&self, from: usize, to: usize) -> Option<Span> {
        let (path, first) = (self.of?.to_owned(), self.first);
        Some(Span { path, first: first + from, last: first + to - 1 })
    }

    /// What they say.
    pub(crate) fn text(&self) -> String {
        self.all.join("\n")
    }
}
