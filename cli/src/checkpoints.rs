//! Access to the workspace's checkpoints, shared by several commands.

use front::error::{CliError, CliErrorKind};
use orchestrator::workspace::checkpoints::CheckpointHistory;
use orchestrator::workspace::main_tree::settle_commits;
use tree::{Checkpoint, Settled, SnapshotError};

use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// Reads the checkpoints of the workspace, after completing or undoing any interrupted commit.
pub(crate) fn read_checkpoints(
    around: &Surroundings,
    global: &Global,
) -> Result<CheckpointHistory, CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let places = around.places(&workspace)?;
    let settled = settle_commits(&places, &workspace, &settings.config).map_err(|error| {
        CliError::caused(CliErrorKind::NotDelivered, &error)
            .hint("check that the workspace and DEEPSEEK_HOME are writable, and that no other process is writing there")
    })?;
    for Settled { label, outcome, left } in settled {
        render::warn(&render::settled(&label, outcome, &left));
    }
    CheckpointHistory::read(&places, &workspace, &settings.config)
        .map_err(|error| unreadable(&error))
}

/// Finds a checkpoint by number or `latest`.
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
        CliError::new(
            CliErrorKind::Usage,
            format!("there is no checkpoint {wanted} in this workspace"),
        )
        .hint("`deepseek rewind` lists them; one is saved before each change")
    })
}

pub(crate) fn unreadable(error: &SnapshotError) -> CliError {
    CliError::caused(CliErrorKind::Internal, error)
        .hint("staged patches are stored separately and are not affected: `deepseek diff`")
}
