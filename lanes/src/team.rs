//! A team: the lanes of a task, and the code that merges their work. It owns its lanes: it starts them and hears of the
//! ends of their attempts and of their deaths. What a single lane does belongs to [`crate::lane`].
//!
//! `conduct` decides the order of steps and runs next to the mailbox. The actor never waits in a handler, so it can be
//! stopped at any time, and it hears of a lane's death just like of its end.

mod bisect;
mod brief;
mod conduct;
mod integration;
mod merge;
mod merged;
mod result;
pub mod setup;
pub mod split;
mod team_lanes;

use std::collections::BTreeMap;
use std::path::PathBuf;

use actors::mailbox::Mailbox;
use actors::workers::{Finished, Workers};
use actors::{Unanswered, answer};
use facts::closed::JournalClosed;
use facts::delivery::Delivery;
use facts::lane_id::LaneId;
use facts::team::EndedLane;
use ractor::{
    Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent,
};
use tokio::sync::oneshot;

use self::setup::TeamSetup;
use crate::lane::{Lane, LaneAttempt, LaneEnded, LaneReport, LaneSetup};

/// The result of a team.
#[derive(Debug, Clone)]
pub enum TeamReport {
    /// The task is left to a single crew.
    Declined,
    /// The task was worked on in lanes.
    Done {
        /// How the run ended.
        delivery: Delivery,
        /// The result of each lane.
        lanes: Vec<EndedLane>,
        /// Worktrees of failed lanes.
        kept: Vec<PathBuf>,
    },
}

/// How an attempt of a lane ended; an error if the lane died.
type AttemptEnd = Result<Result<LaneReport, JournalClosed>, LaneDied>;

/// The lane died before it reported the end of its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LaneDied;

enum Msg {
    /// Works on the task to its end.
    Work { reply: RpcReplyPort<TeamReport> },
    /// Has a lane make an attempt; starts the lane if it is not running.
    Begin { lane: Box<LaneSetup>, attempt: LaneAttempt, reply: oneshot::Sender<AttemptEnd> },
    /// A lane reports how its attempt ended.
    LaneEnded(LaneEnded),
    /// The work has ended.
    Conducted(Finished<TeamReport>),
}

impl From<LaneEnded> for Msg {
    fn from(ended: LaneEnded) -> Self {
        Self::LaneEnded(ended)
    }
}

impl TryFrom<Msg> for LaneEnded {
    type Error = NotFromALane;

    fn try_from(msg: Msg) -> Result<Self, NotFromALane> {
        if let Msg::LaneEnded(ended) = msg { Ok(ended) } else { Err(NotFromALane) }
    }
}

/// The message does not come from a lane.
#[derive(Debug)]
struct NotFromALane;

/// A handle to a team.
#[derive(Clone)]
pub struct Team {
    mailbox: Mailbox<Msg>,
}

impl Team {
    /// Starts a team under `supervisor`.
    pub async fn spawn(setup: TeamSetup, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let waits = setup.run.waits("team");
        let (actor, _) = Actor::spawn_linked(None, TeamActor, setup, supervisor).await?;
        Ok(Self { mailbox: Mailbox::new(actor, waits) })
    }

    /// Returns the actor, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.mailbox.cell()
    }

    /// Works until the run ends. There is no deadline here because every wait inside has its own.
    pub async fn work(&self) -> Result<TeamReport, Unanswered> {
        self.mailbox.call("work", |reply| Msg::Work { reply }, None).await
    }

    /// Has a lane make an attempt, and waits for its end.
    async fn attempt(&self, lane: LaneSetup, attempt: LaneAttempt) -> AttemptEnd {
        let (reply, ended) = oneshot::channel();
        // If the team is gone, it drops the reply with the message, and no more lane events are recorded.
        let begin = Msg::Begin { lane: Box::new(lane), attempt, reply };
        self.mailbox.cast("begin", begin).ok();
        self.mailbox.answer("attempt", ended).await.unwrap_or(Ok(Err(JournalClosed)))
    }
}

struct TeamActor;

struct State {
    setup: TeamSetup,
    workers: Workers,
    lanes: BTreeMap<LaneId, Lane>,
    /// Where to report the end of the current attempt of each lane.
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
        let workers = Workers::new(setup.run.waits("team"));
        Ok(State { setup, workers, lanes, waiting, reply: None })
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
                let waits = state.setup.run.waits("team");
                let team = Team { mailbox: Mailbox::new(myself.clone(), waits) };
                let work = conduct::conduct(state.setup.clone(), team);
                state.workers.start("conduct", &myself, work, Msg::Conducted);
            }
            Msg::Begin { lane, attempt, reply } => {
                state.begin(&myself, *lane, attempt, reply).await;
            }
            Msg::LaneEnded(LaneEnded { lane, ended }) => state.report(lane, Ok(ended)),
            Msg::Conducted(finished) => {
                let report = finished.result()?;
                if let Some(reply) = state.reply.take() {
                    answer(reply, report);
                }
            }
        }
        Ok(())
    }

    /// The death of a lane ends its attempt and nothing else.
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
                    state.report(lane, Err(LaneDied));
                }
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl State {
    /// Starts an attempt of a lane.
    async fn begin(
        &mut self,
        myself: &ActorRef<Msg>,
        setup: LaneSetup,
        attempt: LaneAttempt,
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
                self.report(id, Err(LaneDied));
            }
        }
    }

    /// Reports how an attempt ended to the waiting caller.
    fn report(&mut self, lane: LaneId, ended: AttemptEnd) {
        if let Some(waiting) = self.waiting.remove(&lane)
            && waiting.send(ended).is_err()
        {
            tracing::debug!(%lane, "the caller waiting for this lane is gone");
        }
    }
}
