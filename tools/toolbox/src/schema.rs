//! JSON Schemas of tools that others define: whether they are usable, and whether arguments fit them. Nothing outside the
//! schema is loaded. Pure.

use std::error::Error;
use std::fmt::Write as _;

use boon::{CompileError, Compiler, Draft, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

/// The name of the schema, to which its references are relative.
const NAME: &str = "schema:///arguments";

/// Refuses to load another schema.
struct NoOther;

impl UrlLoader for NoOther {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(url.into())
    }
}

fn compiled(schema: &Value) -> Result<(Schemas, SchemaIndex), Box<CompileError>> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.use_loader(Box::new(NoOther));
    compiler.add_resource(NAME, schema.clone()).map_err(Box::new)?;
    let index = compiler.compile(NAME, &mut schemas).map_err(Box::new)?;
    Ok((schemas, index))
}

/// Checks that a schema is valid and describes an object, as the arguments of a tool are one.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return Err("`parameters` must be a JSON Schema with \"type\": \"object\"".to_owned());
    }
    let why = match compiled(schema).map_err(|error| *error) {
        Ok(_) => return Ok(()),
        Err(CompileError::ValidationError { src, .. }) => {
            format!("is no JSON Schema: {}", faults(&src))
        }
        Err(CompileError::LoadUrlError { url, .. }) => {
            format!("refers to {url}, which is not part of the schema")
        }
        Err(error) => format!("is no usable JSON Schema: {error}"),
    };
    Err(format!("`parameters` {why}"))
}

/// Checks that arguments fit a schema; the error says what does not.
pub fn check_arguments(schema: &Value, arguments: &Value) -> Result<(), String> {
    let (schemas, index) = compiled(schema).map_err(|error| error.to_string())?;
    schemas.validate(arguments, index).map_err(|error| faults(&error))
}

/// Returns what is wrong in detail, with the place of each fault.
fn faults(error: &ValidationError<'_, '_>) -> String {
    let mut text = String::new();
    write_faults(error, &mut text);
    text
}

fn write_faults(error: &ValidationError<'_, '_>, text: &mut String) {
    if error.causes.is_empty() {
        let (separator, place) =
            (if text.is_empty() { "" } else { "; " }, &error.instance_location);
        let place = place.to_string();
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        // Writing to a string does not fail.
        write!(text, "{separator}{place}{}", error.kind).ok();
    }
    error.causes.iter().for_each(|cause| write_faults(cause, text));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_checked_and_loads_nothing() {
        let object = |properties: Value| json!({ "type": "object", "properties": properties });
        assert_eq!(check_schema(&object(json!({ "text": { "type": "string" } }))), Ok(()));
        for (schema, expected) in [
            (json!({ "type": "banana" }), "with \"type\": \"object\""),
            (json!(true), "with \"type\": \"object\""),
            (object(json!({ "a": { "type": "banana" } })), "/properties/a/type: "),
            (object(json!({ "a": { "$ref": "file:///etc/hostname" } })), "not part of the schema"),
            (object(json!({ "a": { "pattern": "(" } })), "`parameters` is no "),
        ] {
            let why = check_schema(&schema).unwrap_err();
            assert!(why.contains(expected), "{schema}: {why}");
        }
    }

    #[test]
    fn what_is_wrong_with_arguments_is_said_with_its_place() {
        let schema = json!({
            "type": "object",
            "properties": { "text": { "type": "string" }, "times": { "$ref": "#/$defs/n" } },
            "required": ["text"],
            "$defs": { "n": { "type": "integer", "minimum": 1 } },
        });
        assert_eq!(check_arguments(&schema, &json!({ "text": "a", "times": 2 })), Ok(()));
        for (arguments, expected) in [
            (json!({}), "missing properties 'text'"),
            (json!({ "text": 7 }), "/text: want string, but got number"),
            (json!({ "text": "a", "times": 0 }), "/times: must be >=1, but got 0"),
        ] {
            assert_eq!(check_arguments(&schema, &arguments), Err(expected.to_owned()));
        }
    }
}
