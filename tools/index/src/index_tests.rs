//! Properties of an index that hold whatever happened to it: its results equal those of a newly built one.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

use super::*;
use crate::ranked::ranking::RankedFile;

const PATHS: [&str; 7] =
    ["a.rs", "src/pager.rs", "src/b.py", "docs/guide.md", "tests/t.rs", "c.go", "分页.txt"];
const WORDS: [&str; 8] = [
    "fn pager() {}",
    "def turn_page(x):",
    "the delayed page",
    "分页登录",
    "struct Book;",
    "",
    "}",
    "return x",
];
const QUERIES: [&str; 5] = [
    "the pager is delayed",
    "turn the page of a Book",
    "登录分页",
    "nothing known here",
    "pager: the page returns x",
];

/// A tree and its index.
struct World {
    tree: TempDir,
    state: TempDir,
    kept: Index,
    /// Number of changes; gives each change a distinct time in the distant past.
    changes: u64,
}

impl World {
    fn new() -> World {
        let (tree, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kept = index(&tree, state.path(), Duration::ZERO);
        World { tree, state, kept, changes: 0 }
    }

    fn write(&mut self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.changes += 1;
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + self.changes);
        File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    }

    fn write_all(&mut self) {
        for path in PATHS {
            self.write(path, "fn pager() {}\n");
        }
    }

    fn remove(&self, path: &str) {
        let path = self.tree.path().join(path);
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }

    /// Returns the results of a newly built index, and the results without any index.
    fn found_anew(&self) -> (Vec<Vec<RankedFile>>, Vec<Vec<RankedFile>>) {
        let state = tempfile::tempdir().unwrap();
        let fresh = index(&self.tree, state.path(), Duration::ZERO);
        fresh.update(|_, _| ()).unwrap();
        let found_by_fresh = found(&fresh);
        let nowhere = tempfile::tempdir().unwrap();
        (found_by_fresh, found(&index(&self.tree, nowhere.path(), Duration::ZERO)))
    }
}

fn index(tree: &TempDir, state: &Path, wait: Duration) -> Index {
    let options = IndexOptions {
        dir: state.join("index"),
        max_files: 100,
        max_file_bytes: 10_000,
        wait,
        may_read: Arc::new(|path| path.as_str() != "secret.rs"),
    };
    Index::new(ReadTree::open(tree.path()).unwrap(), options)
}

fn found(index: &Index) -> Vec<Vec<RankedFile>> {
    let (files, _) = index.files();
    QUERIES.iter().map(|query| index.rank(query, &files).files).collect()
}

fn paths(index: &Index, query: &str) -> Vec<String> {
    let (files, _) = index.files();
    index.rank(query, &files).files.iter().map(|file| file.path.to_string()).collect()
}

#[test]
fn an_update_that_is_closed_keeps_what_it_has_done() {
    let mut world = World::new();
    world.write_all();
    let mut left = 3;
    let goes_on = || false;
    let mut on_file = |_: usize| {
        left -= 1;
        left > 0
    };
    let (files, _) = world.kept.files();
    let shared = &world.kept.shared;
    update::update(&shared.options.dir, &shared.tree, &files, 10_000, &mut on_file).unwrap();
    assert_eq!(world.kept.status().files, 2);
    shared.update_files(|_, _| (), &goes_on).unwrap();
    assert_eq!(world.kept.status().files, 2, "nothing more is begun");
    world.kept.close();
    assert_eq!(world.kept.update(|_, _| ()).unwrap().kept, 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn results_depend_on_the_tree_only(
        steps in vec((select(&PATHS[..]), proptest::option::of(vec(select(&WORDS[..]), 0..30)), any::<bool>()), 1..14)
    ) {
        let mut world = World::new();
        for (path, text, updates) in steps {
            match text {
                Some(lines) => world.write(path, lines.join("\n")),
                None => world.remove(path),
            }
            if updates {
                world.kept.update(|_, _| ()).unwrap();
            }
        }
        let (fresh, none) = world.found_anew();
        // First with outdated files, then up to date.
        prop_assert_eq!(&found(&world.kept), &fresh);
        world.kept.update(|_, _| ()).unwrap();
        let reading = IndexReading::open(&world.kept.shared.options.dir).unwrap();
        let (files, _) = world.kept.files();
        prop_assert!(ranking::changed_files(Some(&reading.manifest), &files, u64::MAX).0.is_empty());
        prop_assert_eq!(&found(&world.kept), &fresh);
        prop_assert_eq!(&none, &fresh);
    }
}

#[test]
fn an_update_reads_changed_files_only() {
    let mut world = World::new();
    world.write_all();
    world.write("secret.rs", "fn pager() {}\n");
    world.write("logo.png", b"\x89PNG\0pager\0");
    let update = |world: &World| world.kept.update(|_, _| ()).unwrap();
    assert_eq!(update(&world), Updated { added: 8, removed: 0, kept: 0 });
    assert_eq!(update(&world), Updated { added: 0, removed: 0, kept: 8 });
    world.write("a.rs", "fn pager() {}\n");
    assert_eq!(update(&world), Updated { added: 0, removed: 0, kept: 8 }, "touched");
    world.write("a.rs", "fn other() {}\n");
    world.remove("c.go");
    assert_eq!(update(&world), Updated { added: 1, removed: 1, kept: 6 });
    assert!(!paths(&world.kept, "pager").contains(&"secret.rs".to_owned()));
    assert!(!paths(&world.kept, "pager").contains(&"logo.png".to_owned()));
}

#[test]
fn files_hidden_from_models_are_not_found() {
    let mut world = World::new();
    world.write_all();
    world.write(".deepseekignore", "src\n");
    world.kept.update(|_, _| ()).unwrap();
    let found = paths(&world.kept, "the pager");
    assert!(found.contains(&"a.rs".to_owned()) && !found.contains(&"src/pager.rs".to_owned()));
}

#[test]
fn the_status_reports_missing_fresh_and_stale() {
    let mut world = World::new();
    world.write("a.rs", "fn pager() {}\n");
    assert_eq!(world.kept.status().condition, Condition::Missing);
    world.kept.update(|_, _| ()).unwrap();
    let status = world.kept.status();
    assert_eq!((status.condition, status.files, status.commits), (Condition::Fresh, 1, 0));
    world.write("b.rs", "fn book() {}\n");
    world.remove("a.rs");
    assert_eq!(world.kept.status().condition, Condition::Stale(2));
}

#[test]
fn a_damaged_index_is_ignored_and_rebuilt() {
    let mut world = World::new();
    world.write_all();
    world.kept.update(|_, _| ()).unwrap();
    let expected = found(&world.kept);
    let dir = world.kept.shared.options.dir.clone();
    let files: Vec<PathBuf> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    for file in files {
        let is_lock = file.extension().is_some_and(|extension| extension == "lock");
        let Ok(bytes) = fs::read(&file) else { continue };
        if is_lock || bytes.is_empty() {
            continue;
        }
        fs::write(&file, bytes.get(..bytes.len() / 2).unwrap()).unwrap();
        assert_eq!(found(&world.kept), expected, "{}", file.display());
        world.kept.update(|_, _| ()).unwrap();
        assert_eq!(found(&world.kept), expected, "{}", file.display());
        if fs::read(&file).is_ok_and(|now| now.len() < bytes.len()) {
            fs::write(&file, &bytes).unwrap();
        }
    }
}

#[test]
fn an_index_that_was_not_synced_is_rebuilt_after_a_restart() {
    let mut world = World::new();
    world.write_all();
    let dir = world.state.path().join("index");
    let is_started_again = || fs::write(dir.join("written"), "another start").unwrap();
    world.kept.update(|_, _| ()).unwrap();
    is_started_again();
    let begun_anew = index(&world.tree, world.state.path(), Duration::ZERO);
    assert!(matches!(begun_anew.status().condition, Condition::Corrupt(_)));
    assert_eq!(begun_anew.update(|_, _| ()).unwrap().added, PATHS.len());
    begun_anew.settle().unwrap();
    is_started_again();
    assert_eq!(begun_anew.status().condition, Condition::Fresh);
    world.write("a.rs", "fn other() {}\n");
    assert_eq!(begun_anew.update(|_, _| ()).unwrap().added, 1, "and it can be updated further");
    is_started_again();
    assert!(
        matches!(begun_anew.status().condition, Condition::Corrupt(_)),
        "unless it was not synced"
    );
}

#[test]
fn leftovers_of_a_killed_writer_do_no_harm() {
    let mut world = World::new();
    world.write_all();
    world.kept.update(|_, _| ()).unwrap();
    let dir = world.kept.shared.options.dir.clone();
    let names = || fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name());
    let postings = names().map(|name| name.into_string().unwrap());
    let segments: Vec<String> =
        postings.filter_map(|name| name.strip_suffix(".idx").map(str::to_owned)).collect();
    // Leftovers for every number that the next list of deleted documents may get.
    for segment in &segments {
        (0..200).for_each(|at| fs::write(dir.join(format!("{segment}.{at}.del")), "x").unwrap());
    }
    world.write("a.rs", "struct Book;\n");
    world.kept.update(|_, _| ()).unwrap();
    assert_eq!(world.kept.status().condition, Condition::Fresh);
    assert_eq!(found(&world.kept), world.found_anew().0);
}

#[test]
fn a_deleted_index_is_rebuilt() {
    let mut world = World::new();
    world.write_all();
    let index = &world.kept;
    index.update(|_, _| ()).unwrap();
    let expected = found(index);
    fs::remove_dir_all(world.state.path()).unwrap();
    assert_eq!(found(index), expected);
    index.update(|_, _| ()).unwrap();
    assert_eq!(index.status().condition, Condition::Fresh);
}

#[test]
fn an_unwritable_directory_only_disables_the_index() {
    let mut world = World::new();
    world.write_all();
    let expected = world.found_anew().0;
    let file = world.state.path().join("index-is-no-directory");
    fs::write(&file, "").unwrap();
    let index = index(&world.tree, &file, Duration::ZERO);
    assert!(index.update(|_, _| ()).is_err());
    assert_eq!(found(&index), expected);
}

#[test]
fn a_second_writer_is_refused_but_can_read() {
    let mut world = World::new();
    world.write_all();
    world.kept.update(|_, _| ()).unwrap();
    let dir = world.kept.shared.options.dir.clone();
    let writing = crate::stored::store::Writing::begin(&dir).unwrap();
    let index = world.kept.clone();
    assert!(matches!(index.update(|_, _| ()), Err(StoreError::Locked)));
    assert_eq!(paths(&index, "pager").len(), PATHS.len());
    drop(writing);
    world.kept.update(|_, _| ()).unwrap();
}

#[test]
fn an_index_is_built_in_the_background() {
    let mut world = World::new();
    world.write_all();
    let index = index(&world.tree, world.state.path(), Duration::from_mins(1));
    found(&index);
    index.shared.wait(1, Part::Files);
    assert_eq!(index.status().condition, Condition::Fresh);
}
