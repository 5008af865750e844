//! Worktrees of real directories, with and without git. Git itself checks that they are worktrees.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::{FileState, KeptFile, Snapshot, SnapshotLimits};

const LIMITS: SnapshotLimits = SnapshotLimits {
    max_checkpoints: 100,
    max_bytes: 1 << 20,
    max_file_bytes: 1000,
    max_files: 1000,
    patience: Duration::from_secs(10),
};

const NOW: Timestamp = Timestamp::MAX;
/// The modification time of the user's files: long ago.
const OLD: i64 = 1_600_000_000;

pub(super) struct World {
    pub(super) home: TempDir,
    pub(super) state: TempDir,
    /// Path of the workspace below the home.
    at: &'static str,
}

impl World {
    pub(super) fn new(files: &[(&str, &str)]) -> World {
        let world = World {
            home: tempfile::tempdir().unwrap(),
            state: tempfile::tempdir().unwrap(),
            at: "",
        };
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    /// Commits everything in the home with git.
    fn committed(self) -> World {
        git(self.home.path(), "init -q -b main");
        git(self.home.path(), "add -A");
        git(self.home.path(), "commit -q -m first");
        self
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(self.at)
    }

    /// Writes a file with an old modification time.
    pub(super) fn write(&self, path: &str, text: &str) {
        put(&self.workspace(), path, text);
        age(&self.workspace().join(path), OLD);
    }

    pub(super) fn snapshots(&self) -> Snapshots {
        let state = self.state.path().canonicalize().unwrap();
        Snapshots::new(state.join("private.git"), self.workspace(), state, LIMITS)
    }

    pub(super) fn take(&self) -> Snapshot {
        let tree = crate::ReadTree::open(&self.workspace()).unwrap();
        self.snapshots().take(&tree, &[], NOW).unwrap()
    }

    pub(super) fn dir(&self, name: &str) -> PathBuf {
        self.state.path().canonicalize().unwrap().join("lanes").join(name)
    }

    /// Creates a worktree of the workspace in its current state.
    fn lane(&self, name: &str) -> (Worktree, Entries) {
        let Snapshot { entries, left_out } = self.take();
        let origin = Extras { left_out: &left_out, ..origin() };
        let dir = self.dir(name);
        let worktree = Worktree::create(&self.snapshots(), &entries, &dir, &origin).unwrap();
        (worktree, entries)
    }

    /// Returns the current files of a worktree by path: a letter for the kind, and the content.
    fn contents(&self, worktree: &Worktree, base: &Entries) -> BTreeMap<String, String> {
        self.texts(&worktree.entries(&self.snapshots(), base, NO_MORE).unwrap().entries)
    }

    fn texts(&self, entries: &Entries) -> BTreeMap<String, String> {
        let reader = self.snapshots().reader().unwrap();
        let text = |(path, kept): (&RepoPath, &KeptFile)| {
            let bytes = reader.content(path, *kept).unwrap();
            let kind = kept.to_string().chars().next().unwrap();
            (path.to_string(), format!("{kind} {}", String::from_utf8_lossy(&bytes)))
        };
        entries.iter().map(text).collect()
    }

    fn kept(&self, text: &str) -> KeptFile {
        let state = FileState { bytes: text.to_owned().into(), mode: crate::FileMode::Regular };
        self.snapshots().keep_file(&state).unwrap()
    }
}

pub(super) fn origin() -> Extras<'static> {
    Extras {
        left_out: &[],
        share: &[],
        max_copied_bytes: 1 << 20,
        seen: SeenAt::ItsOwnPath,
        now: Timestamp::UNIX_EPOCH,
    }
}

/// No paths beyond those that git would add.
pub(super) const NO_MORE: &BTreeSet<RepoPath> = &BTreeSet::new();

pub(super) fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(super) fn age(path: &Path, seconds: i64) {
    let time = std::time::UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap());
    let times = fs::FileTimes::new().set_modified(time);
    fs::File::open(path).unwrap().set_times(times).unwrap();
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

/// Runs git without the user's configuration and returns its output.
#[expect(clippy::disallowed_methods, reason = "a test runs git")]
fn git(dir: &Path, words: &str) -> String {
    let mut command = std::process::Command::new("git");
    let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false"];
    command.args(who).args(words.split(' ')).current_dir(dir);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns every file below a directory with its bytes and times.
fn every_file(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            if data.is_dir() {
                open.push(path);
            } else {
                found.insert(path.clone(), (fs::read(&path).unwrap(), data.mtime(), data.ctime()));
            }
        }
    }
    found
}

fn files() -> World {
    World::new(&[
        (".gitignore", "*.log\nout/\n"),
        ("a", "1\n"),
        ("bin", "\0\u{1}\r\n"),
        ("crlf", "x\r\ny\r\n"),
        ("empty", ""),
        ("d/e/f", "deep\n"),
        ("d/run", "#!/bin/sh\n"),
        ("ignored.log", "x"),
        ("swap", "a file\n"),
        ("dir/in", "a directory\n"),
    ])
}

#[test]
fn a_worktree_has_the_files_of_the_snapshot_with_the_times_of_the_workspace() {
    let world = files();
    let root = world.workspace();
    fs::set_permissions(root.join("d/run"), Permissions::from_mode(0o755)).unwrap();
    symlink("../a", root.join("d/link")).unwrap();
    put(&root, "fresh", "just written");
    let (worktree, entries) = world.lane("01");
    let at = |path: &str| worktree.root().join(path);
    assert_eq!(fs::read(at("bin")).unwrap(), b"\0\x01\r\n");
    assert_eq!(fs::read_link(at("d/link")).unwrap(), Path::new("../a"));
    assert_eq!(fs::metadata(at("d/run")).unwrap().mode() & 0o111, 0o111);
    assert!(!at("ignored.log").exists() && !at(".git").exists());
    assert_eq!(fs::metadata(at("d/e/f")).unwrap().mtime(), OLD);
    let [ours, theirs] = [at("fresh"), root.join("fresh")].map(|path| path.metadata().unwrap());
    assert_eq!(ours.modified().unwrap(), theirs.modified().unwrap());
    // Only timestamps older than the file are certain to show later writes.
    let known = |name: &str| worktree.known.get(&path(name), &Stamp::of(&at(name)).unwrap());
    assert_eq!((known("a"), known("fresh")), (Some(entries[&path("a")]), None));

    let found = worktree.entries(&world.snapshots(), &entries, NO_MORE).unwrap();
    assert_eq!(found, Snapshot { entries: entries.clone(), left_out: Vec::new() });
    let again = Worktree::reopen(&world.snapshots(), &entries, worktree.root(), &origin())
        .entries(&world.snapshots(), &entries, NO_MORE)
        .unwrap();
    assert_eq!(again, found);
}

#[test]
fn a_file_that_differs_in_the_workspace_comes_from_the_tree_with_a_new_time() {
    let world = World::new(&[("a", "1"), ("b", "2"), ("gone", "3"), ("link", "4")]);
    let entries = world.take().entries;
    world.write("a", "other");
    // Same size and same time as before.
    world.write("b", "x");
    fs::remove_file(world.workspace().join("gone")).unwrap();
    fs::remove_file(world.workspace().join("link")).unwrap();
    symlink("b", world.workspace().join("link")).unwrap();
    // The current files of the workspace are known as well.
    world.take();
    let (dir, snapshots) = (world.dir("01"), world.snapshots());
    let worktree = Worktree::create(&snapshots, &entries, &dir, &origin()).unwrap();
    for (name, text) in [("a", "1"), ("b", "2"), ("gone", "3"), ("link", "4")] {
        assert_eq!(fs::read_to_string(dir.join(name)).unwrap(), text);
        assert!(fs::metadata(dir.join(name)).unwrap().mtime() > OLD, "{name}");
    }
    assert_eq!(worktree.entries(&snapshots, &entries, NO_MORE).unwrap().entries, entries);
}

#[test]
fn all_changes_of_a_lane_are_detected() {
    for world in [files(), files().committed()] {
        symlink("a", world.workspace().join("link")).unwrap();
        let (worktree, base) = world.lane("01");
        let at = |path: &str| worktree.root().join(path);
        // Changed in place, with the same size and the same time.
        fs::write(at("a"), "2\n").unwrap();
        age(&at("a"), OLD);
        fs::write(at("new\u{e9}"), "\0new").unwrap();
        fs::remove_file(at("bin")).unwrap();
        fs::write(at("crlf"), "x\ny\r\n").unwrap();
        fs::set_permissions(at("empty"), Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(at("link")).unwrap();
        symlink("d", at("link")).unwrap();
        fs::remove_file(at("swap")).unwrap();
        put(worktree.root(), "swap/now/a", "directory");
        fs::remove_dir_all(at("dir")).unwrap();
        fs::write(at("dir"), "now a file").unwrap();
        put(worktree.root(), "out/build", "ignored");
        put(worktree.root(), "nested/.git/config", "x");
        put(worktree.root(), "nested/file", "seen");
        // Its files are now behind a symlink, and in another directory.
        fs::rename(at("d"), at("moved")).unwrap();
        symlink("moved", at("d")).unwrap();
        let mut wanted = world.texts(&base);
        for gone in ["bin", "dir/in", "d/e/f", "d/run"] {
            wanted.remove(gone).unwrap();
        }
        let now = [
            ("a", "f 2\n"),
            ("crlf", "f x\ny\r\n"),
            ("d", "l moved"),
            ("dir", "f now a file"),
            ("empty", "x "),
            ("link", "l d"),
            ("moved/e/f", "f deep\n"),
            ("moved/run", "f #!/bin/sh\n"),
            ("nested/file", "f seen"),
            ("new\u{e9}", "f \0new"),
            ("swap/now/a", "f directory"),
        ];
        wanted.remove("swap");
        wanted.extend(now.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!(world.contents(&worktree, &base), wanted);
        let reopened = Worktree::reopen(&world.snapshots(), &base, worktree.root(), &origin());
        assert_eq!(world.contents(&reopened, &base), wanted);
    }
}

#[test]
fn ignored_files_are_seen_only_if_they_are_in_the_base() {
    let world = files();
    let mut base = world.take().entries;
    base.insert(path("forced.log"), world.kept("tracked all the same"));
    let snapshots = world.snapshots();
    let worktree = Worktree::create(&snapshots, &base, &world.dir("01"), &origin()).unwrap();
    put(worktree.root(), "other.log", "x");
    assert_eq!(worktree.entries(&snapshots, &base, NO_MORE).unwrap().entries, base);
    put(worktree.root(), "forced.log", "changed");
    assert_eq!(world.contents(&worktree, &base)["forced.log"], "f changed");
    fs::remove_file(worktree.root().join("forced.log")).unwrap();
    assert!(!world.contents(&worktree, &base).contains_key("forced.log"));
}

#[test]
fn switching_to_another_tree_keeps_ignored_files() {
    for world in [files(), files().committed()] {
        let (mut worktree, base) = world.lane("01");
        let root = worktree.root().to_owned();
        put(&root, "out/build", "ignored");
        put(&root, "dir/cache.log", "ignored, and in the way");
        put(&root, "a", "the lane's");
        put(&root, "own/file", "the lane's");
        let from = worktree.entries(&world.snapshots(), &base, NO_MORE).unwrap().entries;
        let mut to = base.clone();
        let link = KeptFile { mode: crate::FileMode::Symlink, ..world.kept("d/run") };
        for gone in ["bin", "swap", "dir/in", "d/e/f"] {
            to.remove(&path(gone));
        }
        to.insert(path("swap/below"), world.kept("swapped"));
        to.insert(path("dir"), world.kept("a file where a directory was"));
        to.insert(path("link"), link);
        let (same, ino) = (root.join("crlf"), |path: &Path| path.metadata().unwrap().ino());
        let untouched = ino(&same);
        worktree.switch(&world.snapshots(), &from, &to).unwrap();

        assert_eq!(world.contents(&worktree, &to), world.texts(&to));
        assert_eq!(ino(&same), untouched);
        assert!(root.join("out/build").exists() && !root.join("own").exists());
        assert!(!root.join("d/e").exists());
        assert!(fs::metadata(root.join("a")).unwrap().mtime() > OLD, "builds made here are older");
        if root.join(".git").exists() {
            assert_eq!(git(&root, "status --porcelain"), "");
        }
        // Nothing is written through symlinks that commands made.
        let outside = tempfile::tempdir().unwrap();
        put(outside.path(), "run", "the user's");
        fs::remove_dir_all(root.join("d")).unwrap();
        symlink(outside.path(), root.join("d")).unwrap();
        let from = worktree.entries(&world.snapshots(), &to, NO_MORE).unwrap().entries;
        worktree.switch(&world.snapshots(), &from, &base).unwrap();
        assert_eq!(world.contents(&worktree, &base), world.texts(&base));
        assert_eq!(fs::read_to_string(outside.path().join("run")).unwrap(), "the user's");
    }
}

#[test]
fn git_finds_a_clean_worktree_with_the_users_history_and_leaves_their_repository_alone() {
    let world = files().committed();
    put(&world.workspace(), ".git/info/exclude", "excluded\n");
    world.write("a", "changed, not committed\n");
    world.write("untracked", "x");
    world.write("excluded", "x");
    let before = every_file(&world.home.path().join(".git"));
    let (worktree, base) = world.lane("01");
    let (other, _) = world.lane("02");
    let root = worktree.root();
    assert_eq!(git(root, "status --porcelain"), "");
    assert_eq!(git(root, "log --format=%s"), "the base of a lane\nfirst\n");
    assert_eq!(git(root, "diff --name-only HEAD~1"), "a\nuntracked\n");
    assert_eq!(git(root, "rev-parse --show-toplevel").trim(), root.to_str().unwrap());
    // Git did not have to read any file for this.
    let refreshed = git(root, "diff-files --raw");
    assert_eq!(refreshed, "", "the index has the current metadata of the files");
    put(root, "excluded", "here as well");
    put(root, "a", "the lane's\n");
    assert_eq!(git(root, "status --porcelain"), " M a\n");
    assert_eq!(
        world.contents(&worktree, &base).keys().filter(|name| *name == "excluded").count(),
        0
    );
    git(root, "add -A");
    git(root, "commit -q -m mine");
    git(root, "stash list");
    // A worktree that git cannot find at the moment is not pruned.
    fs::rename(other.root().join(".git"), other.root().join(".hidden")).unwrap();
    git(root, "worktree prune --expire=now");
    fs::rename(other.root().join(".hidden"), other.root().join(".git")).unwrap();
    assert_eq!(git(other.root(), "status --porcelain"), "");
    assert_eq!(every_file(&world.home.path().join(".git")), before);
    git(world.snapshots().dir(), "fsck --strict");

    for dir in [root, other.root()] {
        Worktree::remove(&world.snapshots(), dir).unwrap();
        assert!(!dir.exists());
        Worktree::remove(&world.snapshots(), dir).unwrap();
    }
    assert_eq!(world.snapshots().worktrees(), Vec::<PathBuf>::new());
    assert_eq!(fs::read_dir(world.snapshots().dir().join("worktrees")).unwrap().count(), 0);
    assert_eq!(every_file(&world.home.path().join(".git")), before);
}

#[test]
fn line_ends_that_git_would_convert_are_left_alone() {
    let world = files();
    world.write(".gitattributes", "* text eol=crlf\n");
    let world = world.committed();
    let (mut worktree, base) = world.lane("01");
    let touch = |worktree: &Worktree| {
        for name in ["crlf", "a"] {
            age(&worktree.root().join(name), OLD + 1);
        }
    };
    touch(&worktree);
    assert_eq!(git(worktree.root(), "status --porcelain"), "");
    worktree.switch(&world.snapshots(), &base, &base).unwrap();
    touch(&worktree);
    assert_eq!(git(worktree.root(), "status --porcelain"), "");
}

#[test]
fn the_rules_of_a_repository_apply_below_its_top() {
    let mut world = World::new(&[
        (".gitignore", "*.tmp\n/sub/out/\n/other\n!/sub/keep.tmp\n"),
        ("sub/.gitignore", "own\n"),
        ("sub/a", "1"),
        ("sub/out/build", "x"),
        ("other", "ignored here, not below"),
    ])
    .committed();
    world.at = "sub";
    let (worktree, base) = world.lane("01");
    assert_eq!(base.keys().map(RepoPath::as_str).collect::<Vec<_>>(), [".gitignore", "a"]);
    for name in ["out/x", "x.tmp", "keep.tmp", "own", "other"] {
        put(worktree.root(), name, "x");
    }
    let found = world.contents(&worktree, &base);
    assert_eq!(found.keys().collect::<Vec<_>>(), [".gitignore", "a", "keep.tmp", "other"]);
    assert_eq!(git(worktree.root(), "status --porcelain"), "?? keep.tmp\n?? other\n");
}

#[test]
fn rules_above_the_state_directory_do_not_apply() {
    let world = World::new(&[("a", "1")]);
    put(world.state.path(), ".gitignore", "*\n");
    fs::create_dir(world.state.path().join(".git")).unwrap();
    let (worktree, base) = world.lane("01");
    put(worktree.root(), "new", "seen");
    assert_eq!(world.contents(&worktree, &base)["new"], "f seen");
}

#[test]
fn empty_and_shallow_repositories_are_supported() {
    let world = World::new(&[("a", "1")]);
    git(world.home.path(), "init -q");
    let (worktree, _) = world.lane("01");
    assert_eq!(git(worktree.root(), "status --porcelain"), "");
    assert_eq!(git(worktree.root(), "log --format=%s"), "the base of a lane\n");

    let full = World::new(&[("a", "1")]).committed();
    full.write("a", "two");
    git(full.home.path(), "commit -qam second");
    let shallow = World::new(&[]);
    let url = format!("clone -q --depth 1 file://{} .", full.home.path().display());
    git(shallow.home.path(), &url);
    let (worktree, _) = shallow.lane("01");
    assert_eq!(git(worktree.root(), "log --format=%s"), "the base of a lane\nsecond\n");
}

#[test]
fn a_worktree_is_created_completely_or_not_at_all() {
    let world = files();
    let snapshots = world.snapshots();
    let dir = world.dir("01");
    let mut entries = world.take().entries;
    let lost = "f 1111111111111111111111111111111111111111".to_owned().try_into().unwrap();
    entries.insert(path("d/lost"), lost);
    let refused = Worktree::create(&snapshots, &entries, &dir, &origin());
    assert!(matches!(refused, Err(SnapshotError::Lost { path }) if path.as_str() == "d/lost"));
    assert_eq!(fs::read_dir(dir.parent().unwrap()).unwrap().count(), 0);
    assert_eq!(snapshots.worktrees(), Vec::<PathBuf>::new());

    entries.remove(&path("d/lost"));
    put(&dir, "somebody", "else's");
    assert!(Worktree::create(&snapshots, &entries, &dir, &origin()).is_err());
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    fs::remove_dir_all(&dir).unwrap();
    // A partial worktree left behind by a crash is removed.
    put(&half(&dir), "left", "x");
    Worktree::create(&snapshots, &entries, &dir, &origin()).unwrap();
    assert!(!half(&dir).exists() && !dir.join("left").exists());
    assert_eq!(snapshots.worktrees(), [dir]);
}

#[test]
fn no_object_is_dropped_while_a_lane_is_running() {
    let world = files();
    let snapshots = world.snapshots();
    let (worktree, base) = world.lane("01");
    put(worktree.root(), "new", "of the lane");
    let found = worktree.entries(&snapshots, &base, NO_MORE).unwrap().entries;
    let note = crate::CheckpointNote::default;
    let tree = crate::ReadTree::open(&world.workspace()).unwrap();
    let checkpoints = || {
        for _ in 0..16 {
            snapshots.record(&tree, &[], note(), NOW, &|| false).unwrap();
        }
    };
    checkpoints();
    let read = || snapshots.reader().unwrap().file(&path("new"), found[&path("new")]);
    assert!(read().is_ok());
    Worktree::remove(&snapshots, worktree.root()).unwrap();
    checkpoints();
    assert!(matches!(read(), Err(SnapshotError::Lost { .. })));
}

#[test]
fn large_files_are_copied_for_builds_but_are_not_part_of_the_work() {
    let large = "x".repeat(2000);
    let world = World::new(&[("a", "1"), ("data/large", &large), ("small", "2")]);
    let (worktree, base) = world.lane("01");
    let at = |path: &str| worktree.root().join(path);
    assert_eq!(fs::read_to_string(at("data/large")).unwrap(), large);
    assert_eq!(fs::metadata(at("data/large")).unwrap().mtime(), OLD);
    let look = || worktree.entries(&world.snapshots(), &base, NO_MORE);
    assert_eq!(look().unwrap(), Snapshot { entries: base.clone(), left_out: Vec::new() });
    // It is small now, but still not a new file.
    fs::write(at("data/large"), "y").unwrap();
    fs::write(at("new"), &large).unwrap();
    let found = look().unwrap();
    assert_eq!((&found.entries, found.left_out), (&base, vec![path("data/large"), path("new")]));
    assert_eq!(fs::read_to_string(world.workspace().join("data/large")).unwrap(), large);
    // A file that grew too large keeps its entry and is listed as left out.
    fs::write(at("small"), &large).unwrap();
    let found = look().unwrap();
    assert_eq!((&found.entries, found.left_out.last()), (&base, Some(&path("small"))));
}

#[test]
fn a_worktree_inside_the_workspace_is_not_part_of_it() {
    let world = World::new(&[("a", "1")]);
    let state = world.workspace().join("state");
    fs::create_dir(&state).unwrap();
    let inside =
        Snapshots::new(state.join("private.git"), world.workspace(), state.clone(), LIMITS);
    let tree = crate::ReadTree::open(&world.workspace()).unwrap();
    let take = || inside.take(&tree, &[], NOW).unwrap().entries;
    let base = take();
    let dir = state.join("lanes/01");
    let worktree = Worktree::create(&inside, &base, &dir, &origin()).unwrap();
    put(&dir, "new", "x");
    assert_eq!(take(), base);
    assert_eq!(worktree.entries(&inside, &base, NO_MORE).unwrap().entries.len(), 2);
}

#[test]
fn removal_handles_locked_directories_and_does_not_follow_symlinks() {
    let world = files();
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "file", "the user's");
    let (worktree, _) = world.lane("01");
    let root = worktree.root();
    symlink(outside.path(), root.join("d/out")).unwrap();
    symlink(outside.path(), root.join("out")).unwrap();
    put(root, "locked/in/file", "x");
    for dir in ["locked/in", "locked"] {
        fs::set_permissions(root.join(dir), Permissions::from_mode(0o555)).unwrap();
    }
    Worktree::remove(&world.snapshots(), root).unwrap();
    assert!(!root.exists());
    assert!(outside.path().join("file").exists());
}
