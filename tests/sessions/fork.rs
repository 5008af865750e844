//! `deepseek fork`: sessions that start at an earlier point of another one, with the workspace of that point.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sessions::resume::eventful;
use crate::support::{Run, World};

const REQUEST: [&str; 5] = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];

/// Creates a world in which the greeting was fixed at the second attempt. Returns its events.
fn with_fixed_greeting() -> (World, Vec<Value>) {
    let world = World::greeting(eventful());
    let run = world.deepseek([REQUEST.as_slice(), &["--output", "stream-json"]].concat()).run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let events = run.events.iter().filter(|event| event["seq"].is_u64()).cloned().collect();
    (world, events)
}

/// Returns the sequence number of the `n`th event of a kind, counted from zero.
fn seq(events: &[Value], kind: &str, n: usize) -> String {
    let of_kind: Vec<&Value> = events.iter().filter(|event| event["kind"] == kind).collect();
    of_kind[n]["seq"].to_string()
}

fn fork(world: &World, at: &str, more: &[&str]) -> Run {
    world.deepseek([["fork", "--at", at].as_slice(), more].concat()).run()
}

fn greeting(dir: &Path) -> String {
    fs::read_to_string(dir.join("greet.txt")).unwrap()
}

/// Runs the program in the workspace of a fork.
fn run_in_fork(world: &World, dir: &Path, args: &[&str]) -> Run {
    let workspace = ["--workspace", dir.to_str().unwrap()];
    world.deepseek([args, &workspace].concat()).run()
}

#[test]
fn a_fork_inside_a_request_is_resumed_in_its_own_workspace() {
    let (world, events) = with_fixed_greeting();
    let parent = tempfile::tempdir().unwrap();
    for (kind, n, says) in [
        ("EvidenceGathered@v1", 0, "hello\n"),
        ("PatchApplied@v1", 0, "hello moon\n"),
        ("VerifyStarted@v1", 1, "hello moon\nand more\n"),
        ("RunFinished@v3", 0, "hello world\n"),
    ] {
        let into = parent.path().join(kind);
        let run = fork(&world, &seq(&events, kind, n), &["--into", into.to_str().unwrap()]);
        assert_eq!(run.code, Some(0), "{kind}: {}", run.stderr);
        let id = run.stdout.trim();
        assert_eq!(greeting(&into), says, "{kind}");
        assert!(into.join("check.sh").exists() && !into.join(".git").exists(), "{kind}");

        let journal = world.state().join("sessions").join(id).join("events.jsonl");
        let journal = fs::read_to_string(journal).unwrap();
        let began: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
        for kept in ["config", "prompts"] {
            assert!(began["data"][kept].is_object(), "{kind}: {kept}");
            assert_eq!(began["data"][kept], events[0]["data"][kept], "{kind}");
        }
        let replay = world.deepseek(["replay", id]).run();
        assert_eq!(replay.code, Some(0), "{kind}: {}{}", replay.stdout, replay.stderr);
        let asked = world.provider.requests().len();
        let run = run_in_fork(&world, &into, &["run"]);
        if kind == "RunFinished@v3" {
            assert_eq!(run.code, Some(2), "{kind}: {}", run.stderr);
            continue;
        }
        assert_eq!(run.code, Some(0), "{kind}: {}", run.stderr);
        assert_eq!(greeting(&into), "hello world\n", "{kind}");
        assert!(world.provider.requests().len() > asked, "{kind}: nothing was done");
        assert_eq!(world.deepseek(["replay", id]).run().code, Some(0), "{kind}");
    }
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
}

#[test]
fn a_fork_can_be_checked_out_in_the_original_workspace() {
    let (world, events) = with_fixed_greeting();
    world.project.write("mine.txt", "mine\n");
    let at = seq(&events, "PatchApplied@v1", 0);
    let run = fork(&world, &at, &["--checkout"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello moon\n");
    assert_eq!(world.project.read("mine.txt"), "mine\n");
    assert!(!world.project.path("new.txt").exists());
    let run = world.deepseek(["run"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
}

#[test]
fn an_impossible_fork_is_refused_with_a_reason_and_creates_nothing() {
    let (world, events) = with_fixed_greeting();
    let sessions = || fs::read_dir(world.state().join("sessions")).unwrap().count();
    let into = world.project.path("fork");
    let into = into.to_str().unwrap();
    for (at, args, code, says) in [
        ("0", ["--into", into], 2, "has events 1 to"),
        ("9999", ["--into", into], 2, "has events 1 to"),
        ("5", ["--into", "check.sh"], 1, "check.sh"),
        ("5", ["--into", ".git/x"], 2, "is inside `.git`"),
        ("5", ["--into", ".GIT/hooks/x"], 2, "is inside `.GIT`"),
    ] {
        let run = fork(&world, at, &args);
        assert_eq!(run.code, Some(code), "{at} {args:?}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{at} {args:?}: {}", run.stderr);
    }
    assert_eq!(fork(&world, "5", &[]).code, Some(2));
    fs::remove_dir_all(checkpoints(&world)).unwrap();
    let run = fork(&world, &seq(&events, "PatchApplied@v1", 0), &["--into", into]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("has been deleted"), "{}", run.stderr);
    assert_eq!(sessions(), 1);
    assert!(!Path::new(into).exists());
}

/// Returns the checkpoint repository of the only workspace.
fn checkpoints(world: &World) -> PathBuf {
    let workspaces = fs::read_dir(world.state().join("workspaces")).unwrap();
    let dirs: Vec<PathBuf> = workspaces.map(|entry| entry.unwrap().path()).collect();
    let [dir] = dirs.as_slice() else { panic!("{dirs:?}") };
    dir.join("checkpoints.git")
}
