//! What a request comes to, as the user of the orchestrator is told. Values only.

use std::path::PathBuf;

use facts::amounts::Spending;
use facts::delivery::{Delivery, Rollback};
use facts::grammar::plan::Plan;
use facts::grammar::review::Review;
use facts::team::EndedLane;
use missions::card::SealedCard;
use patch::PutAside;
use thiserror::Error;
use tree::Change;

/// Why a message from the user is not passed on to the current request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotSteered {
    /// No request is running.
    #[error("no request is running")]
    NothingAtWork,
    /// Several lanes are running.
    #[error("lanes are running, and cannot receive messages")]
    Lanes,
    /// A mission does only what its card says.
    #[error("a mission follows its card, and cannot receive messages")]
    Mission,
    /// The orchestrator is gone.
    #[error("the orchestrator is gone")]
    Gone,
}

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
