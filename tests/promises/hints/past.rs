//! Commands about past work that is not as they need it: sessions, patches, cards, commits, and who else is at work.

use std::fs;

use mock::{Behaviour, ScriptedReply};
use serde_json::Value;

use super::follow::{Printed, printed};
use crate::missions::mission as missions;
use crate::sessions::replay;
use crate::support::journal::rewrite;
use crate::support::{Project, Provider, World, greeting_fix, shell};

/// The scenarios.
pub(super) const ALL: &[fn(&Printed)] = &[
    after_a_request,
    staged,
    forks,
    cards,
    damaged_sessions,
    other_workspaces,
    commits,
    running_elsewhere,
];

const FIX: [&str; 5] = ["--force-execute", "-p", "Fix the greeting", "--approval", "auto"];

/// Creates a world whose greeting has been fixed.
fn fixed() -> World {
    let world = World::greeting(greeting_fix());
    let run = world.deepseek(FIX).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    world
}

fn after_a_request(hints: &Printed) {
    let world = fixed();
    let session = printed(&world, &["sessions"])[0]["id"].as_str().unwrap().to_owned();
    let common = &session[..4];
    world.project.write("greet.txt", "hello world, and mine\n");
    for fails in [
        &["explain", "9999"] as &[&str],
        &["diff", "--run", "nothing"],
        &["run", &session],
        &["rewind", "1", "check.sh"],
        &["rewind", "1", "../elsewhere"],
        &["rewind", "1"],
    ] {
        hints.follow(&world, fails);
    }
    let again =
        World::of(Project::greeting(), Provider::new([greeting_fix(), greeting_fix()].concat()));
    for _ in 0..2 {
        again.project.write("greet.txt", "hello\n");
        assert_eq!(again.deepseek(FIX).run().code, Some(0));
    }
    for fails in [&["sessions", "show", common] as &[&str], &["diff", common]] {
        hints.follow(&again, fails);
    }
    let run = world.deepseek(["sessions", "show"]).run();
    hints.note_text(&format!("hint: {}", run.stderr));
    let explains = world.deepseek(["explain", "1", "--full"]).run();
    assert_eq!(explains.code, Some(0), "{}", explains.stderr);
    let root = world.project.root().canonicalize().unwrap();
    let memory = journal::workspace_state(&world.state(), &root).join("memory.json");
    fs::remove_file(&memory).unwrap();
    fs::create_dir(&memory).unwrap();
    hints.follow(&world, &["memory", "list"]);
}

fn staged(hints: &Printed) {
    let asks = ["--force-execute", "-p", "Fix the greeting"];
    let world = || {
        let world = World::greeting([greeting_fix(), greeting_fix()].concat());
        assert_eq!(world.deepseek(asks).run().code, Some(3));
        world
    };
    hints.follow(&World::greeting([greeting_fix(), greeting_fix()].concat()), &asks);
    let unasked = world();
    hints.follow(&unasked, &["apply"]);
    assert_eq!(unasked.project.read("greet.txt"), "hello world\n");
    let stale = world();
    stale.project.write("greet.txt", "mine\n");
    hints.follow(&stale, &["apply", "--yes"]);
}

fn forks(hints: &Printed) {
    let world = fixed();
    hints.follow(&world, &["fork", "--at", "9999", "--into", "there"]);
    hints.follow(&world, &["fork", "--at", "1", "--into", "."]);
    hints.follow(&world, &["fork", "--at", "1", "--into", ".git/x"]);
    let into = world.home().join("fork");
    let run = world.deepseek(["fork", "--at", "1", "--into", into.to_str().unwrap()]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    hints.note(&run);
    let hint = run.stderr.split("hint: deepseek ").nth(1).unwrap();
    let words: Vec<&str> = hint.split_whitespace().chain(["-p", "x"]).collect();
    // The session is found, and the model is asked.
    assert_eq!(world.deepseek(words).run().code, Some(5));
}

fn cards(hints: &Printed) {
    let (world, hash) = missions::with_a_card();
    hints.follow(&world, &["mission", "show", "nothing"]);
    hints.follow(&world, &["mission", "Another goal", "--approve-mission", &hash]);
    hints.follow(&world, &["mission", "reject", &hash]);
    hints.follow(&world, &["mission", "approve", &hash]);
    // Of seventeen hashes, two begin alike.
    let world = missions::with_goals(17);
    let begin = |card: &Value| card["hash"].as_str().unwrap()[..1].to_owned();
    let same = |two: &[String]| (two[0] == two[1]).then(|| two[0].clone());
    for _ in 0..17 {
        world.deepseek(["mission", missions::GOAL]).run();
        let cards = printed(&world, &["mission", "list"]);
        let mut begins: Vec<String> = cards.as_array().unwrap().iter().map(begin).collect();
        begins.sort();
        if let Some(begin) = begins.windows(2).find_map(same) {
            return hints.follow(&world, &["mission", "show", &begin]);
        }
    }
    panic!("no two cards begin alike");
}

fn damaged_sessions(hints: &Printed) {
    for before in [["replay"].as_slice(), &["--force-execute", "-p", "x", "-r"]] {
        let world = fixed();
        let session = replay::session(&world);
        let id = session.file_name().unwrap().to_str().unwrap();
        let mut bytes = fs::read(session.join("events.jsonl")).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(session.join("events.jsonl"), bytes).unwrap();
        hints.follow(&world, &[before, &[id]].concat());
    }
    // Its contents are gone: those of the answers, or all.
    let world = fixed();
    let session = replay::session(&world);
    rewrite(&session, |event| {
        if event["kind"] == "ModelReply@v1" {
            let answer = event["data"]["answer"]["blob"].as_str().unwrap();
            fs::remove_file(session.join("blobs").join(format!("{answer}.zst"))).ok();
        }
    });
    hints.follow(&world, &["replay"]);
    let world = fixed();
    fs::remove_dir_all(replay::session(&world).join("blobs")).unwrap();
    hints.follow(&world, &["-c", "-p", "x", "--force-execute"]);
    // An answer is another one than was recorded.
    let world = fixed();
    replay::forge(&replay::session(&world), 2, "hello world", "hello moon");
    hints.follow(&world, &["replay"]);
    // An event is of a kind that this version does not know.
    let world = fixed();
    rewrite(&replay::session(&world), |event| {
        if event["kind"] == "PlanCreated@v1" {
            event["kind"] = "PlanDreamt@v1".into();
        }
    });
    hints.follow(&world, &["replay"]);
}

fn other_workspaces(hints: &Printed) {
    let world = World::greeting([greeting_fix(), greeting_fix()].concat());
    assert_eq!(world.deepseek(FIX).run().code, Some(0));
    let session = printed(&world, &["sessions"])[0]["id"].as_str().unwrap().to_owned();
    let root = world.project.root().canonicalize().unwrap();
    let lock = journal::workspace_state(&world.state(), &root).join("lock");
    let root = root.to_str().unwrap();
    shell(
        world.home(),
        &format!("cp -r {root} new && cp -r {root} third && echo hello > new/greet.txt"),
    );
    let at = |dir: &'static str, args: &[&str]| {
        let mut program = world.deepseek(args.iter().copied());
        program.within(&world.home().join(dir));
        program
    };
    let new = |args: &[&str]| at("new", args);
    let third = |args: &[&str]| at("third", args);
    assert_eq!(new(&FIX).run().code, Some(0));
    let (asks, adopts) = (["-r", session.as_str(), "-p", "x"], ["sessions", "adopt", root]);
    hints.follow_by(&asks, third);
    hints.follow_by(&adopts, third);
    hints.follow_by(&["sessions", "adopt", "/no/such/project"], third);
    let old = world.home().join("old");
    fs::rename(root, &old).unwrap();
    hints.follow_by(&adopts, new);
    let held = fs::File::options().write(true).open(&lock).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    hints.follow_by(&adopts, third);
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    hints.follow_by(&adopts, third);
    fs::remove_dir(&lock).unwrap();
    hints.follow_by(&asks, third);
    fs::rename(&old, root).unwrap();
}

fn commits(hints: &Printed) {
    let world = fixed();
    let git = |words: &str| shell(world.project.root(), &format!("git {words}"));
    git("config user.name t");
    git("config user.email t@example.org");
    world.project.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'not on a Monday' >&2; exit 1\n");
    shell(world.project.root(), "chmod +x .git/hooks/pre-commit");
    let run = world.deepseek(["commit", "--yes"]).run();
    hints.note(&run);
    assert!(run.stderr.contains("not on a Monday\n"), "{}", run.stderr);
    shell(world.project.root(), "rm .git/hooks/pre-commit");
    hints.follow(&world, &["commit"]);
    hints.follow(&world, &["commit", "--yes"]);
    let world = fixed();
    shell(world.project.root(), "git update-index --assume-unchanged greet.txt");
    hints.follow(&world, &["commit", "--yes"]);
}

fn running_elsewhere(hints: &Printed) {
    let world = World::greeting(vec![ScriptedReply::of(Behaviour::StallAfterHeaders)])
        .configure("[limits]\nworkspace_lock_timeout_seconds = 0\n");
    let mut running =
        world.deepseek(["--force-execute", "-p", "Fix it", "--approval", "auto"]).start();
    running.until(|| !world.provider.requests().is_empty());
    let session = printed(&world, &["sessions"])[0]["id"].as_str().unwrap().to_owned();
    for fails in [&["commit"] as &[&str], &["-r", &session, "-p", "x"]] {
        let run = world.deepseek(fails.iter().copied()).run();
        hints.note(&run);
        assert_eq!(run.code, Some(1), "{fails:?}: {}", run.stderr);
    }
    running.interrupt();
    // The interrupted request comes first.
    hints.follow(&world, &["-c", "ask", "why?"]);
}
