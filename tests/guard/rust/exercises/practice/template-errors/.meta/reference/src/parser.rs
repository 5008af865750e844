//! Turns the tokens of a template into a tree.

use crate::error::{ErrorKind, TemplateError};
use crate::lexer::{Lexer, Piece, Place, TokenKind};
use crate::render::FILTERS;

/// A name, and where it is in the template.
#[derive(Debug, Clone)]
pub struct Name {
    pub text: String,
    pub place: Place,
}

#[derive(Debug, Clone)]
pub enum Node {
    Text(String),
    Output { name: Name, filters: Vec<String> },
    If { name: Name, then: Vec<Node>, otherwise: Vec<Node> },
    For { item: Name, list: Name, body: Vec<Node> },
}

/// A tag that waits for its end.
enum Open {
    If { name: Name, then: Option<Vec<Node>> },
    For { item: Name, list: Name },
}

pub fn parse(text: &str) -> Result<Vec<Node>, TemplateError> {
    let mut lexer = Lexer::new(text);
    let mut open: Vec<(Open, Place, Vec<Node>)> = Vec::new();
    let mut nodes = Vec::new();
    while let Some(token) = lexer.next()? {
        let inside = token.inside;
        match token.kind {
            TokenKind::Text => nodes.push(Node::Text(inside.text.to_string())),
            TokenKind::Output => nodes.push(output(inside)?),
            TokenKind::Tag => {
                let (tag, rest) = inside.word();
                let unexpected = || TemplateError::new(token.place, ErrorKind::UnexpectedTag(tag.text.to_string()));
                match tag.text {
                    "if" | "for" => open.push((opened(tag.text, rest)?, token.place, std::mem::take(&mut nodes))),
                    "else" => match open.last_mut() {
                        Some((Open::If { then: then @ None, .. }, ..)) => {
                            no_more(rest)?;
                            *then = Some(std::mem::take(&mut nodes));
                        }
                        _ => return Err(unexpected()),
                    },
                    "end" => {
                        let (tag, _, before) = open.pop().ok_or_else(unexpected)?;
                        no_more(rest)?;
                        let inside = std::mem::replace(&mut nodes, before);
                        nodes.push(close(tag, inside));
                    }
                    other => return Err(TemplateError::new(token.place, ErrorKind::UnknownTag(other.to_string()))),
                }
            }
        }
    }
    match open.pop() {
        Some((Open::If { .. }, place, _)) => Err(TemplateError::new(place, ErrorKind::MissingEnd("if"))),
        Some((Open::For { .. }, place, _)) => Err(TemplateError::new(place, ErrorKind::MissingEnd("for"))),
        None => Ok(nodes),
    }
}

fn opened(tag: &str, rest: Piece<'_>) -> Result<Open, TemplateError> {
    let (word, rest) = rest.word();
    let first = name(word)?;
    if tag == "if" {
        no_more(rest)?;
        return Ok(Open::If { name: first, then: None });
    }
    let (word, rest) = rest.word();
    if word.text != "in" {
        return Err(TemplateError::new(word.place, ErrorKind::Expected("in")));
    }
    let (word, rest) = rest.word();
    let list = name(word)?;
    no_more(rest)?;
    Ok(Open::For { item: first, list })
}

fn close(tag: Open, inside: Vec<Node>) -> Node {
    match tag {
        Open::If { name, then: None } => Node::If { name, then: inside, otherwise: Vec::new() },
        Open::If { name, then: Some(then) } => Node::If { name, then, otherwise: inside },
        Open::For { item, list } => Node::For { item, list, body: inside },
    }
}

fn output(inside: Piece<'_>) -> Result<Node, TemplateError> {
    let (part, mut rest) = until_bar(inside);
    let name = name(part.trim())?;
    let mut filters = Vec::new();
    while !rest.text.is_empty() {
        let (part, further) = until_bar(rest.split_at(1).1);
        let filter = self::name(part.trim())?;
        if !FILTERS.contains(&filter.text.as_str()) {
            return Err(TemplateError::new(filter.place, ErrorKind::UnknownFilter(filter.text)));
        }
        filters.push(filter.text);
        rest = further;
    }
    Ok(Node::Output { name, filters })
}

fn until_bar(piece: Piece<'_>) -> (Piece<'_>, Piece<'_>) {
    piece.split_at(piece.text.find('|').unwrap_or(piece.text.len()))
}

fn no_more(rest: Piece<'_>) -> Result<(), TemplateError> {
    let (word, _) = rest.word();
    if word.text.is_empty() {
        return Ok(());
    }
    Err(TemplateError::new(word.place, ErrorKind::UnexpectedWord(word.text.to_string())))
}

fn name(piece: Piece<'_>) -> Result<Name, TemplateError> {
    let text = piece.text.to_string();
    let starts_well = text.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if starts_well && text.chars().all(|character| character.is_alphanumeric() || character == '_') {
        Ok(Name { text, place: piece.place })
    } else {
        Err(TemplateError::new(piece.place, ErrorKind::BadName(text)))
    }
}
