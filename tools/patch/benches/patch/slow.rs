//! How long a patch takes in files made to be slow: every line could be the one that is meant, or there are many.

use std::time::{Duration, Instant};

use config::ApplyStrategy;
use deepseek_patch::{PatchLimits, PatchScope, Reason, prepare};
use tree::{Entry, FileMode, FileState};

use crate::verdict;

const PATIENCE: Duration = Duration::from_millis(100);
const ROUNDS: usize = 7;

/// Prints what each takes; whether all were fast enough.
pub(crate) fn measure() -> bool {
    let equal = "}\n".repeat(1_000_000);
    let fitting = |header: &str| format!("{header}\n }}\n }}\n-}}\n+];\n }}\n }}\n");
    let missing = "@@ -500000,3 +500000,3 @@\n }\n-]\n+];\n }\n".to_owned();
    let line =
        |n: usize| if n.is_multiple_of(3) { "}\n".to_owned() } else { format!("let x{n};\n") };
    let long: String = (0..200_000).map(line).collect();
    let hunks = |header: &dyn Fn(usize) -> String| -> String {
        let hunk = |at: usize| {
            let [a, b, c, d] = [at, at + 1, at + 2, at + 3].map(line);
            format!("{}\n {a} {b}-{c}+let y;\n {d}", header(at + 1))
        };
        (0..200).map(|n| hunk(n * 999 + 7)).collect()
    };
    let right = hunks(&|at| format!("@@ -{at},4 +{at},4 @@"));
    let wrong = hunks(&|at| format!("@@ -{0},4 +{0},4 @@", 200_000 - at));
    let none = hunks(&|_| "@@ @@".to_owned());

    println!("{:<52} {:>12} {:>12}   target", "files made to be slow", "median", "");
    let at_line = fitting("@@ -500000,5 +500000,5 @@");
    let mut met = true;
    for (name, file, hunks, refusal) in [
        ("1,000,000 equal lines, a hunk that fits everywhere", &equal, &at_line, None),
        (
            "the same hunk without line numbers",
            &equal,
            &fitting("@@ @@"),
            Some(Reason::AmbiguousHunk),
        ),
        ("a hunk that fits nowhere", &equal, &missing, Some(Reason::HunkNotFound)),
        ("200,000 lines, 200 hunks", &long, &right, None),
        ("the same with wrong line numbers", &long, &wrong, None),
        ("the same without line numbers", &long, &none, None),
    ] {
        let time = time(file, &format!("--- a/f\n+++ b/f\n{hunks}"), refusal);
        let fast = time < PATIENCE;
        met &= fast;
        let millis = time.as_secs_f64() * 1e3;
        let (limit, verdict) = (PATIENCE.as_millis(), verdict(fast));
        println!("{name:<52} {millis:>9.3} ms {:>12}   < {limit} ms {verdict}", "");
    }
    met
}

/// The median time to the resulting bytes, or to the refusal that is expected.
fn time(file: &str, patch: &str, refusal: Option<Reason>) -> Duration {
    let state = FileState { bytes: file.to_owned().into(), mode: FileMode::Regular };
    let current = |_: &_| Ok(Entry::File(state.clone()));
    let (scope, limits) = (PatchScope::default(), PatchLimits::default());
    let round = |_| {
        let start = Instant::now();
        let done = prepare(patch.as_bytes(), &scope, ApplyStrategy::Auto, &limits, &current);
        let time = start.elapsed();
        let reason = done.err().map(|refusal| refusal.mismatches[0].reason);
        assert!(reason == refusal, "ended with {reason:?} instead of {refusal:?}");
        time
    };
    let mut times: Vec<Duration> = (0..ROUNDS).map(round).collect();
    times.sort();
    times[ROUNDS / 2]
}
