//! Concurrent child questions of a mission, compared with the time if only the model took any.
//!
//! Prints a table and marks missed targets; it never fails on them. `cargo bench -p deepseek-orchestrator --bench
//! children`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reports by printing, and fails by panicking"
)]

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deepseek_orchestrator::request::Request;
use deepseek_orchestrator::request::intent::RequestIntent;
use deepseek_orchestrator::root::{Orchestrator, Setup};
use model::{AgentRole, ChatRequest, ModelError};
use testkit::{AnswerSource, World, ignore};
use tools::clock::{RandomIds, SystemClock};

/// How long the model takes to answer a question.
const THINKS: Duration = Duration::from_millis(500);
/// Concurrent questions.
const WIDE: usize = 20;

/// A model that thinks for a while and finds nothing. Keeps the times of its first question and last answer, and the
/// number of answers.
#[derive(Default)]
struct Thinking(Mutex<Option<(Instant, Instant)>>, AtomicUsize);

impl AnswerSource for Thinking {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
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
        // The priming request asks for a single token.
        if request.role == AgentRole::Child && request.max_tokens > 1 {
            let now = Instant::now();
            self.0.lock().unwrap().get_or_insert((now, now));
            tokio::time::sleep(THINKS).await;
            self.1.fetch_add(1, Ordering::Relaxed);
            if let Some((_, last)) = self.0.lock().unwrap().as_mut() {
                *last = Instant::now();
            }
        }
        Ok(content.to_owned())
    }
}

/// Returns how long the questions took, and the 95th percentile of concurrent calls to the orchestrator, in seconds.
async fn run(questions: usize) -> (f64, f64) {
    let lines: Vec<String> = (0..questions * 2).map(|at| format!("entry {at}")).collect();
    // In the build directory, so that it is on a disk and not in memory.
    let files = [("register.txt", lines.join("\n"))];
    let world = World::below(env!("CARGO_TARGET_TMPDIR"), &files);
    let flags = [
        ("lanes.max_subagents", &*WIDE.to_string()),
        ("missions.passage_lines", "2"),
        ("missions.max_questions", &(questions * 10).to_string()),
        ("missions.hypothesis_rounds", "0"),
    ];
    let model = Arc::new(Thinking::default());
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds));
    let setup = Setup { clock, ids, ..world.setup(&model, &flags) };
    let (orchestrator, signals) = Orchestrator::start(setup).await.unwrap();
    ignore(signals);
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
    orchestrator.run(Request::new("What is it?", Some(RequestIntent::Mission))).await.unwrap();
    calls.abort();
    let (first, last) = model.0.lock().unwrap().unwrap();
    assert_eq!(model.1.load(Ordering::Relaxed), questions, "each is answered once");
    let mut took = latencies.lock().unwrap().clone();
    took.sort_by(f64::total_cmp);
    let slow = took.get(took.len() * 95 / 100).copied().unwrap_or_default();
    ((last - first).as_secs_f64(), slow)
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for (questions, most) in [(WIDE, 1.05), (50 * WIDE, 1.02)] {
        let (took, slow) = runtime.block_on(run(questions));
        let ideal = THINKS.as_secs_f64() * questions.div_ceil(WIDE) as f64;
        let (ratio, status) = (took / ideal, slow * 1e3);
        let verdict = if ratio <= most && status < 5.0 { "" } else { "  MISSED" };
        println!(
            "{questions:>5} questions, {WIDE} concurrent {took:>8.3} s  {ratio:>6.3} x ideal (<= {most}){verdict}"
        );
        println!("      concurrent call to the orchestrator, p95 {status:>8.3} ms (< 5)");
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("      {peak}");
}
