//! Checks schemas against the rules of strict mode. Pure.

use serde_json::Value;

/// Returns the first thing in `schema` that strict mode does not support.
pub(super) fn fault(schema: &Value) -> Option<String> {
    let kind = schema["type"].as_str().unwrap_or_default();
    let forbidden: &[&str] = match kind {
        "object" => {
            if let Some(fault) = object_fault(schema) {
                return Some(fault);
            }
            &[]
        }
        "string" => &["minLength", "maxLength"],
        "array" => &["minItems", "maxItems"],
        "number" | "integer" | "boolean" | "null" | "" => &[],
        other => return Some(format!("type {other} is not supported")),
    };
    if let Some(word) = forbidden.iter().find(|word| schema.get(**word).is_some()) {
        return Some(format!("{word} is not supported for type {kind}"));
    }
    let properties =
        schema["properties"].as_object().into_iter().flat_map(|fields| fields.values());
    let any_of = schema["anyOf"].as_array().into_iter().flatten();
    let definitions = schema["$def"].as_object().into_iter().flat_map(|fields| fields.values());
    properties.chain(any_of).chain(definitions).chain(schema.get("items")).find_map(fault)
}

fn object_fault(schema: &Value) -> Option<String> {
    if schema["additionalProperties"] != false {
        return Some("additionalProperties must be false".to_owned());
    }
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut names = schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
    let missing = names.find(|name| !required.iter().any(|known| known == name.as_str()))?;
    Some(format!("property {missing} must be required"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(property: &Value) -> Value {
        json!({"type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false})
    }

    #[test]
    fn only_supported_schemas_pass() {
        assert_eq!(fault(&object(&json!({"type": "string", "pattern": "x"}))), None);
        assert_eq!(
            fault(&object(&json!({"anyOf": [{"type": "array", "items": {"type": "null"}}]}))),
            None
        );
        for wrong in [
            json!({"type": "object", "additionalProperties": true}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
            object(&json!({"type": "string", "minLength": 1})),
            object(
                &json!({"anyOf": [{"type": "array", "items": {"type": "string"}, "maxItems": 2}]}),
            ),
            object(&json!({"type": "date"})),
        ] {
            assert!(fault(&wrong).is_some(), "{wrong}");
        }
    }
}
