//! Losing the orchestrator, a team or a lane while three lanes work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actors::Unanswered;
use deepseek_orchestrator::request::Request;
use deepseek_orchestrator::request::intent::RequestIntent;
use deepseek_orchestrator::root::{Orchestrator, RequestOutcome};
use facts::delivery::{Delivery, FailureKind};
use facts::team::{EndedLane, LaneEnd};
use model::{AgentRole, ChatRequest, ModelError};
use ractor::{ActorCell, ActorStatus};
use testkit::answers::{created, plan, team};
use testkit::{AnswerSource, World, children_of, ignore};

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Orchestrator,
    Team,
    /// The second of three.
    Lane,
}

/// A model during whose first call by the second lane's Editor something is lost.
struct Losing {
    lost: Lost,
    done: AtomicBool,
    orchestrator: OnceLock<ActorCell>,
}

impl Losing {
    fn lose(&self) {
        let orchestrator = self.orchestrator.get().unwrap();
        let mut children = children_of(orchestrator).into_iter();
        let team = children.find(|child| !child.get_children().is_empty()).unwrap();
        match self.lost {
            Lost::Orchestrator => orchestrator.kill(),
            Lost::Team => team.kill(),
            Lost::Lane => children_of(&team)[1].kill(),
        }
    }
}

impl AnswerSource for Losing {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        if request.role == AgentRole::LanePlanner {
            return Ok(team((1..=3).map(|n| (n, format!("own{n}.txt")))));
        }
        let lane = request.lane.as_deref().unwrap();
        let own = format!("own{}.txt", lane.trim_start_matches('0'));
        if request.role == AgentRole::Architect {
            return Ok(plan(&[&own], &[&format!("grep -q {lane} {own}")]));
        }
        if lane == "02" && !self.done.swap(true, Ordering::SeqCst) {
            self.lose();
            std::future::pending::<()>().await;
        }
        Ok(created(&own, lane))
    }
}

/// Runs a request in three lanes while something is lost. Also returns the actors that worked when it began.
async fn run(lost: Lost) -> (Result<RequestOutcome, Unanswered>, World, ActorCell) {
    let world = World::new(&[("theirs.txt", "theirs\n")]);
    let model =
        Arc::new(Losing { lost, done: AtomicBool::default(), orchestrator: OnceLock::new() });
    let flags = [("policy.mode", "\"yolo\""), ("lanes.mode", "\"on\""), ("lanes.max_lanes", "9")];
    let (orchestrator, signals) = Orchestrator::start(world.setup(&model, &flags)).await.unwrap();
    ignore(signals);
    model.orchestrator.set(orchestrator.cell()).unwrap();
    let working = orchestrator.run(Request::new("Do it all", Some(RequestIntent::Edit)));
    let end = tokio::time::timeout(Duration::from_secs(30), working).await;
    (end.expect("the request hangs"), world, orchestrator.cell())
}

#[tokio::test]
async fn a_lost_orchestrator_leaves_nothing_at_work() {
    let (end, world, orchestrator) = run(Lost::Orchestrator).await;
    assert_eq!(end.unwrap_err(), Unanswered::Stopped);
    let gone = async {
        while orchestrator.get_status() != ActorStatus::Stopped
            || !orchestrator.get_children().is_empty()
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone).await.expect("its children stop with it");
    assert_eq!(world.files().into_keys().collect::<Vec<_>>(), ["theirs.txt"]);
}

#[tokio::test]
async fn a_lost_team_ends_its_run() {
    let (end, world, _) = run(Lost::Team).await;
    let delivery = end.unwrap().delivery;
    assert!(
        matches!(&delivery, Delivery::Failed { class: FailureKind::Internal, message } if message.to_string().contains("team died")),
        "{delivery:?}"
    );
    assert_eq!(world.files().into_keys().collect::<Vec<_>>(), ["theirs.txt"]);
}

#[tokio::test]
async fn a_lost_lane_ends_and_the_others_are_merged() {
    let (end, world, _) = run(Lost::Lane).await;
    let lanes = end.unwrap().lanes;
    let [
        EndedLane { end: LaneEnd::Merged, .. },
        EndedLane { end: LaneEnd::Failed { why, .. }, .. },
        EndedLane { end: LaneEnd::Merged, .. },
    ] = lanes.as_slice()
    else {
        panic!("{lanes:?}")
    };
    assert!(
        matches!(why, Delivery::Failed { class: FailureKind::Internal, message } if message.to_string().contains("lane died")),
        "{why:?}"
    );
    let files: Vec<String> = world.files().into_keys().collect();
    assert_eq!(files, ["own1.txt", "own3.txt", "theirs.txt"]);
}
