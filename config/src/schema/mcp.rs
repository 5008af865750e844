//! Servers of the Model Context Protocol: what is started or called, and the bounds for it. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Tools of others, which servers of the Model Context Protocol (MCP) provide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcp {
    /// Tokens of tool definitions that a request may contain; beyond it a model finds tools with `tool.find`.
    pub definition_tokens: usize,
    /// Tokens of the list of tools that takes the place of their definitions.
    pub catalogue_tokens: usize,
    /// Seconds in which a server must be ready.
    pub start_timeout_seconds: u64,
    /// Seconds in which a server must answer a call.
    pub call_timeout_seconds: u64,
    /// Bytes of one message of a server; a longer one is dropped.
    pub max_message_bytes: usize,
    /// How often a server that ended is started again in a session.
    pub max_restarts: u32,
    /// How often a server may ask the user something during one call.
    pub max_questions: usize,
    /// The user's servers, by name.
    pub servers: BTreeMap<String, McpServer>,
}

/// A server: a program to start, or an address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpServer {
    /// The program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The variables that it gets besides a few that every program needs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its working directory, relative to the workspace; the workspace if it is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// The address of a server that is not started.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The headers of its requests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The id under which who gives tokens for the address knows this client; without one it registers.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_id: String,
    /// The secret of that client, if it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_secret: String,
    /// The rights to ask for at a login; those that the server names if it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Further directories that the program sees. What its words name by an absolute path, it sees anyway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Directories and files outside the workspace that the program writes to. What it writes to its home directory, which is its
    /// own, it finds again anyway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Whether the program reaches the network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Whether it is left alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Whether a session without it is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Seconds in which it must be ready; as of all servers if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timeout_seconds: Option<u64>,
    /// Seconds in which it must answer a call; as of all servers if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_timeout_seconds: Option<u64>,
    /// Seconds up to which progress that it reports extends the time of a call; none without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_call_seconds: Option<u64>,
}
