//! Collects worktrees that earlier processes left and that are no longer needed.
//!
//! Never touches what a living process owns, and finds what a crash left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::Config;
use lanes::lane::worktrees::{tidy, unowned, was_claimed};
use tools::blocking::on_a_thread;
use tree::Snapshots;

use crate::session::past_requests::ended_lanes;
use crate::workspace::places::{WorkspacePlaces, snapshots};

/// Collects leftover worktrees of a workspace, off the runtime. `sessions` is the directory of sessions.
pub(crate) async fn collect_left(
    places: &WorkspacePlaces,
    workspace: &Path,
    sessions: PathBuf,
    config: &Config,
) {
    let keep = Duration::from_secs(u64::from(config.lanes.keep_days) * 24 * 60 * 60);
    let lanes = places.lanes.clone();
    let snapshots = snapshots(places, workspace, config);
    on_a_thread(move || collect(&snapshots, &lanes, &sessions, keep)).await;
}

/// Collects what dead processes left in `lanes`: worktrees of runs that have ended or cannot be resumed; those of failed
/// lanes are kept for `keep`. `sessions` is the directory of sessions.
pub(crate) fn collect(snapshots: &Snapshots, lanes: &Path, sessions: &Path, keep: Duration) {
    for entry in fs::read_dir(lanes).into_iter().flatten().flatten() {
        let dir = entry.path();
        let run = entry.file_name().to_string_lossy().into_owned();
        // A crash interrupted its creation or removal. Remove it only if it is empty.
        if !was_claimed(&dir) && fs::remove_dir(&dir).is_ok() {
            continue;
        }
        let Some((owner, session)) = unowned(&dir) else { continue };
        // A process that died before recording its session had not created a worktree.
        let ended = session.map_or(Some(Vec::new()), |it| ended_lanes(&sessions.join(it), &run));
        let Some(failed) = ended else { continue };
        let age = entry.metadata().and_then(|data| data.modified()).ok();
        let age = age.and_then(|at| at.elapsed().ok()).unwrap_or_default();
        let failed = if age > keep { Vec::new() } else { failed };
        if let Err(error) = snapshots.release(&run) {
            tracing::warn!(%error, run, "could not release the trees of lanes");
        }
        let kept = tidy(snapshots, &dir, &failed);
        tracing::info!(run, kept = kept.len(), "removed leftover worktrees");
        drop(owner);
    }
}
