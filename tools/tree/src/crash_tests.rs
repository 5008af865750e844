//! The commit, failing and dying at every step: the tree is as before or as after, and nothing else is left.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::tests::{all_kinds, change, links, listing, path, sample, script, state};
use super::*;
use crate::{Op, Settlement};
use tools::fault::armed::{Fault, at};

type Listing = BTreeMap<String, String>;

/// A tree, what is done to it, and a place for its log.
struct Case {
    home: tempfile::TempDir,
    log: tempfile::TempDir,
    changes: Vec<Change>,
}

impl Case {
    fn every_kind() -> Case {
        Case { home: sample(), log: tempfile::tempdir().unwrap(), changes: all_kinds() }
    }

    /// A file makes room for a directory of its name.
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

    /// One change, of which nothing beside it has to be durable.
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

    fn tree(&self) -> WriteTree {
        WriteTree::open(self.home.path(), log_at(self.log.path())).unwrap()
    }

    fn root(&self) -> &Path {
        self.home.path()
    }

    /// Commits with a fault: what came of it, unless it died, and whether the fault was met.
    fn commit(&self, step: u64, fault: Fault) -> (Option<Result<Committed, CommitError>>, bool) {
        let tree = self.tree();
        let work = || catch_unwind(AssertUnwindSafe(|| tree.commit(&self.changes, "test"))).ok();
        at(step, fault, work)
    }

    /// Settles with a fault, as a start would. Whether the fault was met.
    fn recover(&self, step: u64, fault: Fault) -> bool {
        let tree = self.tree();
        let work = || drop(catch_unwind(AssertUnwindSafe(|| tree.recover())));
        at(step, fault, work).1
    }

    /// The log is empty when nothing is open.
    fn open_intents(&self) -> usize {
        fs::read_dir(self.log.path()).unwrap().count()
    }
}

/// The files that may be executed.
fn executable(root: &Path) -> Vec<String> {
    let is = |name: &String| {
        use std::os::unix::fs::PermissionsExt as _;
        let data = fs::symlink_metadata(root.join(name)).unwrap();
        data.is_file() && data.permissions().mode() & 0o100 != 0
    };
    listing(root).into_keys().filter(is).collect()
}

/// A process that another test starts may hold a lock for a moment, until it is another program.
const PATIENCE: Duration = Duration::from_secs(10);

fn log_at(dir: &Path) -> CommitLog {
    CommitLog::at(dir.to_owned(), PATIENCE).unwrap()
}

const CASES: [fn() -> Case; 7] = [
    Case::every_kind,
    Case::file_to_directory,
    Case::deletions,
    Case::links,
    Case::one_modified,
    Case::one_created,
    Case::one_deleted,
];

/// The tree of a case before, and after an undisturbed commit.
fn before_and_after(case: fn() -> Case) -> (Listing, Listing) {
    let case = case();
    let before = listing(case.root());
    case.tree().commit(&case.changes, "test").unwrap();
    assert_eq!(case.open_intents(), 0);
    (before, listing(case.root()))
}

#[test]
fn dying_at_any_step_is_settled_by_the_next_start() {
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
fn one_swap_is_made_or_not_though_a_power_cut_took_its_intent() {
    for case in [Case::one_modified, Case::one_created, Case::one_deleted] {
        // Neither temporary files nor emptied directories are files that were there.
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
fn what_may_be_executed_is_settled_too() {
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
fn an_intent_of_a_version_without_links_is_settled() {
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
fn dying_while_settling_is_settled_by_the_start_after() {
    for case in CASES {
        let (before, after) = before_and_after(case);
        for step in 0.. {
            let mut fault_met = false;
            // Every fifth of them, and another five each time.
            for second in (step % 5..).step_by(5) {
                let case = case();
                fault_met = case.commit(step, Fault::Dies).1;
                let again = fault_met && case.recover(second, Fault::Dies);
                case.tree().recover().unwrap();
                let now = listing(case.root());
                assert!(now == before || now == after, "steps {step}, {second}: {now:?}");
                if !again {
                    break;
                }
            }
            if !fault_met {
                break;
            }
        }
    }
}

#[test]
fn an_error_at_any_step_puts_everything_back() {
    for case in CASES {
        let (before, after) = before_and_after(case);
        for step in 0.. {
            let case = case();
            let (done, met) = case.commit(step, Fault::Fails);
            let now = listing(case.root());
            match done.unwrap() {
                Ok(_) => assert_eq!(now, after, "step {step}"),
                Err(CommitError::Stale { .. }) => panic!("step {step} is no change by somebody"),
                Err(_) => assert_eq!(now, before, "step {step}"),
            }
            assert_eq!(case.open_intents(), 0, "step {step}");
            if !met {
                break;
            }
        }
    }
}

#[test]
fn what_is_made_again_after_a_deletion_stays() {
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
fn whoever_else_commits_is_waited_for_and_then_named() {
    let case = Case::every_kind();
    let lock = fs::File::open(case.root()).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let hurried = WriteTree::open(case.root(), CommitLog::none(Duration::ZERO)).unwrap();
    assert!(matches!(hurried.recover(), Err(CommitError::Busy)));
    assert!(matches!(hurried.commit(&case.changes, "test"), Err(CommitError::Busy)));
    drop(lock);
    case.tree().commit(&case.changes, "test").unwrap();
}

#[test]
fn what_somebody_changed_meanwhile_is_left_and_reported() {
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
            // None is left of a commit that was done before.
            assert!(settled.left.iter().all(|left| *left == path("m")), "step {step}");
            left += settled.left.len();
        }
    }
    assert!(left > 5);
}

#[test]
fn a_file_with_the_bytes_of_a_symlink_is_somebody_elses() {
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
fn without_its_temporary_files_nothing_is_touched() {
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
fn commits_of_other_trees_and_torn_intents_are_left_alone() {
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
fn a_log_that_can_not_be_written_stops_the_commit() {
    let case = Case::every_kind();
    let before = listing(case.root());
    let log = log_at(&case.log.path().join("below"));
    fs::remove_dir(case.log.path().join("below")).unwrap();
    let refused = WriteTree::open(case.root(), log).unwrap().commit(&case.changes, "test");
    assert!(matches!(refused, Err(CommitError::Log { source })
        if source.kind() == io::ErrorKind::NotFound));
    assert_eq!(listing(case.root()), before);
}
