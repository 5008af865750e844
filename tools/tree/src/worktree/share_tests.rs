//! Copies of the user's build output for lanes; no write of a lane reaches the originals.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::tests::{NO_MORE, World, age, origin, put};
use super::*;

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn lane(world: &World, name: &str, share: &[&str], max_copied_bytes: u64) -> Worktree {
    let (share, entries) = (strings(share), world.take().entries);
    let origin = Extras { share: &share, max_copied_bytes, ..origin() };
    Worktree::create(&world.snapshots(), &entries, &world.dir(name), &origin).unwrap()
}

/// Packages and build output, including a file that is also hard-linked in the store of a package manager.
fn packages() -> World {
    let world = World::new(&[
        (".gitignore", "/node_modules/\n/target\n/dist\n/linked\n/one/node_modules\n*.tmp\n.env\n"),
        ("package.json", "{}"),
        (".env", "KEY=1\n"),
        ("node_modules/linked/index.js", "two names\n"),
        ("node_modules/copied/index.js", "one name\n"),
        ("one/package.json", "{}"),
        ("one/node_modules/below.js", "below\n"),
        ("target/debug/out", "built\n"),
        ("dist/out.js", "built\n"),
    ]);
    let root = world.workspace();
    let store = world.home.path().join("store.tmp");
    fs::hard_link(root.join("node_modules/linked/index.js"), store).unwrap();
    symlink("copied", root.join("node_modules/alias")).unwrap();
    symlink("dist", root.join("linked")).unwrap();
    fs::set_permissions(root.join("node_modules/copied/index.js"), Permissions::from_mode(0o755))
        .unwrap();
    age(&root.join("node_modules/copied"), 1_500_000_000);
    world
}

/// Returns every file of the user's workspace with its bytes.
fn theirs(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let mut open = vec![world.workspace()];
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_file() => {
                    found.push((entry.path(), fs::read(entry.path()).unwrap()));
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn build_output_is_copied_and_no_write_reaches_the_original() {
    let world = packages();
    let before = theirs(&world);
    let share = ["node_modules", "dist", "linked", "one/node_modules", ".env", "missing", "../x"];
    let worktree = lane(&world, "01", &share, 1000);
    let at = |path: &str| worktree.root().join(path);
    assert_eq!(fs::read_link(at("node_modules/alias")).unwrap(), Path::new("copied"));
    assert!(!at("linked").exists() && !at("target").exists() && !at("missing").exists());
    let copied = fs::metadata(at("node_modules/copied/index.js")).unwrap();
    assert_eq!((copied.mtime(), copied.mode() & 0o777), (1_600_000_000, 0o755));
    assert_eq!(fs::metadata(at("node_modules/copied")).unwrap().mtime(), 1_500_000_000);

    for file in [
        "node_modules/linked/index.js",
        "node_modules/copied/index.js",
        "one/node_modules/below.js",
        "dist/out.js",
        ".env",
    ] {
        let theirs = fs::read(world.workspace().join(file)).unwrap();
        assert_eq!(fs::read(at(file)).unwrap(), theirs, "{file}");
        OpenOptions::new().append(true).open(at(file)).unwrap().write_all(b"more").unwrap();
        fs::set_permissions(at(file), Permissions::from_mode(0o600)).unwrap();
        fs::write(at(file), "truncated").unwrap();
    }
    assert_eq!(theirs(&world), before);
    Worktree::remove(&world.snapshots(), worktree.root()).unwrap();
    assert_eq!(theirs(&world), before);
}

#[test]
fn shared_directories_are_not_part_of_the_lanes_work() {
    let world = packages();
    // The workspace ignores them with a file that the lane changes.
    let worktree = lane(&world, "01", &["node_modules", "dist"], 1000);
    let base = world.take().entries;
    put(worktree.root(), ".gitignore", "");
    let now = worktree.entries(&world.snapshots(), &base, NO_MORE).unwrap().entries;
    assert!(now.keys().eq(base.keys()), "{:?}", now.keys());
}

#[test]
fn paths_in_the_tree_and_large_directories_are_not_copied() {
    let world =
        World::new(&[("dist/tracked", "1"), ("vendor/x", "2"), (".gitignore", "/vendor\n")]);
    let worktree = lane(&world, "01", &["dist", "vendor"], 0);
    assert!(!worktree.root().join("vendor").exists());
    assert!(worktree.root().join("dist/tracked").exists());
    let names: Vec<&str> = worktree.shared.iter().map(RepoPath::as_str).collect();
    assert_eq!(names, ["vendor"], "output built there is not part of the tree either");
    assert!(lane(&world, "02", &["vendor"], 1).root().join("vendor/x").exists());
}

#[test]
fn a_virtual_environment_is_relocated() {
    let world = World::new(&[(".gitignore", "/.venv\n"), (".venv/pyvenv.cfg", "version = 3.13\n")]);
    let root: PathBuf = world.workspace().components().collect();
    let named = |root: &Path| format!("#!{0}/.venv/bin/python\nimport {0}_x\n", root.display());
    put(&root, ".venv/bin/pytest", &named(&root));
    put(&root, ".venv/lib/editable.pth", &root.join("src").display().to_string());
    put(&root, ".venv/lib/x.so", &format!("\0{}", named(&root)));
    symlink(root.join(".venv/bin/pytest"), root.join(".venv/bin/absolute")).unwrap();
    let worktree = lane(&world, "01", &[".venv"], 10_000);
    let read = |path: &str| fs::read_to_string(worktree.root().join(path)).unwrap();
    let script = read(".venv/bin/pytest");
    assert!(script.starts_with(&format!("#!{}/.venv/", worktree.root().display())), "{script}");
    assert!(
        script.ends_with(&format!("{}_x\n", root.display())),
        "another directory is unchanged: {script}"
    );
    assert_eq!(read(".venv/lib/editable.pth"), worktree.root().join("src").display().to_string());
    assert_eq!(read(".venv/lib/x.so"), format!("\0{}", named(&root)));
    assert_eq!(read(".venv/bin/absolute"), script);
}

/// Runs the real Cargo on a test that reads a file from the directory in which it was compiled.
#[test]
fn cargo_does_not_reuse_output_built_in_the_users_directory() {
    let world = World::new(&[
        ("Cargo.toml", "[package]\nname = \"it\"\nedition = \"2021\"\n[workspace]\n"),
        (".gitignore", "/target\n/Cargo.lock\n"),
        ("word", "red"),
        (
            "src/lib.rs",
            "#[test]\nfn it() {\n    let at = concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/word\");\n    assert_eq!(std::fs::read_to_string(at).unwrap(), \"green\");\n}\n",
        ),
    ]);
    let passes = |root: &Path| {
        #[expect(clippy::disallowed_methods, reason = "a test runs a build in another directory")]
        let mut cargo = std::process::Command::new(env!("CARGO"));
        let cargo = cargo.args(["test", "--offline", "--lib"]).current_dir(root);
        cargo.env_remove("CARGO_TARGET_DIR").output().unwrap().status.success()
    };
    assert!(!passes(&world.workspace()));
    let worktree = lane(&world, "01", &["target"], 100_000_000);
    assert!(
        worktree.root().join("target/.rustc_info.json").exists(),
        "output for other packages is copied"
    );
    fs::write(worktree.root().join("word"), "green").unwrap();
    assert!(passes(worktree.root()));
    assert!(!passes(&world.workspace()));
    // Without known fingerprints nothing is copied.
    for notes in fs::read_dir(world.workspace().join("target/debug/.fingerprint")).unwrap() {
        fs::remove_dir_all(notes.unwrap().path()).unwrap();
    }
    assert!(!lane(&world, "02", &["target"], 100_000_000).root().join("target").exists());
}

#[test]
fn the_state_directory_is_never_copied_into_itself() {
    let world = World::new(&[("a", "1"), (".gitignore", "/cache\n"), ("cache/x", "2")]);
    let state = world.workspace().join("cache/state");
    fs::create_dir(&state).unwrap();
    let snapshots = Snapshots::new(
        state.join("private.git"),
        world.workspace(),
        state.clone(),
        world.snapshots().limits,
    );
    let share = strings(&["cache"]);
    let origin = Extras { share: &share, ..origin() };
    let dir = state.join("lanes/01");
    let tree = crate::ReadTree::open(&world.workspace()).unwrap();
    let base = snapshots.take(&tree, &[], Timestamp::MAX).unwrap().entries;
    let worktree = Worktree::create(&snapshots, &base, &dir, &origin).unwrap();
    assert!(worktree.root().join("cache/x").exists());
    assert!(!worktree.root().join("cache/state").exists());
}
