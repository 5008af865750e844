//! Tools provided by the workspace: when models may call them, what they return, and that they leave nothing behind.

use mock::{Behaviour, ScriptedCall, ScriptedReply};
use serde_json::{Value, json};

use crate::support::{Project, Provider, World, shell};

const SHOUT: &str = "#!/bin/sh\n# TOOL_META: {\"description\":\"Say it loudly.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}\necho \"loud: $1\"\necho x > shouted.txt\n";

fn shouts(name: &str, arguments: &Value) -> ScriptedReply {
    let call = ScriptedCall { name: name.to_owned(), arguments: arguments.to_string() };
    ScriptedReply { tool_calls: vec![call], ..ScriptedReply::of(Behaviour::ToolCall) }
        .to("analysis")
}

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

fn world(replies: Vec<ScriptedReply>) -> World {
    let project = Project::new(&[("tools/shout.sh", SHOUT), ("tools/mute.sh", "#!/bin/sh\n")]);
    shell(project.root(), "chmod +x tools/*.sh");
    World::of(project, Provider::new(replies))
}

/// Creates the same world, trusted and with these settings.
fn trusted(settings: &str, replies: Vec<ScriptedReply>) -> World {
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

#[test]
fn arguments_are_checked_and_a_tool_that_fails_is_no_success() {
    let count = "#!/bin/sh\n# TOOL_META: {\"description\":\"Count.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"integer\"}},\"required\":[\"to\"]}}\n[ \"$1\" = '{\"to\":9}' ] && sleep 60\necho \"cannot count $1\"\nexit 3\n";
    let wrong = "TOOL_META = {'description': 'x'}\ndef run(args):\n    return 1\n";
    let replies = vec![
        shouts("tools_count", &json!({})),
        shouts("tools_count", &json!({"to": "ten"})),
        shouts("tools_count", &json!({"to": 10})),
        shouts("tools_count", &json!({"to": 9})),
        says("I cannot count."),
    ];
    let project = Project::new(&[("tools/count.sh", count), ("tools/wrong.py", wrong)]);
    shell(project.root(), "chmod +x tools/*");
    let world = World::of(project, Provider::new(replies))
        .configure("[agent_loop]\nverify_timeout_seconds = 2\n");
    assert_eq!(world.deepseek(["trust"]).run().code, Some(0));
    let listed = world.deepseek(["tools", "list"]).run();
    let why = "ignored tools/wrong.py: its TOOL_META is not a comment";
    assert!(listed.stderr.contains(why), "{}", listed.stderr);
    let run = world.deepseek(["ask", "--approval", "auto", "Count"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for (number, error) in [
        (2, "the arguments of tools.count are wrong: missing properties 'to'; it takes {"),
        (3, "/to: want integer, but got string"),
        (4, "exit 3\ncannot count {\"to\":10}"),
        (5, "timed out"),
    ] {
        let result = tool_result(&world, number);
        assert_eq!(result["ok"], false, "{result}");
        assert!(result["error"].as_str().unwrap().contains(error), "{error}: {result}");
    }
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}
