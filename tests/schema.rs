//! The JSON Schema of the lines of a journal and of `--output stream-json`, made of the events' source, and what is recorded is
//! held against it.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::docs::{EVENTS, ROOT};
use crate::replay::GOLDEN;
use crate::support::World;

/// The definition of a failure.
const FAILURE: &str = "failure";
const SCHEMA: &str = "docs/events.schema.json";

#[test]
fn the_schema_says_what_events_are() {
    let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    let path = Path::new(ROOT).join(SCHEMA);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == made, "{SCHEMA} is stale: UPDATE_DOCS=1 writes it anew");
}

#[test]
fn every_recorded_line_keeps_to_the_schema() {
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
            // A kind of an earlier version is read as the one that took its place.
            let Some(data) = schema["$defs"].get(line["kind"].as_str().unwrap()) else { continue };
            let kept = keeps_to(data, &line["data"]);
            assert_eq!(kept, Ok(()), "{}: {line}", journal.display());
            held += 1;
        }
    }
    assert!(held * 10 > all * 8, "{held} of {all} lines are told by the schema");
}

#[test]
fn the_program_prints_the_schema() {
    let run = World::greeting(Vec::new()).deepseek(["schema"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(printed == schema(), "it was built with another");
}

#[test]
fn every_failure_keeps_to_the_schema() {
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
        // What fails after it has begun has a document of its own.
        let told: Value = serde_json::from_str(&run.stdout).unwrap();
        if told.get("error").is_some_and(Value::is_object) {
            let kept = keeps_to(&schema()["$defs"][FAILURE], &told);
            assert_eq!((kept, &told["error"]["kind"]), (Ok(()), &json!(kind)), "{told}");
            assert_eq!(told["error"]["exit"], exit, "{told}");
        } else {
            assert_eq!(kind, "provider", "{words:?}: {told}");
        }
    }
}

#[test]
fn what_breaks_the_schema_is_told() {
    let schema = schema();
    let kind = &schema["$defs"]["SessionStarted@v1"];
    let whole = json!({"workspace": "/w", "version": "1", "format": 6});
    assert_eq!(keeps_to(kind, &whole), Ok(()));
    for broken in [
        json!({"workspace": "/w"}),
        json!({"workspace": 1, "version": "1"}),
        json!({"workspace": "/w", "version": "1", "format": "6"}),
        json!([]),
    ] {
        assert!(keeps_to(kind, &broken).is_err(), "{broken}");
    }
}

/// Of the events' source: a definition for each kind, with the fields that are always there.
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

/// What is printed in place of a document by a command that fails.
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

/// The form of a type of the source. What has a form of its own is named; `docs/events.md` says what it is.
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

/// Whether a value has a form: as much of JSON Schema as is made here.
fn keeps_to(form: &Value, value: &Value) -> Result<(), String> {
    if let Some(forms) = form["anyOf"].as_array() {
        let any = forms.iter().any(|form| keeps_to(form, value).is_ok());
        return if any { Ok(()) } else { Err(format!("{value} has none of the forms")) };
    }
    let fits = match form["type"].as_str() {
        None => true,
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("{other} is not made here"),
    };
    if !fits {
        return Err(format!("{value} is no {}", form["type"]));
    }
    for field in form["required"].as_array().into_iter().flatten() {
        if value.get(field.as_str().unwrap()).is_none() {
            return Err(format!("{field} is not there"));
        }
    }
    for (name, form) in form["properties"].as_object().into_iter().flatten() {
        if let Some(field) = value.get(name) {
            keeps_to(form, field).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    let mut items = value.as_array().into_iter().flatten();
    items.try_for_each(|item| keeps_to(&form["items"], item))
}
