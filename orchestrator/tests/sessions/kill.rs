//! Losing admission, the crew or the journal in the middle of a run: each run has exactly one end, and the right one.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deepseek_orchestrator::request::Request;
use deepseek_orchestrator::request::intent::RequestIntent;
use deepseek_orchestrator::root::Orchestrator;
use deepseek_orchestrator::session::replay::replay;
use facts::delivery::{Delivery, FailureKind, Verified};
use model::{AgentRole, ChatRequest, ModelError};
use ractor::ActorCell;
use testkit::answers::{greeting_diff, greeting_plan};
use testkit::{AnswerSource, RunRecord, World, children_of};

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Writer,
    Router,
    Admission,
    Crew,
    /// The role that makes the call.
    Role,
    Journal,
}

/// A model during whose first call by `role` something is lost.
struct Losing {
    lost: Lost,
    role: AgentRole,
    done: AtomicBool,
    orchestrator: OnceLock<ActorCell>,
    session: PathBuf,
}

impl Losing {
    fn lose(&self) {
        // The writer and the router are started first, then admission and the crew.
        let started = children_of(self.orchestrator.get().unwrap());
        match self.lost {
            Lost::Writer => started[0].kill(),
            Lost::Router => started[1].kill(),
            Lost::Admission => started[2].kill(),
            Lost::Crew => started[3].kill(),
            Lost::Role => {
                children_of(&started[3])[usize::from(self.role == AgentRole::Editor)].kill();
            }
            Lost::Journal => fs::remove_dir_all(self.session.join("blobs")).unwrap(),
        }
    }
}

impl AnswerSource for Losing {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        if request.role == self.role && !self.done.swap(true, Ordering::SeqCst) {
            self.lose();
            if self.lost == Lost::Role {
                // The role dies while it waits for the answer.
                std::future::pending::<()>().await;
            }
        }
        let plans = request.role == AgentRole::Architect;
        Ok(if plans { greeting_plan() } else { greeting_diff() })
    }
}

/// Runs a request during which something is lost.
async fn run(lost: Lost, role: AgentRole) -> (RunRecord, World) {
    let world = World::greeting();
    let (done, orchestrator) = (AtomicBool::new(false), OnceLock::new());
    let model = Arc::new(Losing { lost, role, done, orchestrator, session: world.session() });
    let setup = world.setup(&model, &[("policy.mode", "\"yolo\"")]);
    let (orchestrator, signals) = Orchestrator::start(setup).await.unwrap();
    model.orchestrator.set(orchestrator.cell()).unwrap();
    let request = Request::new("Fix the greeting", Some(RequestIntent::Edit));
    let working = RunRecord::of(&orchestrator, signals, request, |_| ());
    let told =
        tokio::time::timeout(Duration::from_secs(30), working).await.expect("the request hangs");
    (told, world)
}

#[tokio::test]
async fn lost_admission_is_replaced_and_its_spending_is_recovered() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (told, world) = run(Lost::Admission, role).await;
        let delivered = Delivery::Delivered { verified: Verified::Proven };
        assert_eq!(told.outcome.delivery, delivered, "{role:?}");
        assert_eq!(told.count("RoleCrashed@v1"), 1, "{role:?}");
        assert_eq!(told.count("RunFinished@v3"), 1, "{role:?}");
        assert_eq!(
            (told.outcome.spent.at_most().calls, told.outcome.changes.len()),
            (2, 1),
            "{role:?}"
        );
        assert_eq!(world.read("greet.txt"), "hello world\n");
    }
}

#[tokio::test]
async fn a_router_lost_during_an_edit_is_replaced_and_the_edit_does_not_notice() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (told, world) = run(Lost::Router, role).await;
        let delivered = Delivery::Delivered { verified: Verified::Proven };
        assert_eq!(told.outcome.delivery, delivered, "{role:?}");
        assert_eq!(told.count("RoleCrashed@v1"), 1, "{role:?}");
        assert_eq!(told.outcome.spent.at_most().calls, 2, "{role:?}");
        let scratch = World::greeting();
        let replayed = replay(&world.session(), &scratch.state()).await.unwrap();
        let [run] = replayed.as_slice() else { panic!("{replayed:?}") };
        assert_eq!(run.difference, None, "{role:?}");
    }
}

/// A model that answers no question usably, and kills the router while its Architect finds that a message is one.
struct Unusable {
    kills: AtomicBool,
    orchestrator: OnceLock<ActorCell>,
}

impl AnswerSource for Unusable {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        if request.role != AgentRole::Architect {
            return Ok("NEED_CONTEXT|../outside".to_owned());
        }
        if self.kills.load(Ordering::SeqCst) {
            let router = children_of(self.orchestrator.get().unwrap()).remove(1);
            router.kill_and_wait(None).await.unwrap();
        }
        Ok("QUESTION|what it says".to_owned())
    }
}

#[tokio::test]
async fn a_lost_router_is_rebuilt_from_the_journal_and_scores_alike() {
    let mut scores = Vec::new();
    for kills in [false, true] {
        let world = World::greeting();
        let (kills, orchestrator) = (AtomicBool::new(kills), OnceLock::new());
        let model = Arc::new(Unusable { kills, orchestrator });
        let (orchestrator, signals) = Orchestrator::start(world.setup(&model, &[])).await.unwrap();
        testkit::ignore(signals);
        model.orchestrator.set(orchestrator.cell()).unwrap();
        for _ in 0..3 {
            let outcome =
                orchestrator.run(Request::new("tell me what it says", None)).await.unwrap();
            assert!(matches!(outcome.delivery, Delivery::NeedsWork { .. }), "{outcome:?}");
        }
        orchestrator.close().await;
        let records = journal::read::read_journal(&world.session()).unwrap().records;
        let events = records.iter().filter_map(journal::read::Record::event);
        let assessments = events.filter_map(|event| {
            let facts::event::Event::RouterDecision { assessment, .. } = event else { return None };
            Some(assessment)
        });
        scores.push(assessments.collect::<Vec<_>>());
        let crashes = records.iter().filter(|record| record.name() == "RoleCrashed").count();
        assert_eq!(crashes, if scores.len() == 1 { 0 } else { 3 });
    }
    assert_eq!(scores[0], scores[1]);
    let streaks: Vec<f64> = scores[0].iter().map(|it| it.features.failure_streak).collect();
    assert_eq!(streaks, [0.0, 0.5, 1.0]);
}

#[tokio::test]
async fn a_lost_crew_ends_its_run() {
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
async fn a_lost_writer_ends_its_run_and_another_one_makes_the_next_change() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let world = World::greeting();
        let (done, orchestrator) = (AtomicBool::new(false), OnceLock::new());
        let lost = Lost::Writer;
        let model = Arc::new(Losing { lost, role, done, orchestrator, session: world.session() });
        let setup = world.setup(&model, &[("policy.mode", "\"yolo\"")]);
        let (orchestrator, signals) = Orchestrator::start(setup).await.unwrap();
        testkit::ignore(signals);
        model.orchestrator.set(orchestrator.cell()).unwrap();
        let request = Request::new("Fix the greeting", Some(RequestIntent::Edit));
        let first = orchestrator.run(request.clone()).await.unwrap().delivery;
        assert!(
            matches!(&first, Delivery::Failed { class: FailureKind::Internal, message } if message.to_string().contains("writer died")),
            "{first:?}"
        );
        assert_eq!(world.read("greet.txt"), "hello\n");
        let second = orchestrator.run(request).await.unwrap().delivery;
        assert_eq!(second, Delivery::Delivered { verified: Verified::Proven }, "{role:?}");
        assert_eq!(world.read("greet.txt"), "hello world\n");
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
async fn a_run_with_crashes_replays_with_the_same_crashes() {
    for (lost, crashes) in [(Lost::Role, 1), (Lost::Admission, 1)] {
        for role in [AgentRole::Architect, AgentRole::Editor] {
            let (told, world) = run(lost, role).await;
            let scratch = World::greeting();
            let delivered = Delivery::Delivered { verified: Verified::Proven };
            assert_eq!(told.outcome.delivery, delivered, "{lost:?} {role:?}");
            assert_eq!(told.count("RoleCrashed@v1"), crashes, "{lost:?} {role:?}");
            let replayed = replay(&world.session(), &scratch.state()).await.unwrap();
            let [run] = replayed.as_slice() else { panic!("{replayed:?}") };
            assert_eq!(run.difference, None, "{lost:?} {role:?}");
            assert!(run.finished && run.events > 15, "{run:?}");
        }
    }
}
