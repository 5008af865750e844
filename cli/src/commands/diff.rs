//! `deepseek diff`: shows staged patch sets, the changes of a run, or the changes since a checkpoint. It changes
//! nothing; `rewind` does.

mod lane;

use clap::Args;
use facts::lane_id::{LaneId, NoLaneId};
use front::error::{CliError, CliErrorKind};
use journal::{StagedPatch, staged_changes};
use serde_json::json;
use tools::clock::{Clock as _, SystemClock};
use tools::ids::{ids_called, short_id};
use tree::Change;

use crate::checkpoints;
use crate::flags::Global;
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// Show staged patches or past changes.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The id of a staged patch, or the start or end of it [default: the newest in this workspace].
    patch: Option<String>,
    /// Show the changes of lane NN, even if it failed or conflicts.
    #[arg(long, value_name = "NN", value_parser = some_lane, conflicts_with_all = ["patch", "since"])]
    lane: Option<LaneId>,
    /// Show the changes of a run or session: its id, the start or end of it, or `latest`.
    #[arg(long, value_name = "RUN", conflicts_with = "patch")]
    run: Option<String>,
    /// Show all changes since a checkpoint, including your own: its number, or `latest`.
    #[arg(long, value_name = "CHECKPOINT", conflicts_with_all = ["patch", "run"])]
    since: Option<String>,
}

/// A patch set with its changes.
pub(crate) struct FoundPatch {
    pub(crate) patch: StagedPatch,
    pub(crate) changes: Vec<Change>,
}

/// Runs the command.
pub(crate) fn run(around: &Surroundings, global: &Global, args: &DiffArgs) -> Result<(), CliError> {
    match (args.lane, &args.run, &args.since) {
        (Some(lane), run, _) => lane::show(around, global, lane, run.as_deref()),
        (None, Some(id), _) => of_run(around, global, id),
        (None, None, Some(checkpoint)) => since(around, global, checkpoint),
        (None, None, None) => staged(around, global, args.patch.as_deref()),
    }
}

/// Parses a lane number, with or without its leading zero.
fn some_lane(text: &str) -> Result<LaneId, NoLaneId> {
    let padded = if text.len() == 1 { format!("0{text}") } else { text.to_owned() };
    LaneId::try_from(padded)
}

fn staged(around: &Surroundings, global: &Global, id: Option<&str>) -> Result<(), CliError> {
    let FoundPatch { patch, changes } = find(around, global, id)?;
    let StagedPatch { id, title, session, applied, declined, .. } = &patch;
    let state = match (applied, declined) {
        (true, _) => " · applied",
        (false, true) => " · declined",
        (false, false) => "",
    };
    let about = json!({ "patch": id, "title": title, "applied": applied, "declined": declined });
    let title = format!("patch {} · {title}{state} · session {}", short_id(id), short_id(session));
    render::print_changes(around, global, &title, about, &changes);
    Ok(())
}

fn of_run(around: &Surroundings, global: &Global, wanted: &str) -> Result<(), CliError> {
    let history = checkpoints::read_checkpoints(around, global)?;
    let latest = history.checkpoints().last().map(|checkpoint| &checkpoint.note);
    let latest = latest.map(|note| note.run.as_ref().unwrap_or(&note.session).as_str());
    let named: Vec<&str> = match wanted {
        "latest" => latest.into_iter().collect(),
        "" => Vec::new(),
        id => history.named(id),
    };
    let [id] = named.as_slice() else {
        if latest.is_none() {
            let error = "deepseek has not changed anything in this workspace yet";
            return Err(CliError::new(CliErrorKind::Usage, error));
        }
        let error = match named.len() {
            0 => format!("no run or session `{wanted}` changed this workspace"),
            several => format!("`{wanted}` matches {several} runs and sessions"),
        };
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint("`deepseek rewind` lists the changes, `deepseek rewind --output json` their runs and sessions"));
    };
    let changes = history.changes_of_run(id).map_err(|error| checkpoints::unreadable(&error))?;
    render::print_changes(around, global, &format!("run {id}"), json!({ "run": id }), &changes);
    Ok(())
}

fn since(around: &Surroundings, global: &Global, wanted: &str) -> Result<(), CliError> {
    let history = checkpoints::read_checkpoints(around, global)?;
    let checkpoint = checkpoints::checkpoint(&history, wanted)?;
    let changes = history.changes_since(checkpoint, SystemClock.now());
    let changes = changes.map_err(|error| checkpoints::unreadable(&error))?;
    let title = format!("since checkpoint {} · {}", checkpoint.number, checkpoint.note.title);
    render::print_changes(around, global, &title, json!({ "since": checkpoint.number }), &changes);
    Ok(())
}

/// Finds a patch set by id, or the newest staged one, in the newest session that has it.
pub(crate) fn find(
    around: &Surroundings,
    global: &Global,
    id: Option<&str>,
) -> Result<FoundPatch, CliError> {
    let past = Past::find(around, global)?;
    let patches = past.patches()?;
    let named = ids_called(patches.iter().map(|patch| patch.id.as_str()), id.unwrap_or_default());
    if let (Some(id), [_, _, ..]) = (id, named.as_slice()) {
        let many = format!("`{id}` matches {} patches", named.len());
        return Err(CliError::new(CliErrorKind::Usage, many)
            .hint("use more characters, or the end of the id"));
    }
    let named = named.first().map(|id| (*id).to_owned());
    // Undo patches are selected only by id, declined ones only if no other is left.
    let is_open = |patch: &&StagedPatch| !patch.applied && !patch.is_way_back();
    let matching = match id {
        Some(_) => patches.iter().find(|patch| named.as_ref() == Some(&patch.id)),
        None => patches.iter().filter(is_open).min_by_key(|patch| patch.declined),
    };
    let matching = matching.cloned();
    if let Some(patch) = matching {
        let changes = staged_changes(&past.dir(&patch.session), &patch.files)
            .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
        return Ok(FoundPatch { patch, changes });
    }
    let what = id.map_or_else(
        || "no patches are staged in this workspace".to_owned(),
        |id| format!("there is no patch {id} in this workspace"),
    );
    let error = CliError::new(CliErrorKind::Usage, what);
    Err(match lane_cut_short(&past)? {
        Some(lane) => error.hint(format!(
            "`deepseek diff --lane {lane}` shows what a lane of the interrupted request made"
        )),
        None => error.hint("`deepseek diff --run latest` shows what the last run changed"),
    })
}

/// Returns a lane of the interrupted request that has changes.
fn lane_cut_short(past: &Past) -> Result<Option<LaneId>, CliError> {
    let Ok(interrupted) = past.interrupted() else { return Ok(None) };
    let mut lanes = past.lanes()?.into_iter();
    let found = lanes.find(|work| work.session == interrupted && !work.files.is_empty());
    Ok(found.map(|work| work.lane))
}
