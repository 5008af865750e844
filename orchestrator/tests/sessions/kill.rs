//! Admission, the crew and the journal lost in the middle of a run: each run has one end, and it is the right one.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actors::delivery::{Delivery, FailureKind, Verified};
use deepseek_orchestrator::chat::Intent;
use deepseek_orchestrator::orchestrator::Orchestrator;
use deepseek_orchestrator::replay::replay;
use deepseek_orchestrator::request::Request;
use model::{AgentRole, ChatRequest, ModelError};
use ractor::ActorCell;
use testkit::answers::{greeting_diff, greeting_plan};
use testkit::{Heard, Says, World, hired};

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Admission,
    Crew,
    /// The role whose call it is.
    Role,
    Journal,
}

/// A model whose first call by `role` loses something on the way.
struct Losing {
    lost: Lost,
    role: AgentRole,
    done: AtomicBool,
    orchestrator: OnceLock<ActorCell>,
    session: PathBuf,
}

impl Losing {
    fn lose(&self) {
        // Admission is hired first, and then the crew.
        let hired_by_it = hired(self.orchestrator.get().unwrap());
        match self.lost {
            Lost::Admission => hired_by_it[0].kill(),
            Lost::Crew => hired_by_it[1].kill(),
            Lost::Role => {
                hired(&hired_by_it[1])[usize::from(self.role == AgentRole::Editor)].kill();
            }
            Lost::Journal => fs::remove_dir_all(self.session.join("blobs")).unwrap(),
        }
    }
}

impl Says for Losing {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        if request.role == self.role && !self.done.swap(true, Ordering::SeqCst) {
            self.lose();
            if self.lost == Lost::Role {
                // It dies while it waits for the answer.
                std::future::pending::<()>().await;
            }
        }
        let plans = request.role == AgentRole::Architect;
        Ok(if plans { greeting_plan() } else { greeting_diff() })
    }
}

/// A run in which something is lost.
async fn run(lost: Lost, role: AgentRole) -> (Heard, World) {
    let world = World::greeting();
    let (done, orchestrator) = (AtomicBool::new(false), OnceLock::new());
    let model = Arc::new(Losing { lost, role, done, orchestrator, session: world.session() });
    let setup = world.setup(&model, &[("policy.mode", "\"yolo\"")]);
    let (orchestrator, signals) = Orchestrator::start(setup).await.unwrap();
    model.orchestrator.set(orchestrator.cell()).unwrap();
    let request = Request::new("Fix the greeting", Some(Intent::Edit));
    let working = Heard::of(&orchestrator, signals, request, |_| ());
    let told = tokio::time::timeout(Duration::from_secs(30), working).await.expect("it hangs");
    (told, world)
}

#[tokio::test]
async fn a_lost_router_is_replaced_and_nothing_that_was_spent_is_forgotten() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (told, world) = run(Lost::Admission, role).await;
        let delivered = Delivery::Delivered { verified: Verified::Proven };
        assert_eq!(told.outcome.delivery, delivered, "{role:?}");
        assert_eq!(told.count("RoleCrashed@v1"), 1, "{role:?}");
        assert_eq!(told.count("RunFinished@v3"), 1, "{role:?}");
        assert_eq!((told.outcome.spent.calls, told.outcome.changes.len()), (2, 1), "{role:?}");
        assert_eq!(world.read("greet.txt"), "hello world\n");
    }
}

#[tokio::test]
async fn a_lost_crew_is_the_end_of_its_run() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (told, world) = run(Lost::Crew, role).await;
        assert!(
            matches!(&told.outcome.delivery, Delivery::Failed { class, .. } if *class == FailureKind::Internal),
            "{:?}",
            told.outcome.delivery
        );
        assert_eq!(told.count("RunFinished@v3"), 1, "{role:?}");
        assert_eq!(world.read("greet.txt"), "hello\n");
    }
}

#[tokio::test]
async fn without_a_journal_nothing_is_written() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (told, world) = run(Lost::Journal, role).await;
        assert!(
            matches!(&told.outcome.delivery, Delivery::Failed { class, .. } if *class == FailureKind::Journal),
            "{:?}",
            told.outcome.delivery
        );
        assert_eq!(world.read("greet.txt"), "hello\n");
    }
}

#[tokio::test]
async fn a_run_in_which_somebody_died_replays_with_the_same_deaths() {
    for (lost, deaths) in [(Lost::Role, 1), (Lost::Admission, 1)] {
        for role in [AgentRole::Architect, AgentRole::Editor] {
            let (told, world) = run(lost, role).await;
            let scratch = World::greeting();
            let delivered = Delivery::Delivered { verified: Verified::Proven };
            assert_eq!(told.outcome.delivery, delivered, "{lost:?} {role:?}");
            assert_eq!(told.count("RoleCrashed@v1"), deaths, "{lost:?} {role:?}");
            let replayed = replay(&world.session(), &scratch.state()).await.unwrap();
            let [run] = replayed.as_slice() else { panic!("{replayed:?}") };
            assert_eq!(run.difference, None, "{lost:?} {role:?}");
            assert!(run.finished && run.events > 15, "{run:?}");
        }
    }
}
