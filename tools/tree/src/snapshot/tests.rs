//! Snapshots and checkpoints of real directories, with and without a git repository of the user. How they
//! are packed is tested in the folder.

mod pack_tests;

use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;
use crate::FileMode;
use crate::{Change, CommitLog, WriteTree};

const LIMITS: SnapshotLimits = SnapshotLimits {
    max_checkpoints: 100,
    max_bytes: 1 << 20,
    max_file_bytes: 1000,
    max_files: 1000,
    patience: Duration::from_secs(10),
};

/// Long after anything here was written, so that timestamps are trusted.
const LATER: Timestamp = Timestamp::MAX;

struct World {
    home: TempDir,
    state: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let world =
            World { home: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Creates a git repository with these blobs and these tracked paths.
    fn git(&self, blobs: &[&str], tracked: &[&str]) -> gix::Repository {
        let repo = gix::init(self.home.path()).unwrap();
        for text in blobs {
            repo.write_blob(text).unwrap();
        }
        let mut index = gix::index::State::new(gix::hash::Kind::Sha1);
        for path in tracked {
            let id = repo.write_blob(b"").unwrap().detach();
            let mode = gix::index::entry::Mode::FILE;
            let flags = gix::index::entry::Flags::empty();
            index.dangerously_push_entry(
                gix::index::entry::Stat::default(),
                id,
                flags,
                mode,
                (*path).into(),
            );
        }
        index.sort_entries();
        let mut file = gix::index::File::from_state(index, repo.index_path());
        file.write(gix::index::write::Options::default()).unwrap();
        repo
    }

    fn snapshots(&self) -> Snapshots {
        self.limited(LIMITS)
    }

    fn limited(&self, limits: SnapshotLimits) -> Snapshots {
        let workspace = self.home.path().canonicalize().unwrap();
        let state = self.state.path().to_owned();
        Snapshots::new(state.join("private.git"), workspace, state, limits)
    }

    fn reader(&self) -> ReadTree {
        ReadTree::open(self.home.path()).unwrap()
    }

    fn take(&self) -> Snapshot {
        self.snapshots().take(&self.reader(), &[], LATER).unwrap()
    }

    fn read(&self, path: &RepoPath, kept: KeptFile) -> Result<FileState, SnapshotError> {
        self.snapshots().reader()?.file(path, kept)
    }

    /// Returns the content of a path in a snapshot.
    fn content(&self, entries: &Entries, at: &str) -> String {
        let path = path(at);
        let state = self.read(&path, entries[&path]).unwrap();
        String::from_utf8(state.bytes.to_vec()).unwrap()
    }

    /// Makes a change the way the main tree does: a checkpoint, then the commit.
    fn change(&self, at: &str, after: Option<&str>) -> Checkpoint {
        let tree =
            WriteTree::open(self.home.path(), CommitLog::none(Duration::from_secs(10))).unwrap();
        let before = fs::read_to_string(self.home.path().join(at)).ok();
        let changes =
            [Change::of(path(at), before.as_deref().map(state), after.map(state)).unwrap()];
        let (checkpoint, _) =
            self.snapshots().record(&tree.reader(), &changes, note(at), LATER, &|| false).unwrap();
        tree.commit(&changes, at).unwrap();
        checkpoint
    }

    /// Counts the private repository's own loose objects.
    fn own_objects(&self) -> usize {
        let objects = self.state.path().join("private.git/objects");
        let dirs = fs::read_dir(objects).unwrap().map(|entry| entry.unwrap().path());
        dirs.filter(|dir| dir.file_name().unwrap().len() == 2)
            .map(|dir| fs::read_dir(dir).unwrap().count())
            .sum()
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn state(text: &str) -> FileState {
    FileState { bytes: text.to_owned().into(), mode: FileMode::Regular }
}

fn note(title: &str) -> CheckpointNote {
    let (title, patch, session) = (title.to_owned(), "p".to_owned(), "s".to_owned());
    CheckpointNote { title, patch, session, ..CheckpointNote::default() }
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.entries.keys().map(RepoPath::as_str).collect()
}

#[test]
fn a_snapshot_holds_what_git_would_add() {
    let world = World::new(&[
        (".gitignore", "*.log\nout/\n"),
        (".ignore", "a.txt\n"),
        ("a.txt", "a"),
        ("b/run.sh", "#!"),
        ("noise.log", "x"),
        ("out/tracked.txt", "kept"),
        ("out/other.txt", "x"),
        (".deepseek/config.toml", ""),
        (".deepseek-commit-0-0.new", "x"),
        ("large", &"x".repeat(1001)),
    ]);
    world.git(&[], &["out/tracked.txt", "gone.txt"]);
    fs::set_permissions(world.home.path().join("b/run.sh"), fs::Permissions::from_mode(0o755))
        .unwrap();
    symlink("../elsewhere", world.home.path().join("b/link")).unwrap();

    let snapshot = world.take();
    assert_eq!(
        names(&snapshot),
        [
            ".deepseek/config.toml",
            ".gitignore",
            ".ignore",
            "a.txt",
            "b/link",
            "b/run.sh",
            "out/tracked.txt"
        ]
    );
    assert_eq!(snapshot.left_out, [path("large")]);
    assert_eq!(snapshot.entries[&path("b/link")].mode, FileMode::Symlink);
    assert_eq!(snapshot.entries[&path("b/run.sh")].mode, FileMode::Executable);
    assert_eq!(world.content(&snapshot.entries, "out/tracked.txt"), "kept");
    assert_eq!(world.content(&snapshot.entries, "b/link"), "../elsewhere");
}

#[test]
fn a_file_is_read_again_only_when_it_changed() {
    let world = World::new(&[("a", "one"), ("b", "same")]);
    world.take();
    let stamps = || fs::read(world.state.path().join("private.git/stamps")).unwrap();
    let first = stamps();
    assert_eq!(names(&world.take()), ["a", "b"]);
    assert_eq!(stamps(), first);
    // Same size and name as before.
    world.write("a", "two");
    let snapshot = world.take();
    assert_eq!(world.content(&snapshot.entries, "a"), "two");
    assert_ne!(stamps(), first);
}

#[test]
fn times_of_fresh_files_are_not_trusted() {
    let world = World::new(&[("a", "one")]);
    world.snapshots().take(&world.reader(), &[], Timestamp::UNIX_EPOCH).unwrap();
    let stamps = world.state.path().join("private.git/stamps");
    assert_eq!(fs::read_to_string(stamps).unwrap_or_default(), "");
}

#[test]
fn objects_of_the_users_repository_are_borrowed_except_for_files_we_change() {
    let world = World::new(&[("a", "committed"), ("b", "committed too"), ("c", "untracked")]);
    let theirs = world.git(&["committed", "committed too"], &["a", "b"]);
    world.take();
    assert_eq!(world.own_objects(), 1, "the untracked file");
    world.change("a", Some("changed"));
    // Added: two blobs, two trees, two commits.
    assert_eq!(world.own_objects(), 7);

    fs::remove_dir_all(theirs.objects.store_ref().path()).unwrap();
    fs::create_dir_all(theirs.objects.store_ref().path()).unwrap();
    let [checkpoint] = world.snapshots().checkpoints().unwrap().try_into().unwrap();
    let before = world.snapshots().before(&checkpoint).unwrap();
    assert_eq!(world.content(&before, "a"), "committed");
    assert!(matches!(
        world.read(&path("b"), before[&path("b")]),
        Err(SnapshotError::Lost { path }) if path.as_str() == "b"
    ));
    // The next snapshot stores the objects that were lost.
    assert_eq!(world.content(&world.take().entries, "b"), "committed too");
}

#[test]
fn checkpoints_record_the_tree_before_and_our_changes() {
    let world = World::new(&[(".gitignore", "*.log\n"), ("d/a", "1"), ("ignored.log", "2")]);
    world.change("d/a", Some("changed"));
    world.write("theirs", "the user's");
    world.change("ignored.log", None);
    world.change("new/file", Some("n"));

    let checkpoints = world.snapshots().checkpoints().unwrap();
    let found: Vec<_> =
        checkpoints.iter().map(|c| (c.number, c.note.title.as_str(), c.own.len())).collect();
    assert_eq!(found, [(1, "d/a", 1), (2, "ignored.log", 1), (3, "new/file", 1)]);
    let before: Vec<_> = checkpoints.iter().map(|c| world.snapshots().before(c).unwrap()).collect();
    assert_eq!(world.content(&before[0], "d/a"), "1");
    assert_eq!(world.content(&before[1], "theirs"), "the user's");
    assert_eq!(world.content(&before[1], "ignored.log"), "2");
    assert!(!before[2].contains_key(&path("ignored.log")));
    let own = &checkpoints[2].own[0];
    assert_eq!((own.before, own.path.as_str()), (None, "new/file"));
}

#[test]
fn a_forgotten_checkpoint_is_gone() {
    let world = World::new(&[("a", "1")]);
    let first = world.change("a", Some("2"));
    let second = world.change("a", Some("3"));
    world.snapshots().forget(&second).unwrap();
    assert_eq!(world.snapshots().checkpoints().unwrap(), [first]);
    assert_eq!(world.change("a", Some("4")).number, 2);
}

#[test]
fn the_oldest_checkpoints_are_dropped_beyond_the_limits() {
    let many = SnapshotLimits { max_checkpoints: 5, ..LIMITS };
    let large = SnapshotLimits { max_bytes: 3000, ..LIMITS };
    for (limits, most) in [(many, 5), (large, 12)] {
        let world = World::new(&[("a", "0")]);
        let tree =
            WriteTree::open(world.home.path(), CommitLog::none(Duration::from_secs(10))).unwrap();
        for n in 0..32 {
            let text = |n: u32| state(&n.to_string());
            let changes = [Change::of(path("a"), Some(text(n)), Some(text(n + 1))).unwrap()];
            world
                .limited(limits)
                .record(&tree.reader(), &changes, note("n"), LATER, &|| false)
                .unwrap();
            tree.commit(&changes, "n").unwrap();
        }
        let checkpoints = world.snapshots().checkpoints().unwrap();
        assert!((1..=most).contains(&checkpoints.len()), "{} are left", checkpoints.len());
        assert_eq!(checkpoints.last().unwrap().number, 32);
        for checkpoint in &checkpoints {
            let before = world.snapshots().before(checkpoint).unwrap();
            assert_eq!(world.content(&before, "a"), (checkpoint.number - 1).to_string());
        }
        assert!(world.own_objects() <= checkpoints.len() * 5 + 3, "{}", world.own_objects());
    }
}

#[test]
fn a_damaged_repository_is_an_error_that_names_it() {
    let world = World::new(&[("a", "1")]);
    world.change("a", Some("2"));
    fs::write(world.state.path().join("private.git/config"), "[core\n").unwrap();
    let error = world.snapshots().checkpoints().unwrap_err();
    assert!(error.to_string().contains("private.git"), "{error}");
}

#[test]
fn leftovers_of_a_crash_do_no_harm() {
    let world = World::new(&[("a", "0")]);
    let repository = world.state.path().join("private.git");
    world.change("a", Some("1"));
    fs::write(repository.join("refs/checkpoints/00000002.lock"), "").unwrap();
    world.change("a", Some("2"));
    // Simulates a power cut that emptied the new files of the last checkpoint.
    let checkpoints = world.snapshots().checkpoints().unwrap();
    let emptied = repository.join("objects/d8/263ee9860594d2806b0dfd1bfd17528b0ba2a4");
    fs::set_permissions(&emptied, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&emptied, "").unwrap();
    fs::write(repository.join("refs/checkpoints/00000002"), "").unwrap();
    assert_eq!(world.snapshots().checkpoints().unwrap(), checkpoints[..1]);
    fs::remove_file(repository.join("refs/checkpoints/00000002")).unwrap();
    world.change("a", Some("3"));
    world.change("a", Some("2"));
    let last = world.snapshots().checkpoints().unwrap().pop().unwrap();
    let after = last.own[0].after.unwrap();
    assert_eq!(world.read(&path("a"), after).unwrap(), state("2"), "written again");
}

#[test]
fn the_state_directory_is_not_part_of_the_workspace() {
    let world = World::new(&[("a", "0"), ("state/sessions/x", "x")]);
    let state = world.home.path().canonicalize().unwrap().join("state");
    let workspace = world.home.path().canonicalize().unwrap();
    let inside = Snapshots::new(state.join("private.git"), workspace, state, LIMITS);
    for _ in 0..2 {
        assert_eq!(names(&inside.take(&world.reader(), &[], LATER).unwrap()), ["a"]);
    }
}

#[test]
fn a_snapshot_has_bounds_and_can_be_stopped() {
    let world = World::new(&[("a", "0"), ("b", "1"), ("c", "2")]);
    let few = world.limited(SnapshotLimits { max_files: 2, ..LIMITS });
    let snapshot = few.take(&world.reader(), &[&path("c")], LATER).unwrap();
    assert_eq!((names(&snapshot), snapshot.left_out.clone()), (vec!["a", "c"], vec![path("b")]));
    let small = world.limited(SnapshotLimits { max_bytes: 4, ..LIMITS });
    fs::remove_dir_all(world.state.path().join("private.git")).unwrap();
    assert_eq!(small.take(&world.reader(), &[], LATER).unwrap().left_out, [path("c")]);
    let tree =
        WriteTree::open(world.home.path(), CommitLog::none(Duration::from_secs(10))).unwrap();
    let stopped = small.record(&tree.reader(), &[], note("n"), LATER, &|| true);
    assert!(matches!(stopped, Err(SnapshotError::Stopped)));
}

#[test]
fn a_snapshot_is_checked_out_with_modes_and_symlinks() {
    let world = World::new(&[("a", "1"), ("d/run.sh", "#!/bin/sh"), ("d/deep/empty", "")]);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.home.path().join("d/run.sh"), mode).unwrap();
    symlink("../a", world.home.path().join("d/link")).unwrap();
    let snapshots = world.snapshots();
    let snapshot = snapshots.take(&world.reader(), &[], LATER).unwrap();
    let dir = world.state.path().join("forks/one");
    snapshots.reader().unwrap().check_out(&snapshot.entries, &dir).unwrap();
    assert_eq!(fs::read_to_string(dir.join("a")).unwrap(), "1");
    assert_eq!(fs::read_to_string(dir.join("d/link")).unwrap(), "1");
    assert_eq!(fs::read_link(dir.join("d/link")).unwrap().to_str(), Some("../a"));
    assert_eq!(fs::metadata(dir.join("d/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read(dir.join("d/deep/empty")).unwrap(), b"");
    // An existing directory is never overwritten.
    assert!(snapshots.reader().unwrap().check_out(&snapshot.entries, &dir).is_err());
    // A checkout that cannot be completed leaves nothing behind.
    fs::remove_dir_all(snapshots.dir().join("objects")).unwrap();
    fs::create_dir_all(snapshots.dir().join("objects")).unwrap();
    let other = world.state.path().join("forks/two");
    assert!(snapshots.reader().unwrap().check_out(&snapshot.entries, &other).is_err());
    assert!(!other.exists());
}

/// Files of every kind, stored without a workspace.
fn some_entries(snapshots: &Snapshots) -> Entries {
    let file = |text: &str, executable| {
        let mode = FileMode::of_file(executable);
        snapshots.keep_file(&FileState { bytes: text.to_owned().into(), mode }).unwrap()
    };
    let link = KeptFile { mode: FileMode::Symlink, id: file("d/a", false).id };
    let a = file("a\r\n", false);
    [("d/a", a), ("d/e/same", a), ("d/run", file("a\r\n", true)), ("empty", file("", false))]
        .into_iter()
        .chain([("link", link)])
        .map(|(at, kept)| (path(at), kept))
        .collect()
}

#[test]
fn trees_are_stored_and_read_by_id() {
    let world = World::new(&[]);
    let snapshots = world.snapshots();
    let entries = some_entries(&snapshots);
    let tree = snapshots.keep_tree(&entries).unwrap();
    assert_eq!(snapshots.tree(tree).unwrap(), entries);
    assert_eq!(snapshots.keep_tree(&entries).unwrap(), tree);
    assert_eq!(tree.to_string().len(), 40);
    let json = serde_json::to_string(&tree).unwrap();
    assert_eq!(json, format!("\"{tree}\""));
    assert_eq!(serde_json::from_str::<TreeId>(&json).unwrap(), tree);
    assert!(serde_json::from_str::<TreeId>("\"tree\"").is_err());
    let (a, run) = (entries[&path("d/a")], entries[&path("d/run")]);
    assert!(a.has_bytes_of(run) && a != run && run.is_executable() && !a.is_executable());
    assert!(snapshots.tree("1".repeat(40).parse().unwrap()).is_err());
    // An empty tree is valid.
    let nothing = snapshots.keep_tree(&Entries::new()).unwrap();
    assert_eq!(snapshots.tree(nothing).unwrap(), Entries::new());
}

#[test]
fn a_tree_is_held_until_it_is_released() {
    let world = World::new(&[("a", "0")]);
    let few = world.limited(SnapshotLimits { max_checkpoints: 1, ..LIMITS });
    let entries = some_entries(&few);
    let tree = few.keep_tree(&entries).unwrap();
    few.hold("run/01", tree).unwrap();
    few.hold("run/01", tree).unwrap();
    few.hold("run-2/base", few.keep_tree(&Entries::new()).unwrap()).unwrap();
    let stray = few.keep_file(&state("unreferenced")).unwrap();
    let collect = || {
        for n in 0..16 {
            few.record(&world.reader(), &[], note(&n.to_string()), LATER, &|| false).unwrap();
        }
    };
    collect();
    let reader = few.reader().unwrap();
    assert!(matches!(reader.file(&path("x"), stray), Err(SnapshotError::Lost { .. })));
    assert_eq!(few.tree(tree).unwrap(), entries);
    for (path, kept) in &entries {
        assert_eq!(reader.file(path, *kept).unwrap().mode, kept.mode);
    }
    assert_eq!(few.held("run").unwrap(), [("run/01".to_owned(), tree)]);
    assert_eq!(few.held("").unwrap().len(), 2);

    few.release("run").unwrap();
    few.release("none/such").unwrap();
    assert_eq!(
        few.held("").unwrap().len(),
        1,
        "the name of another run starts with the same letters"
    );
    collect();
    assert!(few.tree(tree).is_err());
    // Lock files and empty directories left behind by a crash do no harm.
    let locks = world.state.path().join("private.git/refs/lanes");
    fs::create_dir_all(locks.join("run")).unwrap();
    fs::write(locks.join("run/01.lock"), "").unwrap();
    let empty = few.keep_tree(&Entries::new()).unwrap();
    few.hold("run/01", empty).unwrap();
    few.release("run").unwrap();
    few.hold("run", empty).unwrap();
    few.release("").unwrap();
    assert_eq!(few.held("").unwrap(), []);
    assert!(few.hold("../run", empty).is_err() && few.hold("", empty).is_err());
}

#[test]
fn unsynced_objects_are_synced_when_a_checkpoint_needs_them() {
    let world = World::new(&[("a", "0"), ("d/b", "1")]);
    let unsynced = || {
        let objects = fs::read_dir(world.state.path().join("private.git/objects")).unwrap();
        let files = objects.flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap());
        let modes = files.map(|file| file.unwrap().metadata().unwrap().permissions().mode());
        modes.filter(|mode| mode & 0o200 != 0).count()
    };
    let snapshot = world.take();
    world.snapshots().keep_tree(&snapshot.entries).unwrap();
    assert_eq!(unsynced(), 4, "two files, two trees");
    world.change("d/b", Some("2"));
    assert_eq!(unsynced(), 1, "the file that we did not change");
}
