//! A world for crews under test: a model that says what it was told to, a directory, a journal that forgets nothing.
//!
//! Only the world is fake. Roles, Admission and crew are the real ones.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use actors::admission::{Account, Admission, AdmissionSetup, Slot};
use actors::brief::Brief;
use actors::event::Event;
use actors::prompts::Prompts;
use actors::publisher::{Attendance, Publisher};
use actors::run::{Run, Terms};
use actors::wording::Wording;
use actors::words::Side;
use actors::workspace::{CommitRefused, Denied, NotApplied, Purpose, Staged, Workspace};
use config::{Config, Inputs};
use futures_util::future::BoxFuture;
use model::{AgentRole, ChatModel, ChatRequest, Delta, FinishReason, ModelError, ModelReply};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use shell::{CommandLine, Environment};
use tempfile::TempDir;
use tokio::sync::watch;
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::redact::Redactor;
use tree::{Change, CommitLog, ReadTree, WriteTree};

use super::CrewSetup;
use crate::cycle::Goal;

pub(super) const PLAN: &str = "ARCHITECT_PLAN_V1\nPLAN|greet the world\nFILE|greet.txt|say world\nVERIFY|grep -q world greet.txt\nARCHITECT_PLAN_END\n";
pub(super) const DIFF: &str =
    "--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1 @@\n-hello\n+hello world\n";

/// Where a run is when the world is asked for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The Architect's model is asked.
    Plan,
    /// The Editor's model is asked.
    Draft,
    /// The change is about to be written.
    Commit,
    /// The change is written, and nobody knows yet.
    Committed,
    /// A command wants to run on the changed tree.
    Verify,
}

/// What happens at a stage, before the world does what it is asked for; an error is what the model answers.
pub(super) type Happens =
    Arc<dyn Fn(Stage) -> BoxFuture<'static, Result<(), ModelError>> + Send + Sync>;

/// A directory with a greeting, and everything a crew needs to mend it.
pub(super) struct World {
    pub(super) setup: CrewSetup,
    pub(super) supervisor: ActorCell,
    events: Arc<Mutex<Vec<Event>>>,
    dir: TempDir,
    _slot: Slot,
    _running: watch::Sender<bool>,
}

impl World {
    pub(super) async fn new(happens: Happens) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("greet.txt"), "hello\n").unwrap();
        let events = Arc::default();
        let publisher = journal(Arc::clone(&events));
        let (supervisor, _) = Actor::spawn(None, Bystander, ()).await.unwrap();
        let config = config();
        let terms = Terms::new(Arc::new(config), Prompts::default()).unwrap();
        let setup = AdmissionSetup {
            account: Account::default(),
            parts: std::collections::BTreeMap::new(),
            permits: 1,
            prices: Arc::clone(&terms.prices),
            publisher: publisher.clone(),
            timeout: std::time::Duration::from_secs(30),
        };
        let (admission, slot) = Admission::spawn(setup, supervisor.get_cell()).await.unwrap();
        let (running, stop) = watch::channel(false);
        let run = Run {
            terms,
            publisher,
            admission,
            model: Arc::new(Scripted(Arc::clone(&happens))),
            clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
            ids: Arc::new(CountingIds::default()),
            env: Environment::default(),
            redactor: Redactor::default(),
            sandbox: Arc::new(sandbox::Sandbox::off()),
            cache: dir.path().join("cache"),
            attendance: Attendance::Unattended,
            conversation: "s".into(),
            user_said: Arc::default(),
            steering: actors::steering::Steering::default(),
            stop,
        };
        let tree = WriteTree::open(dir.path(), CommitLog::none(std::time::Duration::from_secs(10)))
            .unwrap();
        let setup = CrewSetup {
            brief: Brief { request: "Fix the greeting".to_owned(), ..Brief::default() },
            goal: Goal::Deliver,
            workspace: Arc::new(Directory { reader: tree.reader(), tree, happens }),
            run,
        };
        Self {
            setup,
            supervisor: supervisor.get_cell(),
            events,
            dir,
            _slot: slot,
            _running: running,
        }
    }

    /// The facts so far.
    pub(super) async fn events(&self) -> Vec<Event> {
        // What was published before it is there when this one is.
        let now =
            Event::TurnAdded { speaker: Side::User, text: String::new(), intent: None, card: None };
        self.setup.run.record(now).await.unwrap();
        self.events.lock().unwrap().clone()
    }

    /// Changes what the greeting says.
    pub(super) fn greet(&self, text: &str) {
        fs::write(self.dir.path().join("greet.txt"), text).unwrap();
    }

    /// What the greeting says.
    pub(super) fn greeting(&self) -> String {
        fs::read_to_string(self.dir.path().join("greet.txt")).unwrap()
    }
}

/// The defaults, with nothing tried again.
fn config() -> Config {
    let flags = vec![("llm.max_retries", "test", "0".to_owned())];
    let inputs = Inputs { flags, workspace_root: PathBuf::from("/"), ..Inputs::default() };
    config::resolve(&inputs).unwrap().config
}

/// Takes facts in, and says at once that they are on disk.
fn journal(events: Arc<Mutex<Vec<Event>>>) -> Publisher {
    let (sender, entries) = crossbeam_channel::bounded(64);
    let (screen, _) = tokio::sync::mpsc::channel(1);
    let (alive, lives) = watch::channel(());
    thread::spawn(move || {
        let _alive = alive;
        for (seq, entry) in (1..).zip(entries) {
            let actors::publisher::Submission { event, durable, .. } = entry;
            events.lock().unwrap().push(event);
            if let Some(waits) = durable {
                waits.send(seq).ok();
            }
        }
    });
    Publisher::new(sender, screen, lives).for_run("run")
}

/// Answers as its role should, unless something happens.
struct Scripted(Happens);

impl ChatModel for Scripted {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let (stage, text) = match request.role {
            AgentRole::Architect => (Stage::Plan, PLAN),
            AgentRole::Editor
            | AgentRole::LanePlanner
            | AgentRole::Analysis
            | AgentRole::Intent
            | AgentRole::Researcher
            | AgentRole::Child => (Stage::Draft, DIFF),
        };
        Box::pin(async move {
            self.0(stage).await?;
            Ok(ModelReply {
                content: text.to_owned(),
                reasoning: None,
                tool_calls: Vec::new(),
                finish: FinishReason::Stop,
                usage: None,
                model: request.model.clone(),
                id: String::new(),
            })
        })
    }
}

/// A directory that allows everything, unless something happens.
struct Directory {
    tree: WriteTree,
    reader: ReadTree,
    happens: Happens,
}

impl Workspace for Directory {
    fn reader(&self) -> &ReadTree {
        &self.reader
    }

    fn commit(&self, staged: Staged) -> BoxFuture<'_, Result<(), CommitRefused>> {
        let refused = |error: ModelError| {
            CommitRefused::from(NotApplied::NotWritten { message: Wording::of(&error) })
        };
        Box::pin(async move {
            (self.happens)(Stage::Commit).await.map_err(refused)?;
            self.tree.commit(&staged.changes, "test").unwrap();
            (self.happens)(Stage::Committed).await.map_err(refused)
        })
    }

    fn approve<'a>(&'a self, _: &'a str, _: &'a [Change]) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn permit<'a>(&'a self, _: &'a CommandLine, _: Purpose) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(async move {
            let greeting = fs::read_to_string(self.reader.root().join("greet.txt")).unwrap();
            if greeting == "hello world\n" {
                (self.happens)(Stage::Verify).await.unwrap();
            }
            Ok(())
        })
    }
}

/// A supervisor that lets everything pass.
struct Bystander;

impl Actor for Bystander {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        _: SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}
