//! Servers of tools (MCP): what is started, what is offered and called, and how little a hostile one can do.
//! The servers here are shell scripts; real ones are tried outside these tests.

mod ages;
mod approvals;
mod attended;
mod calls;
mod hostile;
mod logins;
mod resumed;

use mock::{Behaviour, ScriptedCall, ScriptedReply};
use serde_json::{Value, json};

use crate::support::{Project, Provider, Run, World};

/// A server that does what the names of its tools say.
const SERVER: &str = include_str!("mcp/serve.sh");

/// The tools of the server in most tests; the user says of the first that it only reads.
const TOOLS: [&str; 16] = [
    "add",
    "note",
    "environment",
    "secret",
    "die",
    "flood",
    "rubbish",
    "line",
    "big",
    "late",
    "fail",
    "refuse",
    "link",
    "odd",
    "child",
    "ask",
];

/// Returns the definition of a tool.
fn definition(name: &str) -> Value {
    match name {
        "add" => json!({
            "name": name,
            "description": "Adds two numbers.",
            "inputSchema": {
                "type": "object",
                "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
                "required": ["a", "b"],
            },
            "annotations": { "readOnlyHint": true },
        }),
        "odd" => json!({
            "name": name,
            "description": "Counts.",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object", "properties": { "count": { "type": "integer" } } },
        }),
        "die" => json!({
            "name": name,
            "description": "Ends.",
            "inputSchema": { "type": "object" },
            "annotations": { "destructiveHint": true },
        }),
        _ => {
            json!({ "name": name, "description": format!("Does: {name}."), "inputSchema": { "type": "object" } })
        }
    }
}

/// Returns the list of tools as the server reads it.
fn tools_json(names: &[&str]) -> String {
    Value::Array(names.iter().map(|name| definition(name)).collect()).to_string()
}

/// Creates a project with a server `shell` in its `.mcp.json`, and what the model answers.
fn world(replies: Vec<ScriptedReply>) -> World {
    world_of(Provider::new(replies))
}

/// Like [`world`], with this provider.
fn world_of(provider: Provider) -> World {
    let entry = json!({ "mcpServers": { "shell": { "command": "sh", "args": ["server/serve.sh"],
        "env": { "TOKEN": "${SHELL_TOKEN:-none}" } } } });
    let project = Project::new(&[
        (".mcp.json", &entry.to_string()),
        ("server/serve.sh", SERVER),
        ("server/tools.json", &tools_json(&TOOLS)),
    ]);
    World::of(project, provider)
}

/// Approves the server; these of its tools read.
fn approve(world: &World, reads: &[&str]) -> Run {
    let reads = reads.iter().flat_map(|tool| ["--reads", tool]);
    let args = ["mcp", "approve", "shell", "--yes"].into_iter().chain(reads);
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

/// Creates a world whose server is approved; all its tools are said to read.
fn approved(replies: Vec<ScriptedReply>) -> World {
    let world = world(replies);
    approve(&world, &["*"]);
    world
}

/// An answer that calls a tool.
fn calls(name: &str, arguments: &Value) -> ScriptedReply {
    let call = ScriptedCall { name: name.to_owned(), arguments: arguments.to_string() };
    ScriptedReply { tool_calls: vec![call], ..ScriptedReply::of(Behaviour::ToolCall) }
        .to("analysis")
}

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis")
}

/// Returns what the model was told about its `number`th call.
fn told(world: &World, number: usize) -> Value {
    let requests = world.provider.of("analysis");
    let last = requests[number].request.json["messages"].as_array().unwrap().last().cloned();
    serde_json::from_str(last.unwrap()["content"].as_str().unwrap()).unwrap()
}

/// Returns the names of the tools that a request of the model offers.
fn offered(world: &World, number: usize) -> Vec<String> {
    let tools = world.provider.of("analysis")[number].request.json["tools"].clone();
    let names = tools.as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone());
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Has the model call a tool, and returns what it is told.
fn call_of(tool: &str, configured: &str) -> (World, Value) {
    let world = world(vec![calls(&format!("mcp_shell_{tool}"), &json!({})), says("Done.")])
        .configure(configured);
    approve(&world, &["*"]);
    let run = world.asks("Do it");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = told(&world, 1);
    (world, told)
}
