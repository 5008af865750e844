//! `deepseek fork`: a session that goes on from an earlier point of another, with the workspace of that point.

use std::path::PathBuf;

use actors::event::Event;
use clap::Args;
use front::error::{CliError, Kind};
use journal::fork::fork;
use journal::read::{Record, read};
use orchestrator::checkpoints::{CheckpointHistory, Then};
use serde_json::json;
use tools::clock::{Clock as _, IdSource as _, RandomIds, SystemClock};

use crate::checkpoints;
use crate::commands::rewind::{self, RewindArgs};
use crate::flags::{Global, Output};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// Arguments of `deepseek fork`.
#[derive(Debug, Args)]
#[command(
    after_help = "The new session has a copy of the events up to SEQ and a directory of its own with the workspace as it was\n\
then: ignored files are not in it, and nor is .git. A request that SEQ interrupts is resumed by\n\
`deepseek run`, and may end differently. `deepseek sessions show` and `deepseek export` list the numbers."
)]
pub(crate) struct ForkArgs {
    /// The session: its id, the beginning or end of it, or `latest`.
    #[arg(default_value = "latest")]
    session: String,
    /// The last event that the new session has in common with it.
    #[arg(long, value_name = "SEQ")]
    at: u64,
    /// Write the workspace of then to this new directory.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "checkout",
        required_unless_present = "checkout"
    )]
    into: Option<PathBuf>,
    /// Go back in this workspace instead, as `deepseek rewind` does.
    #[arg(long)]
    checkout: bool,
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &ForkArgs,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let session = past.here(&args.session)?;
    let dir = past.dir(&session);
    let records = read(&dir).map_err(|error| CliError::caused(Kind::Internal, &error))?.records;
    let last = records.last().map_or(0, |record| record.seq);
    if args.at == 0 || args.at > last {
        let what = format!("session {session} has events 1 to {last}");
        return Err(CliError::new(Kind::Usage, what).hint("`deepseek sessions show` lists them"));
    }
    if let Some(Lanes { run, before, finished }) = in_lanes(&records, args.at) {
        let what =
            format!("event {} is in the middle of run {run}, whose lanes were at work", args.at);
        let behind = finished.map_or_else(String::new, |at| format!(" or --at {at}"));
        return Err(CliError::new(Kind::Usage, what).hint(format!(
            "their worktrees are not there to go on in; before and behind them it can be: --at {before}{behind}"
        )));
    }
    let id = RandomIds.fresh();
    let workspace = if let Some(dir) = &args.into {
        let dir = around.cwd.join(dir);
        let history = checkpoints::history(around, global)?;
        let then = then(&records, args.at, &history)?;
        history.check_out(then, SystemClock.now(), &dir).map_err(|error| {
            CliError::caused(Kind::NotDelivered, &error)
                .hint("--into names a directory that is not there yet")
        })?;
        dir.canonicalize().unwrap_or(dir)
    } else {
        go_back(around, global, &records, args.at).await?;
        around.workspace(global)?
    };
    let to = around.state_dir()?.join("sessions").join(&id);
    fork(&dir, &records, args.at, &to, &workspace).map_err(|error| {
        CliError::new(Kind::Internal, format!("cannot copy session {session}: {error}"))
    })?;
    tell(global, &id, &session, args.at, &workspace);
    Ok(())
}

fn tell(global: &Global, id: &str, session: &str, at: u64, workspace: &std::path::Path) {
    let workspace = workspace.display();
    if global.output == Output::Text {
        render::line(id);
        render::warn(&render::harmless(&format!(
            "it goes on from event {at} of {session} in {workspace}\nhint: deepseek --workspace {workspace} -r {id}"
        )));
    } else {
        render::json_line(&json!({
            "session": id, "forked_from": { "session": session, "seq": at },
            "workspace": workspace.to_string(),
        }));
    }
}

/// Lanes at work.
struct Lanes {
    /// Their run.
    run: String,
    /// The last event before they began.
    before: u64,
    /// The event with which they had finished, if they have.
    finished: Option<u64>,
}

/// The lanes that were at work at an event.
fn in_lanes(records: &[Record], at: u64) -> Option<Lanes> {
    let mut at_work = None;
    for record in records {
        match record.event() {
            Some(Event::LanesBegun { .. }) if record.seq <= at => {
                let run = record.run.clone().unwrap_or_default();
                at_work = Some(Lanes { run, before: record.seq - 1, finished: None });
            }
            Some(Event::LanesFinished { .. } | Event::RunFinished { .. }) => {
                if record.seq <= at {
                    at_work = None;
                } else if let Some(lanes) = &mut at_work {
                    lanes.finished = lanes.finished.or(Some(record.seq));
                }
            }
            _ => {}
        }
    }
    at_work
}

/// The time of an event whose workspace is known: after our last change before it, or before our first change behind it.
fn then<'h>(
    records: &[Record],
    at: u64,
    history: &'h CheckpointHistory,
) -> Result<Then<'h>, CliError> {
    let (before, behind) = records.split_at(records.partition_point(|record| record.seq <= at));
    let gone = |patch: &str| {
        CliError::new(
            Kind::NotDelivered,
            format!("the checkpoint of patch {patch} is not kept any more"),
        )
        .hint("checkpoints.max_count and checkpoints.max_bytes say how much is kept")
    };
    if let Some(patch) = before.iter().rev().find_map(applied) {
        return history.of_patch(&patch).map(Then::After).ok_or_else(|| gone(&patch));
    }
    match behind.iter().find_map(applied) {
        Some(patch) => history.of_patch(&patch).map(Then::Before).ok_or_else(|| gone(&patch)),
        None => Ok(Then::Now),
    }
}

/// The patch set that an event says is in the workspace. What a lane applied is only in its worktree.
fn applied(record: &Record) -> Option<String> {
    if record.lane.is_some() {
        return None;
    }
    if let Some(Event::PatchApplied { patch }) = record.event() { Some(patch) } else { None }
}

/// Undoes what the session changed in this workspace after an event.
async fn go_back(
    around: &Surroundings,
    global: &Global,
    records: &[Record],
    at: u64,
) -> Result<(), CliError> {
    let mut behind = records.iter().filter(|record| record.seq > at);
    let Some(patch) = behind.find_map(applied) else { return Ok(()) };
    let history = checkpoints::history(around, global)?;
    let Some(checkpoint) = history.of_patch(&patch).map(|checkpoint| checkpoint.number) else {
        return Err(CliError::new(
            Kind::NotDelivered,
            format!("the checkpoint of patch {patch} is not kept any more"),
        ));
    };
    rewind::run(around, global, &RewindArgs::to(checkpoint)).await
}
