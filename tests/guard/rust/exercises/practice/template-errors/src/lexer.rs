//! Splits a template into text and tags.

use crate::error::TemplateError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'a> {
    Text(&'a str),
    /// What is between `{{` and `}}`.
    Output(&'a str),
    /// What is between `{%` and `%}`.
    Tag(&'a str),
}

pub fn tokens(text: &str) -> Result<Vec<Token<'_>>, TemplateError> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = opening(rest) {
        if start > 0 {
            found.push(Token::Text(&rest[..start]));
        }
        let is_output = rest[start..].starts_with("{{");
        let inside = &rest[start + 2..];
        let Some(end) = inside.find(if is_output { "}}" } else { "%}" }) else {
            return Err("tag is not closed".to_string().into());
        };
        let content = &inside[..end];
        found.push(if is_output { Token::Output(content) } else { Token::Tag(content) });
        rest = &inside[end + 2..];
    }
    if !rest.is_empty() {
        found.push(Token::Text(rest));
    }
    Ok(found)
}

/// Where the next tag begins.
fn opening(text: &str) -> Option<usize> {
    match (text.find("{{"), text.find("{%")) {
        (Some(output), Some(tag)) => Some(output.min(tag)),
        (output, tag) => output.or(tag),
    }
}
