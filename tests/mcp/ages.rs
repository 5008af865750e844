//! Servers of both ages of the protocol, and the time that they take.

use mock::ScriptedReply;
use serde_json::{Value, json};

use super::{SERVER, approve, approved, calls, offered, says, told, tools_json, world};
use crate::support::{World, architect, editor, plan_verified_by, processes_left_in};

/// Creates a world whose server is of this age and has these tools.
fn aged(age: &str, tools: &[&str], replies: Vec<ScriptedReply>) -> World {
    let world = world(replies);
    let entry = world
        .project
        .read(".mcp.json")
        .replace("\"env\":{", &format!("\"env\":{{\"AGE\":\"{age}\","));
    world.project.write(".mcp.json", entry);
    world.project.write("server/tools.json", tools_json(tools));
    world
}

#[test]
fn a_server_without_a_handshake_is_spoken_to_in_its_own_way() {
    let replies = vec![
        calls("mcp_shell_add", &json!({ "a": 2, "b": 3 })),
        calls("mcp_shell_wants", &json!({})),
        calls("mcp_shell_insists", &json!({})),
        says("Done."),
    ];
    let world = aged("newer", &["add", "wants", "insists"], replies);
    approve(&world, &["*"]);
    let run = world.asks("How many?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(told(&world, 1)["value"].to_string().contains("\\n5"), "{}", told(&world, 1));
    assert!(told(&world, 2)["value"].to_string().contains("declined"), "{}", told(&world, 2));
    let insists = told(&world, 3)["error"].to_string();
    assert!(
        insists.contains("did not complete within 8") && insists.contains("is unknown"),
        "{insists}"
    );
}

#[test]
fn a_server_that_does_not_get_ready_is_given_up() {
    let world = aged("silent", &["add"], vec![]).configure("[mcp]\nstart_timeout_seconds = 1\n");
    let run = world.deepseek(["mcp", "approve", "shell", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let why = "the MCP server `shell`: it was not ready after 1 s (mcp.start_timeout_seconds)";
    assert!(run.stderr.contains(why), "{}", run.stderr);
}

#[test]
fn a_server_that_ends_at_once_is_told_with_what_it_says() {
    let world = world(vec![]);
    world.project.write("server/serve.sh", "echo 'no module named mcp' >&2; exit 7\n");
    let run = world.deepseek(["mcp", "approve", "shell", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    for words in ["it ended with status 7; it says:", "no module named mcp"] {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    world.project.write(
        ".mcp.json",
        json!({ "mcpServers": { "shell": { "command": "no-such-program" } } }).to_string(),
    );
    let run = world.deepseek(["mcp", "approve", "shell", "--yes"]).run();
    assert!(run.stderr.contains("there is no such program"), "{}", run.stderr);
}

#[test]
fn progress_extends_the_time_of_a_call_only_where_the_entry_says_so() {
    for (more, expected) in [
        ("", "it did not answer in time (mcp.call_timeout_seconds)"),
        ("max_call_seconds = 60", "after four steps"),
    ] {
        let replies = vec![calls("mcp_own_slow", &json!({})), says("Done.")];
        let world = world(replies).configure(&format!(
            "[mcp]\ncall_timeout_seconds = 4\n[mcp.servers.own]\ncommand = \"sh\"\nargs = [\"server/serve.sh\"]\n{more}\n"
        ));
        world.project.write("server/tools.json", tools_json(&["slow"]));
        let run = world.deepseek(["mcp", "approve", "own", "--yes", "--reads", "*"]).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let run = world.asks("Wait");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(told(&world, 1).to_string().contains(expected), "{}", told(&world, 1));
    }
}

#[test]
fn tools_that_change_in_a_session_do_not_change_the_prompt() {
    let replies = vec![
        calls("mcp_shell_more", &json!({})),
        calls("mcp_shell_add", &json!({ "a": 1, "b": 1 })),
        calls("mcp_shell_new", &json!({})),
        says("Done."),
    ];
    let world = world(replies);
    world.project.write("server/tools.json", tools_json(&["add", "more"]));
    approve(&world, &["*"]);
    let run = world.asks("How many?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(offered(&world, 0), offered(&world, 3));
    assert!(told(&world, 2)["error"].to_string().contains("the server has no tool `add` any more"));
    assert!(told(&world, 3)["error"].to_string().contains("there is no tool `mcp_shell_new`"));
}

#[test]
fn two_servers_may_have_a_tool_of_the_same_name() {
    let replies = vec![
        calls("mcp_shell_add", &json!({ "a": 1, "b": 1 })),
        calls("mcp_other_add", &json!({ "a": 2, "b": 2 })),
        says("Done."),
    ];
    let world = approved(replies);
    let mut entry: Value = serde_json::from_str(&world.project.read(".mcp.json")).unwrap();
    entry["mcpServers"]["other"] = json!({ "command": "sh", "args": ["other/serve.sh"] });
    world.project.write(".mcp.json", entry.to_string());
    world.project.write("other/serve.sh", SERVER);
    world.project.write("other/tools.json", tools_json(&["add"]));
    let run = world.deepseek(["mcp", "approve", "other", "--yes", "--reads", "add"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = world.asks("How many?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = |number| told(&world, number)["value"].to_string();
    assert!(told(1).contains("`shell`") && told(1).contains("\\n2"), "{}", told(1));
    assert!(told(2).contains("`other`") && told(2).contains("\\n4"), "{}", told(2));
    let usage = world.deepseek(["usage", "--by", "tool", "--output", "json"]).run();
    let usage: Value = serde_json::from_str(&usage.stdout).unwrap();
    assert_eq!((&usage["total"]["calls"], usage["rows"].as_array().unwrap().len()), (&json!(2), 2));
    // Their answers are short, but read by a model that has a price.
    let total = &usage["total"];
    assert_eq!(total["calls_of_unknown_cost"], 0, "{usage}");
    assert!(total["cost_nano_usd"].as_u64().is_some_and(|cost| cost > 0), "{usage}");
}

#[test]
fn each_lane_has_a_server_of_its_own() {
    let team = "TEAM_PLAN_V1\nLANE|01|one|make a\nOWN|01|a.txt\nLANE|02|two|make b\nOWN|02|b.txt\nTEAM_PLAN_END";
    let mut replies = vec![ScriptedReply::text(team).to("lane-planner")];
    for (lane, file) in [("01", "a.txt"), ("02", "b.txt")] {
        let diff = format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+new\n");
        replies.extend([
            architect("NEED_TOOL|mcp_shell_where|{}").in_lane(lane),
            architect(plan_verified_by(&[file], &["sh check.sh"])).in_lane(lane),
            editor(diff).in_lane(lane),
        ]);
    }
    let world = world(replies).unconfined();
    world.project.write("server/tools.json", tools_json(&["where"]));
    world.project.write("check.sh", "exit 0\n");
    approve(&world, &["*"]);
    let args =
        ["--force-execute", "-p", "Make both", "--approval", "auto", "--teammate-mode", "on"];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(0), "{}{}{}", world.provider.roles(), run.stdout, run.stderr);
    for lane in ["/01-", "/02-"] {
        assert!(world.provider.all_messages().contains(lane), "{lane}");
    }
    assert!(processes_left_in(world.project.root()).is_empty());
}
