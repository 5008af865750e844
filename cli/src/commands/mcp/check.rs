//! Compares the tools of approved servers with what the user approved.

use std::process::ExitCode;

use front::error::CliError;
use mcp::{ServerEntry, ToolDrift, drift};
use serde_json::{Value, json};

use super::desk::{McpDesk, failed};
use crate::flags::OutputFormat;
use crate::render;

/// Runs the action. The exit code is 1 if a server differs or does not start.
pub(super) async fn check(desk: &McpDesk<'_>, name: Option<&str>) -> Result<ExitCode, CliError> {
    let entries = if let Some(name) = name {
        vec![desk.entry(name)?]
    } else {
        // Also those whose approval no longer holds.
        let approved = desk.servers.approvals().read();
        let is_approved = |entry: &ServerEntry| match &approved {
            Ok(approved) => approved.iter().any(|it| it.server == entry.name),
            // Each tells then why.
            Err(_) => true,
        };
        let entries = desk.entries()?.into_iter().filter(|entry| !entry.server.disabled);
        entries.filter(is_approved).collect()
    };
    if entries.is_empty() {
        render::warn("no server is approved; `deepseek mcp list` shows what there is");
    }
    let (mut all, mut rows) = (ExitCode::SUCCESS, Vec::new());
    for entry in &entries {
        let checked = compared(desk, entry).await;
        if name.is_some() && checked.is_err() {
            return checked.map(|_| ExitCode::FAILURE);
        }
        if !checked.as_ref().is_ok_and(|(drift, _)| drift.is_none()) {
            all = ExitCode::FAILURE;
        }
        if desk.global.output == OutputFormat::Text {
            tell(entry, &checked);
        } else {
            rows.push(as_json(entry, &checked));
        }
    }
    if desk.global.output != OutputFormat::Text {
        render::json_line(&rows.into());
    }
    Ok(all)
}

/// Starts a server and compares its tools; returns their number too.
async fn compared(desk: &McpDesk<'_>, entry: &ServerEntry) -> Result<(ToolDrift, usize), CliError> {
    let approval = desk.servers.approval(entry).map_err(|error| failed(&error))?;
    let place = desk.place()?.with_network(approval.network);
    let looked = desk.servers.look(&desk.settings.config.mcp, entry, place).await;
    let now = looked.map_err(|error| failed(&error))?;
    Ok((drift(approval.tools.iter().map(|pin| &pin.definition), &now), now.len()))
}

fn tell(entry: &ServerEntry, checked: &Result<(ToolDrift, usize), CliError>) {
    let name = render::harmless(&entry.name);
    let (drift, count) = match checked {
        Ok((drift, count)) => (drift, count),
        Err(error) => {
            render::print_line(&format!("✗ {name}: {}", render::harmless(&error.to_string())));
            return;
        }
    };
    if drift.is_none() {
        render::print_line(&format!("✓ {name}: {count} tools as approved"));
        return;
    }
    render::print_line(&format!("✗ {name}: differs from what you approved"));
    for (tool, diff) in &drift.changed {
        render::print_line(&format!("  changed, and blocked: {}", render::harmless(tool)));
        render::print_line(&render::harmless(diff.trim_end()));
    }
    for (what, tools) in [("new, and not offered", &drift.new), ("gone", &drift.gone)] {
        if !tools.is_empty() {
            render::print_line(&format!("  {what}: {}", render::harmless(&tools.join(", "))));
        }
    }
    render::warn(&format!("to approve it as it is now: deepseek mcp approve {name}"));
}

fn as_json(entry: &ServerEntry, checked: &Result<(ToolDrift, usize), CliError>) -> Value {
    match checked {
        Ok((drift, count)) => json!({
            "name": entry.name,
            "tools": count,
            "changed": drift.changed.iter().map(|(tool, diff)| json!({ "tool": tool, "diff": diff })).collect::<Vec<_>>(),
            "new": drift.new,
            "gone": drift.gone,
        }),
        Err(error) => json!({ "name": entry.name, "error": error.to_string() }),
    }
}
