//! What lanes get of the user's builds, and that no write of theirs reaches it.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::tests::{World, age, origin, put};
use super::*;

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn lane(world: &World, name: &str, share: &[&str], max_copied_bytes: u64) -> Worktree {
    let (share, entries) = (strings(share), world.take().entries);
    let origin = Origin { share: &share, max_copied_bytes, ..origin() };
    Worktree::create(&world.snapshots(), &entries, &world.dir(name), &origin).unwrap()
}

/// Packages as a manager with a store leaves them: each file has another name there.
fn packages() -> World {
    let world = World::new(&[
        (".gitignore", "/node_modules/\n/target\n/dist\n/linked\n"),
        ("package.json", "{}"),
        ("node_modules/one/index.js", "one\n"),
        ("node_modules/.pnpm/two/index.js", "two\n"),
        ("node_modules/.cache/entry", "cached\n"),
        ("node_modules/.vite/deps.js", "deps\n"),
        ("node_modules/copied/index.js", "has one name\n"),
        ("target/debug/out", "built\n"),
        ("dist/out.js", "built\n"),
    ]);
    let root = world.workspace();
    let all = ["one/index.js", ".pnpm/two/index.js", ".cache/entry", ".vite/deps.js"];
    for (at, file) in all.iter().enumerate() {
        let store = world.home.path().join(format!("store-{at}.tmp"));
        fs::hard_link(root.join("node_modules").join(file), store).unwrap();
    }
    put(&root, ".gitignore", "/node_modules/\n/target\n/dist\n/linked\n*.tmp\n");
    symlink("one", root.join("node_modules/alias")).unwrap();
    symlink("dist", root.join("linked")).unwrap();
    fs::set_permissions(root.join("node_modules/copied/index.js"), Permissions::from_mode(0o755))
        .unwrap();
    age(&root.join("node_modules/copied"), 1_500_000_000);
    world
}

/// Every file below the shared directories of the user's, with its bytes.
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
fn packages_are_there_and_what_tools_rewrite_is_the_lanes_own() {
    let world = packages();
    let before = theirs(&world);
    let worktree = lane(&world, "01", &["node_modules", "dist", "linked", "missing", "../x"], 1000);
    let at = |path: &str| worktree.root().join(path);
    let ino = |path: &Path| fs::metadata(path).unwrap().ino();
    let is_same = |path: &str| ino(&at(path)) == ino(&world.workspace().join(path));
    assert!(is_same("node_modules/one/index.js") && is_same("node_modules/.pnpm/two/index.js"));
    for own in [".cache/entry", ".vite/deps.js", "copied/index.js"] {
        assert!(!is_same(&format!("node_modules/{own}")), "{own}");
    }
    assert!(!is_same("dist/out.js"));
    assert_eq!(fs::read_link(at("node_modules/alias")).unwrap(), Path::new("one"));
    assert!(!at("linked").exists() && !at("target").exists());
    let copied = fs::metadata(at("node_modules/copied/index.js")).unwrap();
    assert_eq!((copied.mtime(), copied.mode() & 0o777), (1_600_000_000, 0o755));
    assert_eq!(fs::metadata(at("node_modules/copied")).unwrap().mtime(), 1_500_000_000);

    // In place, as caches are rewritten.
    for own in ["node_modules/.cache/entry", "node_modules/copied/index.js", "dist/out.js"] {
        OpenOptions::new().append(true).open(at(own)).unwrap().write_all(b"more").unwrap();
        fs::write(at(own), "truncated").unwrap();
    }
    // And anew, as packages are.
    for package in ["node_modules/one/index.js", "node_modules/.pnpm/two/index.js"] {
        fs::write(at("node_modules/new"), "another version").unwrap();
        fs::rename(at("node_modules/new"), at(package)).unwrap();
    }
    assert_eq!(theirs(&world), before);
    Worktree::remove(&world.snapshots(), worktree.root()).unwrap();
    assert_eq!(theirs(&world), before);
}

#[test]
fn what_is_shared_is_no_part_of_the_work() {
    let world = packages();
    // The workspace ignores them by a file that a lane changes.
    let worktree = lane(&world, "01", &["node_modules", "dist"], 1000);
    let base = world.take().entries;
    put(worktree.root(), ".gitignore", "");
    let told = worktree.entries(&world.snapshots(), &base).unwrap().entries;
    assert!(told.keys().eq(base.keys()), "{:?}", told.keys());
}

#[test]
fn what_is_part_of_the_tree_or_too_large_is_not_given() {
    let world =
        World::new(&[("dist/tracked", "1"), ("vendor/x", "2"), (".gitignore", "/vendor\n")]);
    let worktree = lane(&world, "01", &["dist", "vendor"], 0);
    assert_eq!(worktree.shared, Vec::<String>::new());
    assert!(!worktree.root().join("vendor").exists());
    assert!(worktree.root().join("dist/tracked").exists());
    assert_eq!(lane(&world, "02", &["vendor"], 1).shared, ["vendor"]);
}

#[test]
fn cargo_builds_where_all_lanes_do_unless_its_directory_can_be_cloned() {
    let world =
        World::new(&[("Cargo.toml", ""), (".gitignore", "/target\n"), ("target/x", "built")]);
    let worktree = lane(&world, "01", &["target"], 1000);
    if worktree.shared == ["target"] {
        // The file system of this machine clones.
        fs::write(worktree.root().join("target/x"), "y").unwrap();
        assert_eq!(fs::read_to_string(world.workspace().join("target/x")).unwrap(), "built");
        assert!(worktree.env().is_empty());
    } else {
        assert!(!worktree.root().join("target").exists());
        let place = ("CARGO_TARGET_DIR".to_owned(), "/builds".to_owned());
        assert_eq!(worktree.env(), [place]);
    }
    fs::remove_file(world.workspace().join("Cargo.toml")).unwrap();
    assert!(lane(&world, "02", &["target"], 1000).env().is_empty(), "it is not Cargo's");
}

#[test]
fn the_state_of_the_program_is_never_copied_into_itself() {
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
    let origin = Origin { share: &share, ..origin() };
    let dir = state.join("lanes/01");
    let tree = crate::tree::ReadTree::open(&world.workspace()).unwrap();
    let base = snapshots.take(&tree, &[], Timestamp::MAX).unwrap().entries;
    let worktree = Worktree::create(&snapshots, &base, &dir, &origin).unwrap();
    assert!(worktree.root().join("cache/x").exists());
    assert!(!worktree.root().join("cache/state").exists());
}
