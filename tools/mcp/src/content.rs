//! The result of a call as text: what is not text is described. Pure.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;
use toolbox::check_arguments;
use tools::count::counted;

/// Returns the result as text. A structured result that does not fit the schema that the server gave is said to.
pub(crate) fn text_of(result: &CallToolResult, schema: Option<&Value>) -> String {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    if let Some(structured) = &result.structured_content {
        // Servers repeat it as text for clients that know only text.
        let is_repeated = result.content.iter().any(|block| {
            let ContentBlock::Text(text) = block else { return false };
            let value = serde_json::from_str::<Value>(&text.text).ok();
            let says = |it: &Value| value.as_ref() == Some(it) || it.as_str() == Some(&text.text);
            // A result that is no object stands in one with a single member.
            let only = structured.as_object().filter(|object| object.len() == 1);
            says(structured) || only.and_then(|it| it.values().next()).is_some_and(says)
        });
        if !is_repeated {
            parts.push(structured.to_string());
        }
        if let Some(Err(why)) = schema.map(|schema| check_arguments(schema, structured)) {
            parts.push(format!("[the result does not fit the schema of the tool: {why}]"));
        }
    } else if schema.is_some() && result.is_error != Some(true) {
        parts.push("[the structured result that the tool promises is missing]".to_owned());
    }
    parts.join("\n")
}

/// Returns one part of a result as text.
fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[content of {uri}]\n{text}")
            }
            ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                let kind = mime_type.as_deref().unwrap_or("unknown type");
                left_out(&format!("content of {uri}"), kind, blob.len())
            }
            _ => "[content of an unknown kind]".to_owned(),
        },
        // A link is not followed: it may lead anywhere.
        ContentBlock::ResourceLink(link) => format!("[link to {}: {}]", link.uri, link.name),
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Describes content that is not text; its length is that of its base64.
fn left_out(what: &str, kind: &str, base64: usize) -> String {
    format!("[{what}, {kind}, {}, not shown]", counted(base64 / 4 * 3, "byte"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(result: Value, schema: Option<&Value>) -> String {
        text_of(&serde_json::from_value(result).unwrap(), schema)
    }

    #[test]
    fn what_is_not_text_is_described() {
        let result = json!({ "content": [
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": "QUJDRA==" },
            { "type": "audio", "mimeType": "audio/wav", "data": "QUJD" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "two" } },
            { "type": "resource", "resource": { "uri": "file:///b", "blob": "QUJD" } },
            { "type": "resource_link", "uri": "http://169.254.169.254/", "name": "metadata" },
        ] });
        assert_eq!(
            text(result, None),
            "one\n[image, image/png, 6 bytes, not shown]\n[audio, audio/wav, 3 bytes, not shown]\n\
             [content of file:///a]\ntwo\n[content of file:///b, unknown type, 3 bytes, not shown]\n\
             [link to http://169.254.169.254/: metadata]"
        );
    }

    #[test]
    fn a_structured_result_is_checked_and_not_repeated() {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let result = |n: Value| {
            json!({ "content": [{ "type": "text", "text": json!({ "n": n }).to_string() }],
            "structuredContent": { "n": n } })
        };
        assert_eq!(text(result(json!(1)), Some(&schema)), "{\"n\":1}");
        let wrong = text(result(json!("x")), Some(&schema));
        assert!(wrong.contains("does not fit the schema of the tool: /n: want integer"), "{wrong}");
        let wrapped = json!({ "content": [{ "type": "text", "text": "3" }], "structuredContent": { "result": 3 } });
        assert_eq!(text(wrapped, None), "3");
        let wrapped = json!({ "content": [{ "type": "text", "text": "a b" }], "structuredContent": { "content": "a b" } });
        assert_eq!(text(wrapped, None), "a b");
        let bare = json!({ "content": [] });
        assert!(text(bare.clone(), Some(&schema)).contains("is missing"));
        assert_eq!(text(bare, None), "");
    }
}
