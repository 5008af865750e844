//! `deepseek policy`: shows what is allowed, what needs approval and what is denied.

use std::path::Path;

use actors::run::always_allowed::Always;
use clap::{Args, Subcommand, ValueEnum};
use config::{Approval, Mode, Settings, Source};
use front::error::{CliError, CliErrorKind};
use policy::{Action, Case, Confinement, Gaps, Stage, TableLine};
use serde_json::{Map, Value, json};

use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// Show what is allowed, what needs approval and what is denied.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the decision table and the lists in effect.
    Show {
        /// Show the table for this level of confinement [default: the level available here].
        #[arg(long, value_name = "LEVEL")]
        confinement: Option<Confined>,
    },
    /// List the commands that you chose to always allow in this workspace.
    Allowed,
    /// Stop always allowing a command, so that it needs approval again.
    Forget {
        /// The command, as listed by `deepseek policy allowed`.
        command: String,
    },
}

/// A level of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Confined {
    /// Namespaces, Landlock and seccomp.
    Full,
    /// Landlock and seccomp only.
    Floor,
    /// No confinement, because this system supports none.
    None,
    /// No confinement, because the configuration turns it off.
    Off,
}

impl Confined {
    const fn to_policy(self) -> Confinement {
        match self {
            Self::Full => Confinement::Full,
            Self::Floor => Confinement::Floor { missing: Gaps::Untold },
            Self::None => Confinement::None,
            Self::Off => Confinement::Off,
        }
    }
}

/// The lists, in the order in which they are evaluated, with their titles.
const LISTS: [(&str, &str); 5] = [
    ("policy.deny_commands", "commands that never run"),
    ("policy.allow_commands", "listed commands"),
    ("policy.allow_variables", "variables that may be set for a listed command"),
    ("policy.secret_files", "secret files"),
    ("policy.executed_files", "files that other tools execute"),
];

/// The prefix of the keys that list the options of listed commands.
const OPTIONS: &str = "policy.options.";

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &PolicyArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let confinement = match &args.command {
        Command::Show { confinement } => *confinement,
        Command::Allowed => return list_allowed(&always(around, &workspace)?, global),
        Command::Forget { command } => return forget(&always(around, &workspace)?, command),
    };
    let settings = around.settings(global, &workspace)?;
    let confinement = if let Some(confined) = confinement {
        confined.to_policy()
    } else {
        let sandbox = around.sandbox(&settings, &workspace)?;
        shell::confinement(&sandbox, &sandbox.level())
    };
    for warning in &settings.warnings {
        render::warn(&render::harmless(&format!("warning: {warning}")));
    }
    if global.output == OutputFormat::Text {
        render::text(&render::harmless(&as_text(&settings, confinement)));
    } else {
        render::json_line(&as_json(&settings, confinement));
    }
    Ok(())
}

/// Returns the workspace's store of always-allowed commands.
fn always(around: &Surroundings, workspace: &Path) -> Result<Always, CliError> {
    Ok(Always::of(workspace, &around.workspace_state(workspace)?.join("verify")))
}

#[expect(clippy::unnecessary_wraps, reason = "every command has the same form")]
fn list_allowed(always: &Always, global: &Global) -> Result<(), CliError> {
    let all = always.all();
    if global.output != OutputFormat::Text {
        render::json_line(&json!(all));
        return Ok(());
    }
    for allowed in &all {
        render::print_line(&render::harmless(&allowed.command));
    }
    if all.is_empty() {
        render::warn("no commands are always allowed here");
    }
    Ok(())
}

fn forget(always: &Always, command: &str) -> Result<(), CliError> {
    let unusable = |error| CliError::caused(CliErrorKind::Internal, &error);
    if always.forget(command).map_err(unusable)? {
        return Ok(());
    }
    Err(CliError::new(CliErrorKind::Usage, format!("`{command}` is not an always-allowed command"))
        .hint("`deepseek policy allowed` lists them"))
}

const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => "plan",
        Mode::Agent => "agent",
        Mode::Yolo => "yolo",
        Mode::Hetun => "hetun",
    }
}

const fn approval_name(approval: Approval) -> &'static str {
    match approval {
        Approval::Suggest => "suggest",
        Approval::Auto => "auto",
        Approval::Never => "never",
    }
}

fn source(settings: &Settings, key: &str) -> String {
    settings.get(key).map_or(&Source::Default, |(_, source)| source).to_string()
}

fn as_text(settings: &Settings, confinement: Confinement) -> String {
    let policy = &settings.config.policy;
    let mut text = format!(
        "mode {}  # {}\napproval {}  # {}\n",
        mode_name(policy.mode),
        source(settings, "policy.mode"),
        approval_name(policy.approval),
        source(settings, "policy.approval"),
    );
    text.push_str(&format!("confinement {}\n", confinement.name()));
    let lines = policy::table_lines(confinement);
    for mode in [Mode::Plan, Mode::Agent, Mode::Yolo] {
        text.push_str(&format!("\nin mode {}\n  suggest  auto   never\n", mode_name(mode)));
        for line in lines.iter().filter(|line| line.mode == mode) {
            text.push_str(&row(line));
        }
    }
    text.push_str(
        "\nin mode hetun\n  as in mode agent, but without asking for what the approved mission card names, and always asking for anything else\n",
    );
    for (key, title) in LISTS {
        let items = settings.get(key).and_then(|(value, _)| value.as_array());
        let items = items.into_iter().flatten().filter_map(|item| item.as_str());
        text.push_str(&format!("\n{title} ({key})  # {}\n", source(settings, key)));
        text.push_str(&filled(items));
    }
    text.push_str("\noptions allowed for listed commands (policy.options)\n");
    for (command, options) in &policy.options {
        let key = format!("{OPTIONS}{command}");
        text.push_str(&format!("{command}  # {}\n", source(settings, &key)));
        text.push_str(&filled(options.iter().map(String::as_str)));
    }
    text
}

/// Formats a row of the table: three verdicts, then the actions and stages they apply to.
fn row(line: &TableLine) -> String {
    let [suggest, auto, never] = line.verdicts.map(|verdict| verdict.name());
    let stages: Vec<&str> = line.stages.iter().copied().map(Stage::name).collect();
    let actions: Vec<&str> = line.actions.iter().copied().map(Action::name).collect();
    let (when, actions) = (stages.join(", "), actions.join(", "));
    let when =
        if stages.len() == Stage::ALL.len() { String::new() } else { format!("  # when {when}") };
    format!("  {suggest:<7}  {auto:<5}  {never:<5}  {actions}{when}\n")
}

/// Formats items in lines of at most 100 characters.
fn filled<'a>(items: impl Iterator<Item = &'a str>) -> String {
    const WIDTH: usize = 100;
    let mut text = String::new();
    let mut line = String::new();
    for item in items {
        if !line.is_empty() && line.len() + item.len() + 2 > WIDTH {
            text.push_str(&format!(" {line}\n"));
            line.clear();
        }
        let gap = if line.is_empty() { " " } else { "  " };
        line.push_str(&format!("{gap}{item}"));
    }
    if line.is_empty() { text } else { text + &format!(" {line}\n") }
}

fn as_json(settings: &Settings, confinement: Confinement) -> Value {
    let config = &settings.config.policy;
    let values = settings.values().iter().filter(|(key, ..)| key.starts_with("policy."));
    let values: Map<String, Value> = values
        .map(|(key, value, source)| {
            (key.clone(), json!({"value": value, "source": source.to_string()}))
        })
        .collect();
    let cases = Confinement::ALL.into_iter().flat_map(policy::cases);
    json!({
        "mode": mode_name(config.mode),
        "approval": approval_name(config.approval),
        "confinement": confinement.name(),
        "table": cases.map(|case| case_as_json(&case)).collect::<Vec<_>>(),
        "values": values,
    })
}

fn case_as_json(case: &Case) -> Value {
    let [suggest, auto, never] = case.verdicts.map(
        |verdict| json!({"verdict": verdict.name(), "why": verdict.why().map(ToString::to_string)}),
    );
    json!({
        "mode": mode_name(case.mode),
        "stage": case.stage.name(),
        "action": case.action.name(),
        "confinement": case.confinement.name(),
        "suggest": suggest,
        "auto": auto,
        "never": never,
    })
}
