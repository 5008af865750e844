//! Commits to real directories.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown, symlink};
use std::time::Duration;

use rustix::fs::{AtFlags, XattrFlags, getxattr, setxattr};

use super::super::Op;
use super::super::file_ops::is_half_rewritten;
use super::*;

pub(super) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn open(root: &Path) -> WriteTree {
    WriteTree::open(root, CommitLog::none(Duration::from_secs(10))).unwrap()
}

pub(super) fn state(text: &str) -> FileState {
    FileState { bytes: text.to_owned().into(), mode: FileMode::Regular }
}

pub(super) fn change(at: &str, op: Op, before: Option<&str>, after: Option<&str>) -> Change {
    Change { path: path(at), op, before: before.map(state), after: after.map(state) }
}

pub(super) fn link(target: &str) -> FileState {
    FileState { mode: FileMode::Symlink, ..state(target) }
}

pub(super) fn script(text: &str) -> FileState {
    FileState { mode: FileMode::Executable, ..state(text) }
}

/// Returns every file below `root` with its content, and every directory.
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
            } else if let Ok(target) = fs::read_link(&entry) {
                found.insert(name, format!("-> {}", target.display()));
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
fn a_commit_makes_every_change_and_leaves_nothing_else() {
    let home = sample();
    let done = open(home.path()).commit(&all_kinds(), "test").unwrap();
    let expected = [("m", "new"), ("n/", ""), ("n/e/", ""), ("n/e/w", "fresh"), ("r2", "moved on")];
    assert_eq!(listing(home.path()), expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    assert_eq!(fs::metadata(home.path().join("m")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(done.paths[&path("m")], Some(FileHash::of(b"new")));
    assert_eq!(done.paths[&path("r")], None);
}

/// A tree with symlinks and files that lanes may turn into each other, and changes that do so.
pub(super) fn links() -> (tempfile::TempDir, Vec<Change>) {
    let home = sample();
    let at = |name: &str| home.path().join(name);
    symlink("m", at("gone")).unwrap();
    symlink("none/there", at("moved")).unwrap();
    symlink("m", at("to-file")).unwrap();
    symlink("m", at("to-other")).unwrap();
    symlink("a", at("to-dir")).unwrap();
    fs::write(at("same"), "a").unwrap();
    fs::write(at("plain"), "run").unwrap();
    fs::set_permissions(at("plain"), PermissionsExt::from_mode(0o640)).unwrap();
    let of = |name: &str, before, after| Change::of(path(name), before, after).unwrap();
    let rename = Op::Rename { from: path("moved") };
    let moved = link("none/there");
    let changes = vec![
        of("gone", Some(link("m")), None),
        Change { path: path("here"), op: rename, before: Some(moved.clone()), after: Some(moved) },
        of("m", Some(state("old")), Some(link("../outside"))),
        of("new/link", None, Some(link("../m"))),
        of("new/run", None, Some(script("run"))),
        of("plain", Some(state("run")), Some(script("run"))),
        // A symlink with the bytes of the file.
        of("same", Some(state("a")), Some(link("a"))),
        of("to-dir", Some(link("a")), None),
        of("to-dir/file", None, Some(state("below"))),
        of("to-file", Some(link("m")), Some(state("m"))),
        of("to-other", Some(link("m")), Some(link("r"))),
    ];
    (home, changes)
}

#[test]
fn symlinks_and_executable_bits_change_like_files() {
    let (home, changes) = links();
    let at = |name: &str| home.path().join(name);
    let before = listing(home.path());
    let done = open(home.path()).commit(&changes, "test").unwrap();
    let now = listing(home.path());
    let wanted = [
        ("here", "-> none/there"),
        ("m", "-> ../outside"),
        ("new/link", "-> ../m"),
        ("new/run", "run"),
        ("plain", "run"),
        ("same", "-> a"),
        ("to-dir/", ""),
        ("to-dir/file", "below"),
        ("to-file", "m"),
        ("to-other", "-> r"),
    ];
    for (name, content) in wanted {
        assert_eq!(now.get(name).map(String::as_str), Some(content), "{name}");
    }
    assert!(!now.contains_key("gone") && !now.contains_key("moved"));
    assert_eq!(now["a/b/gone"], "gone", "the target of a link stays");
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("plain"), mode("new/run") & 0o100), (0o750, 0o100));
    assert_eq!(mode("to-file") & 0o111, 0, "a file does not get the permissions of the symlink");
    assert_eq!(done.paths[&path("new/link")], Some(FileHash::of(b"../m")));

    // A directory does not become a file or symlink in one commit.
    let back: Vec<Change> = changes
        .iter()
        .flat_map(Change::sides)
        .filter(|(path, ..)| !path.as_str().starts_with("to-dir"))
        .filter_map(|(path, before, after)| {
            Change::of(path.clone(), after.cloned(), before.cloned())
        })
        .collect();
    open(home.path()).commit(&back, "back").unwrap();
    fs::remove_dir_all(at("to-dir")).unwrap();
    symlink("a", at("to-dir")).unwrap();
    assert_eq!(listing(home.path()), before);
    assert_eq!(mode("plain"), 0o640);
}

#[test]
fn a_symlink_is_not_the_file_of_its_name() {
    let (home, _) = links();
    let before = listing(home.path());
    let refused = |at: &str, before: FileState| {
        let change = Change::of(path(at), Some(before), Some(state("new"))).unwrap();
        let refused = open(home.path()).commit(&[change], "test");
        assert!(matches!(refused, Err(CommitError::Stale { .. })), "{at}: {refused:?}");
    };
    refused("to-file", state("m"));
    refused("to-file", link("r"));
    refused("to-file", state("old"));
    refused("same", link("a"));
    refused("to-dir", link("b"));
    assert_eq!(listing(home.path()), before);
}

#[test]
fn any_error_restores_everything() {
    for broken in ["a/b/gone", "m", "n/e/w", "r", "r2"] {
        let home = sample();
        let mut changes = all_kinds();
        changes.push(change("z/z/last", Op::Create, None, Some("x")));
        let before = listing(home.path());
        let tree = open(home.path());
        let targets = targets(&changes, &BTreeMap::new()).unwrap();
        let mut attempt = CommitAttempt::new(&tree.root, "id");
        attempt.stage(&targets).unwrap();
        // Without its file the swap of this step fails, after those before it.
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
fn a_tree_that_has_changed_is_refused() {
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
    let targets = targets(&changes, &BTreeMap::new()).unwrap();
    let mut attempt = CommitAttempt::new(&tree.root, "id");
    attempt.stage(&targets).unwrap();
    fs::write(home.path().join("r2"), "the user's").unwrap();
    assert!(attempt.swap().is_err());
    attempt.undo().unwrap();
    assert_eq!(fs::read_to_string(home.path().join("r2")).unwrap(), "the user's");
    assert_eq!(fs::read_to_string(home.path().join("m")).unwrap(), "old");
}

#[test]
fn a_commit_does_not_write_through_symlinks() {
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
    let targets = targets(&changes, &BTreeMap::new()).unwrap();
    let mut attempt = CommitAttempt::new(&tree.root, "id");
    attempt.stage(&targets).unwrap();
    fs::rename(home.path().join("a/b"), home.path().join("a/c")).unwrap();
    symlink(outside.path(), home.path().join("a/b")).unwrap();
    attempt.swap().unwrap();
    assert!(listing(outside.path()).is_empty());
    assert_eq!(fs::read_to_string(home.path().join("a/c/new")).unwrap(), "x");
}

/// Gives `m` a second name and an extended attribute, as far as the file system has them.
pub(super) fn rooted() -> tempfile::TempDir {
    let home = sample();
    let m = home.path().join("m");
    fs::hard_link(&m, home.path().join("m2")).unwrap();
    setxattr(&m, "user.note", b"keep", XattrFlags::empty()).unwrap_or_default();
    home
}

#[test]
fn a_file_keeps_its_other_names_and_its_attributes() {
    for (text, again) in [("new", "newer and longer"), ("n", "")] {
        let home = rooted();
        let at = |name: &str| home.path().join(name);
        let inode = fs::metadata(at("m")).unwrap().ino();
        let has_note = |name: &str| {
            let mut value = [0; 9];
            getxattr(at(name), "user.note", &mut value).map(|length| value[..length].to_vec())
        };
        let note = has_note("m");
        let tree = open(home.path());
        let script = |text| Some(script(text));
        for (before, after) in [("old", text), (text, again)] {
            let change = Change::of(path("m"), script(before), script(after)).unwrap();
            tree.commit(&[change], "test").unwrap();
            for name in ["m", "m2"] {
                assert_eq!(fs::read_to_string(at(name)).unwrap(), after, "{name}");
                let data = fs::metadata(at(name)).unwrap();
                assert_eq!((data.ino(), data.mode() & 0o777), (inode, 0o750), "{name}");
            }
        }
        assert_eq!(has_note("m"), note);
        assert_eq!(listing(home.path()).keys().filter(|name| name.starts_with('.')).count(), 0);
    }
}

#[test]
fn a_file_that_is_replaced_keeps_its_owner_and_attributes() {
    let home = sample();
    let m = home.path().join("m");
    let has_notes = setxattr(&m, "user.note", b"keep", XattrFlags::empty()).is_ok();
    let is_root = chown(&m, Some(12_345), Some(23_456)).is_ok();
    let owner = |data: &fs::Metadata| (data.uid(), data.gid());
    let before = owner(&fs::metadata(&m).unwrap());
    let modify = [change("m", Op::Modify, Some("old"), Some("new"))];
    open(home.path()).commit(&modify, "test").unwrap();
    let data = fs::metadata(&m).unwrap();
    assert_eq!((owner(&data), data.mode() & 0o777), (before, 0o750));
    assert!(!is_root || before == (12_345, 23_456));
    let mut value = [0; 9];
    let note = getxattr(&m, "user.note", &mut value).map(|length| &value[..length]);
    assert!(!has_notes || note == Ok(b"keep"));
}

#[test]
fn what_a_crash_leaves_of_a_rewritten_file_is_recognized() {
    for (old, new) in [("abcdef", "xyz"), ("abc", "uvwxyz"), ("abcd", "abXd"), ("", "x")] {
        for at in 0..=new.len() {
            let found =
                [&new.as_bytes()[..at], old.as_bytes().get(at..).unwrap_or_default()].concat();
            assert!(is_half_rewritten(&found, old.as_bytes(), new.as_bytes()), "{old} {new} {at}");
        }
    }
    assert!(!is_half_rewritten(b"xyQdef", b"abcdef", b"xyz"));
    assert!(!is_half_rewritten(b"xy", b"abcdef", b"xyz"));
}

#[test]
fn two_changes_of_one_path_are_refused() {
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
            let targets = targets(&changes, &BTreeMap::new()).unwrap();
            let mut attempt = CommitAttempt::new(&tree.root, "id");
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
