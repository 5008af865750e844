//! Fills in a template.

use crate::error::TemplateError;
use crate::parser::Node;
use crate::{Value, Values};

pub const FILTERS: [&str; 3] = ["upper", "lower", "trim"];

pub fn render(nodes: &[Node], values: &Values, output: &mut String) -> Result<(), TemplateError> {
    for node in nodes {
        match node {
            Node::Text(text) => output.push_str(text),
            Node::Output { name, filters } => match find(values, name)? {
                Value::Text(text) => output.push_str(&filtered(text, filters)),
                Value::List(_) => return Err(format!("{name:?} is not a text").into()),
            },
            Node::If { name, then, otherwise } => {
                let holds = match values.get(name) {
                    None => false,
                    Some(Value::Text(text)) => !text.is_empty(),
                    Some(Value::List(list)) => !list.is_empty(),
                };
                render(if holds { then } else { otherwise }, values, output)?;
            }
            Node::For { item, list, body } => {
                let Value::List(elements) = find(values, list)? else {
                    return Err(format!("{list:?} is not a list").into());
                };
                let mut inner = values.clone();
                for element in elements {
                    inner.insert(item.clone(), element.clone());
                    render(body, &inner, output)?;
                }
            }
        }
    }
    Ok(())
}

fn find<'a>(values: &'a Values, name: &str) -> Result<&'a Value, TemplateError> {
    values.get(name).ok_or_else(|| format!("unknown variable {name:?}").into())
}

fn filtered(text: &str, filters: &[String]) -> String {
    filters.iter().fold(text.to_string(), |text, filter| match filter.as_str() {
        "upper" => text.to_uppercase(),
        "lower" => text.to_lowercase(),
        _ => text.trim().to_string(),
    })
}
