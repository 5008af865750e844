//! The directories of a workspace's checkpoints, commits and lanes, the limits of its checkpoints, and its index.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use index::{Index, IndexOptions};
use policy::{PolicyRules, Verdict};
use tree::{ReadTree, SnapshotLimits, Snapshots};

/// The program's directories for a workspace.
#[derive(Debug, Clone)]
pub struct WorkspacePlaces {
    /// The program's state directory; never part of a workspace.
    pub state: PathBuf,
    /// Log of commits in progress, for all workspaces.
    pub commits: PathBuf,
    /// The private repository with the checkpoints of this workspace.
    pub checkpoints: PathBuf,
    /// The worktrees of this workspace's lanes.
    pub lanes: PathBuf,
}

pub(crate) fn snapshots(places: &WorkspacePlaces, workspace: &Path, config: &Config) -> Snapshots {
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

/// Creates the index of a workspace; nothing is indexed yet.
pub fn index(
    places: &WorkspacePlaces,
    tree: ReadTree,
    config: &Config,
    rules: &Arc<PolicyRules>,
) -> Index {
    let rules = Arc::clone(rules);
    let options = IndexOptions {
        dir: places.checkpoints.with_file_name("index"),
        max_files: config.limits.max_workspace_files,
        max_file_bytes: config.limits.max_indexed_file_bytes,
        wait: Duration::from_millis(config.agent_loop.index_wait_ms),
        may_read: Arc::new(move |path| rules.may_read(path.as_str()) == Verdict::Allow),
    };
    Index::new(tree, options)
}
