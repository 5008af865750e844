//! Measures the first snapshot of a large tree outside any repository, and the next one when nothing has changed.
//!
//! Exits with 1 if the first takes more than 5 seconds.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark reports by printing, and fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use deepseek_tree::{CheckpointNote, ReadTree, SnapshotLimits, Snapshots};
use tools::clock::Timestamp;

const DIRECTORIES: usize = 2_000;
const FILES: usize = 100;
const TARGET: f64 = 5.0;

const LIMITS: SnapshotLimits = SnapshotLimits {
    max_checkpoints: 100,
    max_bytes: 4 << 30,
    max_file_bytes: 1 << 24,
    max_files: 1_000_000,
    patience: Duration::from_secs(10),
};

fn main() -> ExitCode {
    // Cargo appends `--bench` to the arguments.
    let given = std::env::args().skip(1).find(|word| word != "--bench").map(PathBuf::from);
    // In the build directory, so that it is on a disk and not in memory.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = given.unwrap_or_else(|| {
        let home = place.path().join("home");
        fill(&home);
        home
    });
    let (home, state) = (home.canonicalize().unwrap(), place.path().canonicalize().unwrap());
    let snapshots = Snapshots::new(state.join("private.git"), home.clone(), state, LIMITS);
    let tree = ReadTree::open(&home).unwrap();
    let mut took = Vec::new();
    for title in ["first", "next"] {
        let note = CheckpointNote { title: title.into(), ..CheckpointNote::default() };
        let began = Instant::now();
        let (_, snapshot) = snapshots.record(&tree, &[], note, Timestamp::MAX, &|| false).unwrap();
        took.push(began.elapsed().as_secs_f64());
        println!(
            "{title:<6} {:>8.2} s   {} files",
            began.elapsed().as_secs_f64(),
            snapshot.entries.len()
        );
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    ExitCode::from(u8::from(took.first().is_none_or(|first| *first > TARGET)))
}

/// Writes files of a few lines each, no two alike.
fn fill(home: &Path) {
    for dir in 0..DIRECTORIES {
        let below = home.join(format!("src/{:02}/{dir:04}", dir / 50));
        fs::create_dir_all(&below).unwrap();
        for file in 0..FILES {
            let line = |n| format!("let value_{n} = of({dir}, {file}) + {};\n", n * 7919 % 1009);
            let text: String = (0..5 + file % 20).map(line).collect();
            fs::write(below.join(format!("file_{file}.rs")), text).unwrap();
        }
    }
}
