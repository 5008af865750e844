//! Splits a template into text and tags.

use crate::error::{ErrorKind, TemplateError};

/// A place in a template. Both numbers count from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    const START: Place = Place { line: 1, column: 1 };

    /// The place behind a text that begins here.
    fn after(self, text: &str) -> Self {
        text.chars().fold(self, |place, character| match character {
            '\n' => Place { line: place.line + 1, column: 1 },
            _ => Place { column: place.column + 1, ..place },
        })
    }
}

/// A piece of a template, and where it begins.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    pub text: &'a str,
    pub place: Place,
}

impl<'a> Piece<'a> {
    /// Cuts the piece in two.
    pub fn split_at(self, at: usize) -> (Self, Self) {
        let (text, rest) = self.text.split_at(at);
        (Piece { text, ..self }, Piece { text: rest, place: self.place.after(text) })
    }

    /// The piece without white space at either end. If nothing else is in it, the place is that of its end.
    pub fn trim(self) -> Self {
        let rest = self.skip_space();
        Piece { text: rest.text.trim_end(), ..rest }
    }

    /// The first word and what follows it. At the end of the piece the word is empty, and its place is the end.
    pub fn word(self) -> (Self, Self) {
        let rest = self.skip_space();
        rest.split_at(rest.text.find(char::is_whitespace).unwrap_or(rest.text.len()))
    }

    fn skip_space(self) -> Self {
        self.split_at(self.text.len() - self.text.trim_start().len()).1
    }
}

#[derive(Debug, Clone, Copy)]
pub enum TokenKind {
    Text,
    /// What is between `{{` and `}}`.
    Output,
    /// What is between `{%` and `%}`.
    Tag,
}

#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    pub kind: TokenKind,
    /// The first character, for a tag its first brace.
    pub place: Place,
    pub inside: Piece<'a>,
}

/// The tokens of a template, one at a time, so that mistakes are found in their order.
pub struct Lexer<'a> {
    rest: Piece<'a>,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { rest: Piece { text, place: Place::START } }
    }

    pub fn next(&mut self) -> Result<Option<Token<'a>>, TemplateError> {
        let place = self.rest.place;
        let start = opening(self.rest.text).unwrap_or(self.rest.text.len());
        if start > 0 {
            let (inside, rest) = self.rest.split_at(start);
            self.rest = rest;
            return Ok(Some(Token { kind: TokenKind::Text, place, inside }));
        }
        if self.rest.text.is_empty() {
            return Ok(None);
        }
        let (kind, closing) =
            if self.rest.text.starts_with("{{") { (TokenKind::Output, "}}") } else { (TokenKind::Tag, "%}") };
        let (_, inside) = self.rest.split_at(2);
        let end = inside.text.find(closing).ok_or_else(|| TemplateError::new(place, ErrorKind::UnclosedTag))?;
        let (inside, rest) = inside.split_at(end);
        self.rest = rest.split_at(2).1;
        Ok(Some(Token { kind, place, inside }))
    }
}

/// Where the next tag begins.
fn opening(text: &str) -> Option<usize> {
    match (text.find("{{"), text.find("{%")) {
        (Some(output), Some(tag)) => Some(output.min(tag)),
        (output, tag) => output.or(tag),
    }
}
