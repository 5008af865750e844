//! Shows servers and their approved tools. Starts nothing.

use front::error::CliError;
use mcp::{EntryDigest, EntryOrigin, McpServerError, ServerApproval, ServerEntry};
use serde_json::{Value, json};
use toolbox::wire_name;

use super::desk::{McpDesk, failed};
use crate::flags::OutputFormat;
use crate::render;

/// Lists all servers.
pub(super) fn list(desk: &McpDesk<'_>) -> Result<(), CliError> {
    let entries = desk.entries()?;
    let states: Vec<ServerState> =
        entries.iter().map(|entry| ServerState::of(desk, entry)).collect();
    if desk.global.output != OutputFormat::Text {
        let rows = entries.iter().zip(&states).map(|(entry, state)| {
            json!({
                "name": entry.name,
                "from": from(entry.origin),
                "target": entry.target(),
                "state": state.name(),
                "tools": state.tools(),
            })
        });
        render::json_line(&rows.collect::<Vec<Value>>().into());
        return Ok(());
    }
    if entries.is_empty() {
        render::warn("there are no servers; add one: deepseek mcp add NAME -- PROGRAM ARGUMENTS");
    }
    for (entry, state) in entries.iter().zip(&states) {
        let (name, target) = (render::harmless(&entry.name), render::harmless(&entry.target()));
        let from = from(entry.origin);
        render::print_line(&format!("{name:<20} {:<31} {from:<8} {target}", state.words()));
    }
    if states.iter().any(|state| matches!(state, ServerState::NotApproved(_))) {
        render::warn("look at a server and approve it with `deepseek mcp approve NAME`");
    }
    Ok(())
}

/// Shows one server.
pub(super) fn get(desk: &McpDesk<'_>, name: &str) -> Result<(), CliError> {
    let entry = desk.entry(name)?;
    let digest = desk.servers.digest(&entry);
    let state = ServerState::of(desk, &entry);
    if desk.global.output != OutputFormat::Text {
        render::json_line(&json!({
            "name": entry.name,
            "from": from(entry.origin),
            "target": entry.target(),
            "variables": entry.variable_names(),
            "network": entry.server.network,
            "digest": digest,
            "state": state.name(),
            "tools": state.tools(),
        }));
        return Ok(());
    }
    for line in entry_lines(desk, &entry, &digest) {
        render::print_line(&line);
    }
    render::print_line(&format!("  state      {}", state.words()));
    if let ServerState::Approved(approval) = &state {
        approval.tools.iter().for_each(|pin| {
            let reads = if pin.reads { " (reads)" } else { "" };
            let name = render::harmless(&pin.definition.name);
            render::print_line(&format!("  tool       {name}{reads}"));
        });
    }
    Ok(())
}

/// Lists the approved tools of a server.
pub(super) fn tools(desk: &McpDesk<'_>, name: &str) -> Result<(), CliError> {
    let approval = desk.servers.approval(&desk.entry(name)?).map_err(|error| failed(&error))?;
    if desk.global.output != OutputFormat::Text {
        let rows = approval.tools.iter().map(|pin| {
            json!({
                "name": wire_name(&approval.server, &pin.definition.name),
                "definition": pin.definition,
                "reads": pin.reads,
                "first": pin.first,
                "fault": pin.definition.fault(),
            })
        });
        render::json_line(&rows.collect::<Vec<Value>>().into());
        return Ok(());
    }
    for pin in &approval.tools {
        let name = wire_name(&approval.server, &pin.definition.name);
        let reads = if pin.reads { "reads" } else { "asks" };
        let first = pin.definition.description.lines().next().unwrap_or_default();
        render::print_line(&format!("{name}  {reads}  {}", render::harmless(first)));
        let parameters = render::harmless(&pin.definition.parameters.to_string());
        render::print_line(&format!("    {parameters}"));
        if let Some(fault) = pin.definition.fault() {
            render::print_line(&format!("    not offered to models: {}", render::harmless(&fault)));
        }
    }
    Ok(())
}

/// Describes an entry: what is started or called, with what, and what the approval holds for.
pub(super) fn entry_lines(
    desk: &McpDesk<'_>,
    entry: &ServerEntry,
    digest: &EntryDigest,
) -> Vec<String> {
    let server = &entry.server;
    let is_program = !server.command.is_empty();
    let mut lines = vec![format!("MCP server `{}` of {}", entry.name, entry.origin)];
    let what = if is_program { "command" } else { "address" };
    lines.push(format!("  {what:<10} {}", render::harmless(&entry.target())));
    if !server.cwd.is_empty() {
        lines.push(format!("  directory  {}", render::harmless(&server.cwd)));
    }
    let variables = entry.variable_names();
    if !variables.is_empty() {
        lines.push(format!("  variables  {}", render::harmless(&variables.join(", "))));
    }
    if is_program {
        lines.push(format!("  network    {}", if server.network { "yes" } else { "no" }));
        for place in desk.servers.seen(entry) {
            lines.push(format!("  sees       {}", render::harmless(&place.display().to_string())));
        }
        match desk.servers.written(entry) {
            Ok(places) => lines.extend(places.into_iter().map(|place| {
                format!("  writes to  {}", render::harmless(&place.display().to_string()))
            })),
            Err(why) => lines.push(format!("  writes to  {}", render::harmless(&why.to_string()))),
        }
        if let Some(home) = desk.kept_home(&entry.name) {
            lines.push(format!("  home       its own, kept in {}", home.display()));
            lines.push("  discards   what it writes to the workspace".to_owned());
        }
        for file in &digest.files {
            lines.push(format!("  pinned     {}", render::harmless(&file.path)));
        }
        if digest.files.is_empty() {
            let program = render::harmless(&server.command);
            lines.push(format!(
                "  not pinned what `{program}` starts may change without being shown again"
            ));
        }
    }
    let short: String = digest.hash.chars().take(12).collect();
    lines.push(format!("  digest     {short}"));
    lines
}

/// What there is to say about a server without starting it.
pub(super) enum ServerState {
    Disabled,
    Approved(ServerApproval),
    NotApproved(&'static str),
    Unusable(String),
}

impl ServerState {
    pub(super) fn of(desk: &McpDesk<'_>, entry: &ServerEntry) -> Self {
        if entry.server.disabled {
            return Self::Disabled;
        }
        match desk.servers.approval(entry) {
            Ok(approval) => Self::Approved(approval),
            Err(McpServerError::NotApproved(_, why)) => Self::NotApproved(why),
            Err(error) => Self::Unusable(error.to_string()),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Approved(_) => "approved",
            Self::NotApproved(_) => "not_approved",
            Self::Unusable(_) => "unusable",
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Disabled => "disabled".to_owned(),
            Self::Approved(approval) => {
                let reading = approval.tools.iter().filter(|pin| pin.reads).count();
                format!("approved, {} tools, {reading} reading", approval.tools.len())
            }
            Self::NotApproved(why) => (*why).to_owned(),
            Self::Unusable(why) => why.clone(),
        }
    }

    fn tools(&self) -> usize {
        if let Self::Approved(approval) = self { approval.tools.len() } else { 0 }
    }
}

/// Returns where an entry is written, as one word.
const fn from(origin: EntryOrigin) -> &'static str {
    match origin {
        EntryOrigin::User => "user",
        EntryOrigin::Project => "project",
    }
}
