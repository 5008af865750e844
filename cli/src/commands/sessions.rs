//! `deepseek sessions`: what was done, from the journals.

use std::fs;
use std::path::{Path, PathBuf};

use actors::event::{Delivery, Event};
use clap::{Args, Subcommand};
use orchestrator::journal::read::{Reading, Record, read};
use serde_json::{Value, json};

use crate::error::{CliError, Kind};
use crate::flags::{Global, Output};
use crate::render;
use crate::surroundings::Surroundings;

/// List sessions, or show one.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// List those of every workspace.
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the sessions of this workspace, newest first.
    List {
        /// Those of every workspace.
        #[arg(long)]
        all: bool,
    },
    /// Show the events of a session.
    Show {
        /// Its id, the beginning of it, or `latest`.
        #[arg(default_value = "latest")]
        id: String,
    },
}

/// A session as the list shows it.
struct Summary {
    id: String,
    started: String,
    workspace: String,
    requests: Vec<String>,
    ended: String,
    events: usize,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &SessionsArgs,
) -> Result<(), CliError> {
    match &args.action {
        None => list(around, global, args.all),
        Some(Action::List { all }) => list(around, global, *all),
        Some(Action::Show { id }) => show(around, global, id),
    }
}

fn list(around: &Surroundings, global: &Global, all: bool) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let here = workspace.display().to_string();
    let mut summaries = Vec::new();
    for dir in session_dirs(around)? {
        match read(&dir) {
            Ok(reading) => {
                let summary = summary(&dir, &reading.records);
                if all || summary.workspace == here {
                    summaries.push(summary);
                }
            }
            Err(error) => render::warn(&format!("warning: {error}")),
        }
    }
    if summaries.is_empty() {
        render::warn("there is no session in this workspace yet (--all lists those of others)");
    }
    if global.output == Output::Text {
        for summary in &summaries {
            let request = summary.requests.first().map_or("", String::as_str);
            let request: String =
                request.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
            render::line(&format!(
                "{}  {}  {:<14}  {request}",
                summary.id, summary.started, summary.ended
            ));
        }
    } else {
        let list: Vec<Value> = summaries.iter().map(as_json).collect();
        render::json_line(&Value::Array(list));
    }
    Ok(())
}

fn as_json(summary: &Summary) -> Value {
    json!({
        "id": summary.id, "started": summary.started, "workspace": summary.workspace,
        "requests": summary.requests, "ended": summary.ended, "events": summary.events,
    })
}

fn show(around: &Surroundings, global: &Global, id: &str) -> Result<(), CliError> {
    let (_, reading) = find(around, id)?;
    if reading.torn_bytes > 0 {
        render::warn(&format!(
            "warning: the last line is torn ({} bytes); it was never acted on",
            reading.torn_bytes
        ));
    }
    for record in &reading.records {
        match global.output {
            Output::Text => render::line(&format!(
                "{:>5} {} {:<24} {}",
                record.seq, record.at, record.kind, record.data
            )),
            Output::Json | Output::StreamJson => render::json_line(&json!({
                "seq": record.seq, "at": record.at, "kind": record.kind, "run": record.run, "data": record.data,
            })),
        }
    }
    Ok(())
}

/// The directories of all sessions, newest first: ids sort by time.
pub(crate) fn session_dirs(around: &Surroundings) -> Result<Vec<PathBuf>, CliError> {
    let dir = around.state_dir()?.join("sessions");
    let Ok(entries) = fs::read_dir(&dir) else { return Ok(Vec::new()) };
    let mut dirs: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    dirs.sort();
    dirs.reverse();
    Ok(dirs)
}

/// The session with this id, the only one that begins so, or the latest.
pub(crate) fn find(around: &Surroundings, id: &str) -> Result<(PathBuf, Reading), CliError> {
    let dirs = session_dirs(around)?;
    let matching: Vec<&PathBuf> = match id {
        "latest" => dirs.iter().take(1).collect(),
        id => dirs.iter().filter(|dir| name(dir).starts_with(id)).collect(),
    };
    let dir = match matching.as_slice() {
        [dir] => (*dir).clone(),
        [] if id == "latest" => return Err(CliError::new(Kind::Usage, "there is no session yet")),
        [] => {
            return Err(CliError::new(Kind::Usage, format!("there is no session {id}"))
                .hint("`deepseek sessions list --all` lists them"));
        }
        several => {
            return Err(CliError::new(
                Kind::Usage,
                format!("{} sessions begin with {id}", several.len()),
            )
            .hint("give more of the id"));
        }
    };
    let reading = read(&dir).map_err(|error| CliError::caused(Kind::Internal, &error))?;
    Ok((dir, reading))
}

pub(crate) fn name(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a summary is made of few events")]
fn summary(dir: &Path, records: &[Record]) -> Summary {
    let mut summary = Summary {
        id: name(dir),
        started: records.first().map(|record| record.at.clone()).unwrap_or_default(),
        workspace: String::new(),
        requests: Vec::new(),
        ended: "unfinished".to_owned(),
        events: records.len(),
    };
    for event in records.iter().filter_map(Record::event) {
        match event {
            Event::SessionStarted { workspace, .. } => summary.workspace = workspace,
            Event::TurnAdded { speaker, text } if speaker == "user" => summary.requests.push(text),
            Event::PatchApplied { patch } if summary.requests.is_empty() => {
                summary.requests.push(format!("(patch {patch})"));
                "applied".clone_into(&mut summary.ended);
            }
            Event::RunStarted { .. } => "unfinished".clone_into(&mut summary.ended),
            Event::RunFinished { delivery, .. } => word(&delivery).clone_into(&mut summary.ended),
            _ => {}
        }
    }
    summary
}

/// A delivery in a word.
fn word(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Delivered { .. } => "delivered",
        Delivery::NoEditNeeded { .. } => "no edit needed",
        Delivery::NeedsWork { .. } => "needs work",
        Delivery::Denied { .. } => "denied",
        Delivery::Cancelled => "cancelled",
        Delivery::BudgetExhausted { .. } => "budget",
        Delivery::Failed { .. } => "failed",
    }
}
