//! What a request results in, for whoever asked for it. Values only.

use std::path::PathBuf;

use facts::amounts::Spending;
use facts::delivery::{Delivery, Rollback};
use facts::grammar::plan::Plan;
use facts::grammar::review::Review;
use facts::team::EndedLane;
use missions::card::SealedCard;
use patch::PutAside;
use tree::Change;

/// The outcome of a request.
#[derive(Debug, Clone)]
pub struct RequestOutcome {
    /// Id of the run.
    pub run: String,
    /// How it ended.
    pub delivery: Delivery,
    /// The last plan.
    pub plan: Option<Plan>,
    /// The answer to a question.
    pub answer: Option<String>,
    /// The review, if one was requested.
    pub review: Option<Review>,
    /// The card of a mission.
    pub card: Option<Box<SealedCard>>,
    /// The changes in the workspace since the start of the run.
    pub changes: Vec<Change>,
    /// Diffs of models for files that no plan named; they were not applied.
    pub put_aside: Vec<PutAside>,
    /// The staged undo patches.
    pub rollbacks: Vec<Rollback>,
    /// What it cost.
    pub spent: Spending,
    /// How each lane ended, if it used lanes.
    pub lanes: Vec<EndedLane>,
    /// Worktrees of lanes that failed.
    pub kept: Vec<PathBuf>,
}
