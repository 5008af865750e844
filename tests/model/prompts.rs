//! A run uses the prompts that are recorded for it, not those that the current program was built with. A trusted workspace
//! can replace prompts.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::sessions::replay::{replayed, session};
use crate::sessions::resume::{RESUME, eventful, killed_at};
use crate::support::journal::{keep, kept, rewrite};
use crate::support::{World, greeting_fix};

const REQUEST: [&str; 5] = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];

/// Replaces the recorded prompts of a session: `other` maps each name and text to a new text.
fn reprompt(session: &Path, other: impl Fn(&str, &str) -> String) {
    let mut replaced = 0;
    rewrite(session, |line| {
        let recorded = &line["data"]["prompts"];
        if recorded.is_object() {
            let set: Map<String, Value> = serde_json::from_str(&kept(session, recorded)).unwrap();
            assert!(set.len() > 30, "prompts are missing: {set:?}");
            let texts = set.iter().map(|(name, text)| {
                (name.clone(), Value::from(other(name, text.as_str().unwrap())))
            });
            let others: Map<String, Value> = texts.collect();
            line["data"]["prompts"] = keep(session, &Value::from(others).to_string());
            replaced += 1;
        }
    });
    assert!(replaced > 0, "no prompts are recorded");
}

/// Changes phrases that occur only in prompts to upper case, so that a request keeps its length.
fn upper_case(text: &str) -> String {
    const PHRASES: [&str; 6] = [
        "You are the Architect",
        "You are the Editor",
        "You answer questions",
        "The user's request:",
        "Your answer breaks the contract",
        "Current content:",
    ];
    let loud = |text: String, phrase: &&str| text.replace(phrase, &phrase.to_uppercase());
    PHRASES.iter().fold(text.to_owned(), loud)
}

/// Makes the same change in every recorded request.
fn upper_case_requests(session: &Path) {
    rewrite(session, |line| {
        if line["kind"] == "ModelRequest@v1" {
            let body = kept(session, &line["data"]["body"]);
            let other = upper_case(&body);
            assert_ne!(other, body);
            line["data"]["body"] = keep(session, &other);
        }
    });
}

#[test]
fn a_run_is_resumed_with_the_prompts_it_started_with() {
    let mut resumed_requests = 0;
    for step in [15, 40, 65, 90] {
        let world = World::greeting(eventful());
        let killed = killed_at(&world, step, &REQUEST);
        assert_eq!(killed.code, None, "step {step}: {}", killed.stderr);
        let before = world.provider.requests().len();
        assert!(!world.provider.all_messages().contains("<editor>"));
        reprompt(&session(&world), |name, text| format!("<{name}> {text}"));
        let resumed = world.deepseek(RESUME).run();
        assert_eq!(resumed.code, Some(0), "step {step}: {}", resumed.stderr);
        for seen in world.provider.requests().iter().skip(before) {
            let messages = seen.request.json["messages"].as_array().unwrap().clone();
            for message in messages.iter().filter(|message| message["role"] != "assistant") {
                let said = message["content"].as_str().unwrap();
                // The part that quotes file contents is resent exactly as before the kill.
                let shown = said.starts_with("[1] ");
                assert!(said.starts_with('<') || shown, "step {step}: {said}");
            }
            resumed_requests += 1;
        }
    }
    assert!(resumed_requests >= 8, "{resumed_requests} requests were made after a kill");
}

#[test]
fn a_new_run_of_an_old_session_uses_the_prompts_of_the_program() {
    let world = World::greeting(eventful());
    let first = world.deepseek(REQUEST).run();
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    reprompt(&session(&world), |name, text| format!("<{name}> {text}"));
    let before = world.provider.requests().len();
    let again = world.deepseek(["-c", "-p", "Fix the greeting", "--plan-only"]).run();
    assert!(world.provider.requests().len() > before, "{}", again.stderr);
    assert!(!world.provider.all_messages().contains("<architect>"));
}

#[test]
fn a_session_replays_with_the_prompts_it_recorded() {
    let world = World::greeting(eventful());
    let run = world.deepseek(REQUEST).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let asks = world.deepseek(["-c", "ask", "What does it say now?"]).run();
    assert_eq!(asks.code, Some(0), "{}", asks.stderr);
    let session = session(&world);
    let identical = || replayed(&world, "latest").1["identical"].clone();
    assert_eq!(identical(), json!(true));
    // Simulates a program that was later rebuilt with other prompts.
    upper_case_requests(&session);
    assert_eq!(identical(), json!(false), "requests are compared");
    reprompt(&session, |_, text| upper_case(text));
    let (_, document) = replayed(&world, "latest");
    assert_eq!(document["identical"], json!(true), "{document:#}");
}

#[test]
fn a_run_with_damaged_prompts_is_not_resumed_with_others() {
    let world = World::greeting(eventful());
    let killed = killed_at(&world, 40, &REQUEST);
    assert_eq!(killed.code, None, "{}", killed.stderr);
    let session = session(&world);
    rewrite(&session, |line| {
        if line["data"]["prompts"].is_object() {
            line["data"]["prompts"] = keep(&session, "no set");
        }
    });
    let before = world.provider.requests().len();
    let resumed = world.deepseek(RESUME).run();
    assert_ne!(resumed.code, Some(0));
    assert!(resumed.stderr.contains("the prompts of the run"), "{}", resumed.stderr);
    assert_eq!(world.provider.requests().len(), before);
}

/// Creates a world whose workspace has these prompt files.
fn with_prompts(texts: &[(&str, &str)]) -> World {
    let world = World::greeting(greeting_fix());
    for (name, text) in texts {
        world.project.write(&format!(".deepseek/prompts/{name}"), text);
    }
    world
}

#[test]
fn a_trusted_workspace_can_replace_prompts() {
    let text = "Plan in {{project_root}} for `{{user_input}}`, {{max_files}} files at most.\n";
    let world = with_prompts(&[("architect.md", text), ("notes.txt", "not a prompt")]);
    let run = world.deepseek(["prompts", "list"]).run();
    assert!(run.stderr.contains("not trusted; to trust it: deepseek trust"), "{}", run.stderr);
    assert!(
        run.stdout.lines().any(|line| line.starts_with("architect ") && line.contains("built in"))
    );

    world.deepseek(["trust"]).run();
    let run = world.deepseek(["prompts", "list", "--output", "json"]).run();
    let listed: Value = serde_json::from_str(&run.stdout).unwrap();
    let architect = listed.as_array().unwrap().iter().find(|it| it["name"] == "architect").unwrap();
    assert_eq!(architect["from"], ".deepseek/prompts/architect.md");
    let run = world.deepseek(["prompts", "show", "architect"]).run();
    let root = world.project.root().display();
    assert_eq!(run.stdout, text.replace("{{project_root}}", &root.to_string()));

    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let said = format!("Plan in {root} for `Fix the greeting`, ");
    assert!(world.provider.last_message("architect", 1).contains(&said));
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn an_invalid_prompt_file_is_an_error_at_once() {
    for (name, text, why) in [
        ("architekt.md", "x", "there is no prompt `architekt`"),
        ("editor.md", "{{plan}}", "the prompt `editor` has no variable `plan`"),
    ] {
        let world = with_prompts(&[(name, text)]);
        world.deepseek(["trust"]).run();
        let run = world.chat("Fix the greeting");
        assert_eq!(run.code, Some(2), "{name}");
        assert!(run.stderr.contains(why) && run.stderr.contains("hint: "), "{}", run.stderr);
    }
}
