//! Adds and removes entries: in the user's configuration, or in the workspace's `.mcp.json`.

use std::collections::BTreeMap;

use clap::Args;
use config::McpServer;
use front::error::{CliError, CliErrorKind};
use mcp::{EntryOrigin, McpJsonUnchanged, ServerEntry, change_mcp_json};
use serde_json::{Value, json};

use super::desk::McpDesk;
use crate::commands::config::{put_all, take_out};
use crate::render;

/// Add a server to your configuration, or to the workspace's .mcp.json.
#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// A name of letters, digits, `-` and `_`.
    name: String,
    /// A variable for the program; its value may be `${NAME}`, so that a secret is not written down. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// A header for an address; its value may name a variable in the same way. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Vec<(String, String)>,
    /// The program's working directory, relative to the workspace.
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// A further directory that the program sees; what its words name by an absolute path, it sees anyway. May be repeated.
    #[arg(long, value_name = "DIR")]
    read: Vec<String>,
    /// A directory or file outside the workspace that the program writes to; it has a home directory of its own anyway. May be
    /// repeated.
    #[arg(long, value_name = "PATH")]
    write: Vec<String>,
    /// For an address that registers no clients: the id of one for logins. May be `${NAME}`.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The secret of that client; better `${NAME}` than a value.
    #[arg(long, value_name = "SECRET", requires = "client_id")]
    client_secret: Option<String>,
    /// A right to ask for at a login, instead of those that the server names. May be repeated.
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Let the program reach the network.
    #[arg(long)]
    network: bool,
    /// Write it to the workspace's .mcp.json, for everyone who works on it.
    #[arg(long)]
    project: bool,
    /// An address, or `--`, a program and its arguments.
    #[arg(required = true, value_name = "ADDRESS|PROGRAM", num_args = 1..)]
    target: Vec<String>,
}

/// Parses `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.is_empty() { Err("expected NAME=VALUE") } else { Ok((name.into(), value.into())) }
}

/// Adds an entry.
pub(super) fn add(desk: &McpDesk<'_>, args: &AddArgs) -> Result<(), CliError> {
    let AddArgs { name, env, header, network, project, target, .. } = args;
    let mut server = McpServer {
        env: env.iter().cloned().collect(),
        headers: header.iter().cloned().collect(),
        cwd: args.cwd.clone().unwrap_or_default(),
        client_id: args.client_id.clone().unwrap_or_default(),
        client_secret: args.client_secret.clone().unwrap_or_default(),
        scopes: args.scope.clone(),
        read: args.read.clone(),
        write: args.write.clone(),
        network: *network,
        ..McpServer::default()
    };
    match target.as_slice() {
        [url] if url.contains("://") => server.url.clone_from(url),
        [program, arguments @ ..] => {
            server.command.clone_from(program);
            server.args = arguments.to_vec();
        }
        [] => {}
    }
    let origin = if *project { EntryOrigin::Project } else { EntryOrigin::User };
    let entry = ServerEntry { name: name.clone(), origin, server, fault: None };
    entry.endpoint().map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    let is_there = |it: &ServerEntry| it.name == *name && it.origin == origin;
    if desk.entries()?.iter().any(is_there) {
        let error = format!("there is already a server `{name}` in {origin}");
        let hint = if *project { " --project" } else { "" };
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint(format!("to replace it, first: deepseek mcp remove {name}{hint}")));
    }
    if *project {
        let added = change_mcp_json(&desk.workspace, |servers| {
            servers.insert(name.clone(), as_json(&entry.server));
            true
        });
        added.map_err(|error| not_changed(&error))?;
    } else {
        put_all(desk.around, desk.global, &format!("mcp.servers.{name}"), &as_toml(&entry.server))?;
    }
    render::warn(&format!("{name} is added to {origin}"));
    render::warn(&format!(
        "nothing was started; look at it and approve it: deepseek mcp approve {name}"
    ));
    Ok(())
}

/// Removes an entry and the approvals of its name.
pub(super) async fn remove(desk: &McpDesk<'_>, name: &str, project: bool) -> Result<(), CliError> {
    let origin = if project { EntryOrigin::Project } else { EntryOrigin::User };
    let is_there = |it: &&ServerEntry| it.name == name && it.origin == origin;
    let entries = desk.entries()?;
    let entry = entries.iter().find(is_there).ok_or_else(|| {
        let error = format!("there is no server `{name}` in {origin}");
        CliError::new(CliErrorKind::Usage, error)
            .hint("`deepseek mcp list` shows where each is written")
    })?;
    if project {
        let removed = change_mcp_json(&desk.workspace, |servers| servers.remove(name).is_some());
        removed.map_err(|error| not_changed(&error))?;
    } else {
        take_out(desk.around, desk.global, &format!("mcp.servers.{name}"))?;
    }
    let removed = desk.servers.approvals().remove(name);
    removed.map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
    render::warn(&format!("{name} is removed from {origin}, with its approvals"));
    let of_address = |it: &&ServerEntry| it.server.url == entry.server.url;
    if !entry.server.url.is_empty() && entries.iter().filter(of_address).count() == 1 {
        match desk.servers.logout(entry).await {
            Ok(true) => render::warn("its login is forgotten"),
            Ok(false) => {}
            Err(error) => render::warn(&format!("its login is not forgotten: {error}")),
        }
    }
    if let Some(home) = desk.kept_home(name).filter(|home| home.exists()) {
        render::warn(&format!("what it kept is still there: {}", home.display()));
    }
    Ok(())
}

fn not_changed(error: &McpJsonUnchanged) -> CliError {
    CliError::caused(CliErrorKind::Usage, error)
}

/// Returns an entry as other agents write it.
fn as_json(server: &McpServer) -> Value {
    let kind = if server.command.is_empty() { "http" } else { "stdio" };
    let mut entry = json!({ "type": kind });
    if let (Some(entry), Ok(Value::Object(fields))) =
        (entry.as_object_mut(), serde_json::to_value(server))
    {
        entry.extend(fields);
    }
    entry
}

/// Returns the keys of an entry with their values.
fn as_toml(server: &McpServer) -> BTreeMap<String, String> {
    let table = toml::Table::try_from(server).unwrap_or_default();
    let mut keys = BTreeMap::new();
    for (key, value) in table {
        if let toml::Value::Table(inner) = value {
            let inner = inner.into_iter();
            keys.extend(inner.map(|(name, it)| (format!("{key}.{name}"), it.to_string())));
        } else {
            keys.insert(key, value.to_string());
        }
    }
    keys
}
