//! Servers that misbehave: nothing of it reaches further than the call.

use std::time::Duration;

use super::{approved, call_of, calls, says, told};
use crate::support::{processes_in, wait_until};
use serde_json::json;

#[test]
fn a_server_sees_only_named_variables_and_never_the_key() {
    let (_, told) = call_of("environment", "");
    let value = told["value"].to_string();
    assert!(value.contains("PATH") && value.contains("TOKEN"), "{value}");
    assert!(!value.contains("DEEPSEEK") && !value.contains("API_KEY"), "{value}");
}

#[test]
fn a_missing_variable_is_named_and_no_value_is_shown() {
    let world = super::world(vec![]);
    let entry = world.project.read(".mcp.json").replace(":-none}", "}");
    world.project.write(".mcp.json", &entry);
    let run = world.deepseek(["mcp", "approve", "shell", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("the variable SHELL_TOKEN is not set"), "{}", run.stderr);
    let replies = vec![calls("mcp_shell_secret", &json!({})), says("Done.")];
    let world = approved(replies);
    let run = world.deepseek(["ask", "What?"]).env("SHELL_TOKEN", "hunter2-hunter2").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let value = told(&world, 1)["value"].to_string();
    assert!(value.contains("token ") && !value.contains("hunter2"), "{value}");
    assert!(!run.stdout.contains("hunter2") && !run.stderr.contains("hunter2"));
}

#[test]
fn rubbish_floods_and_long_lines_do_not_break_the_session() {
    for (tool, configured, expected) in [
        ("flood", "", "after the flood"),
        ("rubbish", "", "after the rubbish"),
        (
            "line",
            "[mcp]\nmax_message_bytes = 100000\n",
            "it sent a message of more than 100000 bytes (mcp.max_message_bytes); whether the tool did its work is unknown",
        ),
        (
            "late",
            "[mcp]\ncall_timeout_seconds = 1\n",
            "it did not answer in time (mcp.call_timeout_seconds)",
        ),
    ] {
        let (_, told) = call_of(tool, configured);
        assert!(told.to_string().contains(expected), "{tool}: {told}");
    }
}

#[test]
fn a_server_that_ends_in_a_call_is_started_again_but_the_call_is_not_repeated() {
    let die = || calls("mcp_shell_die", &json!({}));
    let replies = vec![
        die(),
        calls("mcp_shell_add", &json!({ "a": 1, "b": 1 })),
        die(),
        die(),
        says("Done."),
    ];
    let world = super::world(replies).configure("[mcp]\nmax_restarts = 1\n");
    super::approve(&world, &["*"]);
    let run = world.asks("Do it");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let unknown = told(&world, 1)["error"].to_string();
    assert!(
        unknown.contains("the server ended; whether the tool did its work is unknown"),
        "{unknown}"
    );
    assert!(told(&world, 2)["value"].to_string().contains("\\n2"), "{}", told(&world, 2));
    let over = told(&world, 4)["error"].to_string();
    assert!(over.contains("(mcp.max_restarts)"), "{over}");
    let ends: Vec<String> =
        run.all("ServerToolAnswered").iter().map(|event| event["end"].to_string()).collect();
    assert_eq!(ends, ["\"unknown\"", "\"answered\"", "\"unknown\"", "\"refused\""]);
}

#[test]
fn nothing_that_a_server_started_outlives_the_session() {
    let world = approved(vec![calls("mcp_shell_child", &json!({})), says("Done.")]);
    let run = world.asks("Do it");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(processes_in(world.project.root()).is_empty());
}

#[test]
fn nothing_that_a_server_started_outlives_a_kill() {
    for world in [approved(child_then_wait()), approved(child_then_wait()).unconfined()] {
        let mut running = world.deepseek(["ask", "Do it"]).start();
        running.until(|| world.provider.of("analysis").len() > 1);
        running.kill();
        let gone = wait_until(Duration::from_secs(20), || {
            processes_in(world.project.root()).is_empty().then_some(())
        });
        assert!(gone.is_some(), "{:?}", processes_in(world.project.root()));
    }
}

/// A call after which the model thinks for a long time.
fn child_then_wait() -> Vec<mock::ScriptedReply> {
    let slow = mock::ScriptedReply { delay_ms: 60_000, ..says("Done.") };
    vec![calls("mcp_shell_child", &json!({})), slow]
}

#[test]
fn without_a_terminal_a_question_of_a_server_is_declined() {
    let (_, told) = call_of("ask", "");
    assert!(told["value"].to_string().contains("declined"), "{told}");
}

#[test]
fn a_call_that_takes_too_long_or_is_stopped_is_cancelled_at_the_server() {
    let world = super::world(vec![calls("mcp_shell_late", &json!({})), says("Done.")])
        .configure("[mcp]\ncall_timeout_seconds = 1\n")
        .unconfined();
    super::approve(&world, &["*"]);
    let run = world.asks("Do it");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.project.read("server/cancelled"), "cancelled\n");
    let world = super::world(vec![calls("mcp_shell_late", &json!({}))]).unconfined();
    super::approve(&world, &["*"]);
    let mut running = world.deepseek(["ask", "Do it", "--output", "stream-json"]).start();
    let called = running.stdout_of();
    running.until(|| called().contains("ServerToolCalled"));
    let (run, _) = running.interrupt();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert!(processes_in(world.project.root()).is_empty());
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}
