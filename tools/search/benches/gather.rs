//! Measures how long it takes to gather the evidence for a request with an up-to-date index.
//!
//! `cargo bench -p deepseek-search --bench gather -- REPOSITORY...`, where each is a git directory with some history.
//! The requests are the messages of the newest commits. `first` is a call in a process that has not read the index yet,
//! `next` one after others. The figures are medians; CPU is that of all threads.

#![expect(clippy::print_stdout, reason = "a benchmark reports by printing")]

mod clones;
mod indexed;

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use clones::{Clone, Outcome, repositories};
use deepseek_search::{EvidenceOptions, Spread, gather};

const REQUESTS: &str = "40";
const OPTIONS: EvidenceOptions = EvidenceOptions {
    tokens: 6000,
    instruction_tokens: 16_000,
    small_tree_tokens: 5000,
    spread: Spread::Whole,
};
/// Limits for a first call, in milliseconds of CPU, for a tree of at most that many files.
const TARGETS: [(usize, f64); 2] = [(700, 30.0), (5000, 150.0)];

/// Wall and CPU time.
type Times = (Duration, Duration);

fn main() -> Outcome<()> {
    println!("files  first: wall    cpu | next: wall    cpu  (ms) | target");
    for repository in repositories() {
        let clone = Clone::of(&repository)?;
        clone.check_out("HEAD")?;
        // Files that were just modified are read once more.
        for _ in 0..2 {
            indexed::index(&clone)?.update(|_, _| ())?;
        }
        let messages = clone.git(&["log", "--no-merges", "-z", "--format=%B", "-n", REQUESTS])?;
        let messages: Vec<&str> = messages.split('\0').collect();
        let (mut first, mut next) = (Vec::new(), Vec::new());
        let warm = indexed::index(&clone)?;
        let files = warm.files().0.len();
        for message in &messages {
            let cold = indexed::index(&clone)?;
            first.push(time(|| gather(message, &cold, &OPTIONS, &[]))?);
            next.push(time(|| gather(message, &warm, &OPTIONS, &[]))?);
        }
        // The first call of the warm index was a first call as well.
        let ((wall, cpu), (next_wall, next_cpu)) = (median(first), median(next.split_off(1)));
        let target = TARGETS.iter().find(|(most, _)| files <= most + most / 10);
        let target = target.map_or("none".to_owned(), |(_, target)| {
            format!("{target} ({})", if cpu <= *target { "met" } else { "missed" })
        });
        println!(
            "{files:5}  {wall:11.1} {cpu:6.1} | {next_wall:10.1} {next_cpu:6.1}       | {target}"
        );
    }
    Ok(())
}

fn time<T>(work: impl FnOnce() -> T) -> Outcome<Times> {
    let (began, before) = (Instant::now(), cpu()?);
    std::hint::black_box(work());
    Ok((began.elapsed(), cpu()?.saturating_sub(before)))
}

/// Returns the CPU time of all running threads.
fn cpu() -> io::Result<Duration> {
    let mut sum = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        sum += text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(sum))
}

/// Returns the medians, in milliseconds.
fn median(times: Vec<Times>) -> (f64, f64) {
    let (wall, cpu): (Vec<Duration>, Vec<Duration>) = times.into_iter().unzip();
    let middle = |mut all: Vec<Duration>| {
        all.sort();
        all.get(all.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    (middle(wall), middle(cpu))
}
