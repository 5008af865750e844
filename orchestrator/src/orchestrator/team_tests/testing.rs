//! A world for teams under test: a model of one's own, a directory, and everything that is told. Only the model is fake.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::event::Envelope;
use actors::publisher::Attendance;
use actors::publisher::{Answer, Signal};
use config::Inputs;
use futures_util::future::BoxFuture;
use model::{ChatModel, ChatRequest, Delta, FinishReason, ModelError, ModelReply};
use shell::Environment;
use tempfile::TempDir;
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::redact::Redactor;

use crate::chat::Intent;
use crate::orchestrator::{Orchestrator, Outcome, Setup};
use crate::places::Places;
use crate::request::Request;

/// What a model says.
pub(super) trait Says: Send + Sync + 'static {
    /// The answer to a request.
    fn answer<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, String>;
}

struct Model<S>(Arc<S>);

impl<S: Says> ChatModel for Model<S> {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let content = self.0.answer(request).await;
            let (model, id, finish) = (request.model.clone(), String::new(), FinishReason::Stop);
            Ok(ModelReply {
                content,
                reasoning: None,
                tool_calls: Vec::new(),
                finish,
                usage: None,
                model,
                id,
            })
        })
    }
}

/// What came of a request.
pub(super) struct Told {
    pub(super) outcome: Outcome,
    pub(super) events: Vec<Arc<Envelope>>,
    /// The questions that were asked, with the lanes that asked.
    pub(super) questions: Vec<String>,
    /// The files of the workspace, by name.
    pub(super) files: BTreeMap<String, String>,
}

/// A directory, in memory where there is a place for it: what a disk does to a file is not what is looked for here.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Has a request done in lanes, in a workspace of these files. Every question is answered with yes; `heard` hears of events.
pub(super) async fn work<S: Says>(
    model: Arc<S>,
    files: &[(&str, &str)],
    flags: &[(&'static str, &str)],
    heard: impl Fn(&S, &Envelope) + Send + 'static,
) -> Told {
    let (home, state) = (in_memory(), in_memory());
    for (name, text) in files {
        fs::write(home.path().join(name), text).unwrap();
    }
    let setup = setup(&home, state.path(), flags, Arc::new(Model(Arc::clone(&model))));
    let (orchestrator, mut signals) = Orchestrator::start(setup).await.unwrap();
    let told = tokio::spawn(async move {
        let (mut events, mut questions) = (Vec::new(), Vec::new());
        while let Some(signal) = signals.recv().await {
            match signal {
                Signal::Event(envelope) => {
                    heard(&model, &envelope);
                    let is_over = envelope.event.kind().starts_with("RunFinished");
                    events.push(envelope);
                    if is_over {
                        break;
                    }
                }
                Signal::Question(question) => {
                    questions.push(format!("{:?} {:?}", question.scope.lane(), question.what));
                    question.answer.send(Answer::Yes).unwrap();
                }
                Signal::Text(..)
                | Signal::Reasoning(..)
                | Signal::Waiting(..)
                | Signal::Confined(..)
                | Signal::Asked(..) => {}
            }
        }
        (events, questions)
    });
    let request = Request::new("Do it all".to_owned(), Some(Intent::Edit));
    let outcome = orchestrator.run(request).await.unwrap();
    let (events, questions) = told.await.unwrap();
    let read = |it: std::io::Result<fs::DirEntry>| {
        let path = it.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    let files = fs::read_dir(home.path()).unwrap().map(read).collect();
    Told { outcome, events, questions, files }
}

fn setup(
    home: &TempDir,
    state: &Path,
    flags: &[(&'static str, &str)],
    model: Arc<dyn ChatModel>,
) -> Setup {
    let always = [("lanes.mode", "\"on\""), ("lanes.max_lanes", "9")];
    let flags = always.iter().chain(flags);
    let flags =
        flags.map(|(key, value)| ((*key).to_owned(), "test", (*value).to_owned())).collect();
    let inputs = Inputs { workspace_root: PathBuf::from("/"), flags, ..Inputs::default() };
    Setup {
        workspace: home.path().canonicalize().unwrap(),
        session_dir: state.join("session"),
        cache: state.join("cache"),
        places: Places {
            state: state.to_owned(),
            commits: state.join("commits"),
            checkpoints: state.join("checkpoints.git"),
            lanes: state.join("lanes"),
        },
        config: Arc::new(config::resolve(&inputs).unwrap().config),
        model,
        clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
        ids: Arc::new(CountingIds::default()),
        env: Environment::default(),
        redactor: Redactor::default(),
        sandbox: Arc::new(sandbox::Sandbox::off()),
        prompts: actors::prompts::Prompts::default(),
        attendance: Attendance::Unattended,
        version: "test".to_owned(),
    }
}
