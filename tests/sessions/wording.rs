//! Text for people carries no meaning for the program: a session replays and resumes whatever its sentences say.

use std::path::Path;

use ciborium::Value as Binary;
use facts::event::Event;
use facts::upgrade_v1;
use serde_json::{Value, json};

use crate::sessions::replay::{GOLDEN, SESSIONS, copy, replayed, session};
use crate::sessions::resume::eventful;
use crate::support::World;
use crate::support::journal::{keep, kept, rewrite};

/// Replaces text for people: strings that serialize to null in the binary form. Returns the number of replacements.
fn replace(value: &mut Value, decided: &Binary, noise: &impl Fn(&str) -> String) -> usize {
    match (value, decided) {
        (Value::String(words), Binary::Null) => {
            *words = noise(words);
            1
        }
        (Value::Object(fields), Binary::Map(decided)) => {
            let field = |name: &str| decided.iter().find(|(key, _)| key.as_text() == Some(name));
            let each = fields.iter_mut().filter_map(|(name, it)| Some((it, &field(name)?.1)));
            each.map(|(value, decided)| replace(value, decided, noise)).sum()
        }
        (Value::Array(items), Binary::Array(decided)) => {
            let each = items.iter_mut().zip(decided);
            each.map(|(value, decided)| replace(value, decided, noise)).sum()
        }
        _ => 0,
    }
}

/// Rewords every sentence of a session. Returns the number of sentences.
fn reword(session: &Path, noise: impl Fn(&str) -> String) -> usize {
    let mut replaced = 0;
    rewrite(session, |line| {
        let kind = line["kind"].as_str().unwrap().to_owned();
        // Sentences of journal version 1 are read as states, so events are upgraded to this version first.
        let (kind, data) = upgrade_v1::upgraded(&kind, line["data"].clone());
        let mut value = json!({ "kind": kind, "data": data });
        let event: Event = serde_json::from_value(value.clone()).unwrap();
        replaced += replace(&mut value, &Binary::serialized(&event).unwrap(), &noise);
        (line["kind"], line["data"]) = (value["kind"].take(), value["data"].take());
    });
    replaced
}

fn assert_replays(world: &World, session: &str) {
    let (code, document) = replayed(world, session);
    assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{session}: {document:#}");
}

#[test]
fn a_reworded_session_replays() {
    let world = World::greeting(Vec::new());
    let mut replaced = 0;
    for (name, _) in SESSIONS {
        let golden = world.state().join("sessions").join(name);
        copy(&Path::new(GOLDEN).join(name), &golden);
        replaced += reword(&golden, |words| format!("{} noise", words.len()));
        assert_replays(&world, name);
    }
    assert!(replaced >= 40, "{replaced} sentences");
    // For sessions of this version requests are compared as well: no request contains a sentence of an event.
    for (name, make) in SESSIONS {
        let world = make();
        reword(&session(&world), |words| format!("{} noise", words.len()));
        let (code, document) = replayed(&world, "latest");
        assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{name}: {document:#}");
    }
}

#[test]
fn a_killed_run_is_resumed_by_a_version_with_different_wording() {
    let args = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];
    for step in [15, 30, 45, 60, 75, 90] {
        let world = World::greeting(eventful());
        let killed = world.deepseek(args).env("DEEPSEEK_KILL_AT", step.to_string()).run();
        assert_eq!(killed.code, None, "step {step}: {}", killed.stderr);
        let session = session(&world);
        reword(&session, str::to_uppercase);
        rewrite(&session, |line| {
            if line["kind"] == "ModelRequest@v1" {
                let body = kept(&session, &line["data"]["body"]);
                let mut body: Value = serde_json::from_str(&body).unwrap();
                for message in body["messages"].as_array_mut().unwrap() {
                    let said = message["content"].as_str().unwrap().to_uppercase();
                    message["content"] = format!("IN OTHER WORDS: {said}").into();
                }
                line["data"]["body"] = keep(&session, &body.to_string());
            }
        });
        let resumed = world.deepseek(["run"]).run();
        assert_eq!(resumed.code, Some(0), "step {step}: {}", resumed.stderr);
        let text = std::fs::read_to_string(world.project.path("greet.txt")).unwrap();
        assert_eq!(text, "hello world\n", "step {step}");
    }
}
