//! `kill -9` while a patch is written: after the next start the tree is entirely in its old or entirely in its new state.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tree::FileHash;

use crate::command_line::visits::two_files_staged;
use crate::support::{Program, Project, Run, Terminal, short_or_long};

/// The number of rounds; `DEEPSEEK_LONG_TESTS` runs all of them.
struct Rounds {
    random: u32,
    /// Kill at every `stride`th write step.
    stride: u64,
}

fn rounds() -> Rounds {
    short_or_long(Rounds { random: 25, stride: 23 }, Rounds { random: 200, stride: 1 })
}

/// A tree of 50 files and a patch that touches them all: 30 modified, 10 deleted, 10 renamed, 10 created.
struct Fifty {
    project: Project,
    state: TempDir,
}

impl Fifty {
    fn new() -> Self {
        let project = Project::without_git(&[]);
        let mut patch = String::new();
        for n in 0..50 {
            let old = format!("d{}/f{n}.txt", n % 7);
            project.write(&old, format!("first {n}\nsecond\n"));
            match n {
                0..30 => write!(patch, "--- a/{old}\n+++ b/{old}\n@@ -1,2 +1,2 @@\n-first {n}\n+FIRST {n}\n second\n"),
                30..40 => write!(patch, "--- a/{old}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-first {n}\n-second\n"),
                _ => write!(patch, "diff --git a/{old} b/moved/f{n}.txt\nsimilarity index 100%\nrename from {old}\nrename to moved/f{n}.txt\ndiff --git a/new/deep/f{n}.txt b/new/deep/f{n}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new/deep/f{n}.txt\n@@ -0,0 +1 @@\n+new {n}\n"),
            }
            .unwrap();
        }
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("patch"), patch).unwrap();
        Self { project, state }
    }

    fn program(&self, action: &str) -> Program {
        let mut program = Program::new(env!("CARGO_BIN_EXE_deepseek"), self.project.root());
        program
            .args(["patch", action, "--no-limits", "--patch"])
            .args([self.state.path().join("patch")]);
        program.env("DEEPSEEK_HOME", self.state.path().join("home"));
        program
    }

    fn apply(&self) -> Run {
        self.program("apply").run()
    }

    /// Starts the program once more. Any patch will do, even one that is refused.
    fn start_again(&self) -> Run {
        let mut program = Program::new(env!("CARGO_BIN_EXE_deepseek"), self.project.root());
        program
            .args(["patch", "check"])
            .input("no diff")
            .env("DEEPSEEK_HOME", self.state.path().join("home"));
        program.run()
    }

    fn hashes(&self) -> BTreeMap<PathBuf, FileHash> {
        hashes(self.project.root())
    }

    /// Returns the number of commits that are recorded as in progress.
    fn open_commits(&self) -> usize {
        std::fs::read_dir(self.state.path().join("home/commits")).map_or(0, Iterator::count)
    }
}

/// Hashes the files of a tree by relative path; directories are included.
fn hashes(root: &Path) -> BTreeMap<PathBuf, FileHash> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if path.is_dir() {
                found.insert(name, FileHash::of(b"directory"));
                dirs.push(path);
            } else {
                found.insert(name, FileHash::of(&std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Returns the tree before and after an uninterrupted patch, and how long it took.
fn uninterrupted() -> (BTreeMap<PathBuf, FileHash>, BTreeMap<PathBuf, FileHash>, Duration) {
    let fifty = Fifty::new();
    let before = fifty.hashes();
    let run = fifty.apply();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(fifty.open_commits(), 0);
    (before, fifty.hashes(), run.elapsed)
}

#[test]
fn a_patch_killed_at_a_write_step_is_completed_or_undone_by_the_next_start() {
    let (before, after, _) = uninterrupted();
    let (mut taken_back, mut completed) = (0, 0);
    for step in (0..).step_by(usize::try_from(rounds().stride).unwrap()) {
        let fifty = Fifty::new();
        let run = fifty.program("apply").env("DEEPSEEK_KILL_AT", step.to_string()).run();
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, None, "step {step}: {}", run.stderr);
        let restart = fifty.start_again();
        let now = fifty.hashes();
        assert!(now == before || now == after, "step {step}: {}\n{now:?}", restart.stderr);
        assert_eq!(fifty.open_commits(), 0, "step {step}");
        *if now == after { &mut completed } else { &mut taken_back } += 1;
    }
    assert!(taken_back > 3 && completed > 3, "{taken_back} taken back, {completed} completed");
}

#[test]
fn a_patch_killed_at_a_random_time_is_completed_or_undone_by_the_next_start() {
    let (before, after, took) = uninterrupted();
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..rounds().random {
        let fifty = Fifty::new();
        let running = fifty.program("apply").start();
        #[expect(
            clippy::disallowed_methods,
            reason = "the kill comes at a random time; the result must not depend on it"
        )]
        std::thread::sleep(took.mul_f64(random.f64() * 1.1));
        running.kill();
        let restart = fifty.start_again();
        let now = fifty.hashes();
        assert!(now == before || now == after, "round {round}: {}\n{now:?}", restart.stderr);
        assert_eq!(fifty.open_commits(), 0, "round {round}");
    }
}

#[test]
fn a_partially_applied_change_survives_a_kill_at_any_step() {
    let mut killed = 0;
    for step in (0..).step_by(short_or_long(7, 1)) {
        let world = two_files_staged();
        let made = |file: &str| world.project.path(file).exists();
        let mut apply = world.deepseek(["apply"]);
        let mut terminal = Terminal::start(apply.env("DEEPSEEK_KILL_AT", step.to_string()));
        terminal.until_or_end("files 1 2");
        terminal.types("files 2\r");
        let code = terminal.ends();
        assert!(!made("a.txt"), "step {step}");
        // Apply whatever is staged, the newest first.
        let said = loop {
            let run = world.deepseek(["apply", "--yes"]).run();
            if run.code != Some(0) {
                break run.stderr;
            }
        };
        assert!(made("a.txt") && made("b.txt"), "step {step}: {said}");
        if code == Some(0) {
            break;
        }
        killed += 1;
    }
    assert!(killed > 3, "{killed}");
}
