//! Pieces of text in a program: lines of a file, which can be cited, and texts that the program made. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A file that a program can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The path of the file.
    pub path: String,
    /// The content of the file.
    pub text: String,
}

/// A range of lines in a file, numbered from one, both ends included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLines {
    /// The path of the file.
    pub path: String,
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
}

impl fmt::Display for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}-{}", self.path, self.first, self.last)
    }
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Piece {
    /// Lines of a file.
    Span(SourceLines),
    /// A text that the program made.
    Text(String),
}

/// Why a piece cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum NoPiece {
    #[error("there is no file {0}; files() lists them")]
    NoFile(String),
    #[error("{0} does not exist: the file has {1} lines")]
    NoLines(SourceLines, usize),
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

    /// Iterates over the files, each as a whole. Empty files are skipped, since they have no lines.
    pub(crate) fn spans(&self) -> impl Iterator<Item = SourceLines> {
        let filled = self.0.iter().filter(|(_, lines)| *lines > 0);
        filled.map(|(file, lines)| SourceLines { path: file.path.clone(), first: 1, last: *lines })
    }

    /// Interprets a text: as the file with that path if there is one, or else as itself.
    pub(crate) fn meant(&self, text: String) -> Piece {
        let named = self.0.iter().find(|(file, lines)| file.path == text && *lines > 0);
        match named {
            Some((_, lines)) => Piece::Span(SourceLines { path: text, first: 1, last: *lines }),
            None => Piece::Text(text),
        }
    }

    /// Returns the number of lines in a file.
    pub(crate) fn lines_of(&self, path: &str) -> Result<usize, NoPiece> {
        self.file(path).map(|(_, lines)| *lines)
    }

    fn file(&self, path: &str) -> Result<&(File, usize), NoPiece> {
        let found = self.0.iter().find(|(file, _)| file.path == path);
        found.ok_or_else(|| NoPiece::NoFile(path.to_owned()))
    }

    /// Returns the lines of a piece.
    pub(crate) fn read<'p>(&'p self, piece: &'p Piece) -> Result<PieceLines<'p>, NoPiece> {
        match piece {
            Piece::Text(text) => Ok(PieceLines { of: None, first: 1, all: text.lines().collect() }),
            Piece::Span(span) => {
                let (file, count) = self.file(&span.path)?;
                if span.first == 0 || span.last < span.first || span.last > *count {
                    return Err(NoPiece::NoLines(span.clone(), *count));
                }
                let lines = file.text.lines().skip(span.first - 1);
                let all = lines.take(span.last - span.first + 1).collect();
                Ok(PieceLines { of: Some(&span.path), first: span.first, all })
            }
        }
    }
}

/// The lines of a piece, with their location.
#[derive(Debug, Clone)]
pub(crate) struct PieceLines<'p> {
    /// The path of the file; `None` for a text that the program made.
    of: Option<&'p str>,
    /// The number of the first line.
    pub(crate) first: usize,
    /// The content of the lines.
    pub(crate) all: Vec<&'p str>,
}

impl PieceLines<'_> {
    /// Returns the lines from `from` to `to`, counted from zero, without the last; `None` if there are none.
    pub(crate) fn part(&self, from: usize, to: usize) -> Option<Piece> {
        let to = to.min(self.all.len());
        let lines = self.all.get(from..to).filter(|lines| !lines.is_empty())?;
        let span = self.span(from, to).map(Piece::Span);
        Some(span.unwrap_or_else(|| Piece::Text(lines.join("\n"))))
    }

    /// Returns the location of such a range; `None` if the program made the text.
    pub(crate) fn span(&self, from: usize, to: usize) -> Option<SourceLines> {
        let (path, first) = (self.of?.to_owned(), self.first);
        Some(SourceLines { path, first: first + from, last: first + to - 1 })
    }

    /// Returns the lines as one text.
    pub(crate) fn text(&self) -> String {
        self.all.join("\n")
    }
}
