//! Where what is needed for the way back is kept, and how much of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use config::Config;
use tree::{SnapshotLimits, Snapshots};

/// Where what is needed for the way back is kept.
#[derive(Debug, Clone)]
pub struct Places {
    /// Where the program keeps everything; never part of a workspace.
    pub state: PathBuf,
    /// Where commits of all workspaces are noted while they are under way.
    pub commits: PathBuf,
    /// The private repository of this workspace.
    pub checkpoints: PathBuf,
    /// Where lanes of this workspace have their worktrees.
    pub lanes: PathBuf,
}

pub(crate) fn snapshots(places: &Places, workspace: &Path, config: &Config) -> Snapshots {
    let config::Checkpoints { max_count, max_bytes, max_file_bytes } = config.checkpoints;
    let limits = SnapshotLimits {
        max_checkpoints: max_count,
        max_bytes,
        max_file_bytes,
        max_files: config.limits.max_workspace_files,
        patience: Duration::from_secs(config.limits.workspace_lock_timeout_seconds),
    };
    let state = places.state.canonicalize().unwrap_or_else(|_| places.state.clone());
    Snapshots::new(places.checkpoints.clone(), workspace.to_owned(), state, limits)
}
