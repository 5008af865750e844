//! Tasks done in lanes: split, worked on in parallel, merged, verified as a whole, and written once.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mock::{Replies, ScriptedReply};

use crate::lanes::team_crashes::worktrees;
use crate::support::{Project, Provider, Run, Terminal, World, hashes_in, plan_verified_by};

/// Returns the answer of the lane planner.
fn team(lines: &str) -> ScriptedReply {
    ScriptedReply::text(format!("TEAM_PLAN_V1\n{lines}\nTEAM_PLAN_END")).to("lane-planner")
}

/// Returns the answers for a lane: a plan for one file, and its diff.
fn lane(id: &str, file: &str, diff: &str, check: &str) -> [ScriptedReply; 2] {
    let plan = plan_verified_by(&[file], &[check]);
    [
        ScriptedReply::text(plan).to("architect").in_lane(id),
        ScriptedReply::text(diff).to("editor").in_lane(id),
    ]
}

/// Returns a diff that creates a file of one line.
fn new_file(path: &str, line: &str) -> String {
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n")
}

const THREE: &str = "LANE|01|a|make a\nOWN|01|a.txt\nLANE|02|b|make b\nOWN|02|b.txt\nLANE|03|c|make c\nOWN|03|c.txt";

/// Creates a project of one file, whose check passes unless a file contains `bad`.
fn project() -> Project {
    Project::new(&[("base.txt", "base\n"), ("check.sh", "! grep -q bad *.txt\n")])
}

fn work(world: &World) -> Run {
    let mut program = world.request("Make the files");
    program.args(["--teammate-mode", "on"]);
    program.run()
}

#[test]
fn three_lanes_are_merged_into_one_change() {
    let mut replies = vec![team(THREE)];
    for (id, file) in [("01", "a.txt"), ("02", "b.txt"), ("03", "c.txt")] {
        replies.extend(lane(id, file, &new_file(file, id), "sh check.sh"));
    }
    let world = World::of(project(), Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    for (id, file) in [("01", "a.txt"), ("02", "b.txt"), ("03", "c.txt")] {
        assert_eq!(world.project.read(file), format!("{id}\n"));
    }
    assert_eq!(run.all("PatchApplied").len(), 4, "one per lane and one in the workspace");
}

/// Returns the answers for three lanes that each create a file.
fn three_files() -> Vec<ScriptedReply> {
    let mut replies = vec![team(THREE)];
    for (id, file) in [("01", "a.txt"), ("02", "b.txt"), ("03", "c.txt")] {
        replies.extend(lane(id, file, &new_file(file, id), "sh check.sh"));
    }
    replies
}

/// Runs three lanes at a terminal and approves only `files`.
fn approve_partially(check: &str, files: &str) -> (World, Terminal) {
    let world = World::of(
        Project::new(&[("base.txt", "base\n"), ("check.sh", check)]),
        Provider::new(three_files()),
    );
    let words = ["-p", "Make the files", "--force-execute", "--teammate-mode=on", "--plain"];
    let mut terminal =
        Terminal::start(&mut world.deepseek(words.into_iter().chain(["--approval", "suggest"])));
    terminal.until("[y/N; files 1 2, no: WHY, show]", 1);
    terminal.types(&format!("{files}\r"));
    (world, terminal)
}

#[test]
fn a_lane_change_can_be_approved_partially_and_is_verified_again() {
    let (world, mut terminal) = approve_partially("! grep -q bad *.txt\n", "files 1 3: not now");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
    let made = |file: &str| world.project.path(file).exists();
    assert!(made("a.txt") && !made("b.txt") && made("c.txt"));
    let shown = terminal.shown();
    assert!(shown.contains(": a.txt +1 -0, c.txt +1 -0"), "{shown}");
    assert!(!shown.contains("b.txt +1 -0"), "{shown}");
    let ends: Vec<&str> = shown.lines().filter(|line| line.contains("lane 02 b — ")).collect();
    assert!(ends.iter().any(|line| line.contains("staged, not in the workspace")), "{shown}");
    let verified = shown.matches("verify all lanes").count();
    assert_eq!(verified, 2, "once for the whole change, once for the approved part: {shown}");
    let replay = world.deepseek(["replay"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
    let run = world.deepseek(["apply", "--yes"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(made("b.txt"));
}

/// A log that every lane adds a line to, as to a changelog, is of no lane; the second lane is planned again on top of the first.
#[test]
fn a_part_of_lanes_that_conflicted_before_can_be_approved() {
    let log = format!("line 1\nline 2\n{}", "line 3\n".repeat(18));
    let logged = |before: &[&str], line: &str| {
        let context: String = before.iter().flat_map(|line| [" ", line, "\n"]).collect();
        let (old, new) = (before.len() + 1, before.len() + 2);
        format!(
            "--- a/log.txt\n+++ b/log.txt\n@@ -1,{old} +1,{new} @@\n{context}+{line}\n line 3\n"
        )
    };
    let two = |one: &str, other: &str| new_file(one, "1") + &new_file(other, "2");
    let answer = move |request: &mock::ReceivedRequest| {
        let again = format!("{request:?}").contains("You did this before");
        let lane = request.header("x-agent-lane");
        let plan = |files: &[&str]| plan_verified_by(files, &["sh check.sh"]);
        ScriptedReply::text(match (request.header("x-agent-role"), lane) {
            (Some("lane-planner"), _) => "TEAM_PLAN_V1\nLANE|01|a|make a\nOWN|01|a/**\nLANE|02|b|make b\nOWN|02|b/**\nTEAM_PLAN_END".to_owned(),
            (Some("architect"), Some("01")) => plan(&["log.txt", "a/1", "a/2"]),
            (Some("architect"), _) => plan(&["log.txt", "b/1", "b/2"]),
            (_, Some("01")) => logged(&["line 1", "line 2"], "of a") + &two("a/1", "a/2"),
            (_, _) if again => logged(&["line 1", "line 2", "of a"], "of b") + &two("b/1", "b/2"),
            (_, _) => logged(&["line 1", "line 2"], "of b") + &two("b/1", "b/2"),
        })
    };
    let project = Project::new(&[("log.txt", &log), ("check.sh", "! grep -q bad *.txt\n")]);
    let world = World::of(project, Provider::new(Replies::driven(answer)));
    let words = ["-p", "Make the files", "--force-execute", "--teammate-mode=on", "--plain"];
    let mut terminal =
        Terminal::start(&mut world.deepseek(words.into_iter().chain(["--approval", "suggest"])));
    terminal.until("[y/N; files 1 2, no: WHY, show]", 1);
    terminal.types("files 1 2 3 5\r");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
    assert!(!terminal.shown().contains("in the meantime"), "{}", terminal.shown());
    let replay = world.deepseek(["replay"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

#[test]
fn an_approved_part_that_fails_without_the_rest_is_not_delivered() {
    // a.txt with c.txt fails unless b.txt is there as well.
    let check =
        "[ -e a.txt ] && [ -e b.txt ] && exit 0\n[ -e a.txt ] && [ -e c.txt ] && exit 1\nexit 0\n";
    let (world, mut terminal) = approve_partially(check, "files 1 3");
    assert_eq!(terminal.ends(), Some(1), "{}", terminal.shown());
    let shown = terminal.shown();
    assert!(shown.contains("changed so far: a.txt +1 -0, c.txt +1 -0"), "{shown}");
    assert!(shown.contains("fail the checks without the others"), "{shown}");
    let run = world.deepseek(["apply", "--yes"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.project.path("b.txt").exists());
}

/// Returns the final state of each lane: `merged failed conflicted`.
fn ends(run: &Run) -> String {
    let lanes = run.one("LanesFinished")["lanes"].as_array().unwrap().clone();
    let states = lanes.iter().map(|lane| lane["state"].as_str().unwrap().to_owned());
    states.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_workspace_does_not_change_while_lanes_work() {
    let project = project();
    project.write("notes.txt", "not committed\n");
    let root = project.root().to_owned();
    let before = project.hashes("");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let provider = Provider::new(Replies::driven({
        let (script, seen) = (Mutex::new(Replies::from(three_files())), Arc::clone(&seen));
        move |request| {
            seen.lock().unwrap().push(hashes_in(&root));
            script.lock().unwrap().take(request).unwrap()
        }
    }));
    let world = World::of(project, provider);
    assert_eq!(work(&world).ending(), "0 delivered/passed");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 7);
    assert!(seen.iter().all(|hashes| *hashes == before));
    assert_ne!(world.project.hashes(""), before);
}

#[test]
fn lanes_work_without_git_and_with_uncommitted_changes() {
    let project =
        Project::without_git(&[("base.txt", "base\n"), ("check.sh", "! grep -q bad *.txt\n")]);
    let world = World::of(project, Provider::new(three_files()));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    assert!(!world.project.path(".git").exists());

    let world =
        World::of(project_with("base.txt", "base\nand more\n"), Provider::new(three_files()));
    world.project.write("new.txt", "not even added\n");
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(world.project.read("base.txt"), "base\nand more\n");
    assert_eq!(world.project.read("new.txt"), "not even added\n");
}

fn project_with(path: &str, text: &str) -> Project {
    let project = project();
    project.write(path, text);
    project
}

#[test]
fn a_task_that_is_not_split_is_done_by_one_crew() {
    let solo = "LANE|01|all|make a\nOWN|01|a.txt";
    let plan = plan_verified_by(&["a.txt"], &["sh check.sh"]);
    let replies = vec![
        team(solo),
        ScriptedReply::text(plan).to("architect"),
        ScriptedReply::text(new_file("a.txt", "a")).to("editor"),
    ];
    let world = World::of(project(), Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(run.all("LanesDeclined").len(), 1);
    assert_eq!(world.provider.roles(), "lane-planner architect editor");
}

#[test]
fn lanes_that_change_the_same_file_are_merged_and_on_a_conflict_the_later_one_is_planned_again() {
    let lines = "LANE|01|a|first\nOWN|01|a.txt\nLANE|02|b|third\nOWN|02|b.txt\nLANE|03|c|second\nOWN|03|c.txt";
    let change = |old: &str, new: &str, before: &str, after: &str| {
        format!("--- a/list.txt\n+++ b/list.txt\n@@ -1,4 +1,4 @@\n{before}-{old}\n+{new}\n{after}")
    };
    let mut replies = vec![team(lines)];
    let first = change("one", "ONE", "", " two\n three\n four\n");
    replies.extend(lane("01", "list.txt", &first, "sh check.sh"));
    let third = change("three", "THREE", " one\n two\n", " four\n");
    replies.extend(lane("02", "list.txt", &third, "sh check.sh"));
    // Lane 03 changes the line between the other two, which conflicts; then it is planned again on the merged tree.
    let second = change("two", "TWO", " one\n", " three\n four\n");
    replies.extend(lane("03", "list.txt", &second, "sh check.sh"));
    let again = change("two", "TWO", " ONE\n", " THREE\n four\n");
    replies.extend(lane("03", "list.txt", &again, "sh check.sh"));
    let project = project();
    project.write("list.txt", "one\ntwo\nthree\nfour\n");
    let world = World::of(project, Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(world.project.read("list.txt"), "ONE\nTWO\nTHREE\nfour\n");
    let conflict = run.one("LaneConflicted");
    assert_eq!((&conflict["lane"], &conflict["with"]), (&"03".into(), &"lanes".into()));
    assert_eq!(conflict["paths"][0], "list.txt");
    assert_eq!(ends(&run), "merged merged merged");
    let prompt =
        world.provider.of("architect").last().unwrap().request.json["messages"].to_string();
    assert!(prompt.contains("conflicts with it in") && prompt.contains("list.txt"), "{prompt}");
}

#[test]
fn a_lane_with_a_second_conflict_is_left_out() {
    let lines = "LANE|01|a|first\nOWN|01|a.txt\nLANE|02|b|too\nOWN|02|b.txt";
    let says = |old: &str, new: &str| {
        format!("--- a/base.txt\n+++ b/base.txt\n@@ -1 +1 @@\n-{old}\n+{new}\n")
    };
    let mut replies = vec![team(lines)];
    replies.extend(lane("01", "base.txt", &says("base", "one"), "sh check.sh"));
    replies.extend(lane("02", "base.txt", &says("base", "two"), "sh check.sh"));
    // Its second attempt still expects the old file.
    replies.push(
        ScriptedReply::text(plan_verified_by(&["base.txt"], &["sh check.sh"]))
            .to("architect")
            .in_lane("02")
            .forever(),
    );
    replies.push(ScriptedReply::text(says("base", "two")).to("editor").in_lane("02").forever());
    let world = World::of(project(), Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "1 needs_work/lanes_failed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(ends(&run), "merged conflicted");
    assert_eq!(world.project.read("base.txt"), "one\n");
}

#[test]
fn a_lane_cannot_plan_or_change_a_file_of_another_lane() {
    let mut replies = vec![team(THREE)];
    replies.extend(lane("01", "a.txt", &new_file("a.txt", "01"), "sh check.sh"));
    // Its plan declares a file of another lane, and its diff touches one.
    replies.push(
        ScriptedReply::text(plan_verified_by(&["c.txt"], &["sh check.sh"]))
            .to("architect")
            .in_lane("02"),
    );
    replies.push(
        ScriptedReply::text(plan_verified_by(&["b.txt"], &["sh check.sh"]))
            .to("architect")
            .in_lane("02"),
    );
    let both = format!("{}{}", new_file("b.txt", "02"), new_file("a.txt", "mine"));
    replies.push(ScriptedReply::text(both).to("editor").in_lane("02"));
    replies.extend(lane("03", "c.txt", &new_file("c.txt", "03"), "sh check.sh"));
    let world = World::of(project(), Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    assert!(run.one("PlanRefused")["error"].as_str().unwrap().contains("lane 03 owns it"));
    // The rest of the diff applies without it, so that change is put aside and reported.
    let aside: Vec<_> = run.all("PatchStaged").iter().map(|it| it["put_aside"].clone()).collect();
    assert!(aside.iter().any(|it| it[0]["path"] == "a.txt"), "{aside:?}");
    assert_eq!(world.project.read("a.txt"), "01\n");
}

#[test]
fn a_failed_or_denied_lane_does_not_affect_the_others() {
    let lines = format!("{THREE}\nLANE|04|d|make d\nOWN|04|d.txt\nAFTER|04|02");
    let mut replies = vec![team(&lines)];
    replies.extend(lane("01", "a.txt", &new_file("a.txt", "01"), "sh check.sh"));
    // The Editor of lane 02 never sends a diff.
    replies.push(
        ScriptedReply::text(plan_verified_by(&["b.txt"], &["sh check.sh"]))
            .to("architect")
            .in_lane("02")
            .forever(),
    );
    replies.push(ScriptedReply::text("I would rather not.").to("editor").in_lane("02").forever());
    replies.extend(
        lane("03", "c.txt", &new_file("c.txt", "03"), "sudo true").map(ScriptedReply::forever),
    );
    let world = World::of(project(), Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "1 needs_work/lanes_failed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(ends(&run), "merged failed failed failed");
    let lanes = run.one("LanesFinished")["lanes"].as_array().unwrap().clone();
    assert_eq!(lanes[1]["why"]["why"], "no_draft");
    assert_eq!(lanes[2]["why"]["state"], "denied");
    assert_eq!(lanes[3]["why"]["why"], "lanes_failed");
    assert_eq!(world.project.read("a.txt"), "01\n");
    assert!(!world.project.path("c.txt").exists());
    let failed = run.all("LaneFailed");
    let kept: Vec<&str> = failed.iter().filter_map(|lane| lane["worktree"].as_str()).collect();
    assert_eq!(kept, ["03-1"], "only the worktree of the lane that changed something is kept");
}

#[test]
fn lanes_that_fail_only_together_are_bisected_and_fixed_by_the_core_loop() {
    let check = "test -e a.txt && test -e c.txt && ! test -e peace.txt && echo 'FAILED a.txt::peace - they fight' && exit 1; ! grep -q bad *.txt\n";
    let project = Project::new(&[("base.txt", "base\n"), ("check.sh", check)]);
    let mut replies = three_files();
    replies.extend(lane("00", "peace.txt", &new_file("peace.txt", "peace"), "sh check.sh"));
    let world = World::of(project, Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(run.one("LanesBisected")["lanes"].to_string(), r#"["01","03"]"#);
    assert_eq!(world.project.read("peace.txt"), "peace\n");
    let prompt =
        world.provider.of("architect").last().unwrap().request.json["messages"].to_string();
    assert!(
        prompt.contains("they fight") && prompt.contains("MechanicalVerifyFailure"),
        "{prompt}"
    );
}

#[test]
fn lanes_that_fail_together_and_cannot_be_fixed_are_left_out() {
    let check = "test -e a.txt && test -e c.txt && echo 'FAILED a.txt::peace - they fight' && exit 1; ! grep -q bad *.txt\n";
    let project = Project::new(&[("base.txt", "base\n"), ("check.sh", check)]);
    let mut replies = three_files();
    replies.push(ScriptedReply::text("no").to("architect").in_lane("00").forever());
    let world = World::of(project, Provider::new(replies));
    let run = work(&world);
    assert_eq!(run.ending(), "1 needs_work/lanes_failed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(ends(&run), "failed merged failed");
    assert!(world.project.path("b.txt").exists() && !world.project.path("a.txt").exists());
}

#[test]
fn edits_by_the_user_during_a_team_run_are_merged_or_kept() {
    let mut replies = vec![team(
        "LANE|01|a|make a\nOWN|01|a.txt\nLANE|02|l|list\nOWN|02|list.txt\nLANE|03|m|more\nOWN|03|more.txt",
    )];
    replies.extend(lane("01", "a.txt", &new_file("a.txt", "01"), "sh check.sh"));
    replies.extend(lane(
        "02",
        "list.txt",
        "--- a/list.txt\n+++ b/list.txt\n@@ -1,3 +1,3 @@\n-one\n+ONE\n two\n three\n",
        "sh check.sh",
    ));
    replies.extend(lane(
        "03",
        "more.txt",
        "--- a/more.txt\n+++ b/more.txt\n@@ -1 +1 @@\n-more\n+MORE\n",
        "sh check.sh",
    ));
    let project = project();
    project.write("list.txt", "one\ntwo\nthree\n");
    project.write("more.txt", "more\n");
    let root = project.root().to_owned();
    let provider = Provider::new(Replies::driven({
        let script = Mutex::new(Replies::from(replies));
        move |request| {
            if request.header("x-agent-role") == Some("editor") {
                std::fs::write(root.join("list.txt"), "one\ntwo\nTHREE\n").unwrap();
                std::fs::write(root.join("more.txt"), "mine\n").unwrap();
            }
            script.lock().unwrap().take(request).unwrap()
        }
    }));
    let world = World::of(project, provider);
    let run = work(&world);
    assert_eq!(run.ending(), "1 needs_work/lanes_failed", "{}\n{}", run.stdout, run.stderr);
    assert_eq!(world.project.read("list.txt"), "ONE\ntwo\nTHREE\n");
    assert_eq!(world.project.read("more.txt"), "mine\n");
    assert_eq!(world.project.read("a.txt"), "01\n");
    assert_eq!(ends(&run), "merged merged conflicted");
    let conflict = run.one("LaneConflicted");
    assert_eq!((&conflict["lane"], &conflict["with"]), (&"03".into(), &"user".into()));
}

/// Creates a project with this check.
fn checked_by(script: &str) -> Project {
    Project::new(&[("base.txt", "base\n"), ("check.sh", script)])
}

/// Like [`work`], with every command allowed.
fn work_unasked(world: &World) -> Run {
    let mut program = world.request("Make the files");
    program.args(["--teammate-mode", "on", "--yolo"]);
    program.run()
}

/// Returns the answers for two lanes: the first applies `diff` and runs the project's check, the second creates a file.
fn two(owned: &[&str], files: &[&str], diff: &str) -> Vec<ScriptedReply> {
    let plan = plan_verified_by(files, &["sh check.sh"]);
    let owned = owned.join("\nOWN|01|");
    let mut replies = vec![
        team(&format!("LANE|01|a|the first\nOWN|01|{owned}\nLANE|02|b|the second\nOWN|02|b.txt")),
        ScriptedReply::text(plan).to("architect").in_lane("01"),
        ScriptedReply::text(diff.to_owned()).to("editor").in_lane("01"),
    ];
    replies.extend(lane("02", "b.txt", &new_file("b.txt", "02"), "test -e base.txt"));
    replies
}

#[test]
fn an_ignored_file_written_by_a_lane_is_delivered() {
    let diff = format!("{}{}", new_file(".gitignore", "*.log"), new_file("a.log", "ignored"));
    let replies = two(&[".gitignore", "a.log"], &[".gitignore", "a.log"], &diff);
    let world = World::of(checked_by("test -e a.log\n"), Provider::new(replies));
    let run = work_unasked(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert_eq!(world.project.read("a.log"), "ignored\n");
    assert_eq!(ends(&run), "merged merged");
}

#[test]
fn a_failure_fixed_by_one_lane_and_reintroduced_by_another_is_not_pre_existing() {
    let mut replies = two(&["a.txt"], &["a.txt"], &new_file("a.txt", "01"));
    let mend =
        format!("--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-02\n{}", new_file("c.txt", "c"));
    let plan = plan_verified_by(&["b.txt", "c.txt"], &["sh check.sh"]);
    replies.push(ScriptedReply::text(plan).to("architect").in_lane("00"));
    replies.push(ScriptedReply::text(mend).to("editor").in_lane("00"));
    let project = checked_by("test -e a.txt && ! test -e b.txt\n");
    let world = World::of(project, Provider::new(replies));
    let run = work_unasked(&world);
    assert_eq!(run.one("LanesBisected")["lanes"].to_string(), r#"["01","02"]"#);
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert!(!world.project.path("b.txt").exists() && world.project.path("c.txt").exists());
}

#[test]
fn environment_variables_do_not_lead_a_lanes_commands_to_the_users_directory() {
    let check = r#"test "$HERE" = "$PWD/bin" && test -z "$GIT_DIR" && git status"#;
    let replies = two(&["a.txt"], &["a.txt"], &new_file("a.txt", "01"));
    let world = World::of(checked_by(check), Provider::new(replies))
        .configure("[commands]\nenv = [\"PATH\", \"HERE\", \"GIT_DIR\"]\n");
    let git = world.project.hashes(".git");
    let mut program = world.request("Make the files");
    program.args(["--teammate-mode", "on", "--yolo"]);
    program.env("HERE", world.project.path("bin")).env("GIT_DIR", world.project.path(".git"));
    let run = program.run();
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert_eq!(world.project.hashes(".git"), git);
}

#[test]
fn a_file_that_a_command_made_too_large_is_left_out_and_no_work_is_lost() {
    let replies = two(&["a.txt"], &["a.txt"], &new_file("a.txt", "01"));
    let world =
        World::of(checked_by("head -c 11000000 /dev/zero > base.txt\n"), Provider::new(replies))
            .unconfined();
    let run = work_unasked(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert_eq!(world.project.read("a.txt"), "01\n");
    assert_eq!(world.project.read("base.txt"), "base\n");
    let behind = run.all("LaneCompleted").iter().any(|end| end["left_behind"][0] == "base.txt");
    assert!(behind, "the file must be reported");
}

#[test]
fn a_change_that_cannot_be_written_in_one_commit_is_staged() {
    let project = checked_by("rm -rf d && echo file > d\n");
    project.write("d/one.txt", "1\n");
    let replies = two(&["a.txt", "d", "d/**"], &["a.txt"], &new_file("a.txt", "01"));
    let world = World::of(project, Provider::new(replies)).unconfined();
    let run = work_unasked(&world);
    assert_eq!(run.ending(), "1 needs_work/staged", "{}", run.stderr);
    assert!(run.stderr.contains("something else is at d"), "{}", run.stderr);
    assert_eq!(ends(&run), "staged staged");
    assert_eq!(world.project.read("d/one.txt"), "1\n");
    assert!(!world.project.path("b.txt").exists());
}

#[test]
fn after_a_stop_the_changes_of_lanes_can_be_shown_and_no_worktree_is_left() {
    let outside = tempfile::tempdir().unwrap();
    let checking = outside.path().join("checking");
    let check = format!("test -e a.txt || exit 1\ntouch {}\nsleep 600\n", checking.display());
    let replies = two(&["a.txt"], &["a.txt"], &new_file("a.txt", "01"));
    let world = World::of(checked_by(&check), Provider::new(replies)).unconfined();
    let mut program = world.request("Make the files");
    let mut running = program.args(["--teammate-mode", "on", "--yolo"]).start();
    running.until(|| checking.exists());
    let (run, _) = running.interrupt();
    assert_eq!(run.ending(), "130 cancelled", "{}", run.stderr);
    let shown = world.deepseek(["diff", "--lane", "01"]).run();
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.ends_with("+++ b/a.txt\n@@ -0,0 +1 @@\n+01\n"), "{}", shown.stdout);
    assert_eq!(worktrees(&world), Vec::<PathBuf>::new());
}

#[test]
fn a_fork_can_start_before_or_after_lanes_but_not_among_them() {
    let world = World::of(project(), Provider::new([three_files(), three_files()].concat()));
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    let at = |kind: &str| {
        let of_kind = |event: &&serde_json::Value| event["kind"] == kind;
        run.events.iter().find(of_kind).unwrap()["seq"].to_string()
    };
    let parent = tempfile::tempdir().unwrap();
    let into = parent.path().join("fork");
    let fork =
        |seq: &str| world.deepseek(["fork", "--at", seq, "--into", into.to_str().unwrap()]).run();
    let among = fork(&at("LaneSpawned@v1"));
    assert_eq!(among.code, Some(2), "{}", among.stderr);
    assert!(among.stderr.contains("lanes were working") && !into.exists(), "{}", among.stderr);
    // The numbers that it names instead are good.
    let named = among.stderr.split("--at ").skip(1);
    let named = named.map(|rest| rest.split([' ', '`', '\n']).next().unwrap().to_owned());
    for (nth, seq) in named.collect::<Vec<_>>().iter().enumerate() {
        let into = parent.path().join(seq);
        let fork = ["fork", "--at", seq, "--into", into.to_str().unwrap()];
        let fork = world.deepseek(fork).run();
        assert_eq!(fork.code, Some(0), "{nth} {seq}: {}", fork.stderr);
        let id = fork.stdout.trim().to_owned();
        let there = ["--workspace", into.to_str().unwrap()];
        assert_eq!(world.deepseek(["replay", &id].into_iter().chain(there)).run().code, Some(0));
    }
    let before = fork(&at("LanesPlanned@v1"));
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    assert!(into.join("base.txt").exists() && !into.join("a.txt").exists());
    let id = before.stdout.trim().to_owned();
    let workspace = ["--workspace", into.to_str().unwrap()];
    let resumed = world.deepseek(["run", &id].into_iter().chain(workspace)).run();
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(std::fs::read_to_string(into.join("c.txt")).unwrap(), "03\n");
}

#[test]
fn with_a_budget_too_small_for_lanes_one_crew_does_the_task() {
    let plan = plan_verified_by(&["a.txt"], &["sh check.sh"]);
    let replies = vec![
        team(THREE),
        ScriptedReply::text(plan).to("architect"),
        ScriptedReply::text(new_file("a.txt", "a")).to("editor"),
    ];
    let world = World::of(project(), Provider::new(replies)).configure("[budget]\ncalls = 5\n");
    let run = work(&world);
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    let why = run.one("LanesDeclined")["why"].to_string();
    assert!(why.contains("too few calls are left for 3 lanes"), "{why}");
}

#[test]
fn worktrees_of_a_run_that_was_never_recorded_are_collected() {
    let world = World::of(project(), Provider::new(three_files()));
    assert_eq!(work(&world).ending(), "0 delivered/passed");
    let only = |dir: PathBuf| std::fs::read_dir(dir).unwrap().next().unwrap().unwrap();
    let session = only(world.state().join("sessions")).file_name().into_string().unwrap();
    let run = only(world.state().join("workspaces")).path().join("lanes/unknown");
    std::fs::create_dir_all(run.join("01-1")).unwrap();
    let owner = serde_json::json!({ "process": 1, "since": 1, "session": session });
    std::fs::write(run.join("owner"), owner.to_string()).unwrap();
    std::fs::create_dir(run.with_file_name("empty")).unwrap();
    assert_eq!(worktrees(&world).len(), 2);
    world.deepseek(["ask", "Is it done?"]).run();
    assert_eq!(worktrees(&world), Vec::<PathBuf>::new());
}
