//! A fake world for testing crews: a model with scripted answers, a directory, and a journal that keeps everything.
//!
//! Only the world is fake; the roles, Admission and the crew are real.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use actors::calls::admission::{Account, Admission, AdmissionSetup, Slot};
use actors::run::Run;
use actors::run::terms::Terms;
use actors::run::testing;
use actors::run::workspace::{CommitRefused, Denied, Extent, Purpose, Staged, Workspace};
use actors::talk::brief::Brief;
use actors::talk::prompts::Prompts;
use checks::wording::Wording;
use facts::event::Event;
use facts::words::Side;
use facts::write_failure::WriteFailure;
use futures_util::future::BoxFuture;
use model::{AgentRole, ChatRequest, ModelError};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use shell::CommandLine;
use testkit::answers::{greeting_diff, greeting_plan};
use testkit::{AnswerSource, ScriptedModel};
use tree::{Change, CommitLog, ReadTree, WriteTree};

use super::CrewSetup;
use crate::crew::cycle::Goal;

/// The point at which a run uses the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The Architect's model is asked.
    Plan,
    /// The Editor's model is asked.
    Draft,
    /// The change is about to be written.
    Commit,
    /// The change is written, but not reported yet.
    Committed,
    /// A command wants to run on the unchanged tree.
    Baseline,
    /// A command wants to run on the changed tree.
    Verify,
}

/// A hook called at each stage, before the world acts. An error becomes the model's answer.
pub(super) type Happens =
    Arc<dyn Fn(Stage) -> BoxFuture<'static, Result<(), ModelError>> + Send + Sync>;

/// A directory with a greeting, and everything a crew needs to fix it.
pub(super) struct World {
    pub(super) setup: CrewSetup,
    pub(super) supervisor: ActorCell,
    events: Box<dyn Fn() -> Vec<Event>>,
    files: testkit::World,
    _slot: Slot,
}

impl World {
    pub(super) async fn new(happens: Happens) -> Self {
        let files = testkit::World::greeting();
        let (run, events) = testing::run(None);
        let (supervisor, _) = Actor::spawn(None, Bystander, ()).await.unwrap();
        // No retries.
        let config = testkit::World::config(&[("llm.max_retries", "0")]);
        let terms = Terms::new(config, Prompts::default()).unwrap();
        let setup = AdmissionSetup {
            account: Account::default(),
            parts: BTreeMap::new(),
            permits: 1,
            prices: Arc::clone(&terms.prices),
            publisher: run.publisher.clone(),
            timeout: Duration::from_secs(30),
            waits: run.waits("admission"),
        };
        let (admission, slot) = Admission::spawn(setup, supervisor.get_cell()).await.unwrap();
        let model = Arc::new(ScriptedModel(Arc::new(Answers(Arc::clone(&happens)))));
        let log = CommitLog::none(Duration::from_secs(10));
        let tree = WriteTree::open(&files.workspace(), log).unwrap();
        let setup = CrewSetup {
            brief: Brief { request: "Fix the greeting".to_owned(), ..Brief::default() },
            goal: Goal::Deliver,
            workspace: Arc::new(Directory { reader: tree.reader(), tree, happens }),
            may_be_question: false,
            begun: None,
            run: Run { terms, admission, model, cache: files.state(), ..run },
        };
        let supervisor = supervisor.get_cell();
        Self { setup, supervisor, events: Box::new(events), files, _slot: slot }
    }

    /// Returns the events so far.
    pub(super) async fn events(&self) -> Vec<Event> {
        // Everything published before this event has arrived once it has.
        let now = Event::TurnAdded {
            speaker: Side::User,
            text: String::new(),
            intent: None,
            card: None,
            course: None,
        };
        self.setup.run.record(now).await.unwrap();
        (self.events)()
    }

    /// Changes the text of the greeting.
    pub(super) fn greet(&self, text: &str) {
        self.files.write("greet.txt", text);
    }

    /// Returns the text of the greeting.
    pub(super) fn greeting(&self) -> String {
        self.files.read("greet.txt")
    }
}

/// Answers as the role should, unless the hook fails.
struct Answers(Happens);

impl AnswerSource for Answers {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        let plans = request.role == AgentRole::Architect;
        self.0(if plans { Stage::Plan } else { Stage::Draft }).await?;
        Ok(if plans { greeting_plan() } else { greeting_diff() })
    }
}

/// A directory that allows everything, unless the hook fails.
struct Directory {
    tree: WriteTree,
    reader: ReadTree,
    happens: Happens,
}

impl Workspace for Directory {
    fn reader(&self) -> &ReadTree {
        &self.reader
    }

    fn commit_patch_set(&self, staged: Staged) -> BoxFuture<'_, Result<Extent, CommitRefused>> {
        let refused = |error: ModelError| {
            CommitRefused::from(WriteFailure::NotWritten { message: Wording::of(&error) })
        };
        Box::pin(async move {
            (self.happens)(Stage::Commit).await.map_err(refused)?;
            self.tree.commit(&staged.changes, "test").unwrap();
            (self.happens)(Stage::Committed).await.map_err(refused)?;
            Ok(Extent::Whole)
        })
    }

    fn approve<'a>(&'a self, _: &'a str, _: &'a [Change]) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn permit<'a>(&'a self, _: &'a CommandLine, _: Purpose) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(async move {
            let greeting = fs::read_to_string(self.reader.root().join("greet.txt")).unwrap();
            let is_changed = greeting == "hello world\n";
            let stage = if is_changed { Stage::Verify } else { Stage::Baseline };
            (self.happens)(stage).await.unwrap();
            Ok(())
        })
    }
}

/// A supervisor that ignores all events.
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
