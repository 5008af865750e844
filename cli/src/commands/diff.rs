//! `deepseek diff`: patch sets that are staged but not applied.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use orchestrator::journal::read::read;
use orchestrator::staged::{StagedPatch, changes, patches};
use serde_json::json;
use tools::tree::Change;

use super::sessions::{name, session_dirs};
use crate::error::{CliError, Kind};
use crate::flags::{Global, Output};
use crate::render::{self, Paint, changes_as_text};
use crate::surroundings::Surroundings;

/// Show a patch set that is staged but not applied.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Its id, or the beginning of it [default: the newest of this workspace].
    patch: Option<String>,
}

/// A staged patch set with where it is kept.
pub(crate) struct Found {
    pub(crate) session: PathBuf,
    pub(crate) patch: StagedPatch,
    pub(crate) changes: Vec<Change>,
}

/// Runs the command.
pub(crate) fn run(around: &Surroundings, global: &Global, args: &DiffArgs) -> Result<(), CliError> {
    let found = find(around, global, args.patch.as_deref())?;
    if global.output == Output::Text {
        let paint = if around.colour_out(global.color) { Paint::Colour } else { Paint::Plain };
        render::warn(&format!(
            "patch {} · {} · session {}",
            found.patch.id,
            found.patch.title,
            name(&found.session)
        ));
        render::text(&changes_as_text(&found.changes, paint));
    } else {
        let files: Vec<_> = found.changes.iter().map(Change::summary).collect();
        render::json_line(&json!({
            "patch": found.patch.id, "title": found.patch.title, "applied": found.patch.applied,
            "files": files, "diff": changes_as_text(&found.changes, Paint::Plain),
        }));
    }
    Ok(())
}

/// The patch set that is meant, from the newest session that has it.
pub(crate) fn find(
    around: &Surroundings,
    global: &Global,
    id: Option<&str>,
) -> Result<Found, CliError> {
    let here = around.workspace(global)?.display().to_string();
    let mut staged = Vec::new();
    for session in session_dirs(around)? {
        let Ok(reading) = read(&session) else { continue };
        let at_home =
            reading.records.first().and_then(|record| record.data.get("workspace")?.as_str());
        if at_home == Some(here.as_str()) {
            let newest_first = patches(&reading.records).into_iter().rev();
            staged.extend(newest_first.map(|patch| (session.clone(), patch)));
        }
    }
    // A patch set may be staged in one session and applied in another.
    let applied: BTreeSet<String> = staged
        .iter()
        .filter(|(_, patch)| patch.applied)
        .map(|(_, patch)| patch.id.clone())
        .collect();
    let matching = staged.into_iter().find(|(_, patch)| match id {
        Some(id) => patch.id.starts_with(id),
        // A way back is only meant by its id.
        None => !applied.contains(&patch.id) && !patch.title.starts_with("back to "),
    });
    if let Some((session, mut patch)) = matching {
        patch.applied |= applied.contains(&patch.id);
        let changes =
            changes(&session, &patch).map_err(|error| CliError::caused(Kind::Internal, &error))?;
        return Ok(Found { session, patch, changes });
    }
    let what = id.map_or_else(
        || "nothing is staged in this workspace".to_owned(),
        |id| format!("there is no patch {id} in this workspace"),
    );
    Err(CliError::new(Kind::Usage, what)
        .hint("a patch is staged when its approval was denied, and for going back after a failure"))
}
