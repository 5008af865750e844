//! Runs the checks of the fuzz targets on every seed and past finding.

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
pub mod fuzz;

/// Runs `check` on each file of the corpus of `target`.
fn replay(target: &str, check: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(corpus).expect("a target has a corpus") {
        let seed = entry.expect("a corpus is readable").path();
        let input = fs::read(&seed).expect("a seed is readable");
        let held = std::panic::catch_unwind(|| check(&input));
        assert!(held.is_ok(), "{} violates a property", seed.display());
        seeds += 1;
    }
    assert!(seeds > 20, "the corpus of {target} is missing");
}

#[test]
fn plan() {
    replay("plan", fuzz::plan::check);
}

#[test]
fn team_plan() {
    replay("team_plan", fuzz::team_plan::check);
}

#[test]
fn sse() {
    replay("sse", fuzz::sse::check);
}
