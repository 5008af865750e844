//! Tools provided by the workspace: when models may call them, what they return, and that they leave nothing behind.

use mock::{Behaviour, Reply, ScriptedCall};
use serde_json::{Value, json};

use crate::support::{Project, Provider, World, shell};

const SHOUT: &str = "#!/bin/sh\n# TOOL_META: {\"description\":\"Say it loudly.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}\necho \"loud: $1\"\necho x > shouted.txt\n";

fn shouts(name: &str, arguments: &Value) -> Reply {
    let call = ScriptedCall { name: name.to_owned(), arguments: arguments.to_string() };
    Reply { tool_calls: vec![call], ..Reply::of(Behaviour::ToolCall) }.to("analysis")
}

fn says(text: &str) -> Reply {
    Reply::text(text).to("analysis")
}

fn world(replies: Vec<Reply>) -> World {
    let project = Project::new(&[("tools/shout.sh", SHOUT), ("tools/mute.sh", "#!/bin/sh\n")]);
    shell(project.root(), "chmod +x tools/*.sh");
    World::of(project, Provider::new(replies))
}

/// Creates the same world, trusted and with these settings.
fn trusted(settings: &str, replies: Vec<Reply>) -> World {
    let world = world(replies).configure(settings);
    assert_eq!(world.deepseek(["trust"]).run().code, Some(0));
    world
}

/// Returns the last message of the model's `number`th request, which is the result of its tool call.
fn tool_result(world: &World, number: usize) -> Value {
    let requests = world.provider.of("analysis");
    let last = requests[number - 1].request.json["messages"].as_array().unwrap().last().cloned();
    serde_json::from_str(last.unwrap()["content"].as_str().unwrap()).unwrap()
}

#[test]
fn a_trusted_workspace_can_provide_tools() {
    let replies = vec![
        shouts("tools_shout", &json!({"text": "it's"})),
        shouts("tools_mute", &json!({})),
        says("It is loud."),
    ];
    let world = trusted("", replies);
    let listed = world.deepseek(["tools", "list"]).run();
    let line = "tools.shout (tools/shout.sh)\n    Say it loudly.\n";
    assert!(listed.stdout.ends_with(line), "{}", listed.stdout);
    let run = world.deepseek(["ask", "--approval", "auto", "How loud is it?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let offered = world.provider.of("analysis")[0].request.json["tools"].clone();
    assert_eq!(offered[10]["function"]["name"], "tools_shout");
    assert_eq!(offered[10]["function"]["parameters"]["properties"]["text"]["type"], "string");
    let value = tool_result(&world, 2)["value"].to_string();
    assert!(value.contains("loud: {\\\"text\\\":\\\"it's\\\"}"), "{value}");
    assert!(tool_result(&world, 3)["error"].as_str().unwrap().contains("no tool `tools_mute`"));
    assert!(
        !world.project.root().join("shouted.txt").exists(),
        "files written by a tool are discarded"
    );
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_workspace_tool_needs_the_same_permission_as_a_command() {
    let replies = vec![shouts("tools_shout", &json!({"text": "a"})), says("I do not know.")];
    let world = trusted("", replies);
    let run = world.deepseek(["ask", "How loud is it?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let result = tool_result(&world, 2);
    assert!(result["ok"] == false && result["error"].as_str().is_some(), "{result}");
    let world = trusted("[policy]\nmode = \"plan\"", vec![says("I do not know.")]);
    assert_eq!(world.asks("How loud is it?").code, Some(0));
    assert_eq!(
        world.provider.of("analysis")[0].request.json["tools"].as_array().unwrap().len(),
        10
    );
}

#[test]
fn an_untrusted_workspace_provides_no_tools() {
    let world = world(vec![shouts("tools_shout", &json!({})), says("I do not know.")]);
    let listed = world.deepseek(["tools", "list"]).run();
    assert!(!listed.stdout.contains("shout"), "{}", listed.stdout);
    assert!(
        listed.stderr.contains("ignored tools.shout: this workspace is not trusted"),
        "{}",
        listed.stderr
    );
    let run = world.deepseek(["ask", "--approval", "auto", "How loud is it?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        world.provider.of("analysis")[0].request.json["tools"].as_array().unwrap().len(),
        10
    );
    assert!(tool_result(&world, 2)["error"].as_str().unwrap().contains("no tool `tools_shout`"));
}

#[test]
fn a_model_without_native_tool_calls_can_use_workspace_tools() {
    let replies = vec![says("NEED_TOOL|tools.shout|{\"text\":\"a\"}"), says("It is loud.")];
    let world = trusted("[llm]\nnative_tools = false", replies);
    let run = world.deepseek(["ask", "--approval", "auto", "How loud is it?"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.last_message("analysis", 1).contains("- tools.shout {"));
    let prompt = world.provider.last_message("analysis", 2);
    assert!(prompt.contains("loud: {\"text\":\"a\"}"), "{prompt}");
}
