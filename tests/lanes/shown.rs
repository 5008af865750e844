//! What users and programs see of lanes: while they run, at the end, and later.

use std::fs;

use mock::ScriptedReply;
use serde_json::Value;

use crate::support::{Project, Provider, Run, World, plan_verified_by, processes_left_in, shell};

const TEAM: &str = "TEAM_PLAN_V1
LANE|01|first|shout the first line
OWN|01|01.txt
LANE|02|denied|make b
OWN|02|b.txt
LANE|03|Erste Zeile \u{1b}[2J|shout it in German
OWN|03|03.txt
LANE|04|never|needs what is denied
OWN|04|d.txt
AFTER|04|02
TEAM_PLAN_END";

/// Returns the answers for a lane: a plan for one file, and its diff.
fn lane(id: &str, file: &str, diff: &str, check: &str) -> [ScriptedReply; 2] {
    let plan = plan_verified_by(&[file], &[check]);
    [
        ScriptedReply::text(plan).to("architect").in_lane(id),
        ScriptedReply::text(diff).to("editor").in_lane(id),
    ]
}

fn list_diff(word: &str) -> String {
    format!("--- a/list.txt\n+++ b/list.txt\n@@ -1,2 +1,2 @@\n-one\n+{word}\n two\n")
}

/// Creates a world with four lanes: one is merged, one is denied, one has a conflict and cannot be planned again, and one
/// never starts.
fn team() -> World {
    let mut replies = vec![ScriptedReply::text(TEAM).to("lane-planner")];
    replies.extend(lane("01", "list.txt", &list_diff("ONE"), "sh check.sh"));
    let new = "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n";
    replies.extend(lane("02", "b.txt", new, "sudo true").map(ScriptedReply::forever));
    replies.extend(lane("03", "list.txt", &list_diff("EINS"), "sh check.sh"));
    replies.push(ScriptedReply::text("I cannot.").to("architect").in_lane("03").forever());
    let project = Project::new(&[("list.txt", "one\ntwo\n"), ("check.sh", "test -s list.txt\n")]);
    World::of(project, Provider::new(replies)).unconfined()
}

fn run_without_terminal(world: &World) -> Run {
    let args = [
        "--force-execute",
        "-p",
        "Make the list shout",
        "--approval",
        "auto",
        "--teammate-mode",
        "on",
    ];
    world.deepseek(args).run()
}

/// Runs a command that has to succeed.
fn succeed(world: &World, args: &[&str]) -> Run {
    let run = world.deepseek(args.iter().copied()).run();
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run
}

#[test]
fn without_a_terminal_lanes_are_reported_line_by_line() {
    let world = team();
    let run = run_without_terminal(&world);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let expected = [
        "● plan lanes",
        "  01 first — 01.txt",
        "  04 never — d.txt · after 02",
        "● work in lanes",
        "lane 01 · begins: first",
        "lane 01 · plans to change list.txt",
        "lane 01 · list.txt +1 -1",
        "lane 01 · done, checks passed · list.txt · ",
        "lane 02 · denied: ",
        "lane 02 · failed: denied: ",
        "lane 03 · begins: Erste Zeile \u{fffd}[2J",
        "lane 04 · failed: lane 02, which it waits for, did not get done",
        "lane 01 · merged",
        "lane 03 · conflict: earlier lanes also changed list.txt",
        "lane 03 · is planned again on top of the merged work",
        "● verify all lanes",
        "  lane 01 first — merged · list.txt · ",
        "  lane 02 denied — failed: denied: ",
        "    its worktree: ",
        "  lane 03 Erste Zeile \u{fffd}[2J — conflict with other lanes in list.txt · list.txt · ",
        "  lane 04 never — failed: lane 02, ",
        "  what a lane changed: deepseek diff --lane NN",
    ];
    for begin in expected {
        let found = run.stderr.lines().filter(|line| line.starts_with(begin)).count();
        // The check of a lane is denied twice: for the baseline, and after the patch.
        assert!(found == 1 || begin.ends_with("denied: "), "{begin:?} in\n{}", run.stderr);
    }
    assert!(!run.stderr.contains("● edit") && !run.stderr.contains('\u{1b}'), "{}", run.stderr);
}

#[test]
fn in_json_every_line_names_its_lane() {
    let world = team();
    let mut program = world.request("Make the list shout");
    let run = program.args(["--teammate-mode", "on"]).run();
    assert_eq!(run.ending(), "1 needs_work/lanes_failed", "{}", run.stderr);
    let of = |kind: &str| -> Vec<&Value> {
        let named = |line: &&Value| line["kind"].as_str().unwrap().starts_with(kind);
        run.events.iter().filter(named).map(|line| &line["lane"]).collect()
    };
    for kind in ["TextDelta", "EditorStarted", "PatchStaged", "LaneFailed"] {
        let lanes = of(kind);
        let in_none = kind == "TextDelta" || kind == "PatchStaged";
        assert!(lanes.iter().all(|lane| lane.is_string() || in_none), "{kind}: {lanes:?}");
        assert!(lanes.iter().any(|lane| lane.is_string()), "{kind}: {lanes:?}");
    }
    let outcome = run.one("Outcome");
    let states: Vec<&str> = outcome["lanes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["merged", "failed", "conflicted", "failed"]);
    assert!(outcome["kept"][0].as_str().unwrap().ends_with("/02-1"), "{outcome}");
}

#[test]
fn the_changes_of_a_lane_can_be_shown_even_if_it_failed() {
    let world = team();
    let none = world.deepseek(["diff", "--lane", "01"]).run();
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no task has used lanes"), "{}", none.stderr);
    assert_eq!(run_without_terminal(&world).code, Some(1));

    let cases = [
        ("01", "first · merged", "-one\n+ONE\n"),
        ("2", "denied · failed", "+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n"),
        ("03", "conflicted", "-one\n+EINS\n"),
        ("04", "no changes", ""),
    ];
    for (lane, about, diff) in cases {
        let shown = succeed(&world, &["diff", "--lane", lane]);
        assert!(shown.stderr.contains(about), "{}", shown.stderr);
        assert!(shown.stdout.contains(diff), "{}", shown.stdout);
        assert_eq!(shown.stdout.is_empty(), diff.is_empty(), "{}", shown.stdout);
    }
    let json = succeed(&world, &["diff", "--lane", "02", "--run", "latest", "--output", "json"]);
    let document = &json.events[0];
    assert_eq!((&document["lane"], &document["state"]), (&"02".into(), &"failed".into()));
    assert_eq!(document["files"][0]["path"], "b.txt");
    let run = document["run"].as_str().unwrap();
    let again = succeed(&world, &["diff", "--lane", "02", "--run", run, "--output", "json"]);
    assert_eq!(again.stdout, json.stdout);

    let missing = world.deepseek(["diff", "--lane", "09"]).run();
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("it had 01 (first), 02 (denied)"), "{}", missing.stderr);
    for args in [["--lane", "x"], ["--lane", "100"]] {
        let wrong = world.deepseek(["diff"].into_iter().chain(args)).run();
        assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    }
    let elsewhere = world.deepseek(["diff", "--lane", "01", "--run", "nothing"]).run();
    assert!(elsewhere.stderr.contains("had lanes"), "{}", elsewhere.stderr);
}

#[test]
fn the_lane_demo_shows_a_conflict_and_lanes_that_fail_together() {
    let world = World::greeting(Vec::new());
    let mut program = world.deepseek(["demo", "--team", "--output", "stream-json"]);
    program.with_cargo().env("TMPDIR", world.project.root());
    let run = program.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL").run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(run.stderr.contains("scripted"), "{}", run.stderr);
    assert!(world.provider.requests().is_empty());
    assert_eq!(run.one("LanesPlanned")["lanes"].as_array().unwrap().len(), 3);
    let conflict = run.one("LaneConflicted");
    assert_eq!((&conflict["lane"], &conflict["paths"][0]), (&"02".into(), &"CHANGES.md".into()));
    assert_eq!(run.one("LanesBisected")["lanes"].to_string(), r#"["01","03"]"#);
    let ends = run.one("LanesFinished")["lanes"].as_array().unwrap().clone();
    assert!(ends.iter().all(|lane| lane["state"] == "merged"), "{ends:?}");

    let demo = fs::read_dir(world.project.root()).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.join("till/src/tax.rs").exists().then_some(path)
    });
    let demo = demo.expect("the result is kept");
    let changes = fs::read_to_string(demo.join("till/CHANGES.md")).unwrap();
    assert_eq!(changes.lines().filter(|line| line.starts_with("- ")).count(), 3);
    // Only the journal keeps anything of the lanes.
    for workspace in fs::read_dir(demo.join("state/workspaces")).unwrap() {
        let workspace = workspace.unwrap().path();
        let names = |below: &str| -> Vec<_> {
            let entries = fs::read_dir(workspace.join(below)).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        assert_eq!(names("lanes"), [""; 0]);
        assert_eq!(names("checkpoints.git/worktrees"), [""; 0]);
    }
    assert_eq!(processes_left_in(&demo), Vec::<String>::new());
    let status = shell(&demo.join("till"), "git worktree list && git status --porcelain");
    assert_eq!(status.lines().count(), 5, "one worktree, four files changed: {status}");
}

#[test]
fn patches_of_lanes_cannot_be_shown_as_workspace_patches() {
    let world = team();
    assert_eq!(run_without_terminal(&world).code, Some(1));
    let export = succeed(&world, &["export", "--format", "json"]);
    let events = export.events[0]["events"].as_array().unwrap();
    let of_lanes = |event: &&Value| event["lane"] == "02" && event["what"] == "patch";
    let patch =
        events.iter().find(of_lanes).expect("the lane staged a patch")["data"]["patch"].clone();
    let diff = world.deepseek(["diff", patch.as_str().unwrap()]).run();
    assert_eq!(diff.code, Some(2), "{}", diff.stdout);
}

#[test]
fn usage_can_be_grouped_by_lane() {
    let world = team();
    assert_eq!(run_without_terminal(&world).code, Some(1));
    let usage = succeed(&world, &["usage", "--by", "lane", "--output", "json"]);
    let document = &usage.events[0];
    let rows = document["rows"].as_array().unwrap();
    let lanes: Vec<&str> = rows.iter().map(|row| row["lane"].as_str().unwrap()).collect();
    assert_eq!(lanes, ["-", "01", "02", "03"]);
    // Each lane numbers its calls from one; calls of different lanes must not be confused.
    assert_eq!(document["total"]["calls"], world.provider.requests().len());
    assert_eq!(document["total"]["calls_of_unknown_usage"], 0);
    assert_eq!(rows[1]["usage"]["calls"], 2);
    let show = succeed(&world, &["sessions", "show"]);
    assert!(show.stdout.lines().any(|line| line.contains(" lane 02: ")), "{}", show.stdout);
}

#[test]
fn explain_traces_every_event_of_a_lane_back_to_the_request() {
    let world = team();
    assert_eq!(run_without_terminal(&world).code, Some(1));
    let shown = succeed(&world, &["sessions", "show", "--output", "json"]);
    for event in &shown.events {
        let seq = event["seq"].to_string();
        let explained = &succeed(&world, &["explain", &seq, "--output", "json"]).events[0];
        let because = explained["because"].as_array().unwrap();
        let first = because.last().unwrap_or(&explained["event"]);
        let is_request = first["data"]["speaker"] == "user";
        assert!(event["run"].is_null() || is_request, "{event}: {explained}");
        // An event of one lane is never a cause of an event of another.
        let others = because.iter().filter(|cause| {
            !cause["lane"].is_null() && !event["lane"].is_null() && cause["lane"] != event["lane"]
        });
        assert_eq!(others.count(), 0, "{event}: {explained}");
    }
}
