//! The cost of resuming a session with a long journal, up to the first model call.
//!
//! Prints a table and marks missed targets; it never fails on them. `cargo bench -p deepseek-orchestrator --bench resume`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark reports by printing, and fails by panicking"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::run::publisher::Publisher;
use deepseek_orchestrator::request::Request;
use deepseek_orchestrator::request::intent::RequestIntent;
use deepseek_orchestrator::root::{Orchestrator, Setup};
use facts::amounts::Amount;
use facts::delivery::Delivery;
use facts::event::{Blob, Event, FORMAT};
use facts::signal::Signal;
use journal::log::{Capacity, Journal};
use journal::read::read_journal;
use model::{ChatRequest, ModelError};
use testkit::{AnswerSource, World, ignore};
use tokio::sync::{Notify, mpsc};
use tools::clock::{RandomIds, SystemClock};

fn event(n: usize) -> Event {
    Event::TurnAdded {
        speaker: facts::words::Side::User,
        text: format!("event {n}: {}", "x".repeat(100)),
        intent: None,
        card: None,
        course: None,
    }
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let took = runtime.block_on(resuming());
    let verdict = if took < 0.5 { "" } else { "  MISSED" };
    println!("{:<34} {took:>9.3}s {:>29}{verdict}", "resuming with 100,000 events", "< 0.5 s");
}

/// Seconds to resume a session of 100,000 events whose last request was interrupted, up to the first model call.
async fn resuming() -> f64 {
    // In the build directory, so that it is on a disk and not in memory.
    let world = World::below::<&str>(env!("CARGO_TARGET_TMPDIR"), &[]);
    let silent = Arc::new(Silent { asked: Notify::new() });
    let setup = || {
        let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds));
        Setup { clock, ids, ..world.setup(&silent, &[]) }
    };
    let request = || Request::new("What is this?".to_owned(), Some(RequestIntent::Answer));
    let session = world.session();
    fill(&session).await;
    // One more request, which gets no answer.
    let (orchestrator, signals, _) = Orchestrator::go_on(setup()).await.unwrap();
    ignore(signals);
    let last = tokio::spawn({
        let orchestrator = orchestrator.clone();
        async move { orchestrator.run(request()).await }
    });
    silent.asked.notified().await;
    orchestrator.stop();
    last.await.unwrap().ok();
    drop(orchestrator);
    wait_for(&session).await;
    let events = read_journal(&session).unwrap().records.len();
    let started = Instant::now();
    let (orchestrator, signals, interrupted) = Orchestrator::go_on(setup()).await.unwrap();
    ignore(signals);
    let interrupted = interrupted.unwrap();
    tokio::spawn(async move { orchestrator.take_up(interrupted).await });
    silent.asked.notified().await;
    let took = started.elapsed().as_secs_f64();
    println!("{:<34} {events:>10}", "events of the resumed session");
    took
}

/// Waits until no process uses the session.
async fn wait_for(session: &Path) {
    while journal::repair::is_in_use(session) {
        tokio::task::yield_now().await;
    }
}

/// Creates a session of 100,000 events, 40 per request.
async fn fill(session: &Path) {
    let (screen, signals) = mpsc::channel::<Signal>(4096);
    ignore(signals);
    let capacity = Capacity { queue: 1024, patience: Duration::ZERO };
    let (_journal, inlet) =
        Journal::create(session, Arc::new(SystemClock), capacity, screen).unwrap();
    let publisher = Publisher::new(inlet);
    let config = World::config(&[]);
    let started = Event::SessionStarted {
        workspace: "/".to_owned(),
        version: String::new(),
        config: Some(Blob::new(config::to_record(&config))),
        prompts: None,
        format: FORMAT,
        salt: String::new(),
        forked_from: None,
    };
    publisher.publish(started).await.unwrap();
    for run in 0..2_500 {
        let publisher = publisher.for_run(&format!("run-{run}"));
        for n in 0..39 {
            publisher.publish(event(n)).await.unwrap();
        }
        let (spent, rollbacks) = (Amount::default(), Vec::new());
        let finished = Event::RunFinished {
            delivery: Delivery::Cancelled,
            spent,
            spent_unknown: Amount::default(),
            rollbacks,
        };
        publisher.publish(finished).await.unwrap();
    }
    publisher.record(event(0)).await.unwrap();
    drop(publisher);
    wait_for(session).await;
}

/// A model that never answers, but signals that it was asked.
struct Silent {
    asked: Notify,
}

impl AnswerSource for Silent {
    async fn answer(&self, _: &ChatRequest) -> Result<String, ModelError> {
        self.asked.notify_one();
        std::future::pending().await
    }
}
