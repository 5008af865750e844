//! A small template engine.

mod error;
mod lexer;
mod parser;
mod render;

use std::collections::BTreeMap;

pub use error::{ErrorKind, TemplateError};

/// What a template can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    List(Vec<Value>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_string())
    }
}

impl<const N: usize> From<[&str; N]> for Value {
    fn from(texts: [&str; N]) -> Self {
        Value::List(texts.into_iter().map(Value::from).collect())
    }
}

pub type Values = BTreeMap<String, Value>;

/// A template that is ready to be rendered.
#[derive(Debug, Clone)]
pub struct Template {
    nodes: Vec<parser::Node>,
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let nodes = parser::parse(text)?;
        Ok(Template { nodes })
    }

    pub fn render(&self, values: &Values) -> Result<String, TemplateError> {
        let mut output = String::new();
        render::render(&self.nodes, values, &mut output)?;
        Ok(output)
    }
}
