//! What lanes gain: eight at once beside one after the other, with a model that takes its time and checks that take none.
//!
//! Prints a table; it judges nothing but says where a target is missed. `cargo bench -p deepseek-orchestrator --bench lanes`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark reports by printing, and fails by panicking"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::delivery::{Delivery, Verified};
use actors::event::Event;
use actors::lane_id::LaneId;
use actors::publisher::{Attendance, Signal};
use config::Inputs;
use deepseek_orchestrator::chat::Intent;
use deepseek_orchestrator::orchestrator::{Orchestrator, Setup};
use deepseek_orchestrator::places::Places;
use deepseek_orchestrator::request::Request;
use futures_util::future::BoxFuture;
use model::{AgentRole, ChatModel, ChatRequest, Delta, FinishReason, ModelError, ModelReply};
use shell::Environment;
use tools::clock::{RandomIds, SystemClock};
use tools::redact::Redactor;

const LANES: usize = 8;
const ROUNDS: usize = 5;
const THINKS: Duration = Duration::from_millis(300);

/// A model that thinks for a while, and then knows.
struct Thinking;

impl ChatModel for Thinking {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let lane = request.lane.clone().unwrap_or_default();
        let content = match request.role {
            AgentRole::LanePlanner => {
                let lane =
                    |n| format!("LANE|{n:02}|part {n}|write part {n}\nOWN|{n:02}|parts/{n:02}/\n");
                let lanes: String = (1..=LANES).map(lane).collect();
                format!("TEAM_PLAN_V1\n{lanes}TEAM_PLAN_END")
            }
            AgentRole::Architect => format!(
                "ARCHITECT_PLAN_V1\nPLAN|write it\nFILE|parts/{lane}/new.txt|new\nVERIFY|grep -q {lane} parts/{lane}/new.txt\nARCHITECT_PLAN_END"
            ),
            AgentRole::Editor
            | AgentRole::Analysis
            | AgentRole::Intent
            | AgentRole::Researcher
            | AgentRole::Child => {
                format!("--- /dev/null\n+++ b/parts/{lane}/new.txt\n@@ -0,0 +1 @@\n+{lane}\n")
            }
        };
        let (model, id) = (request.model.clone(), String::new());
        Box::pin(async move {
            tokio::time::sleep(THINKS).await;
            Ok(ModelReply {
                content,
                reasoning: None,
                tool_calls: Vec::new(),
                finish: FinishReason::Stop,
                usage: None,
                model,
                id,
            })
        })
    }
}

/// How long parts of a request took, in seconds.
struct Took {
    /// From the first lane's beginning to the last one's end.
    lanes: f64,
    /// Each lane, from its beginning to its end.
    each: Vec<f64>,
    /// From the last lane's end to that of the request: merging, verifying, writing.
    merge: f64,
}

async fn run(dir: &Path, at_once: usize) -> Took {
    let home = dir.join("home");
    for n in 0..200 {
        let path = home.join(format!("parts/{:02}/old{n}.txt", n % LANES + 1));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("old {n}\n")).unwrap();
    }
    let flags = [
        ("policy.mode", "\"yolo\"".to_owned()),
        ("lanes.mode", "\"on\"".to_owned()),
        ("lanes.max_lanes", LANES.to_string()),
        ("lanes.max_subagents", at_once.to_string()),
    ];
    let flags =
        flags.into_iter().map(|(key, value)| (key.to_owned(), "benchmark", value)).collect();
    let inputs = Inputs { workspace_root: PathBuf::from("/"), flags, ..Inputs::default() };
    let setup = Setup {
        workspace: home.canonicalize().unwrap(),
        session_dir: dir.join("session"),
        cache: dir.join("cache"),
        places: Places {
            state: dir.to_owned(),
            commits: dir.join("commits"),
            checkpoints: dir.join("checkpoints.git"),
            lanes: dir.join("lanes"),
        },
        config: Arc::new(config::resolve(&inputs).unwrap().config),
        model: Arc::new(Thinking),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        env: Environment::default(),
        redactor: Redactor::default(),
        sandbox: Arc::new(sandbox::Sandbox::off()),
        prompts: actors::prompts::Prompts::default(),
        attendance: Attendance::Unattended,
        version: String::new(),
    };
    let (orchestrator, mut signals) = Orchestrator::start(setup).await.unwrap();
    let told = tokio::spawn(async move {
        let mut begun: BTreeMap<LaneId, Instant> = BTreeMap::new();
        let (mut each, mut last) = (Vec::new(), Instant::now());
        while let Some(signal) = signals.recv().await {
            let Signal::Event(envelope) = signal else { continue };
            match (&envelope.event, envelope.scope.lane()) {
                (Event::LaneSpawned { .. }, Some(lane)) => {
                    begun.insert(lane, Instant::now());
                }
                (Event::LaneCompleted { .. }, Some(lane)) => {
                    last = Instant::now();
                    each.push((last - begun[&lane]).as_secs_f64());
                }
                (Event::RunFinished { .. }, _) => break,
                (_, _) => {}
            }
        }
        let first = begun.values().min().copied().unwrap();
        Took { lanes: (last - first).as_secs_f64(), each, merge: last.elapsed().as_secs_f64() }
    });
    let request = Request::new("Write all parts".to_owned(), Some(Intent::Edit));
    let outcome = orchestrator.run(request).await.unwrap();
    assert_eq!(outcome.delivery, Delivery::Delivered { verified: Verified::Passed });
    told.await.unwrap()
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // Beside the build, so that it is a disk and no memory.
    let dir = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut alone, mut at_once, mut merges) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let one_by_one = runtime.block_on(run(&dir.path().join(format!("one-{round}")), 1));
        alone.extend(one_by_one.each);
        let together = runtime.block_on(run(&dir.path().join(format!("all-{round}")), LANES));
        at_once.push(together.lanes);
        merges.push(together.merge);
    }
    let (alone, at_once, merge) = (median(alone), median(at_once), median(merges));
    let ratio = at_once / alone;
    let verdict = if ratio <= 1.3 { "" } else { "  MISSED" };
    println!("{:<42} {alone:>8.3} s", "one lane, alone");
    println!("{:<42} {at_once:>8.3} s", format!("{LANES} lanes at once, to the last one's end"));
    println!("{:<42} {ratio:>8.2}   {:>8}{verdict}", "ratio", "<= 1.3");
    println!("{:<42} {merge:>8.3} s", "merged, verified and written after that");
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
