//! What a team is started with.

use std::path::PathBuf;
use std::sync::Arc;

use actors::run::Run;
use actors::run::workspace::{Workspace, Workspaces};
use actors::talk::brief::Brief;
use sandbox::Degree;
use tree::{RepoPath, SeenAt, Snapshots};

use crate::crew::PlanInParts;
use crate::lane::lane_tree::WorktreeExtras;
use crate::team::split::team_plan::TeamPlan;

/// How a task is divided.
#[derive(Debug, Clone)]
pub enum Division {
    /// The team plans lanes.
    ToPlan,
    /// Into these lanes.
    Lanes(TeamPlan),
    /// Into parts, which one lane makes one after the other.
    Parts(Box<PlanInParts>),
}

/// What a team needs to start.
#[derive(Clone)]
pub struct TeamSetup {
    /// The run that the team belongs to.
    pub run: Run,
    /// The task.
    pub brief: Brief,
    /// How the task is divided.
    pub division: Division,
    /// The workspace, as seen by each part of the run.
    pub workspaces: Arc<dyn Workspaces>,
    /// Where trees are stored.
    pub snapshots: Snapshots,
    /// Where the worktrees of this run are.
    pub worktrees: PathBuf,
}

impl TeamSetup {
    /// Returns the first plan of a change that is made in parts.
    pub(super) fn in_parts(&self) -> Option<&PlanInParts> {
        match &self.division {
            Division::Parts(plan) => Some(plan),
            Division::ToPlan | Division::Lanes(_) => None,
        }
    }

    /// Returns the workspace as seen by the team itself.
    pub(super) fn workspace(&self) -> Arc<dyn Workspace> {
        self.workspaces.of(self.run.scope())
    }

    /// Returns the source of files that are not in the snapshot.
    pub(super) fn origin(&self, left_out: &[RepoPath]) -> WorktreeExtras {
        let lanes = &self.run.config().lanes;
        let level = self.run.sandbox.known_level();
        let in_place = level.is_some_and(|level| level.degree() == Degree::Full);
        WorktreeExtras {
            left_out: left_out.to_vec(),
            share: lanes.share.clone(),
            max_copied_bytes: lanes.max_copied_bytes,
            seen: if in_place { SeenAt::TheWorkspace } else { SeenAt::ItsOwnPath },
            clock: Arc::clone(&self.run.clock),
        }
    }
}
