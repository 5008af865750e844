//! A lane: a part of a task, done by a crew of its own in a worktree of its own.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actors::brief::Brief;
use actors::closed::JournalClosed;
use actors::delivery::{Delivery, FailureKind, NeedsWork, Unverified, Verified};
use actors::effect::{Effect, Position, Trace};
use actors::event::{Event, StagedFile};
use actors::lane_id::LaneId;
use actors::ledger::Allowance;
use actors::publisher::Publisher;
use actors::run::Run;
use actors::workspace::Workspace;
use futures_util::FutureExt as _;
use ractor::{
    Actor, ActorCell, ActorProcessingErr, ActorRef, DerivedActorRef, SpawnErr, SupervisionEvent,
};
use tokio::task::JoinSet;
use tree::{RepoPath, SnapshotError, Snapshots, TreeId};

use crate::crew::{Crew, CrewReport, CrewSetup};
use crate::cycle::Goal;
use crate::lane_tree::{LaneTree, Place, Territories, WorktreeExtras, changes};

/// What a lane is made with.
#[derive(Clone)]
pub struct LaneSetup {
    /// Its number.
    pub id: LaneId,
    /// What it is, in a few words.
    pub title: String,
    /// Its share of the budget.
    pub budget: Allowance,
    /// The task of which it does a part.
    pub brief: Brief,
    /// The run, as the lane has it.
    pub run: Run,
    /// Who is asked whether a command may run.
    pub above: Arc<dyn Workspace>,
    /// Which files it may change.
    pub territories: Territories,
    /// Where trees are kept.
    pub snapshots: Snapshots,
    /// Where the worktrees of the run are.
    pub worktrees: PathBuf,
    /// Where its worktrees have from what no tree has.
    pub origin: WorktreeExtras,
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
    /// How it ended, from when that is written down: a lane that dies then has ended all the same.
    pub ended: Arc<OnceLock<LaneReport>>,
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
        /// Whether that passed.
        verified: Verified,
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

/// What a lane tells whoever it works for.
#[derive(Debug)]
pub struct LaneTold {
    /// Which lane.
    pub lane: LaneId,
    /// How its attempt ended.
    pub ended: Result<LaneReport, JournalClosed>,
}

enum Msg {
    /// Works an attempt through. There is one at a time.
    Begin(Attempt),
    /// The work beside the mailbox is done; none if it died of what it did.
    Worked(Option<Result<LaneReport, JournalClosed>>),
}

/// A handle to a lane.
#[derive(Clone)]
pub struct Lane {
    actor: ActorRef<Msg>,
}

impl Lane {
    /// Starts a lane under `supervisor`. It tells `above` how its attempts end; its own death is told by supervision.
    pub async fn spawn(
        setup: LaneSetup,
        above: DerivedActorRef<LaneTold>,
        supervisor: ActorCell,
    ) -> Result<Self, SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, LaneActor, (setup, above), supervisor).await?;
        Ok(Self { actor })
    }

    /// Has it work an attempt through: the first, or one that is planned again on what there is by then.
    pub fn begin(&self, attempt: Attempt) {
        // Of a lane that is gone, supervision tells.
        self.actor.cast(Msg::Begin(attempt)).ok();
    }

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }
}

struct LaneActor;

struct State {
    setup: LaneSetup,
    above: DerivedActorRef<LaneTold>,
    /// What runs beside the actor; it goes with it.
    work: JoinSet<()>,
}

impl Actor for LaneActor {
    type Msg = Msg;
    type State = State;
    type Arguments = (LaneSetup, DerivedActorRef<LaneTold>);

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        (setup, above): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { setup, above, work: JoinSet::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Begin(attempt) => {
                let setup = state.setup.clone();
                state.work.spawn(async move {
                    let worked = AssertUnwindSafe(setup.attempt(&attempt, myself.get_cell()));
                    let worked = worked.catch_unwind().await.ok();
                    myself.cast(Msg::Worked(worked)).ok();
                });
                Ok(())
            }
            Msg::Worked(Some(ended)) => {
                let lane = state.setup.id;
                state.above.cast(LaneTold { lane, ended }).map_err(Into::into)
            }
            Msg::Worked(None) => Err("the work of the lane panicked".into()),
        }
    }

    /// The work hears of the death of its crew by the answer that does not come.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(who, error) = event {
            tracing::debug!(lane = %state.setup.id, ?who, %error, "the crew of a lane died");
        }
        Ok(())
    }
}

/// What an attempt leaves in its tree.
struct Left {
    tree: TreeId,
    files: Vec<StagedFile>,
    /// What it does not hand over.
    behind: Vec<RepoPath>,
}

impl LaneSetup {
    fn publisher(&self) -> &Publisher {
        &self.run.publisher
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
        let mut settling = Settling { lane: self, attempt: number, begun: false };
        let place = self.run.perform(&mut settling).await?;
        let tree = match LaneTree::open(self, place, base).await {
            Ok(tree) => Arc::new(tree),
            Err(error) => {
                return self
                    .end(attempt, Err(Delivery::failed(FailureKind::Worktree, &error)), None)
                    .await;
            }
        };
        let report = self.crew(attempt, &tree, lane).await;
        let commands = report.plan.map(|plan| plan.verify).unwrap_or_default();
        let came = match verified(&report.delivery) {
            Some(verified) => Ok((verified, commands)),
            None => Err(report.delivery),
        };
        self.end(attempt, came, Some(&tree)).await
    }

    /// Has a crew do it. Whatever it dies of, there is a report.
    async fn crew(&self, attempt: &Attempt, tree: &Arc<LaneTree>, lane: ActorCell) -> CrewReport {
        let setup = CrewSetup {
            brief: Brief { request: attempt.request.clone(), ..self.brief.clone() },
            goal: Goal::Deliver,
            workspace: Arc::clone(tree) as Arc<dyn Workspace>,
            run: self.run.clone(),
        };
        let died = || {
            let (plan, failing, ways_back) = (None, Vec::new(), Vec::new());
            CrewReport { delivery: crew_died(), plan, failing, ways_back }
        };
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

    /// Tells how an attempt ended, once everything that counts of it is kept.
    async fn end(
        &self,
        attempt: &Attempt,
        came: Result<(Verified, Vec<String>), Delivery>,
        tree: Option<&Arc<LaneTree>>,
    ) -> Result<LaneReport, JournalClosed> {
        let commands = came.as_ref().map(|(_, commands)| commands.clone()).unwrap_or_default();
        let mut end = End { lane: self, attempt, came, commands: &commands, tree };
        let event = self.run.perform(&mut end).await?;
        let report = reported(event, &commands).ok_or(JournalClosed)?;
        // It was recorded before, if it was not now.
        attempt.ended.get_or_init(|| report.clone());
        if let (LaneReport::Completed { .. }, Some(tree)) = (&report, tree) {
            tree.remove().await;
        }
        Ok(report)
    }

    /// The event of an attempt that did what it was to do.
    async fn completed(&self, attempt: u32, verified: Verified, tree: &Arc<LaneTree>) -> Event {
        match self.left(attempt, tree).await {
            Ok(Left { tree, files, behind: left_behind }) => {
                let spent = self.run.admission.spent().await.unwrap_or_default();
                Event::LaneCompleted { attempt, verified, tree, files, left_behind, spent }
            }
            Err(error) => {
                self.failed(attempt, Delivery::failed(FailureKind::Worktree, &error), Some(tree))
                    .await
            }
        }
    }

    /// The event of one that did not get done. Its worktree stays, if there is anything to see in it.
    async fn failed(&self, attempt: u32, why: Delivery, tree: Option<&Arc<LaneTree>>) -> Event {
        let (files, can_be_told) = match tree {
            Some(tree) => match self.left(attempt, tree).await {
                Ok(left) => (left.files, true),
                Err(_) => (Vec::new(), false),
            },
            None => (Vec::new(), true),
        };
        let worktree = (!files.is_empty() || !can_be_told).then(|| self.name(attempt));
        if let Some(tree) = tree.filter(|_| worktree.is_none()) {
            tree.remove().await;
        }
        let spent = self.run.admission.spent().await.unwrap_or_default();
        Event::LaneFailed { attempt, why, files, worktree, spent }
    }

    /// What is in the tree of an attempt, kept and held.
    async fn left(&self, attempt: u32, tree: &Arc<LaneTree>) -> Result<Left, SnapshotError> {
        let (snapshots, tree) = (self.snapshots.clone(), Arc::clone(tree));
        let hold = format!("{}/{}", self.publisher().run(), self.name(attempt));
        let left = tokio::task::spawn_blocking(move || {
            let (entries, behind) = tree.artifact(&snapshots)?;
            let made = snapshots.keep_tree(&entries)?;
            snapshots.hold(&hold, made)?;
            let changes = changes(&snapshots, tree.base(), &entries)?;
            let files = changes.iter().map(StagedFile::from).collect();
            Ok(Left { tree: made, files, behind })
        });
        left.await.unwrap_or_else(|died| std::panic::resume_unwind(died.into_panic()))
    }
}

/// The effect of finding a place for an attempt: nowhere, if all that comes of it is recorded.
struct Settling<'l> {
    lane: &'l LaneSetup,
    attempt: u32,
    /// Whether a patch was written there before.
    begun: bool,
}

impl Effect for Settling<'_> {
    type Outcome = Place;
    type Stop = JournalClosed;
    // The crew reads there while the rest of the record is followed.
    const POSITION: Position = Position::AheadIfAtAll;

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of it")]
    fn look(&mut self, event: &Event) -> Trace<Place> {
        match event {
            Event::LaneCompleted { attempt, .. } | Event::LaneFailed { attempt, .. }
                if *attempt == self.attempt =>
            {
                Trace::Foretold(Place::Nowhere)
            }
            Event::PatchApplied { .. } => {
                self.begun = true;
                Trace::Begun
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Place, JournalClosed> {
        let dir = self.lane.worktrees.join(self.lane.name(self.attempt));
        Ok(match self.begun {
            _ if run.only_compares() => Place::Nowhere,
            true => Place::GoOn(dir),
            false => Place::At(dir),
        })
    }
}

/// The effect that ends an attempt: what it made is kept.
struct End<'l> {
    lane: &'l LaneSetup,
    attempt: &'l Attempt,
    /// How it was verified, and by which commands.
    came: Result<(Verified, Vec<String>), Delivery>,
    commands: &'l [String],
    tree: Option<&'l Arc<LaneTree>>,
}

impl Effect for End<'_> {
    type Outcome = Event;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Event> {
        let is_end = matches!(event, Event::LaneCompleted { .. } | Event::LaneFailed { .. });
        if is_end { Trace::Done(event.clone()) } else { Trace::Absent }
    }

    async fn act(&mut self, run: &Run) -> Result<Event, JournalClosed> {
        let (lane, attempt) = (self.lane, self.attempt.number);
        let event = match (&self.came, self.tree) {
            (Ok((verified, _)), Some(tree)) => {
                lane.completed(attempt, verified.clone(), tree).await
            }
            (Ok(_), None) => lane.failed(attempt, crew_died(), None).await,
            (Err(why), tree) => lane.failed(attempt, why.clone(), tree).await,
        };
        let report = reported(event.clone(), self.commands);
        // Whoever finds the lane dead after this has its report, also while it waits for the disk.
        let told = || drop(report.map(|report| self.attempt.ended.set(report)));
        run.publisher.record_and(event.clone(), told).await?;
        Ok(event)
    }
}

/// What the last event of an attempt says.
fn reported(event: Event, commands: &[String]) -> Option<LaneReport> {
    if let Event::LaneCompleted { tree, files, verified, .. } = event {
        return Some(LaneReport::Completed { tree, files, commands: commands.to_vec(), verified });
    }
    let Event::LaneFailed { why, worktree, .. } = event else { return None };
    Some(LaneReport::Failed(Undone { why, worktree }))
}

/// How a delivery was verified, if the lane did what it was to do. What failed before it is not the lane's.
fn verified(delivery: &Delivery) -> Option<Verified> {
    match delivery {
        Delivery::Delivered { verified } => Some(verified.clone()),
        Delivery::NoEditNeeded { .. } => Some(Verified::NotNeeded),
        Delivery::NeedsWork { why: NeedsWork::PreExisting, .. } => {
            Some(Verified::Unverified(Unverified::OldFailures))
        }
        Delivery::NeedsWork { .. }
        | Delivery::Denied { .. }
        | Delivery::Cancelled
        | Delivery::BudgetExhausted { .. }
        | Delivery::Failed { .. } => None,
    }
}

/// The end that came to a lane from outside when the run was driven before; it waits for ever if there is none.
async fn ended_before(publisher: &Publisher) -> Delivery {
    match publisher.recording() {
        Some(recording) => recording.stopped().await,
        None => std::future::pending().await,
    }
}

/// The end of a lane whose crew is gone.
fn crew_died() -> Delivery {
    Delivery::failed(FailureKind::Internal, "the crew died")
}
