//! Measures patches of files made to be slow: every line could be the intended one, or there are many lines.

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use config::ApplyStrategy;
use deepseek_patch::{ApplyPlan, PatchLimits, PatchScope, Reason, prepare};
use tree::{Entry, FileMode, FileState};

use crate::verdict;

const PATIENCE: Duration = Duration::from_millis(100);
const ROUNDS: usize = 7;
/// The time limit for a hunk that is refused for its added lines.
const PER_DAMAGED: Duration = Duration::from_micros(50);
/// The limit for a very large number of hunks, as a multiple of `git apply`.
const TIMES_GIT: u32 = 2;

/// Prints all measurements; returns true if all were fast enough.
pub(crate) fn measure() -> bool {
    let equal = "}\n".repeat(1_000_000);
    let fitting = |header: &str| format!("{header}\n }}\n }}\n-}}\n+];\n }}\n }}\n");
    let missing = "@@ -500000,3 +500000,3 @@\n }\n-]\n+];\n }\n".to_owned();
    let line =
        |n: usize| if n.is_multiple_of(3) { "}\n".to_owned() } else { format!("let x{n};\n") };
    let long: String = (0..200_000).map(line).collect();
    let hunks = |count: usize, header: &dyn Fn(usize) -> String| -> String {
        let hunk = |at: usize| {
            let [a, b, c, d] = [at, at + 1, at + 2, at + 3].map(line);
            format!("{}\n {a} {b}-{c}+let y;\n {d}", header(at + 1))
        };
        let apart = 199_900 / count;
        (0..count).map(|n| hunk(n * apart + 7)).collect()
    };
    let stated = |at: usize| format!("@@ -{at},4 +{at},4 @@");
    let right = hunks(200, &stated);
    let wrong = hunks(200, &|at| format!("@@ -{0},4 +{0},4 @@", 200_000 - at));
    let none = hunks(200, &|_| "@@ @@".to_owned());

    println!("{:<52} {:>12} {:>12}   target", "files made to be slow", "median", "");
    let at_line = fitting("@@ -500000,5 +500000,5 @@");
    let mut met = true;
    for (name, file, hunks, refusal) in [
        ("1,000,000 equal lines, a hunk that matches everywhere", &equal, &at_line, None),
        (
            "the same hunk without line numbers",
            &equal,
            &fitting("@@ @@"),
            Some(Reason::AmbiguousHunk),
        ),
        ("a hunk that matches nowhere", &equal, &missing, Some(Reason::HunkNotFound)),
        ("200,000 lines, 200 hunks", &long, &right, None),
        ("the same with wrong line numbers", &long, &wrong, None),
        ("the same without line numbers", &long, &none, None),
    ] {
        let time = time(file, &format!("--- a/f\n+++ b/f\n{hunks}"), refusal, Until::Made);
        let fast = time < PATIENCE;
        met &= fast;
        let millis = time.as_secs_f64() * 1e3;
        let (limit, verdict) = (PATIENCE.as_millis(), verdict(fast));
        println!("{name:<52} {millis:>9.3} ms {:>12}   < {limit} ms {verdict}", "");
    }
    for count in [2_000, 20_000] {
        met &= damaged(&long, &hunks(count, &stated), count);
    }
    for count in [2_000, 20_000] {
        let right = hunks(count, &stated);
        let git = git_apply(&long, &format!("--- a/f\n+++ b/f\n{right}"));
        println!(
            "{:<52} {:>9.3} ms",
            format!("git apply, {count} hunks in 200,000 lines"),
            git.as_secs_f64() * 1e3
        );
        for (name, hunks) in
            [("correct", &right), ("without numbers", &hunks(count, &|_| "@@ @@".to_owned()))]
        {
            let patch = format!("--- a/f\n+++ b/f\n{hunks}");
            let time = time(&long, &patch, None, Until::Counted);
            let fast = time < git * TIMES_GIT;
            met &= fast;
            let name = format!("{count} hunks, {name}, including line counts");
            println!(
                "{name:<52} {:>9.3} ms {:>12}   < {TIMES_GIT}x {}",
                time.as_secs_f64() * 1e3,
                "",
                verdict(fast)
            );
        }
    }
    met
}

/// Measures hunks with damaged added lines, each of which needs properties of the whole file. With 20,000 hunks, each
/// may take as long as with 2,000, including its share of the rest of the engine.
fn damaged(file: &str, hunks: &str, count: usize) -> bool {
    let patch = format!("--- a/f.rs\n+++ b/f.rs\n{}", hunks.replace("+let y;", "+if y &lt; 1 {}"));
    let time = time(file, &patch, Some(Reason::DamagedLine), Until::Made);
    let limit = PER_DAMAGED * u32::try_from(count).unwrap();
    let name = format!("{count} hunks that add an entity, in 200,000 lines");
    let millis = time.as_secs_f64() * 1e3;
    println!("{name:<52} {millis:>9.3} ms {:>12}   < {limit:?} {}", "", verdict(time < limit));
    time < limit
}

/// Measures a `git apply` process that writes nothing.
fn git_apply(file: &str, patch: &str) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), file).unwrap();
    fs::write(dir.path().join("patch"), patch).unwrap();
    let start = Instant::now();
    let mut git = Command::new("git");
    let done = git.args(["apply", "--check", "patch"]).current_dir(dir.path()).status().unwrap();
    assert!(done.success(), "git apply ended with {done}");
    start.elapsed()
}

/// What is measured: computing the bytes, or also counting their added and removed lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Made,
    Counted,
}

/// Returns the median time until the resulting bytes, or the expected refusal.
fn time(file: &str, patch: &str, refusal: Option<Reason>, until: Until) -> Duration {
    let state = FileState { bytes: file.to_owned().into(), mode: FileMode::Regular };
    let current = |_: &_| Ok(Entry::File(state.clone()));
    let (scope, limits) = (PatchScope::default(), PatchLimits::default());
    let round = |_| {
        let start = Instant::now();
        let done = prepare(patch.as_bytes(), &scope, ApplyStrategy::Auto, &limits, &current);
        if until == Until::Counted {
            black_box(done.as_ref().map_or(0, ApplyPlan::added));
        }
        let time = start.elapsed();
        let reason = done.err().map(|refusal| refusal.mismatches[0].reason);
        assert!(reason == refusal, "ended with {reason:?} instead of {refusal:?}");
        time
    };
    let mut times: Vec<Duration> = (0..ROUNDS).map(round).collect();
    times.sort();
    times[ROUNDS / 2]
}
