//! `deepseek sessions`: what was done. The list is asked of the projections, the events of one are read from its journal.

use clap::{Args, Subcommand};
use orchestrator::journal::projection::answers::{Call, Summary};
use orchestrator::journal::projection::queries::Tables;
use orchestrator::journal::projection::usage::{By, Tally, told_apart};
use orchestrator::journal::read::read;
use serde_json::{Value, json};

use crate::error::{CliError, Kind};
use crate::flags::{Global, Output};
use crate::past::Past;
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
    let past = Past::find(around, global)?;
    let listed = |tables: &Tables| Ok(with_cost(tables.sessions()?, &tables.calls()?));
    let mut sessions = if all { past.ask_all(listed)? } else { past.ask(listed)? };
    // Ids sort by time.
    sessions.sort_by(|(a, _), (b, _)| b.id.cmp(&a.id));
    if sessions.is_empty() {
        render::warn("there is no session in this workspace yet (--all lists those of others)");
    }
    if global.output == Output::Text {
        for (session, tally) in &sessions {
            render::line(&as_line(session, tally));
        }
    } else {
        let list: Vec<Value> =
            sessions.iter().map(|(session, tally)| as_json(session, tally)).collect();
        render::json_line(&Value::Array(list));
    }
    Ok(())
}

/// Sessions with what each used.
fn with_cost(sessions: Vec<Summary>, calls: &[Call]) -> Vec<(Summary, Tally)> {
    let mut tallies = told_apart(By::Session, calls);
    let with = |session: Summary| {
        let tally = tallies.remove(&session.id).unwrap_or_default();
        (session, tally)
    };
    sessions.into_iter().map(with).collect()
}

fn as_line(session: &Summary, tally: &Tally) -> String {
    const SHOWN: usize = 60;
    let ended = match (&session.ended, &session.applied) {
        (Some(ended), _) => ended.replace('_', " "),
        (None, Some(_)) if session.requests.is_empty() => "applied".to_owned(),
        (None, _) => "unfinished".to_owned(),
    };
    let request = match (session.requests.first(), &session.applied) {
        (Some(request), _) => request.clone(),
        (None, Some(patch)) => format!("(patch {patch})"),
        (None, None) => String::new(),
    };
    let request: String =
        request.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    let Summary { id, started, .. } = session;
    let line = format!("{id}  {started}  {ended:<16}  {:>10}  {request}", tally.cost());
    line.trim_end().to_owned()
}

fn as_json(session: &Summary, tally: &Tally) -> Value {
    let mut document = json!(session);
    if let Some(fields) = document.as_object_mut() {
        fields.insert("usage".to_owned(), json!(tally));
    }
    document
}

fn show(around: &Surroundings, global: &Global, id: &str) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let dir = past.dir(&past.session(id)?);
    let reading = read(&dir).map_err(|error| CliError::caused(Kind::Internal, &error))?;
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
