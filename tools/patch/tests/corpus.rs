//! Runs every seed and every past finding of the fuzz targets through the same checks.

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
pub mod fuzz;

/// Runs `check` on each file of the corpus of `target`.
fn replay(target: &str, check: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(corpus).expect("every target has a corpus") {
        let seed = entry.expect("a corpus is readable").path();
        let input = fs::read(&seed).expect("a seed is readable");
        let held = std::panic::catch_unwind(|| check(&input));
        assert!(held.is_ok(), "{} violates a property", seed.display());
        seeds += 1;
    }
    assert!(seeds > 20, "the corpus of {target} is missing");
}

#[test]
fn answer() {
    replay("answer", fuzz::answer::check);
}

#[test]
fn parse() {
    replay("parse", fuzz::parse::check);
}

#[test]
fn locate() {
    replay("locate", fuzz::locate::check);
}

#[test]
fn path() {
    replay("path", fuzz::path::check);
}
