//! A tool that a server of the Model Context Protocol provides, and its name for models. Pure: servers are elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tree::FileHash;

/// A tool of an approved server, as it is offered to models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTool {
    /// The server.
    pub server: String,
    /// The server's name for it.
    pub tool: String,
    /// The name for models.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// Whether the user says that it only reads.
    pub reads: bool,
    /// Whether the server says that it may destroy something.
    pub destroys: bool,
    /// Whether the user wants models to know of it first.
    #[serde(default)]
    pub first: bool,
}

/// What every such name begins with.
const PREFIX: &str = "mcp_";

/// The longest name that providers accept.
const LONGEST: usize = 64;

/// Hexadecimal digits that tell names apart which would be equal.
const DIGITS: usize = 8;

/// Returns true if a call names a tool of a server.
pub fn is_server_tool(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns the name for models: `mcp_<server>_<tool>`, of letters, digits, `_` and `-`. A name that had to be changed ends with
/// a short hash of the original, so that it is unique whatever other tools there are. A server's `_` counts as a change:
/// `a_b` with `c` is not `a` with `b_c`.
pub fn wire_name(server: &str, tool: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain =
        |name: &str| -> String { name.chars().map(|c| if is_kept(c) { c } else { '_' }).collect() };
    let name = format!("{PREFIX}{}_{}", plain(server), plain(tool));
    let is_faithful = !server.contains('_') && plain(tool) == tool && plain(server) == server;
    if is_faithful && name.len() <= LONGEST && !looks_hashed(tool) {
        return name;
    }
    let hash = FileHash::of(format!("{server}\0{tool}").as_bytes()).to_string();
    let kept = name.get(..name.len().min(LONGEST - DIGITS - 1)).unwrap_or_default();
    format!("{kept}_{}", hash.get(..DIGITS).unwrap_or_default())
}

/// Returns true if a name ends as a changed one does.
fn looks_hashed(tool: &str) -> bool {
    tool.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == DIGITS && end.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_short_and_stable() {
        let long = "x".repeat(200);
        let servers = ["git", "a", "a_b", "a-b"];
        let tools = ["status", "b_c", "c", "a.b", "a_b", "a/b", "größe", &long, "", "c_0a1b2c3d"];
        let names: BTreeSet<String> = servers
            .iter()
            .flat_map(|server| tools.iter().map(|tool| wire_name(server, tool)))
            .collect();
        assert_eq!(names.len(), servers.len() * tools.len());
        for name in &names {
            let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(name.len() <= LONGEST && name.chars().all(is_kept), "{name}");
            assert!(is_server_tool(name));
        }
        assert_eq!(wire_name("git", "git_status"), "mcp_git_git_status");
        assert_eq!(wire_name("git", "a.b"), wire_name("git", "a.b"));
    }
}
