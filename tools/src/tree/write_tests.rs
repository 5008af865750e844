//! The commit, tried on real directories.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use rustix::fs::AtFlags;

use super::super::Op;
use super::*;

pub(super) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn open(root: &Path) -> WriteTree {
    WriteTree::open(root, CommitLog::none(Duration::from_secs(10))).unwrap()
}

fn state(text: &str) -> FileState {
    FileState { bytes: text.to_owned().into(), executable: false }
}

pub(super) fn change(at: &str, op: Op, before: Option<&str>, after: Option<&str>) -> Change {
    Change { path: path(at), op, before: before.map(state), after: after.map(state) }
}

/// Every file below `root` with its content, and every directory.
pub(super) fn listing(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap().path();
            let name = entry.strip_prefix(root).unwrap().display().to_string();
            if entry.is_dir() && !entry.is_symlink() {
                found.insert(name + "/", String::new());
                open.push(entry);
            } else {
                found.insert(name, fs::read_to_string(entry).unwrap_or_default());
            }
        }
    }
    found
}

pub(super) fn sample() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("a/b")).unwrap();
    fs::write(home.path().join("a/b/gone"), "gone").unwrap();
    fs::write(home.path().join("m"), "old").unwrap();
    fs::set_permissions(home.path().join("m"), PermissionsExt::from_mode(0o750)).unwrap();
    fs::write(home.path().join("r"), "moved").unwrap();
    home
}

pub(super) fn all_kinds() -> Vec<Change> {
    vec![
        change("a/b/gone", Op::Delete, Some("gone"), None),
        change("m", Op::Modify, Some("old"), Some("new")),
        change("n/e/w", Op::Create, None, Some("fresh")),
        change("r2", Op::Rename { from: path("r") }, Some("moved"), Some("moved on")),
    ]
}

#[test]
fn makes_every_change_and_leaves_nothing_else() {
    let home = sample();
    let done = open(home.path()).commit(&all_kinds(), "test").unwrap();
    let expected = [("m", "new"), ("n/", ""), ("n/e/", ""), ("n/e/w", "fresh"), ("r2", "moved on")];
    assert_eq!(listing(home.path()), expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    assert_eq!(fs::metadata(home.path().join("m")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(done.paths[&path("m")], Some(FileHash::of(b"new")));
    assert_eq!(done.paths[&path("r")], None);
}

#[test]
fn any_error_puts_everything_back() {
    for broken in ["a/b/gone", "m", "n/e/w", "r", "r2"] {
        let home = sample();
        let mut changes = all_kinds();
        changes.push(change("z/z/last", Op::Create, None, Some("x")));
        let before = listing(home.path());
        let tree = open(home.path());
        let targets = targets(&changes).unwrap();
        let mut attempt = Attempt::new(&tree.root, "id");
        attempt.stage(&targets).unwrap();
        // A second name that vanished makes the swap of this step fail after those before it.
        let step = attempt.steps.iter_mut().find(|step| step.path == path(broken)).unwrap();
        let gone = broken == "a/b/gone" || broken == "r";
        let victim = if gone { step.path.name() } else { step.names.new.as_str() };
        rustix::fs::unlinkat(&step.dir, victim, AtFlags::empty()).unwrap();
        assert!(attempt.swap().is_err(), "{broken}");
        attempt.undo().unwrap();
        let mut after = listing(home.path());
        if gone {
            after.insert(broken.to_owned(), before[broken].clone());
        }
        assert_eq!(after, before, "{broken}");
    }
}

#[test]
fn refuses_a_tree_that_moved_on() {
    for (at, content) in [("m", "other"), ("n/e/w", "appeared"), ("r2", "appeared")] {
        let home = sample();
        fs::create_dir_all(home.path().join(at).parent().unwrap()).unwrap();
        fs::write(home.path().join(at), content).unwrap();
        let before = listing(home.path());
        let refused = open(home.path()).commit(&all_kinds(), "test");
        assert!(matches!(refused, Err(CommitError::Stale { path }) if path.as_str() == at));
        assert_eq!(listing(home.path()), before);
    }
}

#[test]
fn a_target_that_appears_late_is_not_overwritten() {
    let home = sample();
    let tree = open(home.path());
    let changes = all_kinds();
    let targets = targets(&changes).unwrap();
    let mut attempt = Attempt::new(&tree.root, "id");
    attempt.stage(&targets).unwrap();
    fs::write(home.path().join("r2"), "the user's").unwrap();
    assert!(attempt.swap().is_err());
    attempt.undo().unwrap();
    assert_eq!(fs::read_to_string(home.path().join("r2")).unwrap(), "the user's");
    assert_eq!(fs::read_to_string(home.path().join("m")).unwrap(), "old");
}

#[test]
fn writes_through_no_symlink() {
    let home = sample();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "x").unwrap();
    symlink(outside.path(), home.path().join("out")).unwrap();
    symlink(outside.path().join("f"), home.path().join("f")).unwrap();
    let tree = open(home.path());
    let create = [change("out/new", Op::Create, None, Some("evil"))];
    assert!(matches!(
        tree.commit(&create, "test"),
        Err(CommitError::Tree(TreeError::ThroughSymlink { .. }))
    ));
    let modify = [change("f", Op::Modify, Some("x"), Some("evil"))];
    assert!(matches!(tree.commit(&modify, "test"), Err(CommitError::Stale { .. })));
    assert_eq!(listing(outside.path()).len(), 1);
    assert_eq!(fs::read_to_string(outside.path().join("f")).unwrap(), "x");
}

#[test]
fn a_directory_swapped_for_a_symlink_does_not_lead_outside() {
    let home = sample();
    let outside = tempfile::tempdir().unwrap();
    let tree = open(home.path());
    let changes = [change("a/b/new", Op::Create, None, Some("x"))];
    let targets = targets(&changes).unwrap();
    let mut attempt = Attempt::new(&tree.root, "id");
    attempt.stage(&targets).unwrap();
    fs::rename(home.path().join("a/b"), home.path().join("a/c")).unwrap();
    symlink(outside.path(), home.path().join("a/b")).unwrap();
    attempt.swap().unwrap();
    assert!(listing(outside.path()).is_empty());
    assert_eq!(fs::read_to_string(home.path().join("a/c/new")).unwrap(), "x");
}

#[test]
fn breaks_hard_links_instead_of_writing_through_them() {
    let home = sample();
    let outside = tempfile::tempdir().unwrap();
    fs::hard_link(home.path().join("m"), outside.path().join("m")).unwrap();
    let modify = [change("m", Op::Modify, Some("old"), Some("new"))];
    open(home.path()).commit(&modify, "test").unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("m")).unwrap(), "old");
}

#[test]
fn one_path_is_changed_once() {
    let home = sample();
    let twice = [all_kinds().remove(1), all_kinds().remove(1)];
    assert!(matches!(open(home.path()).commit(&twice, "test"), Err(CommitError::Twice { .. })));
}

#[test]
fn a_file_can_become_a_directory_of_the_same_name() {
    for fails in [false, true] {
        let home = sample();
        let before = listing(home.path());
        let tree = open(home.path());
        let changes = [
            change("m/m", Op::Rename { from: path("m") }, Some("old"), Some("old")),
            change("m/x/y", Op::Create, None, Some("y")),
            change("r", Op::Modify, Some("moved"), Some("R")),
        ];
        if fails {
            let targets = targets(&changes).unwrap();
            let mut attempt = Attempt::new(&tree.root, "id");
            attempt.stage(&targets).unwrap();
            let new = attempt.steps.last().unwrap().names.new.clone();
            fs::remove_file(home.path().join(new)).unwrap();
            tree.check(&targets, &attempt.steps).unwrap();
            assert!(attempt.swap().is_err());
            attempt.undo().unwrap();
            assert_eq!(listing(home.path()), before);
        } else {
            tree.commit(&changes, "test").unwrap();
            assert_eq!(fs::read_to_string(home.path().join("m/x/y")).unwrap(), "y");
            assert_eq!(
                fs::metadata(home.path().join("m/m")).unwrap().permissions().mode() & 0o777,
                0o750
            );
        }
    }
}
