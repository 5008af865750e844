//! The cost of a durable event, compared with a bare write and sync of as many bytes on the same disk, and with many
//! concurrent writers.
//!
//! Prints a table and marks missed targets; it never fails on them. `cargo bench -p deepseek-journal --bench journal`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a benchmark reports by printing, and fails by panicking"
)]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::run::publisher::Publisher;
use deepseek_journal::log::{Capacity, Journal};
use deepseek_journal::read::read_journal;
use facts::event::Event;
use facts::signal::Signal;
use tokio::sync::mpsc;
use tools::clock::SystemClock;

const APPENDS: usize = 1000;
const APPENDERS: usize = 20;

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
    // In the build directory, so that it is on a disk and not in memory.
    let dir = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let journal = open(&dir.path().join("one"), &runtime);
    let (bare, alone) = &runtime.block_on(in_turns(&dir.path().join("bare"), &journal.1));
    println!("{:<34} {:>10} {:>10} {:>8} {:>8}", "", "median", "p95", "ratio", "target");
    row("bare write and fdatasync", bare, None);
    row("durable event, one at a time", alone, Some((p95(alone) / p95(bare), "<= 1.3", 1.3)));

    let started = Instant::now();
    runtime.block_on(async {
        let appenders = (0..APPENDERS).map(|_| {
            let publisher = journal.1.clone();
            tokio::spawn(async move { appends(&publisher, APPENDS / 4).await })
        });
        for appender in appenders.collect::<Vec<_>>() {
            appender.await.unwrap();
        }
    });
    let rate = (APPENDERS * APPENDS / 4) as f64 / started.elapsed().as_secs_f64();
    let one_by_one = APPENDS as f64 / alone.iter().sum::<f64>();
    let ratio = rate / one_by_one;
    let verdict = if ratio >= 8.0 { "" } else { "  MISSED" };
    println!(
        "{:<34} {rate:>8.0}/s {one_by_one:>8.0}/s {ratio:>8.1} {:>8}{verdict}",
        format!("{APPENDERS} at once, and one by one"),
        ">= 8"
    );

    let big = dir.path().join("big");
    let journal = open(&big, &runtime);
    runtime.block_on(async {
        for n in 0..100_000 {
            journal.1.publish(event(n)).await.unwrap();
        }
        journal.1.record(event(0)).await.unwrap();
    });
    let started = Instant::now();
    assert_eq!(read_journal(&big).unwrap().records.len(), 100_001);
    let took = started.elapsed().as_secs_f64();
    let verdict = if took < 0.5 { "" } else { "  MISSED" };
    println!("{:<34} {took:>9.3}s {:>29}{verdict}", "reading 100,000 events", "< 0.5 s");
}

/// Opens a journal whose signals are read and discarded.
fn open(dir: &Path, runtime: &tokio::runtime::Runtime) -> (Journal, Publisher) {
    let (screen, mut signals) = mpsc::channel::<Signal>(4096);
    let capacity = Capacity { queue: 1024, patience: Duration::ZERO };
    let (journal, inlet) = Journal::create(dir, Arc::new(SystemClock), capacity, screen).unwrap();
    runtime.spawn(async move { while signals.recv().await.is_some() {} });
    (journal, Publisher::new(inlet))
}

/// Measures each of `count` sequential appends, in seconds.
async fn appends(publisher: &Publisher, count: usize) -> Vec<f64> {
    let mut took = Vec::with_capacity(count);
    for n in 0..count {
        let started = Instant::now();
        publisher.record(event(n)).await.unwrap();
        took.push(started.elapsed().as_secs_f64());
    }
    took
}

/// Measures, in seconds, as many bytes written and synced without a journal, and durable events. They alternate, since a
/// disk is not always equally fast.
async fn in_turns(path: &Path, publisher: &Publisher) -> (Vec<f64>, Vec<f64>) {
    let mut file = OpenOptions::new().create_new(true).append(true).open(path).unwrap();
    let line = [b'x'; 300];
    let (mut bare, mut durable) = (Vec::new(), Vec::new());
    for _ in 0..APPENDS {
        let started = Instant::now();
        file.write_all(&line).unwrap();
        file.sync_data().unwrap();
        bare.push(started.elapsed().as_secs_f64());
        durable.extend(appends(publisher, 1).await);
    }
    (sorted(bare), sorted(durable))
}

fn sorted(mut took: Vec<f64>) -> Vec<f64> {
    took.sort_by(f64::total_cmp);
    took
}

fn p95(took: &[f64]) -> f64 {
    took[took.len() * 95 / 100]
}

fn row(name: &str, took: &[f64], ratio: Option<(f64, &str, f64)>) {
    let (median, p95) = (took[took.len() / 2] * 1e6, p95(took) * 1e6);
    let (ratio, target, verdict) = match ratio {
        None => (String::new(), "", ""),
        Some((ratio, target, most)) => {
            (format!("{ratio:.2}"), target, if ratio <= most { "" } else { "  MISSED" })
        }
    };
    println!("{name:<34} {median:>8.0}µs {p95:>8.0}µs {ratio:>8} {target:>8}{verdict}");
}
