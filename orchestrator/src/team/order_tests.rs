//! Lanes may end in any order: what comes of them is the same, and so is what is written down of how they come together.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use actors::delivery::{Delivery, Verified};
use actors::event::Event;
use actors::publisher::Signal;
use config::Inputs;
use fastrand::Rng;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio::sync::watch;
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::model::{
    AgentRole, ChatModel, ChatRequest, Delta, FinishReason, ModelError, ModelReply,
};

use crate::chat::Intent;
use crate::orchestrator::{Orchestrator, Setup};
use crate::places::Places;
use crate::request::Request;

const LANES: usize = 5;

/// A model that lets each lane's Editor answer when those before it in `order` have ended.
struct InOrder {
    order: Vec<usize>,
    ended: watch::Sender<usize>,
}

impl InOrder {
    async fn answer(&self, request: &ChatRequest) -> String {
        if request.role == AgentRole::LanePlanner {
            let lane = |n| format!("LANE|{n:02}|t|g\nOWN|{n:02}|own{n}.txt\n");
            let lanes: String = (1..=LANES).map(lane).collect();
            return format!("TEAM_PLAN_V1\n{lanes}TEAM_PLAN_END");
        }
        let lane: usize = request.lane.as_deref().unwrap().parse().unwrap();
        if request.role == AgentRole::Architect {
            return format!(
                "ARCHITECT_PLAN_V1\nPLAN|do it\nFILE|own{lane}.txt|new\nFILE|common.txt|line {lane}\nVERIFY|grep -q 6 common.txt\nARCHITECT_PLAN_END"
            );
        }
        let before = self.order.iter().position(|it| *it == lane).unwrap();
        self.ended.subscribe().wait_for(|ended| *ended >= before).await.unwrap();
        // The third and the fourth touch; the fourth is planned again, and then is alone.
        let shown = String::from_utf8_lossy(&request.body()).into_owned();
        let again = shown.contains("THREE");
        let change = match (lane, again) {
            (4, false) => "@@ -5,2 +5,2 @@\n-3\n+drei\n 4\n".to_owned(),
            (4, true) => "@@ -5,3 +5,3 @@\n THREE\n-4\n+FOUR\n 5\n".to_owned(),
            (3, _) => "@@ -5,2 +5,2 @@\n-3\n+THREE\n 4\n".to_owned(),
            (1, _) => "@@ -3 +3 @@\n-b\n+one\n".to_owned(),
            (2, _) => "@@ -9 +9 @@\n-8\n+two\n".to_owned(),
            _ => "@@ -1 +1 @@\n-a\n+five\n".to_owned(),
        };
        format!(
            "--- /dev/null\n+++ b/own{lane}.txt\n@@ -0,0 +1 @@\n+{lane}\n--- a/common.txt\n+++ b/common.txt\n{change}"
        )
    }
}

impl ChatModel for InOrder {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let content = self.answer(request).await;
            let (model, id) = (request.model.clone(), String::new());
            Ok(ModelReply {
                content,
                reasoning: None,
                finish: FinishReason::Stop,
                usage: None,
                model,
                id,
            })
        })
    }
}

/// A directory, in memory where there is a place for it: what a disk does to a file is not what is looked for here.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// What came of lanes that ended in this order: the files, and the events that belong to no lane.
async fn run(order: Vec<usize>) -> (BTreeMap<String, String>, Vec<Event>, Vec<usize>) {
    let (home, state) = (in_memory(), in_memory());
    fs::write(home.path().join("common.txt"), "a\n1\nb\n2\n3\n4\n5\n6\n8\n").unwrap();
    let flags = [("policy.mode", "\"yolo\""), ("lanes.mode", "\"on\""), ("lanes.max_lanes", "9")];
    let flags = flags.map(|(key, value)| (key, "test", value.to_owned())).into();
    let inputs = Inputs { workspace_root: PathBuf::from("/"), flags, ..Inputs::default() };
    let (ended, _) = watch::channel(0);
    let model = Arc::new(InOrder { order, ended });
    let root = state.path();
    let setup = Setup {
        workspace: home.path().canonicalize().unwrap(),
        session_dir: root.join("session"),
        cache: root.join("cache"),
        places: Places {
            state: root.to_owned(),
            commits: root.join("commits"),
            checkpoints: root.join("checkpoints.git"),
            lanes: root.join("lanes"),
        },
        config: Arc::new(config::resolve(&inputs).unwrap().config),
        model: Arc::clone(&model) as Arc<dyn ChatModel>,
        clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
        ids: Arc::new(CountingIds::default()),
        hidden_env: Vec::new(),
        version: "test".to_owned(),
    };
    let (orchestrator, mut signals) = Orchestrator::start(setup).await.unwrap();
    let told = tokio::spawn(async move {
        let (mut of_run, mut order) = (Vec::new(), Vec::new());
        while let Some(signal) = signals.recv().await {
            let Signal::Event(envelope) = signal else { continue };
            match (envelope.lane, &envelope.event) {
                (Some(lane), Event::LaneCompleted { attempt: 1, .. }) => {
                    order.push(usize::from(lane.number()));
                    model.ended.send_modify(|ended| *ended += 1);
                }
                (None, Event::RunFinished { .. }) => break,
                (None, event) => of_run.push(event.clone()),
                (Some(_), _) => {}
            }
        }
        (of_run, order)
    });
    let request = Request { text: "Do it all".to_owned(), intent: Some(Intent::Edit) };
    let outcome = orchestrator.run(request).await.unwrap();
    assert_eq!(outcome.delivery, Delivery::Delivered { verified: Verified::Passed });
    let (of_run, order) = told.await.unwrap();
    let read = |it: std::io::Result<fs::DirEntry>| {
        let path = it.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    let files = fs::read_dir(home.path()).unwrap().map(read).collect();
    (files, of_run, order)
}

/// The events of coming together, without what differs from run to run: paths in requests, and times.
fn of_merging(events: &[Event]) -> Vec<String> {
    let merging = events.iter().filter(|event| {
        let kind = event.kind();
        kind.starts_with("Lane") || kind.starts_with("Verify") || kind.starts_with("PatchStaged")
    });
    merging.map(|event| format!("{} {}", event.kind(), event.data())).collect()
}

#[test]
fn whoever_ends_first_the_result_is_the_same() {
    let mut random = Rng::with_seed(5);
    let mut first = None;
    let mut orders = std::collections::BTreeSet::new();
    for round in 0..100 {
        let mut order: Vec<usize> = (1..=LANES).collect();
        random.shuffle(&mut order);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (files, events, ended) = runtime.block_on(run(order.clone()));
        assert_eq!(ended, order, "round {round}");
        orders.insert(order);
        let came = (files, of_merging(&events));
        let first = first.get_or_insert_with(|| came.clone());
        assert_eq!(&came, first, "round {round}");
    }
    let (files, events) = first.unwrap();
    assert!(orders.len() > 50, "{} orders", orders.len());
    assert!(files["common.txt"].contains("THREE\nFOUR"), "{files:?}");
    assert!(events.iter().any(|event| event.starts_with("LaneConflicted")), "{events:?}");
}
