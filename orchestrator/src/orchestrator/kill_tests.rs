//! Admission, the crew and the journal lost in the middle of a run: each run has one end, and it is the right one.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actors::delivery::{Delivery, FailureKind, Verified};
use actors::event::Event;
use actors::publisher::{Attendance, Signal};
use config::Inputs;
use futures_util::future::BoxFuture;
use model::{AgentRole, ChatModel, ChatRequest, Delta, FinishReason, ModelError, ModelReply};
use ractor::ActorCell;
use shell::Environment;
use tempfile::TempDir;
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::redact::Redactor;

use super::{Orchestrator, Outcome, Setup};
use crate::chat::Intent;
use crate::places::Places;
use crate::replay::replay;
use crate::request::Request;

const PLAN: &str = "ARCHITECT_PLAN_V1\nPLAN|greet the world\nFILE|greet.txt|say world\nVERIFY|grep -q world greet.txt\nARCHITECT_PLAN_END\n";
const DIFF: &str = "--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1 @@\n-hello\n+hello world\n";

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
    orchestrator: Arc<OnceLock<ActorCell>>,
    session: PathBuf,
}

impl Losing {
    fn lose(&self) {
        // Admission is hired first, and then the crew.
        let mut hired = self.orchestrator.get().unwrap().get_children();
        hired.sort_by_key(|cell| cell.get_id().pid());
        match self.lost {
            Lost::Admission => hired[0].kill(),
            Lost::Crew => hired[1].kill(),
            Lost::Role => {
                let mut roles = hired[1].get_children();
                roles.sort_by_key(|cell| cell.get_id().pid());
                roles[usize::from(self.role == AgentRole::Editor)].kill();
            }
            Lost::Journal => fs::remove_dir_all(self.session.join("blobs")).unwrap(),
        }
    }
}

impl ChatModel for Losing {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        if request.role == self.role && !self.done.swap(true, Ordering::SeqCst) {
            self.lose();
            if self.lost == Lost::Role {
                // It dies while it waits for the answer.
                return Box::pin(std::future::pending());
            }
        }
        let content = if request.role == AgentRole::Architect { PLAN } else { DIFF }.to_owned();
        let (model, id) = (request.model.clone(), String::new());
        let finish = FinishReason::Stop;
        let reply = ModelReply {
            content,
            reasoning: None,
            tool_calls: Vec::new(),
            finish,
            usage: None,
            model,
            id,
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

/// A run in which something is lost: its outcome, its events, and the workspace.
async fn run(lost: Lost, role: AgentRole) -> (Outcome, Vec<Event>, TempDir) {
    let state = tempfile::tempdir().unwrap();
    run_in(&state, lost, role).await
}

async fn run_in(state: &TempDir, lost: Lost, role: AgentRole) -> (Outcome, Vec<Event>, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("greet.txt"), "hello\n").unwrap();
    let session = state.path().join("session");
    let inputs = Inputs {
        workspace_root: PathBuf::from("/"),
        flags: vec![("policy.mode".to_owned(), "test", "\"yolo\"".to_owned())],
        ..Inputs::default()
    };
    let the_orchestrator = Arc::new(OnceLock::new());
    let model = Losing {
        lost,
        role,
        done: AtomicBool::new(false),
        orchestrator: Arc::clone(&the_orchestrator),
        session: session.clone(),
    };
    let setup = Setup {
        workspace: dir.path().canonicalize().unwrap(),
        session_dir: session,
        cache: state.path().join("cache"),
        places: Places {
            state: state.path().to_owned(),
            commits: state.path().join("commits"),
            checkpoints: state.path().join("checkpoints.git"),
            lanes: state.path().join("lanes"),
        },
        config: Arc::new(config::resolve(&inputs).unwrap().config),
        model: Arc::new(model),
        clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
        ids: Arc::new(CountingIds::default()),
        env: Environment::default(),
        redactor: Redactor::default(),
        sandbox: Arc::new(sandbox::Sandbox::off()),
        prompts: actors::prompts::Prompts::default(),
        attendance: Attendance::Unattended,
        version: "test".to_owned(),
    };
    let (orchestrator, mut signals) = Orchestrator::start(setup).await.unwrap();
    the_orchestrator.set(orchestrator.actor.get_cell()).unwrap();
    let request = Request::new("Fix the greeting".to_owned(), Some(Intent::Edit));
    let working = tokio::time::timeout(Duration::from_secs(30), orchestrator.run(request));
    let outcome = working.await.expect("it hangs").unwrap();
    let mut events = Vec::new();
    while let Ok(signal) = signals.try_recv() {
        if let Signal::Event(envelope) = signal {
            events.push(envelope.event.clone());
        }
    }
    (outcome, events, dir)
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.kind() == kind).count()
}

fn greeting(dir: &TempDir) -> String {
    fs::read_to_string(dir.path().join("greet.txt")).unwrap()
}

#[tokio::test]
async fn a_lost_router_is_replaced_and_nothing_that_was_spent_is_forgotten() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (outcome, events, dir) = run(Lost::Admission, role).await;
        let delivered = Delivery::Delivered { verified: Verified::Proven };
        assert_eq!(outcome.delivery, delivered, "{role:?}");
        assert_eq!(count(&events, "RoleCrashed@v1"), 1, "{role:?}");
        assert_eq!(count(&events, "RunFinished@v3"), 1, "{role:?}");
        assert_eq!((outcome.spent.calls, outcome.changes.len()), (2, 1), "{role:?}");
        assert_eq!(greeting(&dir), "hello world\n");
    }
}

#[tokio::test]
async fn a_lost_crew_is_the_end_of_its_run() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (outcome, events, dir) = run(Lost::Crew, role).await;
        assert!(
            matches!(&outcome.delivery, Delivery::Failed { class, .. } if *class == FailureKind::Internal),
            "{:?}",
            outcome.delivery
        );
        assert_eq!(count(&events, "RunFinished@v3"), 1, "{role:?}");
        assert_eq!(greeting(&dir), "hello\n");
    }
}

#[tokio::test]
async fn without_a_journal_nothing_is_written() {
    for role in [AgentRole::Architect, AgentRole::Editor] {
        let (outcome, _, dir) = run(Lost::Journal, role).await;
        assert!(
            matches!(&outcome.delivery, Delivery::Failed { class, .. } if *class == FailureKind::Journal),
            "{:?}",
            outcome.delivery
        );
        assert_eq!(greeting(&dir), "hello\n");
    }
}

#[tokio::test]
async fn a_run_in_which_somebody_died_replays_with_the_same_deaths() {
    for (lost, deaths) in [(Lost::Role, 1), (Lost::Admission, 1)] {
        for role in [AgentRole::Architect, AgentRole::Editor] {
            let (state, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let (outcome, events, _) = run_in(&state, lost, role).await;
            let delivered = Delivery::Delivered { verified: Verified::Proven };
            assert_eq!(outcome.delivery, delivered, "{lost:?} {role:?}");
            assert_eq!(count(&events, "RoleCrashed@v1"), deaths, "{lost:?} {role:?}");
            let replayed = replay(&state.path().join("session"), scratch.path()).await.unwrap();
            let [run] = replayed.as_slice() else { panic!("{replayed:?}") };
            assert_eq!(run.difference, None, "{lost:?} {role:?}");
            assert!(run.finished && run.events > 15, "{run:?}");
        }
    }
}
