//! Approves a server: shows exactly what would be started or called, starts it if the user agrees, shows its tools, and pins
//! them as they are.

use clap::Args;
use config::matches_pattern;
use front::error::{CliError, CliErrorKind};
use mcp::{Pin, ServerApproval, ToolDefinition};
use sandbox::ConfinementLevel;

use tools::clock::{Clock as _, SystemClock};

use super::desk::{McpDesk, failed};
use super::shown::entry_lines;
use crate::render;

/// Start a server, show its tools, and approve them as they are.
#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// The server's name.
    name: String,
    /// Do not ask: start it, and approve what it offers.
    #[arg(long)]
    yes: bool,
    /// A tool that only reads, by its name at the server or a pattern such as 'get_*'; may be repeated. Only you can say so; what the
    /// server says about itself is shown, not believed.
    #[arg(long, value_name = "TOOL")]
    reads: Vec<String>,
    /// A tool that models are told of first, if there are too many for a request; may be repeated.
    #[arg(long, value_name = "TOOL")]
    first: Vec<String>,
    /// Let the program reach the network.
    #[arg(long)]
    network: bool,
}

/// Runs the action.
pub(super) async fn approve(desk: &McpDesk<'_>, args: &ApproveArgs) -> Result<(), CliError> {
    let entry = desk.entry(&args.name)?;
    entry.endpoint().map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    desk.servers.written(&entry).map_err(|error| failed(&error))?;
    let digest = desk.servers.digest(&entry);
    let is_program = !entry.server.command.is_empty();
    let network = entry.server.network || args.network;
    let place = desk.place()?.with_network(network);
    if let (true, Some(fence)) = (is_program, place.fence()) {
        let sandbox = std::sync::Arc::clone(&fence.sandbox);
        let level = tokio::task::spawn_blocking(move || sandbox.level()).await;
        let level = level.map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
        if let Some(warning) = unconfined(&level) {
            render::warn(warning);
        }
    }
    for line in entry_lines(desk, &entry, &digest) {
        render::warn(&line);
    }
    if args.network && !entry.server.network {
        render::warn("  network    yes, by --network");
    }
    desk.confirm(args.yes, &args.name, if is_program { "Start it?" } else { "Connect to it?" })
        .await?;
    let looked = desk.servers.look(&desk.settings.config.mcp, &entry, place).await;
    let tools = looked.map_err(|error| {
        let failure = failed(&error);
        if is_program && !network {
            failure.hint("if it needs the network: `deepseek mcp approve --network`")
        } else {
            failure
        }
    })?;
    check_names(&args.reads, &tools, "--reads")?;
    check_names(&args.first, &tools, "--first")?;
    for tool in &tools {
        render::warn(&tool_line(tool));
    }
    let hinted: Vec<&str> = tools
        .iter()
        .filter(|tool| tool.hints.read_only == Some(true) && !is_named(&args.reads, tool))
        .map(|tool| tool.name.as_str())
        .collect();
    let mut reads = args.reads.clone();
    if !hinted.is_empty() && !args.yes && args.reads.is_empty() {
        let names = render::harmless(&hinted.join(", "));
        render::warn(&format!("The server says that these only read: {names}"));
        if desk.asks("Do you say so too? They are then called without asking.").await? {
            reads.extend(hinted.iter().map(|name| (*name).to_owned()));
        }
    }
    desk.confirm(args.yes, &args.name, "Approve these tools as they are?").await?;
    let pins: Vec<Pin> = tools
        .into_iter()
        .map(|definition| Pin {
            reads: is_named(&reads, &definition),
            first: is_named(&args.first, &definition),
            definition,
        })
        .collect();
    let (count, reading) = (pins.len(), pins.iter().filter(|pin| pin.reads).count());
    let at = SystemClock.now().to_string();
    let approval = ServerApproval { server: args.name.clone(), digest, at, network, tools: pins };
    let added = desk.servers.approvals().add(approval);
    added.map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
    render::warn(&format!(
        "{} is approved with {count} tools; {reading} of them are called without asking",
        args.name
    ));
    Ok(())
}

impl McpDesk<'_> {
    /// Asks a question on the terminal; without one the answer is no.
    async fn asks(&self, question: &str) -> Result<bool, CliError> {
        render::ask::yes_or_no(question, self.around.asks(self.global)).await
    }

    /// Goes on only if the user agrees.
    pub(super) async fn confirm(
        &self,
        yes: bool,
        name: &str,
        question: &str,
    ) -> Result<(), CliError> {
        if yes || self.asks(question).await? {
            return Ok(());
        }
        Err(CliError::new(CliErrorKind::Denied, format!("{name} is not approved"))
            .hint("without a terminal, or to skip the questions: --yes"))
    }
}

/// Checks that what a flag names is there.
fn check_names(named: &[String], tools: &[ToolDefinition], flag: &str) -> Result<(), CliError> {
    let is_there = |name: &&String| tools.iter().any(|tool| matches_pattern(name, &tool.name));
    if tools.is_empty() {
        return Ok(());
    }
    match named.iter().find(|name| !is_there(name)) {
        None => Ok(()),
        Some(name) => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let names = render::harmless(&names.join(", "));
            let error = format!("{flag} {name}: there is no such tool; there are {names}");
            Err(CliError::new(CliErrorKind::Usage, error))
        }
    }
}

fn is_named(names: &[String], tool: &ToolDefinition) -> bool {
    names.iter().any(|name| matches_pattern(name, &tool.name))
}

/// Shows a tool with what the server says about it.
fn tool_line(tool: &ToolDefinition) -> String {
    let hints = [
        (tool.hints.read_only == Some(true), "says that it only reads"),
        (tool.hints.destructive == Some(true), "says that it may destroy something"),
        (tool.hints.open_world == Some(true), "reaches out"),
    ];
    let hints: Vec<&str> = hints.iter().filter(|(is_said, _)| *is_said).map(|it| it.1).collect();
    let hints = if hints.is_empty() { String::new() } else { format!(" [{}]", hints.join(", ")) };
    let fault = tool.fault().map(|why| format!(" [not offered to models: {why}]"));
    let description = tool.description.replace('\n', "\n      ");
    let text = format!("{}{hints}{}", tool.name, fault.unwrap_or_default());
    format!("  {}\n      {}", render::harmless(&text), render::harmless(&description))
}

/// Returns what to say first where programs are not confined.
const fn unconfined(level: &ConfinementLevel) -> Option<&'static str> {
    match level {
        ConfinementLevel::Full(_) => None,
        ConfinementLevel::Floor { .. } => Some(
            "This machine confines programs only in part (`deepseek doctor` says what is missing).",
        ),
        ConfinementLevel::None(_) | ConfinementLevel::Off => {
            Some("Programs are not confined here: the server can do whatever you can.")
        }
    }
}
