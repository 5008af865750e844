//! A lane: a part of a task, done by a crew of its own in a worktree of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::call::Caller;
use actors::delivery::{Delivery, NeedsWork, Verified};
use actors::event::{Event, StagedFile};
use actors::lane_id::LaneId;
use actors::ledger::Allowance;
use actors::publisher::{JournalClosed, Publisher};
use actors::workspace::Workspace;
use config::Config;
use ractor::{ActorCell, SpawnErr};
use tools::clock::IdSource;
use tools::policy::Rules;
use tools::tree::{Entries, Snapshots, TreeId};

use crate::crew::{Crew, CrewReport, CrewSetup};
use crate::cycle::Goal;
use crate::lane_tree::{LaneTree, Place, Territories, WorktreeOrigin, changes};
use crate::post;

/// What a lane is made with.
#[derive(Clone)]
pub struct LaneSetup {
    /// Its number.
    pub id: LaneId,
    /// What it is, in a few words.
    pub title: String,
    /// Its share of the budget.
    pub budget: Allowance,
    /// What was found in the workspace, rendered.
    pub evidence: String,
    /// A line to the models that speaks, and is paid, for the lane.
    pub caller: Caller,
    /// Who is asked whether a command may run.
    pub above: Arc<dyn Workspace>,
    /// Which files it may change.
    pub territories: Territories,
    /// Where trees are kept.
    pub snapshots: Snapshots,
    /// Where the worktrees of the run are.
    pub worktrees: PathBuf,
    /// Where its worktrees have from what no tree has.
    pub origin: WorktreeOrigin,
    /// Where ids come from.
    pub ids: Arc<dyn IdSource>,
    /// The configuration.
    pub config: Arc<Config>,
    /// What may be read and run.
    pub rules: Arc<Rules>,
    /// Where the Verifier keeps results between runs.
    pub cache: PathBuf,
    /// Variables that commands must not see.
    pub hidden_env: Vec<String>,
}

/// A piece of work for a lane.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Counts from one.
    pub number: u32,
    /// What it is to do.
    pub request: String,
    /// The tree it begins from.
    pub base: TreeId,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneReport {
    /// It did what it was to do.
    Completed {
        /// The tree it made.
        tree: TreeId,
        /// What it changed.
        files: Vec<StagedFile>,
        /// What checked it.
        commands: Vec<String>,
    },
    /// It did not get done.
    Failed(Undone),
}

/// How an attempt that did not get done ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// How.
    pub why: Delivery,
    /// The worktree that is kept, by its name.
    pub worktree: Option<String>,
}

impl From<Delivery> for Undone {
    fn from(why: Delivery) -> Self {
        Self { why, worktree: None }
    }
}

/// How long a crew that is let go may take to be gone.
const PATIENCE: Duration = Duration::from_millis(500);

/// A lane at work.
pub struct Lane {
    setup: LaneSetup,
    /// Stands for it in the supervision tree: its crew goes with it.
    post: ActorCell,
}

impl Lane {
    /// Gives a lane a post under `supervisor`.
    pub async fn spawn(setup: LaneSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        Ok(Self { setup, post: post::spawn(supervisor).await? })
    }

    /// Works an attempt through, and tells how it ended. Every wait inside has its own deadline. Whoever drops it on the way
    /// sees to it that those at its post go.
    pub async fn work(self, attempt: &Attempt) -> Result<LaneReport, JournalClosed> {
        let report = self.setup.attempt(attempt, self.post.clone()).await;
        self.post.kill();
        report
    }
}

/// What an attempt leaves in its tree.
struct Left {
    tree: TreeId,
    files: Vec<StagedFile>,
    left_behind: Vec<tools::tree::RepoPath>,
}

impl LaneSetup {
    fn publisher(&self) -> &Publisher {
        &self.caller.publisher
    }

    /// Name of the worktree of an attempt.
    fn name(&self, attempt: u32) -> String {
        format!("{}-{attempt}", self.id)
    }

    /// Works through an attempt, and tells how it ended.
    async fn attempt(
        &self,
        attempt: &Attempt,
        lane: ActorCell,
    ) -> Result<LaneReport, JournalClosed> {
        let Attempt { number, base, .. } = *attempt;
        let (title, budget) = (self.title.clone(), self.budget);
        let spawned = Event::LaneSpawned { attempt: number, title, base, budget };
        self.publisher().record(spawned).await?;
        let place = self.place(number);
        let tree = match LaneTree::open(self, place, base).await {
            Ok(tree) => Arc::new(tree),
            Err(error) => return self.fail(number, failed("worktree", &error), None).await,
        };
        let report = self.crew(attempt, &tree, lane).await;
        let commands = report.plan.map(|plan| plan.verify).unwrap_or_default();
        match verified(&report.delivery) {
            Some(verified) => self.complete(number, verified, commands, &tree).await,
            None => self.fail(number, report.delivery, Some(&tree)).await,
        }
    }

    /// Where an attempt works: nowhere, if all that came of it is recorded.
    fn place(&self, attempt: u32) -> Place {
        let ended = |event: &Event| match event {
            Event::LaneCompleted { attempt: of, .. } | Event::LaneFailed { attempt: of, .. } => {
                (*of == attempt).then_some(())
            }
            _ => None,
        };
        let begun = |event: &Event| matches!(event, Event::PatchApplied { .. }).then_some(());
        let publisher = self.publisher();
        if publisher.only_compares() || publisher.recorded_ahead(ended).is_some() {
            return Place::Nowhere;
        }
        let dir = self.worktrees.join(self.name(attempt));
        if publisher.recorded_ahead(begun).is_some() { Place::GoOn(dir) } else { Place::At(dir) }
    }

    /// Has a crew do it. Whatever it dies of, there is a report.
    async fn crew(&self, attempt: &Attempt, tree: &Arc<LaneTree>, lane: ActorCell) -> CrewReport {
        let setup = CrewSetup {
            request: attempt.request.clone(),
            evidence: self.evidence.clone(),
            goal: Goal::Deliver,
            workspace: Arc::clone(tree) as Arc<dyn Workspace>,
            caller: self.caller.clone(),
            config: Arc::clone(&self.config),
            rules: Arc::clone(&self.rules),
            cache: self.cache.clone(),
            hidden_env: self.hidden_env.clone(),
            env: tree.env(),
        };
        let died = || CrewReport { delivery: crew_died(), plan: None, ways_back: Vec::new() };
        let Ok(crew) = Crew::spawn(setup, lane).await else { return died() };
        let report = tokio::select! {
            report = crew.work() => report.unwrap_or_else(|_| died()),
            // It died here when the run was driven before.
            delivery = ended_before(self.publisher()) => CrewReport { delivery, ..died() },
        };
        // Nothing more is heard of it, so that what is told next is the last of the attempt.
        if crew.cell().kill_and_wait(Some(PATIENCE)).await.is_err() {
            tracing::debug!("a crew did not go in time");
        }
        report
    }

    async fn complete(
        &self,
        attempt: u32,
        verified: Verified,
        commands: Vec<String>,
        tree: &Arc<LaneTree>,
    ) -> Result<LaneReport, JournalClosed> {
        let recorded = self.publisher().recall(|event| {
            matches!(event, Event::LaneCompleted { .. } | Event::LaneFailed { .. })
                .then(|| event.clone())
        });
        let event = match recorded.await {
            Some(event) => event,
            None => match self.left(attempt, tree).await {
                Ok(Left { tree, files, left_behind }) => {
                    let spent = self.caller.router.spent().await.unwrap_or_default();
                    Event::LaneCompleted { attempt, verified, tree, files, left_behind, spent }
                }
                Err(error) => {
                    return self.fail(attempt, failed("worktree", &error), Some(tree)).await;
                }
            },
        };
        self.publisher().record(event.clone()).await?;
        match event {
            Event::LaneCompleted { tree: made, files, .. } => {
                // All that counts is kept: the worktree has done its service.
                tree.remove().await;
                Ok(LaneReport::Completed { tree: made, files, commands })
            }
            Event::LaneFailed { why, worktree, .. } => {
                Ok(LaneReport::Failed(Undone { why, worktree }))
            }
            _ => Err(JournalClosed),
        }
    }

    /// Tells that it did not get done. What it did is kept, and so is its worktree, if there is anything to see in it.
    async fn fail(
        &self,
        attempt: u32,
        why: Delivery,
        tree: Option<&Arc<LaneTree>>,
    ) -> Result<LaneReport, JournalClosed> {
        let recorded = self
            .publisher()
            .recall(|event| matches!(event, Event::LaneFailed { .. }).then(|| event.clone()));
        let event = match recorded.await {
            Some(event) => event,
            None => {
                let left = match tree {
                    Some(tree) => self.left(attempt, tree).await.ok(),
                    None => None,
                };
                let files = left.map(|left| left.files).unwrap_or_default();
                let worktree = (!files.is_empty()).then(|| self.name(attempt));
                if let Some(tree) = tree.filter(|_| worktree.is_none()) {
                    tree.remove().await;
                }
                let spent = self.caller.router.spent().await.unwrap_or_default();
                Event::LaneFailed { attempt, why, files, worktree, spent }
            }
        };
        self.publisher().record(event.clone()).await?;
        let Event::LaneFailed { why, worktree, .. } = event else { return Err(JournalClosed) };
        Ok(LaneReport::Failed(Undone { why, worktree }))
    }

    /// What is in the tree of an attempt, kept and held.
    async fn left(
        &self,
        attempt: u32,
        tree: &Arc<LaneTree>,
    ) -> Result<Left, tools::tree::SnapshotError> {
        let (snapshots, tree) = (self.snapshots.clone(), Arc::clone(tree));
        let hold = format!("{}/{}", self.publisher().run(), self.name(attempt));
        let left = tokio::task::spawn_blocking(move || {
            let (entries, left_behind): (Entries, _) = tree.artifact(&snapshots)?;
            let made = snapshots.keep_tree(&entries)?;
            snapshots.hold(&hold, made)?;
            let changes = changes(&snapshots, tree.base(), &entries)?;
            let files = changes.iter().map(StagedFile::from).collect();
            Ok(Left { tree: made, files, left_behind })
        });
        left.await.unwrap_or_else(|died| std::panic::resume_unwind(died.into_panic()))
    }
}

/// How a delivery was verified, if the lane did what it was to do. What failed before it is not the lane's.
fn verified(delivery: &Delivery) -> Option<Verified> {
    match delivery {
        Delivery::Delivered { verified } => Some(*verified),
        Delivery::NoEditNeeded { .. } => Some(Verified::NotNeeded),
        Delivery::NeedsWork { why: NeedsWork::PreExisting, .. } => Some(Verified::Unverified),
        Delivery::NeedsWork { .. }
        | Delivery::Denied { .. }
        | Delivery::Cancelled
        | Delivery::BudgetExhausted { .. }
        | Delivery::Failed { .. } => None,
    }
}

/// The end that came to a lane from outside when the run was driven before; it waits for ever if there is none.
pub async fn ended_before(publisher: &Publisher) -> Delivery {
    match publisher.recording() {
        Some(recording) => recording.stopped().await,
        None => std::future::pending().await,
    }
}

/// The end of a lane whose crew, or who itself, is gone.
pub fn crew_died() -> Delivery {
    Delivery::Failed { class: "internal".to_owned(), message: "the crew died".to_owned() }
}

fn failed(class: &str, error: &dyn std::error::Error) -> Delivery {
    Delivery::Failed { class: class.to_owned(), message: error.to_string() }
}
