//! `deepseek diff --lane`: shows the recorded changes of a lane, merged or not.

use facts::lane_id::LaneId;
use front::error::{CliError, CliErrorKind};
use journal::{LaneState, LaneWork, staged_changes};
use serde_json::json;

use crate::flags::Global;
use crate::past::Past;
use crate::render::{self, describe};
use crate::surroundings::Surroundings;

/// Shows the changes of a lane in the latest run with lanes, or in the latest whose id, or session id, starts with `run`.
pub(super) fn show(
    around: &Surroundings,
    global: &Global,
    lane: LaneId,
    run: Option<&str>,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let lanes = team(past.lanes()?, run.filter(|run| *run != "latest"))?;
    let Some(work) = lanes.iter().find(|it| it.lane == lane) else {
        return Err(no_such_lane(lane, &lanes));
    };
    let changes = staged_changes(&past.dir(&work.session), &work.files)
        .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
    let LaneWork { session, run, title, state, attempt, .. } = work;
    let mut shown = format!("lane {lane} · {title} · {} · run {run}", describe::word(state));
    if *attempt > 1 {
        shown.push_str(&format!(" · attempt {attempt}"));
    }
    if changes.is_empty() && *state == LaneState::Begun {
        shown.push_str(" · no changes yet");
    } else if changes.is_empty() {
        shown.push_str(" · no changes");
    }
    let about = json!({
        "lane": lane, "title": title, "state": state, "attempt": attempt, "run": run, "session": session,
    });
    render::print_changes(around, global, &shown, about, &changes);
    Ok(())
}

/// Selects the lanes of the wanted run. `all` has those of the newest run first.
fn team(all: Vec<LaneWork>, wanted: Option<&str>) -> Result<Vec<LaneWork>, CliError> {
    let is_meant = |lane: &LaneWork| match wanted {
        Some(id) => !id.is_empty() && (lane.run.starts_with(id) || lane.session.starts_with(id)),
        None => true,
    };
    let Some(first) = all.iter().find(|lane| is_meant(lane)) else {
        let error = match wanted {
            Some(id) => format!("no run or session `{id}` of this workspace had lanes"),
            None => "no task has used lanes in this workspace yet".to_owned(),
        };
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint("to use them: `deepseek --teammate-mode on -p TEXT`; `deepseek sessions` lists past requests"));
    };
    let (session, run) = (first.session.clone(), first.run.clone());
    Ok(all.into_iter().filter(|lane| lane.session == session && lane.run == run).collect())
}

fn no_such_lane(lane: LaneId, lanes: &[LaneWork]) -> CliError {
    let run = lanes.first().map_or("", |lane| lane.run.as_str());
    let has: Vec<String> = lanes
        .iter()
        .map(|lane| format!("{} ({})", lane.lane, render::harmless(&lane.title)))
        .collect();
    CliError::new(CliErrorKind::Usage, format!("run {run} had no lane {lane}"))
        .hint(format!("it had {}", has.join(", ")))
}
