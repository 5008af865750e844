//! Small questions of a mission at once, against the time that they would take if nothing but the model took any.
//!
//! Prints a table; it judges nothing but says where a target is missed. `cargo bench -p deepseek-orchestrator --bench children`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reports by printing, and fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actors::publisher::Attendance;
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

/// How long the model takes for a question.
const THINKS: Duration = Duration::from_millis(500);
/// Questions at once.
const WIDE: usize = 20;

/// A model that thinks for a while, and then has found nothing; and when it was asked first and answered last.
#[derive(Default)]
struct Thinking(Mutex<Option<(Instant, Instant)>>);

impl ChatModel for Thinking {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let content = match request.role {
            AgentRole::Child => "FINDINGS_V1\nNONE|nothing\nFINDINGS_END",
            AgentRole::Researcher => {
                "MISSION_PLAN_V1\nTASK|01|read|x|What is it?\nREADS|01|register.txt\nMISSION_PLAN_END"
            }
            AgentRole::Architect
            | AgentRole::Editor
            | AgentRole::LanePlanner
            | AgentRole::Analysis
            | AgentRole::Intent => "",
        };
        // What is sent ahead has a single token.
        let counts = request.role == AgentRole::Child && request.max_tokens > 1;
        let model = request.model.clone();
        Box::pin(async move {
            if counts {
                let now = Instant::now();
                self.0.lock().unwrap().get_or_insert((now, now));
                tokio::time::sleep(THINKS).await;
                if let Some((_, last)) = self.0.lock().unwrap().as_mut() {
                    *last = Instant::now();
                }
            }
            Ok(ModelReply {
                content: content.to_owned(),
                reasoning: None,
                tool_calls: Vec::new(),
                finish: FinishReason::Stop,
                usage: None,
                model,
                id: String::new(),
            })
        })
    }
}

/// How long so many questions took, and the slowest of 95 of 100 calls to the orchestrator meanwhile, in seconds.
async fn run(dir: &Path, questions: usize) -> (f64, f64) {
    let home = dir.join("home");
    fs::create_dir_all(&home).unwrap();
    let lines: Vec<String> = (0..questions * 2).map(|at| format!("entry {at}")).collect();
    fs::write(home.join("register.txt"), lines.join("\n")).unwrap();
    let flags = [
        ("lanes.max_subagents", WIDE.to_string()),
        ("missions.passage_lines", "2".to_owned()),
        ("missions.max_questions", (questions * 2).to_string()),
        ("missions.hypothesis_rounds", "0".to_owned()),
    ];
    let flags = flags.into_iter().map(|(key, value)| (key, "benchmark", value));
    let inputs =
        Inputs { workspace_root: PathBuf::from("/"), flags: flags.collect(), ..Inputs::default() };
    let model = Arc::new(Thinking::default());
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
        model: Arc::clone(&model) as Arc<dyn ChatModel>,
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
    tokio::spawn(async move { while signals.recv().await.is_some() {} });
    let asking = orchestrator.clone();
    let latencies = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&latencies);
    let calls = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let begun = Instant::now();
            asking.settle().await;
            told.lock().unwrap().push(begun.elapsed().as_secs_f64());
        }
    });
    orchestrator.run(Request::new("What is it?", Some(Intent::Mission))).await.unwrap();
    calls.abort();
    let (first, last) = model.0.lock().unwrap().unwrap();
    let mut took = latencies.lock().unwrap().clone();
    took.sort_by(f64::total_cmp);
    let slow = took.get(took.len() * 95 / 100).copied().unwrap_or_default();
    ((last - first).as_secs_f64(), slow)
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // Beside the build, so that it is a disk and no memory.
    let dir = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (questions, most) in [(WIDE, 1.05), (50 * WIDE, 1.02)] {
        let (took, slow) =
            runtime.block_on(run(&dir.path().join(questions.to_string()), questions));
        let ideal = THINKS.as_secs_f64() * questions.div_ceil(WIDE) as f64;
        let (ratio, status) = (took / ideal, slow * 1e3);
        let verdict = if ratio <= most && status < 5.0 { "" } else { "  MISSED" };
        println!(
            "{questions:>5} questions, {WIDE} at once {took:>8.3} s  {ratio:>6.3} x ideal (<= {most}){verdict}"
        );
        println!("      a call to the orchestrator meanwhile, p95 {status:>8.3} ms (< 5)");
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("      {peak}");
}
