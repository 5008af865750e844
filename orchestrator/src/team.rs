//! The team of a run: the lanes it hires, and the one task that conducts them. Its loss ends the run.

mod bisect;
mod brief;
mod conduct;
mod hired;
mod merge;
mod result;
mod together;

#[cfg(test)]
mod isolation_tests;
#[cfg(test)]
mod order_tests;
#[cfg(test)]
mod testing;

use std::path::PathBuf;
use std::sync::Arc;

use actors::Unanswered;
use actors::delivery::Delivery;
use actors::lane_id::LaneId;
use actors::run::Run;
use actors::team::EndedLane;
use lanes::lane_tree::WorktreeExtras;
use lanes::post;
use ractor::{ActorCell, ActorRef, SpawnErr};
use tokio::task::JoinSet;
use tools::tree::{ReadTree, RepoPath, Snapshots};

use crate::orchestrator::{MainWorkspace, Msg as Above};

/// What a team is made with.
#[derive(Clone)]
pub(crate) struct TeamSetup {
    /// The run it works for.
    pub(crate) run: Run,
    /// What the user wants.
    pub(crate) request: String,
    /// What was found in the workspace, rendered.
    pub(crate) evidence: String,
    /// The workspace, for reading.
    pub(crate) reader: ReadTree,
    /// Where trees are kept.
    pub(crate) snapshots: Snapshots,
    /// Where the worktrees of this run are.
    pub(crate) worktrees: PathBuf,
    /// Who owns the workspace.
    pub(crate) above: ActorRef<Above>,
}

impl TeamSetup {
    /// The user's workspace, as a lane may ask for it, or the team itself.
    fn workspace(&self, lane: Option<LaneId>) -> MainWorkspace {
        let (run, reader, actor) =
            (self.run.id().to_owned(), self.reader.clone(), self.above.clone());
        MainWorkspace { run, lane, reader, actor }
    }

    /// Where worktrees have from what no tree has.
    fn origin(&self, left_out: &[RepoPath]) -> WorktreeExtras {
        let lanes = &self.run.config().lanes;
        WorktreeExtras {
            left_out: left_out.to_vec(),
            share: lanes.share.clone(),
            max_copied_bytes: lanes.max_copied_bytes,
            clock: Arc::clone(&self.run.clock),
        }
    }
}

/// What came of a team.
#[derive(Debug, Clone)]
pub(crate) enum TeamReport {
    /// The task is one for a single crew.
    Declined,
    /// It was worked on in lanes.
    Done {
        /// How it ended.
        delivery: Delivery,
        /// What became of each lane.
        lanes: Vec<EndedLane>,
        /// Worktrees of lanes that failed.
        kept: Vec<PathBuf>,
    },
}

/// A team at work.
pub(crate) struct Team {
    setup: TeamSetup,
    /// Stands for it in the supervision tree: its lanes go with it.
    post: ActorCell,
}

impl Team {
    /// Gives a team a post under `supervisor`.
    pub(crate) async fn spawn(setup: TeamSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        Ok(Self { setup, post: post::spawn(supervisor).await? })
    }

    /// Its post.
    pub(crate) fn cell(&self) -> ActorCell {
        self.post.clone()
    }

    /// Works to the end. Every wait inside has its own deadline, so there is none here. A panic in it is its death, and nobody
    /// else's; dropping it drops what it does.
    pub(crate) async fn work(self) -> Result<TeamReport, Unanswered> {
        let mut work = JoinSet::new();
        work.spawn(conduct::conduct(self.setup, self.post));
        match work.join_next().await {
            Some(Ok(report)) => Ok(report),
            Some(Err(_)) | None => Err(Unanswered::Stopped),
        }
    }
}
