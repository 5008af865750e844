//! A process killed while it writes an index leaves one that works or is rebuilt, never one with wrong results.

#![expect(clippy::disallowed_methods, reason = "the test starts a copy of itself, to kill it")]
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use deepseek_index::{Condition, Index, IndexOptions, RankedFile};
use tempfile::TempDir;
use tree::ReadTree;

/// Tells the child the directory with the tree and the state.
const CHILD: &str = "DEEPSEEK_INDEX_KILLED_CHILD";
const FILES: usize = 120;
const ROUNDS: u64 = 12;
const REQUESTS: [&str; 3] = ["the pager of part 7", "turn page 42", "nothing known here"];

fn index(home: &Path, state: &Path) -> Index {
    let options = IndexOptions {
        dir: state.join("index"),
        max_files: 1000,
        max_file_bytes: 100_000,
        wait: Duration::ZERO,
        may_read: Arc::new(|_| true),
    };
    Index::new(ReadTree::open(&home.join("tree")).unwrap(), options)
}

fn write(home: &Path, file: usize, round: u64) {
    let text = format!("fn page_{file}() {{ pager(\"part {}\"); }}\n", round + file as u64);
    fs::write(home.join(format!("tree/f{file}.rs")), text.repeat(1 + file % 40)).unwrap();
}

fn found(index: &Index) -> Vec<Vec<RankedFile>> {
    let (files, _) = index.files();
    REQUESTS.iter().map(|request| index.rank(request, &files).files).collect()
}

/// The child process: builds the index, updates it and rebuilds it, until it is killed.
#[test]
fn child() {
    let Some(home) = std::env::var_os(CHILD) else { return };
    let home = Path::new(&home);
    for round in 0.. {
        let index = index(home, &home.join("state"));
        if round % 4 == 3 {
            index.remove().unwrap();
        }
        for file in (0..FILES).filter(|file| *file as u64 % 3 == round % 3) {
            write(home, file, round);
        }
        index.update(|_, _| ()).unwrap();
    }
}

fn start(home: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child", "--nocapture"]).env(CHILD, home);
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn an_index_whose_writer_was_killed_gives_correct_results() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    fs::create_dir(home.join("tree")).unwrap();
    (0..FILES).for_each(|file| write(home, file, 0));
    let (_waiting, clock) = channel::<()>();
    let mut conditions = Vec::new();
    for round in 0..ROUNDS {
        let mut child = start(home);
        // Each round kills the child at a different moment.
        let patience = Duration::from_micros(3000 + round * round * 4817 % 400_000);
        assert_eq!(clock.recv_timeout(patience), Err(RecvTimeoutError::Timeout));
        assert!(child.try_wait().unwrap().is_none(), "the child works until it is killed");
        child.kill().unwrap();
        child.wait().unwrap();

        let nowhere = TempDir::new().unwrap();
        let expected = found(&index(home, nowhere.path()));
        let killed = index(home, &home.join("state"));
        conditions.push(killed.status().condition);
        assert_eq!(found(&killed), expected, "{round}: {conditions:?}");
        // The second update covers files that were modified just before the first.
        for _ in 0..2 {
            killed.update(|_, _| ()).unwrap();
        }
        assert_eq!(killed.status().condition, Condition::Fresh, "{round}");
        assert_eq!(found(&killed), expected, "{round}");
    }
    let stale = conditions.iter().filter(|it| matches!(it, Condition::Stale(_))).count();
    assert!(stale > 0, "some children must be killed while writing: {conditions:?}");
}
