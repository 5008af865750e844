//! A state directory on a full disk: a request that has paid for nothing ends at once; one that has paid waits for space,
//! says so, and ends on the first signal.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use mock::{Replies, ScriptedReply};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::confinement::sandbox::skipped;
use crate::support::{Program, Project, Provider, Run, Running, World, diff, plan};

/// Far less than the time that a run waits for space.
const SOON: Duration = Duration::from_secs(20);

/// A file system of one megabyte.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts it; `None` if that is not allowed here.
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let args = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
        let mounted = Program::new("mount", dir.path()).args(args).args([dir.path()]).run();
        if mounted.code != Some(0) {
            skipped("a file system can only be mounted by root");
            return None;
        }
        Some(Self(dir))
    }

    fn fill(&self) -> PathBuf {
        fill(self.0.path())
    }

    /// Prepares the request, with this state directory.
    fn request(&self, world: &World, output: &str) -> Program {
        let args =
            ["--force-execute", "-p", "Fix the greeting", "--approval", "auto", "--output", output];
        let mut program = world.deepseek(args);
        program.env("DEEPSEEK_HOME", self.0.path().join("state"));
        program
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, since a process that is about to end may still have a file open.
        let unmounted =
            Program::new("umount", Path::new("/")).args(["-l"]).args([self.0.path()]).run();
        assert_eq!(unmounted.code, Some(0), "{}", unmounted.stderr);
    }
}

/// Fills the file system of a directory. Returns the file that does.
fn fill(dir: &Path) -> PathBuf {
    let path = dir.join("fill");
    let mut file = File::create(&path).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    path
}

#[test]
fn a_request_that_has_paid_for_nothing_ends_at_once_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount() else { return };
    let world = World::greeting(crate::support::greeting_fix());
    let filled = disk.fill();
    let asks = world
        .deepseek(["ask", "What is this?"])
        .env("DEEPSEEK_HOME", disk.0.path().join("state"))
        .run();
    for run in [disk.request(&world, "text").run(), asks] {
        assert_eq!(run.code, Some(70), "{}", run.stderr);
        assert!(run.elapsed < SOON, "{:?}", run.elapsed);
        let place = disk.0.path().to_str().unwrap();
        for part in ["error: ", "No space left on device", place, "hint: free some space there"] {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
    }
    assert!(world.provider.requests().is_empty(), "nothing was paid for");
    // The hint works.
    std::fs::remove_file(filled).unwrap();
    let run = disk.request(&world, "text").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// Starts a request whose disk is full once the Editor is asked, and waits until it is paused.
fn paused(disk: &SmallDisk) -> (World, Running) {
    let (dir, once) = (disk.0.path().to_owned(), Once::new());
    let replies = Replies::driven(move |request| {
        if request.header("x-agent-role") == Some("architect") {
            return ScriptedReply::text(plan(&["greet.txt"]));
        }
        once.call_once(|| drop(fill(&dir)));
        ScriptedReply::text(diff("greet.txt", "hello", "hello world"))
    });
    let world = World::of(Project::greeting(), Provider::new(replies));
    let mut running = disk.request(&world, "stream-json").start();
    let outputs = running.stdout_of();
    running.until(|| outputs().contains("waiting for space on"));
    (world, running)
}

fn says_what_it_waits_for(run: &Run, disk: &SmallDisk) {
    let place = disk.0.path().to_str().unwrap();
    let line = run.stderr.lines().find(|line| line.starts_with("waiting for space on")).unwrap();
    assert!(line.contains(place) && line.ends_with("free some, or stop with Ctrl-C"), "{line}");
    assert_eq!(run.stderr.matches("waiting for space on").count(), 1, "{}", run.stderr);
}

#[test]
fn a_request_that_has_paid_waits_for_space_and_goes_on() {
    let Some(disk) = SmallDisk::mount() else { return };
    let (world, running) = paused(&disk);
    std::fs::remove_file(disk.0.path().join("fill")).unwrap();
    let run = running.end();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    says_what_it_waits_for(&run, &disk);
    assert_eq!(world.provider.roles(), "architect editor");
}

#[test]
fn a_request_that_waits_for_space_ends_on_the_first_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let Some(disk) = SmallDisk::mount() else { return };
        let (world, running) = paused(&disk);
        let sent = Instant::now();
        running.signal(signal);
        let run = running.end();
        assert!(sent.elapsed() < SOON, "{signal:?}: {:?}", sent.elapsed());
        says_what_it_waits_for(&run, &disk);
        if run.code == Some(130) {
            // What it gave up left enough space to record the end.
            continue;
        }
        assert_eq!(run.code, Some(70), "{signal:?}: {}", run.stderr);
        std::fs::remove_file(disk.0.path().join("fill")).unwrap();
        let mut resumes = world.deepseek(["run"]);
        let resumed = resumes.env("DEEPSEEK_HOME", disk.0.path().join("state")).run();
        assert_eq!(resumed.code, Some(0), "{signal:?}: {}", resumed.stderr);
        assert_eq!(world.project.read("greet.txt"), "hello world\n");
    }
}
