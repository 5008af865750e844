//! Variables in the words of an entry: `${NAME}` and `${NAME:-default}`. Pure.

use std::collections::BTreeSet;

use thiserror::Error;

/// A variable that an entry names and the environment does not have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the variable {name} is not set; set it, or write ${{{name}:-default}}")]
pub struct ExpandError {
    /// Its name.
    pub name: String,
}

/// Replaces the variables in a text. What stands in a value is not expanded again.
pub fn expand(
    text: &str,
    value_of: &dyn Fn(&str) -> Option<String>,
) -> Result<String, ExpandError> {
    let mut expanded = String::new();
    for part in parts(text) {
        match part {
            Part::Text(text) => expanded.push_str(text),
            Part::Variable { name, default } => {
                let value = value_of(name).filter(|value| default.is_none() || !value.is_empty());
                let value = value.or_else(|| default.map(str::to_owned));
                expanded.push_str(&value.ok_or_else(|| ExpandError { name: name.to_owned() })?);
            }
        }
    }
    Ok(expanded)
}

/// Returns the names of the variables in a text.
pub(crate) fn variables(text: &str) -> BTreeSet<&str> {
    let name = |part| match part {
        Part::Text(_) => None,
        Part::Variable { name, .. } => Some(name),
    };
    parts(text).into_iter().filter_map(name).collect()
}

enum Part<'t> {
    Text(&'t str),
    Variable { name: &'t str, default: Option<&'t str> },
}

/// Splits a text. What only looks like a variable is text.
fn parts(mut text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    while let Some((before, rest)) = text.split_once("${") {
        let inner = rest.split_once('}').map(|(inner, after)| {
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            (name, default, after)
        });
        if let Some((name, default, after)) = inner.filter(|(name, ..)| is_name(name)) {
            parts.extend([Part::Text(before), Part::Variable { name, default }]);
            text = after;
        } else {
            parts.extend([Part::Text(before), Part::Text("${")]);
            text = rest;
        }
    }
    parts.push(Part::Text(text));
    parts
}

fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once_and_a_missing_one_is_named() {
        let value_of = |name: &str| match name {
            "HOME" => Some("/home/u".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${HOME}".to_owned()),
            _ => None,
        };
        for (text, expected) in [
            ("plain $HOME {x}", "plain $HOME {x}"),
            ("${HOME}/bin:${HOME}", "/home/u/bin:/home/u"),
            ("${PORT:-8080}", "8080"),
            ("${EMPTY:-x}${EMPTY}", "x"),
            ("${NONE:-}", ""),
            ("${NESTED}", "${HOME}"),
            ("${not a name} ${", "${not a name} ${"),
            ("${HOME:-a:-b}", "/home/u"),
        ] {
            assert_eq!(expand(text, &value_of).as_deref(), Ok(expected), "{text}");
        }
        let missing = expand("Bearer ${TOKEN}", &value_of).unwrap_err();
        assert!(missing.to_string().starts_with("the variable TOKEN is not set"), "{missing}");
        assert_eq!(variables("${A}${B:-${C}"), BTreeSet::from(["A", "B"]));
    }
}
