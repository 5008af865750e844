//! Recorded sessions are replayed with the same events, and with every request identical byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use mock::{Behaviour, ScriptedReply};
use serde_json::{Value, json};

use crate::lanes::team_crashes;
use crate::requests::invariants::twenty_calls;
use crate::sessions::resume::eventful;
use crate::support::journal::{keep, kept, rewrite};
use crate::support::{
    Project, Provider, World, architect, diff, editor, endless_looks, greeting_fix,
    greeting_fix_insisting_on, plan,
};

/// The directory of the golden sessions.
pub(crate) const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden");

const REQUEST: [&str; 5] = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];

/// A function that makes a session.
pub(crate) type Made = fn() -> World;

/// The golden sessions, and how each was made. `RECORD_GOLDEN=1` records missing ones; existing ones are never changed,
/// because journals of earlier versions have to replay.
pub(crate) const SESSIONS: [(&str, Made); 13] = [
    ("team", || ends(team_crashes::world(), &team_crashes::REQUEST, 0)),
    ("delivered", || ends(World::greeting(greeting_fix()), &REQUEST, 0)),
    ("repaired", || ends(World::greeting(eventful()), &REQUEST, 0)),
    ("needs-work", || {
        let world = World::greeting(vec![
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello", "hello moon")),
            editor(diff("greet.txt", "hello moon", "hello sun")),
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello sun", "hello stars")),
        ]);
        ends(world.configure("[agent_loop]\nmax_iterations = 3\n"), &REQUEST, 1)
    }),
    ("denied-patch", || {
        let args = ["--force-execute", "-p", "Fix the greeting", "--approval", "suggest"];
        ends(World::greeting(greeting_fix()), &args, 3)
    }),
    ("denied-command", || {
        ends(World::greeting(greeting_fix_insisting_on("make install")).unconfined(), &REQUEST, 3)
    }),
    ("cancelled-call", || {
        let silence = ScriptedReply::of(Behaviour::StallAfterHeaders);
        let world = World::greeting(vec![architect(plan(&["greet.txt"])), silence]);
        cancelled(world, |world| world.provider.of("editor").len() == 1)
    }),
    ("cancelled-check", || {
        let check = "grep -q world greet.txt || exit 1\ntouch begun\nsleep 1000\n";
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", check)]);
        let world = World::of(project, Provider::new(greeting_fix())).unconfined();
        cancelled(world, |world| world.project.path("begun").exists())
    }),
    ("budget", || {
        let args = [REQUEST.as_slice(), &["--budget-tokens", "9000"]].concat();
        let replies = [vec![architect(plan(&["greet.txt"]))], endless_looks()].concat();
        let world = World::greeting(replies);
        let more = "[agent_loop]\nmax_context_requests_per_iteration = 100\n";
        ends(world.configure(more), &args, 4)
    }),
    ("out-of-time", || {
        let silence = ScriptedReply::of(Behaviour::StallAfterHeaders);
        let world = World::greeting(vec![architect(plan(&["greet.txt"])), silence]);
        ends(world.configure("[budget]\nwall_seconds = 1\n"), &REQUEST, 4)
    }),
    ("provider-fails", || {
        let mut answers =
            vec![ScriptedReply::of(Behaviour::Http503), ScriptedReply::of(Behaviour::EofNoDone)];
        answers.extend(greeting_fix());
        answers.push(ScriptedReply::of(Behaviour::Http401).forever());
        let world = ends(World::greeting(answers), &REQUEST, 0);
        ends(world, &["-c", "--force-execute", "-p", "Fix it again", "--approval", "auto"], 5)
    }),
    ("talk", || {
        let world = World::greeting(vec![
            ScriptedReply::text("A greeting.").to("analysis"),
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello", "hello world")),
            ScriptedReply::text("It says hello world.").to("analysis"),
        ]);
        let world = ends(world, &["ask", "What is this?"], 0);
        let edit = ["-c", "-p", "the greeting is too short", "--approval", "auto"];
        ends(ends(world, &edit, 0), &["-c", "ask", "What does it say now?"], 0)
    }),
    ("killed", || {
        let world = World::greeting(eventful());
        let killed = world.deepseek(REQUEST).env("DEEPSEEK_KILL_AT", "40").run();
        assert_eq!(killed.code, None, "{}", killed.stderr);
        ends(world, &["run"], 0)
    }),
];

/// Runs the program with these arguments; it has to end with this exit code.
fn ends(world: World, args: &[&str], code: i32) -> World {
    let run = world.deepseek(args.iter().copied()).run();
    assert_eq!(run.code, Some(code), "{args:?}: {}", run.stderr);
    world
}

/// Starts the request and stops it by Ctrl-C once `reached` returns true.
fn cancelled(world: World, reached: impl Fn(&World) -> bool) -> World {
    let mut running = world.deepseek(REQUEST).start();
    running.until(|| reached(&world));
    let (run, _) = running.interrupt();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    world
}

/// Returns the directory of the only session.
pub(crate) fn session(world: &World) -> PathBuf {
    let sessions = fs::read_dir(world.state().join("sessions")).unwrap();
    let dirs: Vec<PathBuf> = sessions.map(|entry| entry.unwrap().path()).collect();
    let [dir] = dirs.as_slice() else { panic!("{dirs:?}") };
    dir.clone()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap().path();
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).unwrap();
        }
    }
}

/// Replays a session. Returns the exit code and the JSON document.
pub(crate) fn replayed(world: &World, session: &str) -> (Option<i32>, Value) {
    let run = world.deepseek(["replay", session, "--output", "json"]).run();
    let document = run.events.first().cloned();
    (run.code, document.unwrap_or_else(|| panic!("{session}: {}", run.stderr)))
}

#[test]
fn every_kind_of_session_replays_to_the_same_events() {
    for (name, make) in SESSIONS {
        let world = make();
        let events = fs::read_to_string(session(&world).join("events.jsonl")).unwrap();
        let asked = world.provider.requests().len();
        let before = world.project.hashes(".");
        let (code, document) = replayed(&world, "latest");
        assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{name}: {document:#}");
        let runs = events.lines().filter(|line| line.contains("RunStarted@v1")).count();
        assert_eq!(document["runs"], runs, "{name}");
        let compared = document["events"].as_u64().unwrap();
        let recorded = events.lines().filter(|line| line.contains("\"run\":")).count() as u64;
        assert!(compared * 10 > recorded * 7, "{name}: {compared} of {recorded} events");
        assert_eq!(world.provider.requests().len(), asked, "{name}: a model was asked");
        assert_eq!(world.project.hashes("."), before, "{name}: something was written");
    }
}

#[test]
fn every_golden_session_replays() {
    let world = World::greeting(Vec::new());
    for (name, make) in SESSIONS {
        let golden = Path::new(GOLDEN).join(name);
        if !golden.exists() && std::env::var_os("RECORD_GOLDEN").is_some() {
            copy(&session(&make()), &golden);
        }
    }
    let mut replays = 0;
    for golden in fs::read_dir(GOLDEN).unwrap() {
        let golden = golden.unwrap().path();
        let name = golden.file_name().unwrap().to_str().unwrap().to_owned();
        copy(&golden, &world.state().join("sessions").join(&name));
        let (code, document) = replayed(&world, &name);
        assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{name}: {document:#}");
        replays += 1;
    }
    assert!(replays >= SESSIONS.len(), "{replays} golden sessions");
}

#[test]
fn twenty_calls_replay_byte_for_byte() {
    let (project, replies) = twenty_calls();
    let world =
        World::of(project, Provider::new(replies)).configure("[agent_loop]\nmax_iterations = 12\n");
    let world =
        ends(world, &["--force-execute", "-p", "Improve words.txt", "--approval", "auto"], 0);
    assert_eq!(world.provider.requests().len(), 20);
    let (code, document) = replayed(&world, "latest");
    assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{document:#}");
}

/// Replaces text in the recorded answer of a call, and seals the journal again. Returns the sequence number of the event.
pub(crate) fn forge(session: &Path, call: u64, old: &str, new: &str) -> u64 {
    let mut forged = 0;
    rewrite(session, |event| {
        if event["kind"] == "ModelReply@v1" && event["data"]["call"] == call {
            let said = kept(session, &event["data"]["answer"]);
            let other = said.replace(old, new);
            assert_ne!(other, said);
            event["data"]["answer"] = keep(session, &other);
            forged = event["seq"].as_u64().unwrap();
        }
    });
    forged
}

#[test]
fn a_changed_answer_is_reported_once_at_the_first_difference() {
    let world = ends(World::greeting(greeting_fix()), &REQUEST, 0);
    let forged = forge(&session(&world), 2, "hello world", "hello moon");
    let (code, document) = replayed(&world, "latest");
    assert_eq!((code, &document["identical"]), (Some(1), &json!(false)), "{document:#}");
    let difference = &document["difference"];
    assert!(difference["seq"].as_u64().unwrap() > forged, "{document:#}");
    assert_eq!(difference["recorded"]["kind"], "PatchStaged@v2", "{document:#}");
    assert_eq!(difference["replayed"]["kind"], "PatchStaged@v2", "{document:#}");

    let run = world.deepseek(["replay", "--diff"]).run();
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.matches("the replay differs").count(), 1, "{}", run.stderr);
    let opposite = |line: &str| line.contains("hello world") && line.contains("hello moon");
    assert!(run.stdout.lines().any(opposite), "{}", run.stdout);
}
