//! Commits that fail or die at every step: the tree is in its state before or after, and nothing else is left.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::tests::{all_kinds, change, links, listing, path, rooted, sample, script, state};
use super::*;
use crate::{Op, Settlement};
use tools::fault::armed::{Fault, at};

type Listing = BTreeMap<String, String>;

/// A tree, the changes made to it, and a directory for its log.
struct Case {
    home: tempfile::TempDir,
    log: tempfile::TempDir,
    changes: Vec<Change>,
}

impl Case {
    fn every_kind() -> Case {
        Case { home: sample(), log: tempfile::tempdir().unwrap(), changes: all_kinds() }
    }

    /// A file is replaced by a directory of the same name.
    fn file_to_directory() -> Case {
        let changes = vec![
            change("m/m", Op::Rename { from: path("m") }, Some("old"), Some("old")),
            change("m/x/y", Op::Create, None, Some("y")),
            change("r", Op::Modify, Some("moved"), Some("R")),
        ];
        Case { changes, ..Case::every_kind() }
    }

    fn deletions() -> Case {
        let changes = vec![
            change("a/b/gone", Op::Delete, Some("gone"), None),
            change("r", Op::Delete, Some("moved"), None),
        ];
        Case { changes, ..Case::every_kind() }
    }

    /// A single change, so that nothing else has to be durable.
    fn alone(change: Change) -> Case {
        Case { changes: vec![change], ..Case::every_kind() }
    }

    fn one_modified() -> Case {
        Case::alone(change("r", Op::Modify, Some("moved"), Some("R")))
    }

    fn one_created() -> Case {
        Case::alone(change("z", Op::Create, None, Some("new")))
    }

    fn one_deleted() -> Case {
        Case::alone(change("a/b/gone", Op::Delete, Some("gone"), None))
    }

    fn links() -> Case {
        let (home, changes) = links();
        Case { home, log: tempfile::tempdir().unwrap(), changes }
    }

    /// One of the files has another name.
    fn linked() -> Case {
        Case { home: rooted(), ..Case::every_kind() }
    }

    fn one_linked() -> Case {
        let changes = vec![change("m", Op::Modify, Some("old"), Some("newer"))];
        Case { changes, ..Case::linked() }
    }

    fn tree(&self) -> WriteTree {
        WriteTree::open(self.home.path(), log_at(self.log.path())).unwrap()
    }

    fn root(&self) -> &Path {
        self.home.path()
    }

    /// Commits with a fault. Returns the result, unless the commit died, and whether the fault was reached.
    fn commit(&self, step: u64, fault: Fault) -> (Option<Result<CommitResult, CommitError>>, bool) {
        let tree = self.tree();
        let work = || catch_unwind(AssertUnwindSafe(|| tree.commit(&self.changes, "test"))).ok();
        at(step, fault, work)
    }

    /// Settles with a fault, as a start would. Returns whether the fault was reached.
    fn recover(&self, step: u64, fault: Fault) -> bool {
        let tree = self.tree();
        let work = || drop(catch_unwind(AssertUnwindSafe(|| tree.recover())));
        at(step, fault, work).1
    }

    /// Counts the open intents: the log is empty when there are none.
    fn open_intents(&self) -> usize {
        fs::read_dir(self.log.path()).unwrap().count()
    }
}

/// Returns the executable files.
fn executable(root: &Path) -> Vec<String> {
    let is = |name: &String| {
        use std::os::unix::fs::PermissionsExt as _;
        let data = fs::symlink_metadata(root.join(name)).unwrap();
        data.is_file() && data.permissions().mode() & 0o100 != 0
    };
    listing(root).into_keys().filter(is).collect()
}

/// A process started by another test may hold a lock for a moment, until it has executed its program.
const PATIENCE: Duration = Duration::from_secs(10);

fn log_at(dir: &Path) -> CommitLog {
    CommitLog::at(dir.to_owned(), PATIENCE).unwrap()
}

const CASES: [fn() -> Case; 9] = [
    Case::every_kind,
    Case::file_to_directory,
    Case::deletions,
    Case::links,
    Case::one_modified,
    Case::one_created,
    Case::one_deleted,
    Case::linked,
    Case::one_linked,
];

/// Returns the tree of a case before and after a commit without faults.
fn before_and_after(case: fn() -> Case) -> (Listing, Listing) {
    let case = case();
    let before = listing(case.root());
    case.tree().commit(&case.changes, "test").unwrap();
    assert_eq!(case.open_intents(), 0);
    (before, listing(case.root()))
}

#[test]
fn a_commit_that_dies_at_any_step_is_settled_by_the_next_start() {
    for case in CASES {
        let (before, after) = before_and_after(case);
        let mut ends = [0, 0];
        for step in 0.. {
            let case = case();
            if !case.commit(step, Fault::Dies).1 {
                break;
            }
            let settled = case.tree().recover().unwrap();
            let now = listing(case.root());
            assert!(now == before || now == after, "step {step}: {settled:?} left {now:?}");
            assert_eq!(case.open_intents(), 0, "step {step}");
            assert!(settled.iter().all(|settled| settled.left.is_empty()), "step {step}");
            assert_eq!(case.tree().recover().unwrap(), [], "step {step}: settled twice");
            ends[usize::from(now == after)] += 1;
        }
        let (steps, made) = if case().changes.len() == 1 { (2, 1) } else { (11, 4) };
        assert!(ends[0] + ends[1] >= steps && ends[1] >= made, "{ends:?}");
    }
}

#[test]
fn a_single_swap_is_made_or_not_even_if_a_power_cut_lost_its_intent() {
    for case in [Case::one_modified, Case::one_created, Case::one_deleted] {
        // Ignores temporary files and emptied directories.
        let files = |mut listing: Listing| {
            listing.retain(|name, _| !name.contains(".deepseek-commit") && !name.ends_with('/'));
            listing
        };
        let (before, after) = before_and_after(case);
        let (before, after) = (files(before), files(after));
        let mut ends = [0, 0];
        for (step, torn) in (0..).flat_map(|step| [(step, false), (step, true)]) {
            let case = case();
            if !case.commit(step, Fault::Dies).1 {
                break;
            }
            for intent in fs::read_dir(case.log.path()).unwrap() {
                let intent = intent.unwrap().path();
                if torn { fs::write(intent, "") } else { fs::remove_file(intent) }.unwrap();
            }
            assert_eq!(case.tree().recover().unwrap(), [], "step {step}");
            let now = files(listing(case.root()));
            assert!(now == before || now == after, "step {step}: {now:?}");
            assert_eq!(case.open_intents(), 0, "step {step}");
            ends[usize::from(now == after)] += 1;
        }
        assert!(ends[0] > 1 && ends[1] > 1, "{ends:?}");
    }
}

#[test]
fn executable_bits_are_settled() {
    let case = || {
        let of = |name: &str, before, after| Change::of(path(name), before, after).unwrap();
        let changes = vec![
            of("r", Some(state("moved")), Some(script("moved"))),
            of("z", None, Some(script("new"))),
        ];
        Case { changes, ..Case::every_kind() }
    };
    for step in 0.. {
        let case = case();
        if !case.commit(step, Fault::Dies).1 {
            break;
        }
        case.tree().recover().unwrap();
        let wanted: &[&str] =
            if case.root().join("z").exists() { &["m", "r", "z"] } else { &["m"] };
        assert_eq!(executable(case.root()), wanted, "step {step}");
    }
}

#[test]
fn an_intent_of_a_version_without_symlinks_is_settled() {
    for step in 0.. {
        let case = Case::every_kind();
        if !case.commit(step, Fault::Dies).1 {
            break;
        }
        for intent in fs::read_dir(case.log.path()).unwrap() {
            let intent = intent.unwrap().path();
            let mut json: serde_json::Value =
                serde_json::from_slice(&fs::read(&intent).unwrap()).unwrap_or_default();
            for target in json["targets"].as_array_mut().into_iter().flatten() {
                let target = target.as_object_mut().unwrap();
                assert!(target.remove("before_mode").is_some());
                assert!(target.remove("after_mode").is_some());
            }
            fs::write(intent, json.to_string()).unwrap();
        }
        case.tree().recover().unwrap();
        let (before, after) = before_and_after(Case::every_kind);
        let now = listing(case.root());
        assert!(now == before || now == after, "step {step}: {now:?}");
    }
}

#[test]
fn dying_while_settling_is_settled_by_the_following_start() {
    for case in CASES {
        let (before, after) = before_and_after(case);
        for step in 0.. {
            let mut fault_reached = false;
            // Every fifth step, with another offset each time.
            for second in (step % 5..).step_by(5) {
                let case = case();
                fault_reached = case.commit(step, Fault::Dies).1;
                let died_again = fault_reached && case.recover(second, Fault::Dies);
                case.tree().recover().unwrap();
                let now = listing(case.root());
                assert!(now == before || now == after, "steps {step}, {second}: {now:?}");
                if !died_again {
                    break;
                }
            }
            if !fault_reached {
                break;
            }
        }
    }
}

#[test]
fn an_error_at_any_step_restores_everything() {
    for case in CASES {
        let (before, after) = before_and_after(case);
        for step in 0.. {
            let case = case();
            let (done, reached) = case.commit(step, Fault::Fails);
            let now = listing(case.root());
            match done.unwrap() {
                Ok(_) => assert_eq!(now, after, "step {step}"),
                Err(CommitError::Stale { .. }) => {
                    panic!("step {step} reports a change by another program")
                }
                Err(_) => assert_eq!(now, before, "step {step}"),
            }
            assert_eq!(case.open_intents(), 0, "step {step}");
            if !reached {
                break;
            }
        }
    }
}

#[test]
fn a_file_created_again_after_a_deletion_stays() {
    for step in 0.. {
        let case = Case::deletions();
        if !case.commit(step, Fault::Dies).1 {
            break;
        }
        let was_gone = !case.root().join("r").exists();
        fs::write(case.root().join("r"), "moved").unwrap();
        let all_gone =
            was_gone && !listing(case.root()).keys().any(|name| name.contains(".deepseek-commit"));
        case.tree().recover().unwrap();
        if all_gone {
            assert!(case.root().join("r").exists(), "step {step}");
        }
    }
}

#[test]
fn a_commit_waits_for_another_process_and_then_fails() {
    let case = Case::every_kind();
    let lock = fs::File::open(case.root()).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let impatient = WriteTree::open(case.root(), CommitLog::none(Duration::ZERO)).unwrap();
    assert!(matches!(impatient.recover(), Err(CommitError::Busy)));
    assert!(matches!(impatient.commit(&case.changes, "test"), Err(CommitError::Busy)));
    drop(lock);
    case.tree().commit(&case.changes, "test").unwrap();
}

#[test]
fn a_file_changed_by_the_user_is_left_and_reported() {
    let mut left = 0;
    for step in 0.. {
        let case = Case::every_kind();
        if !case.commit(step, Fault::Dies).1 {
            break;
        }
        fs::write(case.root().join("m"), "the user's").unwrap();
        let settled = case.tree().recover().unwrap();
        assert_eq!(fs::read_to_string(case.root().join("m")).unwrap(), "the user's");
        let others = ["r", "r2", "n/e/w"].map(|name| case.root().join(name).exists());
        assert!(others == [true, false, false] || others == [false, true, true], "{others:?}");
        let temporary = listing(case.root());
        assert!(temporary.keys().all(|name| !name.contains(".deepseek-commit")), "step {step}");
        for settled in settled {
            // A commit that was already done leaves none.
            assert!(settled.left.iter().all(|left| *left == path("m")), "step {step}");
            left += settled.left.len();
        }
    }
    assert!(left > 5);
}

#[test]
fn a_file_with_the_bytes_of_a_symlink_is_not_ours() {
    let mut left = 0;
    for step in 0.. {
        let case = Case::links();
        if !case.commit(step, Fault::Dies).1 {
            break;
        }
        let theirs = case.root().join("to-other");
        let target = fs::read_link(&theirs).unwrap();
        fs::remove_file(&theirs).unwrap();
        fs::write(&theirs, target.to_str().unwrap()).unwrap();
        for settled in case.tree().recover().unwrap() {
            left += settled.left.len();
        }
        assert!(fs::symlink_metadata(theirs).unwrap().is_file(), "step {step}");
    }
    assert!(left > 5);
}

#[test]
fn a_commit_without_its_temporary_files_is_stuck_and_touches_nothing() {
    let (before, _) = before_and_after(Case::every_kind);
    let mut stuck = 0;
    for step in 0.. {
        let case = Case::every_kind();
        if !case.commit(step, Fault::Dies).1 {
            break;
        }
        for name in listing(case.root()).keys().filter(|name| name.contains(".deepseek-commit")) {
            fs::remove_file(case.root().join(name)).unwrap();
        }
        let found = listing(case.root());
        for settled in case.tree().recover().unwrap() {
            if settled.outcome == Settlement::Stuck {
                stuck += 1;
                assert_eq!(listing(case.root()), found);
            }
        }
        assert!(found != before || listing(case.root()) == before);
    }
    assert!(stuck > 0);
}

#[test]
fn commits_of_other_trees_are_left_alone_and_torn_intents_dropped() {
    let (one, other) = (Case::every_kind(), Case::every_kind());
    let log = || log_at(one.log.path());
    assert!(one.commit(12, Fault::Dies).1);
    let tree = WriteTree::open(other.root(), log()).unwrap();
    assert_eq!(tree.recover().unwrap(), []);
    assert_eq!(one.open_intents(), 1);

    let intent = fs::read_dir(one.log.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&intent).unwrap();
    fs::write(&intent, bytes.split_at(bytes.len() / 2).0).unwrap();
    assert_eq!(one.tree().recover().unwrap(), []);
    assert_eq!(one.open_intents(), 0);
}

#[test]
fn a_commit_fails_if_its_log_cannot_be_written() {
    let case = Case::every_kind();
    let before = listing(case.root());
    let log = log_at(&case.log.path().join("below"));
    fs::remove_dir(case.log.path().join("below")).unwrap();
    let refused = WriteTree::open(case.root(), log).unwrap().commit(&case.changes, "test");
    assert!(matches!(refused, Err(CommitError::Log { source })
        if source.kind() == io::ErrorKind::NotFound));
    assert_eq!(listing(case.root()), before);
}
