//! What lanes have made, and what it is together.

use checks::failure_class::FailureClass;
use facts::delivery::Verified;
use facts::event::StagedFile;
use facts::lane_id::LaneId;
use tree::{Change, RepoPath, SnapshotError, Snapshots, TreeId};

use super::merge::merge_trees;

/// The work of a lane that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaneWorkDone {
    pub(super) lane: LaneId,
    /// The tree it started from.
    pub(super) base: TreeId,
    /// The tree it ended with.
    pub(super) tree: TreeId,
    /// The changes.
    pub(super) files: Vec<StagedFile>,
    /// The commands that checked them.
    pub(super) commands: Vec<String>,
    /// How far the checks verify them.
    pub(super) verified: Verified,
}

/// The result of merging lanes with the workspace.
pub(super) struct MergedLanes {
    /// The lanes that were merged.
    pub(super) lanes: Vec<LaneId>,
    /// The workspace at the time of the merge.
    pub(super) onto: TreeId,
    /// The merged tree.
    pub(super) tree: TreeId,
    /// The changes from the workspace to the merged tree.
    pub(super) files: Vec<StagedFile>,
}

impl MergedLanes {
    pub(super) fn changes(&self) -> Vec<Change> {
        self.files.iter().map(StagedFile::change).collect()
    }
}

/// How merged lanes fail.
pub(super) struct Red {
    pub(super) class: FailureClass,
    /// The commands that fail, with the end of their output.
    pub(super) details: String,
}

/// Merges the results of lanes into a tree, one after the other. Returns the first lane that conflicts, with the paths.
/// Blocks.
pub(super) fn merge_lanes(
    snapshots: &Snapshots,
    to: TreeId,
    made: &[LaneWorkDone],
    hold: &str,
) -> Result<Result<TreeId, (LaneId, Vec<RepoPath>)>, SnapshotError> {
    let mut so_far = snapshots.tree(to)?;
    let reader = snapshots.reader()?;
    for LaneWorkDone { lane, base, tree, .. } in made {
        let (base, theirs) = (snapshots.tree(*base)?, snapshots.tree(*tree)?);
        let merged = merge_trees(&base, &so_far, &theirs, &reader)?;
        if !merged.conflicts.is_empty() {
            return Ok(Err((*lane, merged.conflicts)));
        }
        so_far = merged.entries;
        for (path, state) in &merged.mixed {
            so_far.insert(path.clone(), snapshots.keep_file(state)?);
        }
    }
    let tree = snapshots.keep_tree(&so_far)?;
    snapshots.hold(hold, tree)?;
    Ok(Ok(tree))
}
