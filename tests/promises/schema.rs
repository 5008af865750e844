//! The JSON Schema of journal lines and of `--output stream-json`. It is generated from the source of the events, and recorded
//! sessions are validated against it.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::promises::docs::{EVENTS, ROOT};
use crate::sessions::replay::GOLDEN;
use crate::support::World;

/// The name of the failure definition.
const FAILURE: &str = "failure";
const SCHEMA: &str = "docs/events.schema.json";

#[test]
fn the_stored_schema_matches_the_event_source() {
    let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    let path = Path::new(ROOT).join(SCHEMA);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == made, "{SCHEMA} is stale: UPDATE_DOCS=1 rewrites it");
}

#[test]
fn every_recorded_line_matches_the_schema() {
    let schema = schema();
    let (mut held, mut all) = (0, 0);
    for golden in fs::read_dir(GOLDEN).unwrap() {
        let journal = golden.unwrap().path().join("events.jsonl");
        for line in fs::read_to_string(&journal).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for required in schema["required"].as_array().unwrap() {
                assert!(line.get(required.as_str().unwrap()).is_some(), "{required}: {line}");
            }
            all += 1;
            // A kind of an earlier version is upgraded when it is read, and has no definition.
            let Some(data) = schema["$defs"].get(line["kind"].as_str().unwrap()) else { continue };
            let kept = validate(data, &line["data"]);
            assert_eq!(kept, Ok(()), "{}: {line}", journal.display());
            held += 1;
        }
    }
    assert!(held * 10 > all * 8, "only {held} of {all} lines have a definition");
}

#[test]
fn the_schema_command_prints_the_schema() {
    let run = World::greeting(Vec::new()).deepseek(["schema"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(printed == schema(), "the program was built with a different schema");
}

#[test]
fn every_failure_document_matches_the_schema() {
    let world = World::greeting(Vec::new());
    for (words, kind, exit) in [
        (&["--nonsense"] as &[&str], "usage", 2),
        (&["--approval", "maybe", "-p", "x"], "usage", 2),
        (&["rewnd"], "usage", 2),
        (&["config", "get", "no.such.key"], "usage", 2),
        (&["sessions", "show", "nothing"], "usage", 2),
        (&["diff", "nothing"], "usage", 2),
        (&["patch", "check", "--patch", "/nowhere"], "usage", 2),
        (&["-p", "x", "--set", "llm.connect_timeout_seconds=soon"], "usage", 2),
        (&["ask", "What is it?"], "provider", 5),
    ] {
        let run = world.deepseek(words.iter().copied().chain(["--output", "json"])).run();
        assert_eq!(run.code, Some(exit), "{words:?}: {}{}", run.stdout, run.stderr);
        // A failure after the start of a run is reported as an outcome document.
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        if document.get("error").is_some_and(Value::is_object) {
            let kept = validate(&schema()["$defs"][FAILURE], &document);
            assert_eq!((kept, &document["error"]["kind"]), (Ok(()), &json!(kind)), "{document}");
            assert_eq!(document["error"]["exit"], exit, "{document}");
        } else {
            assert_eq!(kind, "provider", "{words:?}: {document}");
        }
    }
}

#[test]
fn the_validator_rejects_invalid_data() {
    let schema = schema();
    let kind = &schema["$defs"]["SessionStarted@v1"];
    let whole = json!({"workspace": "/w", "version": "1", "format": 6});
    assert_eq!(validate(kind, &whole), Ok(()));
    for broken in [
        json!({"workspace": "/w"}),
        json!({"workspace": 1, "version": "1"}),
        json!({"workspace": "/w", "version": "1", "format": "6"}),
        json!([]),
    ] {
        assert!(validate(kind, &broken).is_err(), "{broken}");
    }
}

/// Generates the schema from the source of the events: a definition for each kind, with its required fields.
fn schema() -> Value {
    let (_, body) = EVENTS.split_once("\npub enum Event {\n").unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let mut kinds: Map<String, Value> = Map::new();
    let mut said: Vec<&str> = Vec::new();
    let mut kind = String::new();
    let mut may_be_absent = false;
    for line in body.lines() {
        let code = line.trim();
        if let Some(comment) = code.strip_prefix("/// ") {
            said.push(comment);
        } else if let Some((_, named)) = code.split_once("rename = \"") {
            named.split('"').next().unwrap().clone_into(&mut kind);
            let about = std::mem::take(&mut said).join(" ");
            let data = json!({
                "description": about, "type": "object", "properties": {}, "required": [],
            });
            kinds.insert(kind.clone(), data);
        } else if code.starts_with("#[") {
            may_be_absent |= code.contains("default") || code.contains("skip_serializing_if");
        } else if let Some((field, of)) = code.split_once(": ") {
            let of = of.trim_end_matches(',');
            let mut form = form(of);
            form["description"] = std::mem::take(&mut said).join(" ").into();
            let data = &mut kinds[&kind];
            data["properties"][field] = form;
            if !std::mem::take(&mut may_be_absent) && !of.starts_with("Option<") {
                data["required"].as_array_mut().unwrap().push(field.into());
            }
        }
    }
    let of_a_kind = |kind: &String| {
        json!({
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {"properties": {"data": {"$ref": format!("#/$defs/{kind}")}}},
        })
    };
    let one_of: Vec<Value> = kinds.keys().map(of_a_kind).collect();
    kinds.insert(FAILURE.to_owned(), failure());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a journal of deepseek, or of --output stream-json",
        "type": "object",
        "properties": {
            "seq": {"type": "integer"},
            "at": {"type": "string"},
            "kind": {"type": "string"},
            "run": {"type": "string"},
            "data": {"type": "object"},
        },
        "required": ["seq", "at", "kind", "data"],
        "allOf": one_of,
        "$defs": kinds,
    })
}

/// Returns the schema of the document that a failed command prints.
fn failure() -> Value {
    let text = json!({"type": "string"});
    let error = json!({
        "type": "object",
        "properties": {
            "kind": text, "message": text, "exit": {"type": "integer"},
            "hint": {"anyOf": [text, {"type": "null"}]},
        },
        "required": ["kind", "message", "exit"],
    });
    json!({
        "description": "A failure, with --output json.",
        "type": "object",
        "properties": {"error": error},
        "required": ["error"],
    })
}

/// Returns the schema of a Rust type. Types without a JSON equivalent here are only named; `docs/events.md` describes them.
fn form(of: &str) -> Value {
    let within = |name: &str| of.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>');
    if let Some(item) = within("Vec") {
        return json!({"type": "array", "items": form(item)});
    }
    if let Some(inner) = within("Option") {
        return json!({"anyOf": [form(inner), {"type": "null"}]});
    }
    match of {
        "String" | "Wording" | "RepoPath" | "FileHash" | "TreeId" => json!({"type": "string"}),
        "bool" => json!({"type": "boolean"}),
        "u32" | "u64" | "usize" => json!({"type": "integer", "minimum": 0}),
        "Blob" => json!({
            "type": "object",
            "properties": {"blob": {"type": "string"}, "bytes": {"type": "integer"}},
            "required": ["blob", "bytes"],
        }),
        other => json!({"title": other}),
    }
}

/// Validates a value, with the subset of JSON Schema that is generated here.
fn validate(form: &Value, value: &Value) -> Result<(), String> {
    if let Some(forms) = form["anyOf"].as_array() {
        let any = forms.iter().any(|form| validate(form, value).is_ok());
        return if any { Ok(()) } else { Err(format!("{value} matches no alternative")) };
    }
    let fits = match form["type"].as_str() {
        None => true,
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("{other} is not supported"),
    };
    if !fits {
        return Err(format!("{value} is not of type {}", form["type"]));
    }
    for field in form["required"].as_array().into_iter().flatten() {
        if value.get(field.as_str().unwrap()).is_none() {
            return Err(format!("{field} is missing"));
        }
    }
    for (name, form) in form["properties"].as_object().into_iter().flatten() {
        if let Some(field) = value.get(name) {
            validate(form, field).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    let mut items = value.as_array().into_iter().flatten();
    items.try_for_each(|item| validate(&form["items"], item))
}
