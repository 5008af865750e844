//! Turns the tokens of a template into a tree.

use crate::error::TemplateError;
use crate::lexer::{Token, tokens};
use crate::render::FILTERS;

#[derive(Debug, Clone)]
pub enum Node {
    Text(String),
    Output { name: String, filters: Vec<String> },
    If { name: String, then: Vec<Node>, otherwise: Vec<Node> },
    For { item: String, list: String, body: Vec<Node> },
}

/// A tag that waits for its end.
enum Open {
    If { name: String, then: Option<Vec<Node>> },
    For { item: String, list: String },
}

pub fn parse(text: &str) -> Result<Vec<Node>, TemplateError> {
    let mut open: Vec<(Open, Vec<Node>)> = Vec::new();
    let mut nodes = Vec::new();
    for token in tokens(text)? {
        match token {
            Token::Text(text) => nodes.push(Node::Text(text.to_string())),
            Token::Output(inside) => nodes.push(output(inside)?),
            Token::Tag(inside) => {
                let words: Vec<&str> = inside.split_whitespace().collect();
                match words.first().copied().unwrap_or_default() {
                    "if" => {
                        let tag = Open::If { name: name(word(&words, 1))?, then: None };
                        no_more(&words, 2)?;
                        open.push((tag, std::mem::take(&mut nodes)));
                    }
                    "for" => {
                        let item = name(word(&words, 1))?;
                        if word(&words, 2) != "in" {
                            return Err("expected \"in\"".to_string().into());
                        }
                        let tag = Open::For { item, list: name(word(&words, 3))? };
                        no_more(&words, 4)?;
                        open.push((tag, std::mem::take(&mut nodes)));
                    }
                    "else" => {
                        no_more(&words, 1)?;
                        match open.last_mut() {
                            Some((Open::If { then: then @ None, .. }, _)) => *then = Some(std::mem::take(&mut nodes)),
                            _ => return Err("unexpected tag \"else\"".to_string().into()),
                        }
                    }
                    "end" => {
                        no_more(&words, 1)?;
                        let Some((tag, before)) = open.pop() else {
                            return Err("unexpected tag \"end\"".to_string().into());
                        };
                        let inside = std::mem::replace(&mut nodes, before);
                        nodes.push(close(tag, inside));
                    }
                    other => return Err(format!("unknown tag {other:?}").into()),
                }
            }
        }
    }
    match open.pop() {
        Some((Open::If { .. }, _)) => Err("no end for \"if\"".to_string().into()),
        Some((Open::For { .. }, _)) => Err("no end for \"for\"".to_string().into()),
        None => Ok(nodes),
    }
}

fn close(tag: Open, inside: Vec<Node>) -> Node {
    match tag {
        Open::If { name, then: None } => Node::If { name, then: inside, otherwise: Vec::new() },
        Open::If { name, then: Some(then) } => Node::If { name, then, otherwise: inside },
        Open::For { item, list } => Node::For { item, list, body: inside },
    }
}

fn output(inside: &str) -> Result<Node, TemplateError> {
    let mut parts = inside.split('|').map(str::trim);
    let name = name(parts.next().unwrap_or_default())?;
    let mut filters = Vec::new();
    for part in parts {
        let filter = self::name(part)?;
        if !FILTERS.contains(&filter.as_str()) {
            return Err(format!("unknown filter {filter:?}").into());
        }
        filters.push(filter);
    }
    Ok(Node::Output { name, filters })
}

fn word<'a>(words: &[&'a str], place: usize) -> &'a str {
    words.get(place).copied().unwrap_or_default()
}

fn no_more(words: &[&str], place: usize) -> Result<(), TemplateError> {
    match words.get(place) {
        Some(word) => Err(format!("unexpected {word:?}").into()),
        None => Ok(()),
    }
}

fn name(text: &str) -> Result<String, TemplateError> {
    let starts_well = text.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if starts_well && text.chars().all(|character| character.is_alphanumeric() || character == '_') {
        Ok(text.to_string())
    } else {
        Err(format!("bad name {text:?}").into())
    }
}
