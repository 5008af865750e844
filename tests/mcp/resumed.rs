//! Runs with calls that are killed: whatever the moment, no tool is called twice.

use mock::Replies;
use serde_json::json;

use super::{approve, calls, says, world_of};
use crate::sessions::resume::{answers_so_far, resumes_after_kills};
use crate::support::{Provider, World};

/// A world whose tool `note` leaves a line in the user's home directory each time.
fn noting() -> World {
    let replies = Replies::driven(|request| match answers_so_far(request) {
        0 => calls("mcp_shell_note", &json!({})),
        1 => calls("mcp_shell_add", &json!({ "a": 1, "b": 1 })),
        _ => says("Done."),
    });
    let world = world_of(Provider::new(replies)).unconfined();
    let server = world.project.read("server/serve.sh");
    let noted = format!("note) echo x >>'{}'; text", noted(&world).display());
    world.project.write("server/serve.sh", server.replace("note) text", &noted));
    approve(&world, &["*"]);
    world
}

fn noted(world: &World) -> std::path::PathBuf {
    world.home().join("noted")
}

#[test]
fn a_run_that_is_killed_at_any_record_is_resumed_without_calling_a_tool_twice() {
    let args = ["ask", "Do it", "--output", "stream-json"];
    let kills = resumes_after_kills(9, &args, 0, noting, |world, step| {
        let times = std::fs::read_to_string(noted(world)).unwrap_or_default().lines().count();
        assert!(times <= 1, "step {step}: called {times} times");
    });
    assert!(kills > 3, "{kills}");
}
