//! What confinement costs a command: `true` run by the program without walls, on the floor and behind full walls, in turns.
//!
//! Prints a table; it judges nothing. `cargo bench -p deepseek --bench walls`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reports by printing, starts what it measures, and fails by panicking"
)]

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;

/// Modes of the sandbox, each with what its walls may cost in milliseconds.
const MODES: [(&str, &str); 3] = [("off", ""), ("floor", "<= 4 ms"), ("auto", "<= 12 ms")];

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = dir.path().join("ws");
    fs::create_dir_all(workspace.join("src")).unwrap();
    for n in 0..40 {
        fs::write(workspace.join(format!("src/module{n}.rs")), "pub fn f() {}\n").unwrap();
    }
    let home = dir.path().join("home");
    let run = |mode: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deepseek"));
        command
            .args(["--set", &format!("sandbox.mode={mode}"), "--set", "sandbox.floor=accept"])
            .args(["sandbox", "--", "true"])
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("DEEPSEEK_HOME", home.join("state"))
            .current_dir(&workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let start = Instant::now();
        assert!(command.status().unwrap().success(), "{command:?}");
        start.elapsed()
    };
    let mut took = MODES.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((mode, _), took) in MODES.iter().zip(&mut took) {
            took.push(run(mode));
        }
    }
    let medians = took.map(median);
    let bare = medians.first().copied().unwrap_or_default();
    println!("{:<6} {:>9} {:>9} {:>9}", "walls", "median", "beyond", "target");
    for ((mode, target), took) in MODES.into_iter().zip(medians) {
        let beyond = took.saturating_sub(bare);
        println!("{mode:<6} {:>6.2} ms {:>6.2} ms {target:>9}", millis(took), millis(beyond));
    }
}

fn median(mut of: Vec<Duration>) -> Duration {
    of.sort();
    of.get(of.len() / 2).copied().unwrap_or_default()
}

fn millis(of: Duration) -> f64 {
    of.as_secs_f64() * 1e3
}
