//! The checkpoints of the workspace, as several commands need them.

use front::error::{CliError, Kind};
use orchestrator::checkpoints::CheckpointHistory;
use orchestrator::main_tree::settle;
use tree::{Checkpoint, Settled, SnapshotError};

use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// The checkpoints of the workspace, in which nothing is between two states.
pub(crate) fn history(
    around: &Surroundings,
    global: &Global,
) -> Result<CheckpointHistory, CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let places = around.places(&workspace)?;
    let settled = settle(&places, &workspace, &settings.config).map_err(|error| {
        CliError::caused(Kind::NotDelivered, &error)
            .hint("is the workspace writable, and DEEPSEEK_HOME? Is another process writing there?")
    })?;
    for Settled { label, outcome, left } in settled {
        render::warn(&render::settled(&label, outcome, &left));
    }
    CheckpointHistory::read(&places, &workspace, &settings.config)
        .map_err(|error| unreadable(&error))
}

/// The checkpoint that is meant.
pub(crate) fn checkpoint<'h>(
    history: &'h CheckpointHistory,
    wanted: &str,
) -> Result<&'h Checkpoint, CliError> {
    let number = wanted.trim_start_matches('#').parse::<u64>().ok();
    let found = match wanted {
        "latest" => history.checkpoints().last(),
        _ => history.checkpoints().iter().find(|checkpoint| Some(checkpoint.number) == number),
    };
    found.ok_or_else(|| {
        CliError::new(Kind::Usage, format!("there is no checkpoint {wanted} in this workspace"))
            .hint("`deepseek rewind` lists them; one is made before each change")
    })
}

pub(crate) fn unreadable(error: &SnapshotError) -> CliError {
    CliError::caused(Kind::Internal, error)
        .hint("the session's own patch sets are kept apart from it: `deepseek sessions`")
}
