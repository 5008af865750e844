//! At a terminal: an approval, a call that needs one, and a question of a server.

use serde_json::json;

use super::{approve, calls, says, told, world};
use crate::support::Terminal;

#[test]
fn an_approval_asks_before_the_start_and_which_tools_only_read() {
    let world = world(vec![]);
    let mut terminal = Terminal::start(&mut world.deepseek(["mcp", "approve", "shell"]));
    terminal.until("Start it? [y/N]", 1);
    terminal.types("y\n");
    terminal.until("The server says that these only read: add", 1);
    terminal.until("Do you say so too? They are then called without asking. [y/N]", 1);
    terminal.types("y\n");
    terminal.until("Approve these tools as they are? [y/N]", 1);
    terminal.types("y\n");
    terminal.until("shell is approved with 16 tools; 1 of them are called without asking", 1);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_call_that_may_change_something_happens_only_after_a_yes() {
    for (answer, expected) in [("y\n", "noted"), ("n\n", "you declined")] {
        let world = world(vec![calls("mcp_shell_note", &json!({ "text": "a" })), says("Done.")]);
        approve(&world, &["add"]);
        let mut terminal = Terminal::start(&mut world.deepseek(["ask", "Note it"]));
        terminal.until("shell note {\"text\":\"a\"}", 1);
        terminal.until("you have not said that it only reads. Call it? [y/N", 1);
        terminal.types(answer);
        terminal.until("Done.", 1);
        assert_eq!(terminal.end(), Some(0));
        assert!(told(&world, 1).to_string().contains(expected), "{}", told(&world, 1));
    }
}

#[test]
fn a_question_of_a_server_is_answered_by_the_user() {
    let world = world(vec![calls("mcp_shell_ask", &json!({})), says("Done.")]);
    approve(&world, &["*"]);
    let mut terminal = Terminal::start(&mut world.deepseek(["ask", "Find it"]));
    terminal.until("The MCP server `shell` asks: Which ticket? · number (a number)", 1);
    terminal.types("42\n");
    terminal.until("Done.", 1);
    assert_eq!(terminal.end(), Some(0));
    assert!(told(&world, 1)["value"].to_string().contains("ticket 42"), "{}", told(&world, 1));
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_question_of_a_server_says_what_an_empty_answer_means() {
    let world = world(vec![calls("mcp_shell_ask", &json!({})), says("Done.")]);
    approve(&world, &["*"]);
    let mut terminal = Terminal::start(&mut world.deepseek(["ask", "Find it"]));
    terminal.until("Your answer (empty: you decline): ", 1);
    terminal.types("\n");
    terminal.until("Done.", 1);
    let shown = terminal.shown();
    assert_eq!(terminal.end(), Some(0));
    assert!(!shown.contains("the model decides"), "{shown}");
    assert!(told(&world, 1).to_string().contains("decline"), "{}", told(&world, 1));
}
