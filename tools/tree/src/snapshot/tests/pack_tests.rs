//! Many files at once: packs that git can read, written completely or not at all, and dropped when little of them is
//! needed.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tools::fault::armed::{Fault, at};

use super::*;

const FILES: usize = MANY + 100;

const ROOMY: SnapshotLimits =
    SnapshotLimits { max_files: 2 * FILES, max_bytes: 1 << 30, max_checkpoints: 2, ..LIMITS };

/// A world of many files in a few directories.
fn large() -> World {
    let world = World::new(&[]);
    fill(&world, 0);
    world
}

/// Gives all files but the first ten new content.
fn fill(world: &World, round: usize) {
    for n in 0..FILES {
        let round = if n < 10 { 0 } else { round };
        world.write(&format!("d{}/f{n}", n % 7), &format!("file {n} of round {round}\n"));
    }
}

fn record(world: &World) -> Checkpoint {
    let tree = WriteTree::open(world.home.path(), CommitLog::none(Duration::ZERO)).unwrap();
    let snapshots = world.limited(ROOMY);
    snapshots.record(&tree.reader(), &[], note("n"), LATER, &|| false).unwrap().0
}

fn packs(world: &World) -> BTreeSet<PathBuf> {
    let dir = fs::read_dir(world.state.path().join("private.git/objects/pack")).unwrap();
    dir.map(|entry| entry.unwrap().path()).collect()
}

/// Returns what `git fsck` reports about the repository.
#[expect(clippy::disallowed_methods, reason = "a test runs git")]
fn fsck(world: &World) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "safe.directory=*", "fsck", "--full", "--strict"]);
    let output = git.current_dir(world.state.path().join("private.git")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    errors.lines().filter(|line| !line.starts_with("notice: HEAD points to an unborn")).collect()
}

/// Asserts that the checkpoint holds every file of the workspace.
fn holds(world: &World, checkpoint: &Checkpoint) {
    let snapshots = world.limited(ROOMY);
    let (before, reader) = (snapshots.before(checkpoint).unwrap(), snapshots.reader().unwrap());
    assert_eq!(before.len(), FILES);
    for (path, kept) in before {
        let bytes = reader.file(&path, kept).unwrap().bytes;
        assert_eq!(bytes, fs::read(world.home.path().join(path.as_str())).unwrap(), "{path}");
    }
}

#[test]
fn many_new_files_become_a_pack_that_git_can_read() {
    let world = large();
    let borrowed = world.git(&["file 5 of round 0\n"], &[]);
    let checkpoint = record(&world);
    assert_eq!(packs(&world).len(), 2, "a pack and its index");
    assert_eq!(world.own_objects(), 2, "the commits");
    assert_eq!(fsck(&world), "");
    holds(&world, &checkpoint);
    // Borrowed objects are not copied.
    fs::remove_dir_all(borrowed.path().join("objects")).unwrap();
    let snapshots = world.limited(ROOMY);
    let (before, reader) = (snapshots.before(&checkpoint).unwrap(), snapshots.reader().unwrap());
    let lost = before.iter().filter(|(path, kept)| reader.file(path, **kept).is_err());
    assert_eq!(lost.map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["d5/f5"]);
    // A few new files become loose objects again.
    world.write("d0/f0", "something else");
    record(&world);
    assert_eq!(packs(&world).len(), 2);
}

#[test]
fn a_pack_is_written_completely_or_not_at_all() {
    for fault in [Fault::Fails, Fault::Dies] {
        for point in 0.. {
            let world = large();
            let work = || {
                catch_unwind(AssertUnwindSafe(|| {
                    world.limited(ROOMY).take(&world.reader(), &[], LATER).is_ok()
                }))
            };
            let (done, reached) = at(point, fault, work);
            if !reached {
                assert!(done.unwrap() && point == 3, "{point} points");
                break;
            }
            assert!(!done.unwrap_or(false), "{fault:?} at {point}");
            let checkpoint = record(&world);
            assert_eq!(fsck(&world), "", "{fault:?} at {point}");
            holds(&world, &checkpoint);
        }
    }
}

#[test]
fn a_mostly_unneeded_pack_is_dropped() {
    let world = large();
    record(&world);
    let first = packs(&world);
    fill(&world, 1);
    fs::remove_file(world.state.path().join("private.git/stamps")).unwrap();
    record(&world);
    assert_eq!(packs(&world).len(), 4);
    let dir = first.first().unwrap().parent().unwrap();
    fs::write(dir.join(".tmp123"), "half").unwrap();
    fs::write(dir.join("pack-1.pack"), "half").unwrap();
    let mut last = record(&world);
    // The garbage collection runs at checkpoint 16.
    while last.number < 16 {
        last = record(&world);
    }
    let left = packs(&world);
    assert!(first.is_disjoint(&left), "{left:?}");
    assert_eq!(
        left.len(),
        4,
        "a pack of the new files, and one of those that did not change: {left:?}"
    );
    assert_eq!(fsck(&world), "");
    holds(&world, &last);
}
