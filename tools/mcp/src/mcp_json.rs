//! `.mcp.json`, which other agents read too: its servers, and those of the user. Pure, but for reading and writing the file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use config::McpServer;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;
use tools::regular;

use crate::entry::{EntryError, EntryOrigin, ServerEntry};

/// The name of the file.
const FILE: &str = ".mcp.json";

/// The types of entries that are understood.
const KINDS: [&str; 4] = ["stdio", "http", "streamable-http", "streamableHttp"];

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Why the file cannot be read.
#[derive(Debug, Error)]
pub enum McpJsonError {
    /// The system refused.
    #[error(".mcp.json cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is not of the known form.
    #[error(".mcp.json is not read: {0}")]
    Form(#[from] serde_json::Error),
}

/// Why the file cannot be changed.
#[derive(Debug, Error)]
#[error("cannot change {path}: {why}")]
pub struct McpJsonUnchanged {
    path: String,
    why: String,
}

/// The file. Fields of others are ignored.
#[derive(Deserialize)]
struct McpJson {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct JsonServer {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(flatten, with = "Fields")]
    server: McpServer,
    oauth: Option<OAuthFields>,
    /// Milliseconds that a call may take.
    timeout: Option<u64>,
}

/// The client for logins, as other agents write it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct OAuthFields {
    client_id: String,
    client_secret: String,
    scopes: Scopes,
}

/// Rights, as a list or between spaces.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scopes {
    List(Vec<String>),
    Text(String),
}

impl Default for Scopes {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

/// The fields of an entry that are written as in the user's configuration, where others are errors.
#[derive(Deserialize, Default)]
#[serde(remote = "McpServer", default)]
struct Fields {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: String,
    url: String,
    headers: BTreeMap<String, String>,
    client_id: String,
    client_secret: String,
    scopes: Vec<String>,
    read: Vec<String>,
    write: Vec<String>,
    network: bool,
    disabled: bool,
    required: bool,
    start_timeout_seconds: Option<u64>,
    call_timeout_seconds: Option<u64>,
    max_call_seconds: Option<u64>,
}

/// Reads the servers of a workspace's `.mcp.json`; none if there is no such file.
pub(crate) fn read_mcp_json(workspace: &Path) -> Result<Vec<ServerEntry>, McpJsonError> {
    match regular::read_text(&workspace.join(FILE), MAX_BYTES) {
        Ok(text) => parse_mcp_json(&text),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

/// Changes the servers in a workspace's `.mcp.json`, and keeps the rest of the file. Nothing is written if `change` returns
/// false.
pub fn change_mcp_json(
    workspace: &Path,
    change: impl FnOnce(&mut Map<String, Value>) -> bool,
) -> Result<(), McpJsonUnchanged> {
    let path = workspace.join(FILE);
    let failed = |error: &dyn std::fmt::Display| McpJsonUnchanged {
        path: path.display().to_string(),
        why: error.to_string(),
    };
    let text = match regular::read_text(&path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => return Err(failed(&error)),
    };
    let mut file: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let servers = file.entry("mcpServers").or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or_else(|| failed(&"`mcpServers` is no object"))?;
    if change(servers) {
        let text = serde_json::to_string_pretty(&file).map_err(|error| failed(&error))? + "\n";
        fs::write(&path, text).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn parse_mcp_json(text: &str) -> Result<Vec<ServerEntry>, McpJsonError> {
    let McpJson { servers } = serde_json::from_str(text)?;
    let entry = |(name, entry): (String, Value)| {
        let (server, fault) = match serde_json::from_value::<JsonServer>(entry) {
            Ok(entry) => {
                let kind = entry.kind.clone();
                let is_known = kind.as_deref().is_none_or(|kind| KINDS.contains(&kind));
                (entry.whole(), kind.filter(|_| !is_known).map(EntryError::Kind))
            }
            Err(error) => (McpServer::default(), Some(EntryError::Form(error.to_string()))),
        };
        ServerEntry { name, origin: EntryOrigin::Project, server, fault }
    };
    Ok(servers.into_iter().map(entry).collect())
}

impl JsonServer {
    /// Returns the server with what other agents write in their own way.
    fn whole(self) -> McpServer {
        let Self { mut server, oauth, timeout, .. } = self;
        if let Some(timeout) = timeout {
            server.call_timeout_seconds = Some(timeout.div_ceil(1000));
        }
        let OAuthFields { client_id, client_secret, scopes } = oauth.unwrap_or_default();
        if !client_id.is_empty() {
            (server.client_id, server.client_secret) = (client_id, client_secret);
        }
        let scopes = match scopes {
            Scopes::List(scopes) => scopes,
            Scopes::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
        };
        if !scopes.is_empty() {
            server.scopes = scopes;
        }
        server
    }
}

/// Returns all servers, by name. One of the user stands before one of the project with the same name.
pub(crate) fn entries_of(
    of_user: &BTreeMap<String, McpServer>,
    of_project: Vec<ServerEntry>,
) -> Vec<ServerEntry> {
    let of_project = of_project.into_iter().map(|entry| (entry.name.clone(), entry));
    let mut entries: BTreeMap<String, ServerEntry> = of_project.collect();
    for (name, server) in of_user {
        let (name, server) = (name.clone(), server.clone());
        entries.insert(
            name.clone(),
            ServerEntry { name, origin: EntryOrigin::User, server, fault: None },
        );
    }
    entries.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_others_is_read() {
        let text = r#"{ "$schema": "x", "mcpServers": {
            "git": { "command": "uvx", "args": ["mcp-server-git"], "alwaysLoad": true },
            "docs": { "type": "http", "url": "https://docs.example/mcp", "headers": { "X": "${K}" }, "timeout": 1500,
                "oauth": { "clientId": "me", "callbackPort": 8080, "scopes": "read write" } }
        }, "inputs": [] }"#;
        let entries = parse_mcp_json(text).unwrap();
        let shown: Vec<_> = entries.iter().map(|it| (it.name.as_str(), it.target())).collect();
        assert_eq!(
            shown,
            [("docs", "https://docs.example/mcp".into()), ("git", "uvx mcp-server-git".into())]
        );
        assert_eq!(entries[0].server.call_timeout_seconds, Some(2));
        assert_eq!(entries[0].server.client_id, "me");
        assert_eq!(entries[0].server.scopes, ["read", "write"]);
        assert!(parse_mcp_json("7").is_err());
        let text = r#"{"mcpServers":{"a":{"args":["x"]},"b":{"command":7},"c":{"type":"sse","url":"https://c"},"d":{"command":"d"}}}"#;
        let entries = parse_mcp_json(text).unwrap();
        let faults: Vec<String> = entries
            .iter()
            .map(|it| it.endpoint().map_or_else(|fault| fault.to_string(), |_| String::new()))
            .collect();
        assert!(
            faults[0].contains("needs either") && faults[1].contains("is not read"),
            "{faults:?}"
        );
        assert!(faults[2].contains("type \"sse\" is not") && faults[3].is_empty(), "{faults:?}");
        assert!(parse_mcp_json("{}").unwrap().is_empty());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let word = || "a".to_owned();
        let server = McpServer {
            command: word(),
            args: vec![word()],
            env: [(word(), word())].into(),
            cwd: word(),
            url: word(),
            headers: [(word(), word())].into(),
            client_id: word(),
            client_secret: word(),
            scopes: vec![word()],
            read: vec![word()],
            write: vec![word()],
            network: true,
            disabled: true,
            required: true,
            start_timeout_seconds: Some(1),
            call_timeout_seconds: Some(1),
            max_call_seconds: Some(1),
        };
        let text = json!({ "mcpServers": { "a": server } }).to_string();
        assert_eq!(parse_mcp_json(&text).unwrap().remove(0).server, server);
    }
}
