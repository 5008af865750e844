//! `deepseek fork`: starts a new session from an earlier point of another, with the workspace as it was at that point.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use facts::event::Event;
use front::error::{CliError, CliErrorKind};
use journal::fork::fork;
use journal::read::{Record, read_journal};
use orchestrator::workspace::checkpoints::{CheckpointHistory, PointInTime};
use serde_json::json;
use tools::clock::{Clock as _, IdSource as _, RandomIds, SystemClock};
use tree::{PathError, RepoPath};

use crate::checkpoints;
use crate::commands::rewind::{self, RewindArgs};
use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// Arguments of `deepseek fork`.
#[derive(Debug, Args)]
#[command(
    after_help = "The new session gets a copy of the events up to SEQ and a directory with the files as they were at that point, \
        without ignored files and .git. If SEQ falls inside a request, `deepseek run` resumes it; the outcome may differ. \
        `deepseek sessions show` lists the event numbers."
)]
pub(crate) struct ForkArgs {
    /// The session: its id, the start or end of it, or `latest`.
    #[arg(default_value = "latest")]
    session: String,
    /// The last event that is copied to the new session.
    #[arg(long, value_name = "SEQ")]
    at: u64,
    /// Write the workspace as it was at SEQ to this new directory.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "checkout",
        required_unless_present = "checkout"
    )]
    into: Option<PathBuf>,
    /// Rewind this workspace instead, as `deepseek rewind` does.
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
    let records = read_journal(&dir)
        .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?
        .records;
    let last = records.last().map_or(0, |record| record.seq);
    if args.at == 0 || args.at > last {
        let what = format!("session {session} has events 1 to {last}");
        return Err(
            CliError::new(CliErrorKind::Usage, what).hint("`deepseek sessions show` lists them")
        );
    }
    if let Some(Lanes { run, before, finished }) = in_lanes(&records, args.at) {
        let what = format!("event {} is inside run {run}, while its lanes were working", args.at);
        let after = finished.map_or_else(String::new, |at| format!(" or `--at {at}`"));
        return Err(CliError::new(CliErrorKind::Usage, what).hint(format!(
            "the lanes' worktrees no longer exist; fork before or after them: `--at {before}`{after}"
        )));
    }
    let id = RandomIds.fresh();
    let workspace = if let Some(dir) = &args.into {
        let dir = around.cwd.join(dir);
        if let Some(part) = dir.iter().find(|part| is_git_dir(part)) {
            let what = format!("`{}` is inside `{}`", dir.display(), Path::new(part).display());
            return Err(CliError::new(CliErrorKind::Usage, what)
                .hint("git would take the files for its own: name a directory elsewhere"));
        }
        let history = checkpoints::read_checkpoints(around, global)?;
        let then = then(&records, args.at, &history)?;
        history.check_out(then, SystemClock.now(), &dir).map_err(|error| {
            CliError::caused(CliErrorKind::NotDelivered, &error)
                .hint("name a directory that does not exist yet: `--into DIR`")
        })?;
        dir.canonicalize().unwrap_or(dir)
    } else {
        Box::pin(go_back(around, global, &records, args.at)).await?;
        around.workspace(global)?
    };
    let to = around.state_dir()?.join("sessions").join(&id);
    fork(&dir, &records, args.at, &to, &workspace).map_err(|error| {
        CliError::new(CliErrorKind::Internal, format!("cannot copy session {session}: {error}"))
    })?;
    tell(global, &id, &session, args.at, &workspace);
    Ok(())
}

/// Returns true if git, on any file system, takes a name for that of its own directory.
fn is_git_dir(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| RepoPath::parse(name) == Err(PathError::GitDir))
}

fn tell(global: &Global, id: &str, session: &str, at: u64, workspace: &Path) {
    let workspace = workspace.display();
    if global.output == OutputFormat::Text {
        render::print_line(id);
        render::warn(&render::harmless(&format!(
            "new session, forked at event {at} of {session}, in {workspace}\nhint: deepseek --workspace {workspace} -r {id}"
        )));
    } else {
        render::json_line(&json!({
            "session": id, "forked_from": { "session": session, "seq": at },
            "workspace": workspace.to_string(),
        }));
    }
}

/// A run whose lanes were working at an event.
struct Lanes {
    /// The run's id.
    run: String,
    /// The last event before the lanes started.
    before: u64,
    /// The event that ended the lanes, if recorded.
    finished: Option<u64>,
}

/// Returns the run whose lanes were working at an event, if any.
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

/// Returns the recorded workspace state that corresponds to an event: after the session's last change up to it, else before the
/// session's first change after it.
fn then<'h>(
    records: &[Record],
    at: u64,
    history: &'h CheckpointHistory,
) -> Result<PointInTime<'h>, CliError> {
    let (before, after) = records.split_at(records.partition_point(|record| record.seq <= at));
    let gone = |patch: &str| {
        CliError::new(
            CliErrorKind::NotDelivered,
            format!("the checkpoint of patch {patch} has been deleted"),
        )
        .hint("checkpoints.max_count and checkpoints.max_bytes limit how many are kept")
    };
    if let Some(patch) = before.iter().rev().find_map(applied) {
        return history.of_patch(&patch).map(PointInTime::After).ok_or_else(|| gone(&patch));
    }
    match after.iter().find_map(applied) {
        Some(patch) => {
            history.of_patch(&patch).map(PointInTime::Before).ok_or_else(|| gone(&patch))
        }
        None => Ok(PointInTime::Now),
    }
}

/// Returns the patch set that an event applied to the workspace. A patch applied by a lane is only in its worktree.
fn applied(record: &Record) -> Option<String> {
    if record.lane.is_some() {
        return None;
    }
    if let Some(Event::PatchApplied { patch }) = record.event() { Some(patch) } else { None }
}

/// Undoes the session's changes to this workspace after an event.
async fn go_back(
    around: &Surroundings,
    global: &Global,
    records: &[Record],
    at: u64,
) -> Result<(), CliError> {
    let mut after = records.iter().filter(|record| record.seq > at);
    let Some(patch) = after.find_map(applied) else { return Ok(()) };
    let history = checkpoints::read_checkpoints(around, global)?;
    let Some(checkpoint) = history.of_patch(&patch).map(|checkpoint| checkpoint.number) else {
        return Err(CliError::new(
            CliErrorKind::NotDelivered,
            format!("the checkpoint of patch {patch} has been deleted"),
        ));
    };
    rewind::run(around, global, &RewindArgs::to(checkpoint)).await
}
