//! Compares the patch engine with `git apply` and GNU patch: how fast it is, and how often it is correct.
//!
//! ```text
//! cargo bench -p deepseek-patch --bench patch                     speed, on this repository, one patch per file
//! cargo bench -p deepseek-patch --bench patch -- DIR              speed, on the real commits of a directory of cases
//! cargo bench -p deepseek-patch --bench patch -- DIR --document   verdicts on all of its cases, for docs/patching-numbers.md
//! cargo bench -p deepseek-patch --bench patch -- DIR --engine     verdicts on the engine alone, in memory
//! ```
//! DIR is an absolute path; docs/patching-numbers.md describes its contents. Exits with 1 if a speed target is missed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a benchmark reports by printing, starts the programs it is compared with, and fails by panicking"
)]

mod corpus;
mod engine;
mod sandbox;
mod slow;
mod speed;
mod verdicts;

use std::path::Path;
use std::process::ExitCode;

use corpus::Corpus;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn main() -> ExitCode {
    // Cargo adds `--bench` to the user's arguments.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let corpus = match words[..] {
        [] => Corpus::of_commits(Path::new(REPOSITORY)),
        [dir] => Corpus::read(Path::new(dir), &["real-commits"]),
        [dir, "--document"] => {
            verdicts::document(
                Path::new(dir),
                &Path::new(REPOSITORY).join("docs/patching-numbers.md"),
            );
            return ExitCode::SUCCESS;
        }
        [dir, "--engine"] => {
            let sound = engine::judge_all(&Corpus::read(Path::new(dir), &engine::GROUPS));
            return ExitCode::from(u8::from(!sound));
        }
        _ => panic!("not understood: {words:?}"),
    };
    let met = [speed::measure(&corpus), slow::measure()];
    ExitCode::from(u8::from(met.contains(&false)))
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}
