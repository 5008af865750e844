//! What lanes gain: eight at once compared with one at a time, with a slow model and instant checks.
//!
//! Prints a table and marks missed targets; it never fails on them. `cargo bench -p deepseek-orchestrator --bench lanes`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark reports by printing, and fails by panicking"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deepseek_orchestrator::request::Request;
use deepseek_orchestrator::request::intent::RequestIntent;
use deepseek_orchestrator::root::{Orchestrator, Setup};
use facts::delivery::{Delivery, Verified};
use facts::event::{Envelope, Event};
use model::{AgentRole, ChatRequest, ModelError};
use testkit::answers::{created, plan, team};
use testkit::{AnswerSource, RunRecord, World};
use tools::clock::{RandomIds, SystemClock};

const LANES: usize = 8;
const ROUNDS: usize = 5;
const THINKS: Duration = Duration::from_millis(300);

/// A model that thinks for a while, and then answers.
struct Thinking;

impl AnswerSource for Thinking {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        tokio::time::sleep(THINKS).await;
        let lane = request.lane.clone().unwrap_or_default();
        let file = format!("parts/{lane}/new.txt");
        Ok(match request.role {
            AgentRole::LanePlanner => team((1..=LANES).map(|n| (n, format!("parts/{n:02}/")))),
            AgentRole::Architect => plan(&[&file], &[&format!("grep -q {lane} {file}")]),
            AgentRole::Editor
            | AgentRole::Analysis
            | AgentRole::Intent
            | AgentRole::Researcher
            | AgentRole::Child => created(&file, &lane),
        })
    }
}

/// Durations of the parts of a request, in seconds.
struct Took {
    /// From the start of the first lane to the end of the last.
    lanes: f64,
    /// Each lane, from start to end.
    each: Vec<f64>,
    /// From the end of the last lane to the end of the request: merging, verifying, writing.
    merge: f64,
}

async fn run(at_once: usize) -> Took {
    let old = |n| (format!("parts/{:02}/old{n}.txt", n % LANES + 1), format!("old {n}\n"));
    let files: Vec<_> = (0..200).map(old).collect();
    // In the build directory, so that it is on a disk and not in memory.
    let world = World::below(env!("CARGO_TARGET_TMPDIR"), &files);
    let flags = [
        ("policy.mode", "\"yolo\""),
        ("lanes.mode", "\"on\""),
        ("lanes.max_lanes", &LANES.to_string()),
        ("lanes.max_subagents", &at_once.to_string()),
    ];
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds));
    let setup = Setup { clock, ids, ..world.setup(&Arc::new(Thinking), &flags) };
    let (orchestrator, signals) = Orchestrator::start(setup).await.unwrap();
    let (mut begun, mut ended) = (BTreeMap::new(), Vec::new());
    let heard = |envelope: &Envelope| {
        let Some(lane) = envelope.scope.lane() else { return };
        if let Event::LaneSpawned { .. } = &envelope.event {
            begun.insert(lane, Instant::now());
        } else if let Event::LaneCompleted { .. } = &envelope.event {
            ended.push((lane, Instant::now()));
        }
    };
    let request = Request::new("Write all parts", Some(RequestIntent::Edit));
    let told = RunRecord::of(&orchestrator, signals, request, heard).await;
    assert_eq!(told.outcome.delivery, Delivery::Delivered { verified: Verified::Passed });
    let (first, last) = (*begun.values().min().unwrap(), ended.last().unwrap().1);
    let each = ended.iter().map(|(lane, end)| (*end - begun[lane]).as_secs_f64());
    let (lanes, merge) = ((last - first).as_secs_f64(), last.elapsed().as_secs_f64());
    Took { lanes, each: each.collect(), merge }
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (mut alone, mut at_once, mut merges) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.extend(runtime.block_on(run(1)).each);
        let together = runtime.block_on(run(LANES));
        at_once.push(together.lanes);
        merges.push(together.merge);
    }
    let (alone, at_once, merge) = (median(alone), median(at_once), median(merges));
    let ratio = at_once / alone;
    let verdict = if ratio <= 1.3 { "" } else { "  MISSED" };
    println!("{:<42} {alone:>8.3} s", "one lane at a time");
    println!("{:<42} {at_once:>8.3} s", format!("{LANES} lanes at once, to the end of the last"));
    println!("{:<42} {ratio:>8.2}   {:>8}{verdict}", "ratio", "<= 1.3");
    println!("{:<42} {merge:>8.3} s", "merged, verified and written after that");
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
