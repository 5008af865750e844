//! Fills in a template.

use crate::error::{ErrorKind, TemplateError};
use crate::parser::{Name, Node};
use crate::{Value, Values};

pub const FILTERS: [&str; 3] = ["upper", "lower", "trim"];

pub fn render(nodes: &[Node], values: &Values, output: &mut String) -> Result<(), TemplateError> {
    for node in nodes {
        match node {
            Node::Text(text) => output.push_str(text),
            Node::Output { name, filters } => match find(values, name)? {
                Value::Text(text) => output.push_str(&filtered(text, filters)),
                Value::List(_) => return Err(TemplateError::new(name.place, ErrorKind::NotText(name.text.clone()))),
            },
            Node::If { name, then, otherwise } => {
                let holds = match values.get(&name.text) {
                    None => false,
                    Some(Value::Text(text)) => !text.is_empty(),
                    Some(Value::List(list)) => !list.is_empty(),
                };
                render(if holds { then } else { otherwise }, values, output)?;
            }
            Node::For { item, list, body } => {
                let Value::List(elements) = find(values, list)? else {
                    return Err(TemplateError::new(list.place, ErrorKind::NotAList(list.text.clone())));
                };
                let mut inner = values.clone();
                for element in elements {
                    inner.insert(item.text.clone(), element.clone());
                    render(body, &inner, output)?;
                }
            }
        }
    }
    Ok(())
}

fn find<'a>(values: &'a Values, name: &Name) -> Result<&'a Value, TemplateError> {
    let unknown = || TemplateError::new(name.place, ErrorKind::UnknownVariable(name.text.clone()));
    values.get(&name.text).ok_or_else(unknown)
}

fn filtered(text: &str, filters: &[String]) -> String {
    filters.iter().fold(text.to_string(), |text, filter| match filter.as_str() {
        "upper" => text.to_uppercase(),
        "lower" => text.to_lowercase(),
        _ => text.trim().to_string(),
    })
}
