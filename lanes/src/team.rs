//! A team: the lanes of a task, and what brings their work together. It owns its lanes: it starts them, hears how their
//! attempts end, and of their deaths.
//!
//! What is done in which order is said by `conduct`, which works beside the mailbox: the actor waits for nobody in a
//! handler, so it can be stopped at any time, and a lane that dies is heard of like one that is done.

mod bisect;
mod brief;
mod conduct;
mod hired;
mod merge;
mod result;
mod together;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use actors::Unanswered;
use actors::brief::Brief;
use actors::closed::JournalClosed;
use actors::delivery::Delivery;
use actors::lane_id::LaneId;
use actors::run::Run;
use actors::team::EndedLane;
use actors::workspace::{Workspace, Workspaces};
use futures_util::FutureExt as _;
use ractor::rpc::CallResult;
use ractor::{
    Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent,
};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tree::{RepoPath, Snapshots};

use crate::lane::{Attempt, Lane, LaneReport, LaneSetup, LaneTold};
use crate::lane_tree::WorktreeExtras;
use crate::team_plan::TeamPlan;

/// What a team is made with.
#[derive(Clone)]
pub struct TeamSetup {
    /// The run it works for.
    pub run: Run,
    /// The task.
    pub brief: Brief,
    /// How it is split, where that is decided already.
    pub plan: Option<TeamPlan>,
    /// The workspace, for each part of the run.
    pub workspaces: Arc<dyn Workspaces>,
    /// Where trees are kept.
    pub snapshots: Snapshots,
    /// Where the worktrees of this run are.
    pub worktrees: PathBuf,
}

impl TeamSetup {
    /// The workspace, as the team itself may ask for it.
    fn workspace(&self) -> Arc<dyn Workspace> {
        self.workspaces.of(self.run.scope())
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
pub enum TeamReport {
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

/// How an attempt of a lane ended; an error if the lane died of it.
type AttemptEnd = Result<Result<LaneReport, JournalClosed>, LaneDied>;

/// A lane is gone before it told how its attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LaneDied;

enum Msg {
    /// Takes the task to its end.
    Work { reply: RpcReplyPort<TeamReport> },
    /// Has a lane work an attempt through; the lane is started if it is not there.
    Begin { lane: Box<LaneSetup>, attempt: Attempt, reply: oneshot::Sender<AttemptEnd> },
    /// A lane tells how its attempt ended.
    Told(LaneTold),
    /// The work beside the mailbox is done; none if it died of what it did.
    Conducted(Option<TeamReport>),
}

impl From<LaneTold> for Msg {
    fn from(told: LaneTold) -> Self {
        Self::Told(told)
    }
}

impl TryFrom<Msg> for LaneTold {
    type Error = NotToldByALane;

    fn try_from(msg: Msg) -> Result<Self, NotToldByALane> {
        if let Msg::Told(told) = msg { Ok(told) } else { Err(NotToldByALane) }
    }
}

/// A message that no lane sent.
#[derive(Debug)]
struct NotToldByALane;

/// A handle to a team.
#[derive(Clone)]
pub struct Team {
    actor: ActorRef<Msg>,
}

impl Team {
    /// Starts a team under `supervisor`.
    pub async fn spawn(setup: TeamSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, TeamActor, setup, supervisor).await?;
        Ok(Self { actor })
    }

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Works to the end. Every wait inside has its own deadline, so there is none here.
    pub async fn work(&self) -> Result<TeamReport, Unanswered> {
        match self.actor.call(|reply| Msg::Work { reply }, None).await {
            Ok(CallResult::Success(report)) => Ok(report),
            Ok(CallResult::Timeout) => Err(Unanswered::TimedOut),
            Ok(CallResult::SenderError) | Err(_) => Err(Unanswered::Stopped),
        }
    }

    /// Has a lane work an attempt through.
    async fn attempt(&self, lane: LaneSetup, attempt: Attempt) -> AttemptEnd {
        let (reply, ended) = oneshot::channel();
        // A team that is gone drops the reply with the message. Then nothing is told of the lane any more.
        self.actor.cast(Msg::Begin { lane: Box::new(lane), attempt, reply }).ok();
        ended.await.unwrap_or(Ok(Err(JournalClosed)))
    }
}

struct TeamActor;

struct State {
    setup: TeamSetup,
    /// What runs beside the actor; it goes with it.
    work: JoinSet<()>,
    lanes: BTreeMap<LaneId, Lane>,
    /// Who waits for the end of the attempt that a lane works at.
    waiting: BTreeMap<LaneId, oneshot::Sender<AttemptEnd>>,
    reply: Option<RpcReplyPort<TeamReport>>,
}

impl Actor for TeamActor {
    type Msg = Msg;
    type State = State;
    type Arguments = TeamSetup;

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        setup: TeamSetup,
    ) -> Result<State, ActorProcessingErr> {
        let (lanes, waiting) = (BTreeMap::new(), BTreeMap::new());
        Ok(State { setup, work: JoinSet::new(), lanes, waiting, reply: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Work { reply } => {
                state.reply = Some(reply);
                let (setup, team) = (state.setup.clone(), Team { actor: myself });
                state.work.spawn(async move {
                    let conducted = AssertUnwindSafe(conduct::conduct(setup, team.clone()));
                    let conducted = conducted.catch_unwind().await.ok();
                    team.actor.cast(Msg::Conducted(conducted)).ok();
                });
            }
            Msg::Begin { lane, attempt, reply } => {
                state.begin(&myself, *lane, attempt, reply).await;
            }
            Msg::Told(LaneTold { lane, ended }) => state.tell(lane, Ok(ended)),
            Msg::Conducted(Some(report)) => {
                if let Some(reply) = state.reply.take()
                    && reply.send(report).is_err()
                {
                    tracing::debug!("whoever asked for the work is gone");
                }
            }
            Msg::Conducted(None) => return Err("the work of the team panicked".into()),
        }
        Ok(())
    }

    /// A lane that dies is the end of its attempt, and of nothing else.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, _) | SupervisionEvent::ActorTerminated(who, ..) => {
                let is_it = |lane: &Lane| lane.cell().get_id() == who.get_id();
                let lane = state.lanes.iter().find(|(_, lane)| is_it(lane)).map(|(id, _)| *id);
                if let Some(lane) = lane {
                    state.lanes.remove(&lane);
                    state.tell(lane, Err(LaneDied));
                }
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl State {
    /// Gives a lane an attempt to work at.
    async fn begin(
        &mut self,
        myself: &ActorRef<Msg>,
        setup: LaneSetup,
        attempt: Attempt,
        reply: oneshot::Sender<AttemptEnd>,
    ) {
        let id = setup.id;
        self.waiting.insert(id, reply);
        let lane = match self.lanes.get(&id) {
            Some(lane) => Ok(lane.clone()),
            None => Lane::spawn(setup, myself.get_derived(), myself.get_cell()).await,
        };
        match lane {
            Ok(lane) => {
                lane.begin(attempt);
                self.lanes.insert(id, lane);
            }
            Err(error) => {
                tracing::warn!(lane = %id, %error, "a lane could not be started");
                self.tell(id, Err(LaneDied));
            }
        }
    }

    /// Tells whoever waits for it how an attempt ended.
    fn tell(&mut self, lane: LaneId, ended: AttemptEnd) {
        if let Some(waiting) = self.waiting.remove(&lane)
            && waiting.send(ended).is_err()
        {
            tracing::debug!(%lane, "nobody waits for this lane");
        }
    }
}
