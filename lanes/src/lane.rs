//! A lane: one part of a task, worked on by its own crew in its own worktree. What several lanes do
//! together belongs to [`crate::team`].

pub mod lane_tree;
pub mod worktrees;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actors::mailbox::Mailbox;
use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::publisher::Publisher;
use actors::run::workspace::Workspace;
use actors::talk::brief::Brief;
use actors::workers::{Finished, Workers};
use facts::amounts::Allowance;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, NeedsWork, Unverified, Verified};
use facts::event::{Event, StagedFile};
use facts::lane_id::LaneId;
use ractor::{
    Actor, ActorCell, ActorProcessingErr, ActorRef, DerivedActorRef, SpawnErr, SupervisionEvent,
};
use tree::{Snapshots, TreeId};

use crate::crew::cycle::Goal;
use crate::crew::{Crew, CrewEnd, CrewReport, CrewSetup, PlanInParts};
use crate::lane::lane_tree::{LaneLeft, LaneStart, LaneTree, Territories, WorktreeExtras};

/// What a lane needs to start.
#[derive(Clone)]
pub struct LaneSetup {
    /// The lane's number.
    pub id: LaneId,
    /// A few words about its part.
    pub title: String,
    /// Its share of the budget.
    pub budget: Allowance,
    /// The task that it does a part of.
    pub brief: Brief,
    /// The run, as seen by the lane.
    pub run: Run,
    /// Decides whether a command may run.
    pub above: Arc<dyn Workspace>,
    /// Which files it may change.
    pub territories: Territories,
    /// Where trees are stored.
    pub snapshots: Snapshots,
    /// Where the worktrees of the run are.
    pub worktrees: PathBuf,
    /// Source of files that are not in the snapshot.
    pub origin: WorktreeExtras,
}

/// One attempt of a lane at its part.
#[derive(Debug, Clone)]
pub struct LaneAttempt {
    /// The attempt's number, starting at one.
    pub number: u32,
    /// The instructions for the crew.
    pub request: String,
    /// The plan to continue with, if there is one.
    pub begun: Option<Box<PlanInParts>>,
    /// The tree it starts from.
    pub base: TreeId,
    /// How it ended, set once that is recorded: a lane that dies after this has still ended.
    pub ended: Arc<OnceLock<LaneReport>>,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneReport {
    /// The part was done.
    Completed {
        /// The resulting tree.
        tree: TreeId,
        /// The changes.
        files: Vec<StagedFile>,
        /// The commands that checked them.
        commands: Vec<String>,
        /// How far the checks verify them.
        verified: Verified,
    },
    /// The part was not done.
    Failed(FailedAttempt),
}

/// The result of a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    /// Why it failed.
    pub why: Delivery,
    /// Name of the worktree, if it is kept.
    pub worktree: Option<String>,
    /// The changes in it.
    pub files: Vec<StagedFile>,
}

impl From<Delivery> for FailedAttempt {
    fn from(why: Delivery) -> Self {
        Self { why, worktree: None, files: Vec::new() }
    }
}

/// How long a stopped crew may take to exit.
const PATIENCE: Duration = Duration::from_millis(500);

/// The report of a lane to its team.
#[derive(Debug)]
pub struct LaneEnded {
    /// The lane.
    pub lane: LaneId,
    /// How its attempt ended.
    pub ended: Result<LaneReport, JournalClosed>,
}

enum Msg {
    /// Starts an attempt. There is one at a time.
    Begin(LaneAttempt),
    /// The attempt has ended.
    Worked(Finished<Result<LaneReport, JournalClosed>>),
}

/// A handle to a lane.
#[derive(Clone)]
pub struct Lane {
    mailbox: Mailbox<Msg>,
}

impl Lane {
    /// Starts a lane under `supervisor`. It reports the ends of its attempts to `above`; supervision reports its death.
    pub async fn spawn(
        setup: LaneSetup,
        above: DerivedActorRef<LaneEnded>,
        supervisor: ActorCell,
    ) -> Result<Self, SpawnErr> {
        let waits = setup.run.waits("lane");
        let (actor, _) = Actor::spawn_linked(None, LaneActor, (setup, above), supervisor).await?;
        Ok(Self { mailbox: Mailbox::new(actor, waits) })
    }

    /// Starts an attempt: the first, or one that is planned again on a newer tree.
    pub fn begin(&self, attempt: LaneAttempt) {
        // If the lane is gone, supervision reports it.
        self.mailbox.cast("begin", Msg::Begin(attempt)).ok();
    }

    /// Returns the actor, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.mailbox.cell()
    }
}

struct LaneActor;

struct State {
    setup: LaneSetup,
    above: DerivedActorRef<LaneEnded>,
    workers: Workers,
}

impl Actor for LaneActor {
    type Msg = Msg;
    type State = State;
    type Arguments = (LaneSetup, DerivedActorRef<LaneEnded>);

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        (setup, above): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        let workers = Workers::new(setup.run.waits("lane"));
        Ok(State { setup, above, workers })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Begin(attempt) => {
                let (setup, lane) = (state.setup.clone(), myself.get_cell());
                let work = async move { setup.attempt(&attempt, lane).await };
                state.workers.start("attempt", &myself, work, Msg::Worked);
            }
            Msg::Worked(finished) => {
                let (lane, ended) = (state.setup.id, finished.result()?);
                state.above.cast(LaneEnded { lane, ended })?;
            }
        }
        Ok(())
    }

    /// Only logs: if the crew dies, the running attempt notices the missing answer.
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

impl LaneSetup {
    fn publisher(&self) -> &Publisher {
        &self.run.publisher
    }

    /// Returns the name of an attempt's worktree.
    fn name(&self, attempt: u32) -> String {
        format!("{}-{attempt}", self.id)
    }

    /// Returns the name under which an attempt's tree is protected from collection.
    fn hold(&self, attempt: u32) -> String {
        format!("{}/{}", self.publisher().run(), self.name(attempt))
    }

    /// Works through an attempt and reports how it ended.
    async fn attempt(
        &self,
        attempt: &LaneAttempt,
        lane: ActorCell,
    ) -> Result<LaneReport, JournalClosed> {
        let LaneAttempt { number, base, .. } = *attempt;
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
        let outcome = match verified(&report.delivery) {
            Some(verified) => Ok((verified, report.checks)),
            None => Err(report.delivery),
        };
        self.end(attempt, outcome, Some(&tree)).await
    }

    /// Has a crew do the work. There is a report even if the crew dies.
    async fn crew(
        &self,
        attempt: &LaneAttempt,
        tree: &Arc<LaneTree>,
        lane: ActorCell,
    ) -> CrewReport {
        let setup = CrewSetup {
            brief: Brief { request: attempt.request.clone(), ..self.brief.clone() },
            goal: Goal::Deliver,
            workspace: Arc::clone(tree) as Arc<dyn Workspace>,
            run: self.run.clone(),
            may_be_question: false,
            begun: attempt.begun.clone(),
        };
        let died = || {
            let (plan, checks, failing, ways_back) = (None, Vec::new(), Vec::new(), Vec::new());
            CrewReport { delivery: crew_died(), plan, checks, failing, ways_back }
        };
        let Ok(crew) = Crew::spawn(setup, lane).await else { return died() };
        let report = tokio::select! {
            end = crew.work() => match end {
                Ok(CrewEnd::Done(report)) => *report,
                // A crew in a worktree needs no other, and its task is no question.
                Ok(CrewEnd::InParts(_) | CrewEnd::Question(_)) | Err(_) => died(),
            },
            // The lane ended here in the recorded run.
            delivery = ended_before(self.publisher()) => CrewReport { delivery, ..died() },
        };
        // The crew has to be gone, so that the next event is the last of the attempt.
        if crew.cell().kill_and_wait(Some(PATIENCE)).await.is_err() {
            tracing::debug!("a crew did not stop in time");
        }
        report
    }

    /// Records how an attempt ended, once its result is stored.
    async fn end(
        &self,
        attempt: &LaneAttempt,
        outcome: Result<(Verified, Vec<String>), Delivery>,
        tree: Option<&Arc<LaneTree>>,
    ) -> Result<LaneReport, JournalClosed> {
        let commands = outcome.as_ref().map(|(_, commands)| commands.clone()).unwrap_or_default();
        let mut end = End { lane: self, attempt, outcome, commands: &commands, tree };
        let event = self.run.perform(&mut end).await?;
        let report = reported(event, &commands).ok_or(JournalClosed)?;
        // Not set yet if the end was recorded by an earlier process.
        attempt.ended.get_or_init(|| report.clone());
        if let Some(tree) = tree {
            self.run.server_tools.end_in(tree.reader().root()).await;
            if matches!(report, LaneReport::Completed { .. }) {
                tree.remove_worktree().await;
            }
        }
        Ok(report)
    }

    /// Returns the event of a successful attempt.
    async fn completed(&self, attempt: u32, verified: Verified, tree: &Arc<LaneTree>) -> Event {
        match tree.left(&self.hold(attempt)).await {
            Ok(LaneLeft { tree, files, behind: left_behind }) => {
                let spent = self.run.admission.spent().await.unwrap_or_default().known;
                Event::LaneCompleted { attempt, verified, tree, files, left_behind, spent }
            }
            Err(error) => {
                self.failed(attempt, Delivery::failed(FailureKind::Worktree, &error), Some(tree))
                    .await
            }
        }
    }

    /// Returns the event of a failed attempt. Its worktree is kept if there is anything to see in it.
    async fn failed(&self, attempt: u32, why: Delivery, tree: Option<&Arc<LaneTree>>) -> Event {
        let (files, can_be_told) = match tree {
            Some(tree) => match tree.left(&self.hold(attempt)).await {
                Ok(left) => (left.files, true),
                Err(_) => (Vec::new(), false),
            },
            None => (Vec::new(), true),
        };
        let worktree = (!files.is_empty() || !can_be_told).then(|| self.name(attempt));
        if let Some(tree) = tree.filter(|_| worktree.is_none()) {
            tree.remove_worktree().await;
        }
        let spent = self.run.admission.spent().await.unwrap_or_default().known;
        Event::LaneFailed { attempt, why, files, worktree, spent }
    }
}

/// The effect of choosing where an attempt works: nowhere, if its whole result is recorded.
struct Settling<'l> {
    lane: &'l LaneSetup,
    attempt: u32,
    /// True if an earlier process wrote a patch there.
    begun: bool,
}

impl Effect for Settling<'_> {
    type Outcome = LaneStart;
    type Stop = JournalClosed;
    // The crew reads there while the rest of the recording is followed.
    const POSITION: Position = Position::AheadIfAtAll;

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of it")]
    fn look(&mut self, event: &Event) -> Trace<LaneStart> {
        match event {
            Event::LaneCompleted { attempt, .. } | Event::LaneFailed { attempt, .. }
                if *attempt == self.attempt =>
            {
                Trace::Foretold(LaneStart::Nowhere)
            }
            Event::PatchApplied { .. } => {
                self.begun = true;
                Trace::Begun
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<LaneStart, JournalClosed> {
        let dir = self.lane.worktrees.join(self.lane.name(self.attempt));
        Ok(match self.begun {
            _ if run.only_compares() => LaneStart::Nowhere,
            true => LaneStart::GoOn(dir),
            false => LaneStart::At(dir),
        })
    }
}

/// The effect that ends an attempt and stores its result.
struct End<'l> {
    lane: &'l LaneSetup,
    attempt: &'l LaneAttempt,
    /// How the result was verified, and by which commands.
    outcome: Result<(Verified, Vec<String>), Delivery>,
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
        let event = match (&self.outcome, self.tree) {
            (Ok((verified, _)), Some(tree)) => {
                lane.completed(attempt, verified.clone(), tree).await
            }
            (Ok(_), None) => lane.failed(attempt, crew_died(), None).await,
            (Err(why), tree) => lane.failed(attempt, why.clone(), tree).await,
        };
        let report = reported(event.clone(), self.commands);
        // From now on a supervisor that finds the lane dead has its report, even while the event waits for the disk.
        let keep = || {
            if let Some(report) = report {
                self.attempt.ended.set(report).ok();
            }
        };
        run.publisher.record_and(event.clone(), keep).await?;
        Ok(event)
    }
}

/// Returns the report that the last event of an attempt stands for.
fn reported(event: Event, commands: &[String]) -> Option<LaneReport> {
    if let Event::LaneCompleted { tree, files, verified, .. } = event {
        return Some(LaneReport::Completed { tree, files, commands: commands.to_vec(), verified });
    }
    let Event::LaneFailed { why, worktree, files, .. } = event else { return None };
    Some(LaneReport::Failed(FailedAttempt { why, worktree, files }))
}

/// Returns how a delivery was verified, or `None` if the lane failed. Failures from before the change are not the
/// lane's fault.
fn verified(delivery: &Delivery) -> Option<Verified> {
    match delivery {
        Delivery::Delivered { verified } => Some(verified.clone()),
        Delivery::NoEditNeeded { .. } => Some(Verified::NotNeeded),
        Delivery::NeedsWork { why: NeedsWork::PreExisting, .. } => {
            Some(Verified::Unverified(Unverified::OldFailures { reason: None }))
        }
        Delivery::NeedsWork { .. }
        | Delivery::Denied { .. }
        | Delivery::Cancelled
        | Delivery::Paused { .. }
        | Delivery::BudgetExhausted { .. }
        | Delivery::Failed { .. } => None,
    }
}

/// Returns how the lane was ended from outside in the recorded run; never returns if it was not.
async fn ended_before(publisher: &Publisher) -> Delivery {
    match publisher.recording() {
        Some(recording) => recording.stopped().await,
        None => std::future::pending().await,
    }
}

/// Returns the delivery of a lane whose crew died.
fn crew_died() -> Delivery {
    Delivery::failed(FailureKind::Internal, "the crew died")
}
