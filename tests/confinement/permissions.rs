//! Approvals, the user's own edits, and budgets.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use mock::{Replies, ScriptedReply};

use crate::support::{
    Project, Provider, World, architect, diff, editor, endless_looks, greeting_fix,
    greeting_fix_checked_by, plan,
};

/// Returns a provider script in which the user saves a file while the Editor is working.
fn while_the_editor_works(project: &Project, path: &str, text: &'static str) -> Replies {
    let file = project.path(path);
    let first = AtomicBool::new(true);
    Replies::driven(move |request| match request.header("x-agent-role") {
        Some("architect") => ScriptedReply::text(plan(&["words.txt"])),
        _ if first.swap(false, Ordering::SeqCst) => {
            fs::write(&file, text).unwrap();
            ScriptedReply::text(diff("words.txt", "one", "ONE"))
        }
        _ => ScriptedReply::text("--- a/words.txt\n+++ b/words.txt\n@@ -1 +1 @@\n-mine\n+ONE\n"),
    })
}

#[test]
fn edits_by_the_user_during_a_run_are_merged_or_shown_to_the_editor_and_never_lost() {
    let words = "one\ntwo\nthree\nfour\nfive\n";
    let cases = [
        ("one\ntwo\nthree\nfour\nmine\n", "ONE\ntwo\nthree\nfour\nmine\n", "architect editor"),
        (
            "mine\ntwo\nthree\nfour\nfive\n",
            "ONE\ntwo\nthree\nfour\nfive\n",
            "architect editor editor",
        ),
    ];
    for (saved, expected, roles) in cases {
        let project =
            Project::new(&[("words.txt", words), ("check.sh", "grep -q ONE words.txt\n")]);
        let source = while_the_editor_works(&project, "words.txt", saved);
        let world = World::of(project, Provider::new(source));
        let run = world.chat("Fix the words");
        assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
        assert_eq!(world.project.read("words.txt"), expected);
        assert_eq!(world.provider.roles(), roles);
        if roles.ends_with("editor editor") {
            let prompt = world.provider.last_message("editor", 2);
            assert!(
                prompt.contains("| mine\n   2| two"),
                "the Editor must see the user's version: {prompt}"
            );
        }
    }
}

#[test]
fn a_read_only_workspace_is_a_write_failure_and_stays_unchanged() {
    let world = World::greeting(greeting_fix());
    let run = world.as_user_without_write_permission("Fix the greeting").run();
    assert_eq!(run.ending(), "1 failed/write", "{}", run.stderr);
    assert!(run.stderr.contains("hint:"), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    assert!(world.project.changed().is_empty());
}

#[test]
fn without_a_terminal_a_patch_is_staged_and_can_be_shown_and_applied_later() {
    let world = World::greeting(greeting_fix());
    let run = world
        .deepseek(["--force-execute", "-p", "Fix the greeting", "--output", "stream-json"])
        .run();
    assert_eq!(run.ending(), "3 denied", "{}", run.stderr);
    let hint = run.stderr.lines().find(|line| line.starts_with("hint:")).unwrap();
    assert!(hint.contains("--approval auto") && hint.contains("deepseek apply"), "{hint}");
    assert!(world.project.changed().is_empty());

    let shown = world.deepseek(["diff"]).run();
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(
        shown.stdout.contains("-hello\n") && shown.stdout.contains("+hello world\n"),
        "{}",
        shown.stdout
    );

    let unasked = world.deepseek(["apply"]).run();
    assert_eq!(unasked.code, Some(3), "{}", unasked.stderr);
    assert!(world.project.changed().is_empty());

    let applied = world.deepseek(["apply", "--yes"]).run();
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");

    let again = world.deepseek(["apply", "--yes"]).run();
    assert_eq!(again.code, Some(2), "nothing must be staged any more: {}", again.stderr);
}

#[test]
fn a_staged_patch_is_not_applied_to_a_file_that_changed() {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.deepseek(["--force-execute", "-p", "Fix the greeting"]).run().code, Some(3));
    world.project.write("greet.txt", "mine\n");
    let run = world.deepseek(["apply", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "mine\n");
}

#[test]
fn with_approval_never_a_patch_is_staged_and_no_command_runs() {
    for check in ["sh check.sh", "touch ran"] {
        let world = World::greeting(greeting_fix_checked_by(&[check]));
        let args = [
            "--force-execute",
            "-p",
            "Fix the greeting",
            "--approval",
            "never",
            "--output",
            "stream-json",
        ];
        let run = world.deepseek(args).run();
        assert_eq!(run.ending(), "3 denied", "{check}: {}", run.stderr);
        assert!(run.stderr.contains("deepseek apply"), "{}", run.stderr);
        assert!(world.project.changed().is_empty());
        for ran in run.all("VerificationRun") {
            assert_eq!(ran["outcome"], "policy_denied", "{check}");
        }
        let shown = world.deepseek(["diff"]).run();
        assert!(shown.stdout.contains("+hello world\n"), "{}", shown.stdout);
        // An explicit `apply` is allowed even then.
        let applied = world.deepseek(["apply", "--approval", "never"]).run();
        assert_eq!(applied.code, Some(0), "{}", applied.stderr);
        assert_eq!(world.project.read("greet.txt"), "hello world\n");
    }
}

/// One patch of two lines is within a gate of three lines; two such patches are not.
#[test]
fn the_safety_gate_counts_all_patches_of_a_run_together() {
    for (gate, ending) in [(3, "3 denied"), (4, "0 delivered/proven")] {
        let replies = vec![
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello", "hallo")),
            editor(diff("greet.txt", "hallo", "hello world")),
        ];
        let gate = format!("[agent_loop.safety_gate]\nmax_loc_without_approval = {gate}\n");
        let world = World::greeting(replies).configure(&gate);
        let run = world.request("Fix the greeting").run();
        assert_eq!(run.ending(), ending, "{}", run.stderr);
        assert_eq!(run.stderr.contains("large in total"), ending == "3 denied", "{}", run.stderr);
    }
}

#[test]
fn files_that_other_tools_execute_need_approval_even_under_auto() {
    let path = ".github/workflows/ci.yml";
    let project = Project::new(&[(path, "on: push\n"), ("check.sh", "true\n")]);
    let replies =
        vec![architect(plan(&[path])), editor(diff(path, "on: push", "on: pull_request"))];
    let world = World::of(project, Provider::new(replies));
    let run = world.request("Fix the workflow").run();
    assert_eq!(run.ending(), "3 denied", "{}", run.stderr);
    assert!(run.stderr.contains("other tools execute"), "{}", run.stderr);
    assert!(world.project.changed().is_empty());
    let hint = run.stderr.lines().find(|line| line.starts_with("hint:")).unwrap();
    assert!(hint.contains("`--yolo`") && !hint.contains("--approval"), "{hint}");
}

#[test]
fn what_nobody_can_approve_is_said_before_it_is_drafted_and_the_named_flag_allows_it() {
    let path = ".github/workflows/ci.yml";
    let workflow = diff(path, "on: push", "on: pull_request");
    let names: Vec<String> = (1..=9).map(|at| format!("new{at}.txt")).collect();
    let create = |name: &String| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n");
    let many: String = names.iter().map(create).collect();
    let nine: Vec<&str> = names.iter().map(String::as_str).collect();
    for (files, patch, why) in [
        (vec![path], workflow, "which other tools execute"),
        (nine, many, "the patch is large: 9 files"),
    ] {
        let project = Project::new(&[(path, "on: push\n"), ("check.sh", "true\n")]);
        let replies = vec![architect(plan(&files)).forever(), editor(patch).forever()];
        let world = World::of(project, Provider::new(replies));
        let request = ["--force-execute", "-p", "Do it", "--approval"];
        for approval in ["auto", "suggest"] {
            let run = world.deepseek(request.into_iter().chain([approval])).run();
            assert_eq!(run.code, Some(3), "{}", run.stderr);
            let (before, after) = run.stderr.split_once("nobody can approve this here").unwrap();
            assert!(after.contains(why) && !before.contains("hint:"), "{}", run.stderr);
            let hint = run.stderr.lines().find(|line| line.starts_with("hint:")).unwrap();
            assert!(hint.contains("run again with `--yolo`"), "{hint}");
            assert!(world.project.changed().is_empty());
        }
        let run = world.deepseek(["--force-execute", "-p", "Do it", "--yolo"]).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stderr.contains("nobody can approve"), "{}", run.stderr);
    }
}

#[test]
fn small_edits_of_many_files_are_within_the_gate() {
    let names: Vec<String> = (1..=9).map(|at| format!("file{at}.txt")).collect();
    let texts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "one\n")).collect();
    let all = [texts, vec![("check.sh", "grep -q two file9.txt\n")]].concat();
    let patch: String = names.iter().map(|name| diff(name, "one", "two")).collect();
    let nine: Vec<&str> = names.iter().map(String::as_str).collect();
    let replies = vec![architect(plan(&nine)), editor(patch)];
    let world = World::of(Project::new(&all), Provider::new(replies));
    let run = world.request("Count on").run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
}

#[test]
fn a_budget_is_never_exceeded() {
    let limits =
        [("--budget-tokens", "3000"), ("--budget-tokens", "9000"), ("--budget-usd", "0.005")];
    for (flag, limit) in limits {
        let replies = [vec![architect(plan(&["greet.txt"]))], endless_looks()].concat();
        let world = World::greeting(replies)
            .configure("[agent_loop]\nmax_context_requests_per_iteration = 100\n");
        let run = world.request("Fix the greeting").args([flag, limit]).run();
        assert_eq!(run.ending(), "4 budget_exhausted", "{flag} {limit}: {}", run.stderr);
        let most = if flag == "--budget-tokens" { limit.parse().unwrap() } else { u64::MAX };
        let mut used = 0;
        for seen in world.provider.requests() {
            let (usage, longest) = (seen.usage.unwrap(), &seen.request.json["max_tokens"]);
            let worst = usage.prompt + longest.as_u64().unwrap();
            assert!(
                used + worst <= most,
                "{used} used and up to {worst} more possible, of {limit}"
            );
            used += usage.total();
        }
        assert_eq!(run.one("RunFinished")["spent"]["tokens"], used, "{flag} {limit}");
        assert!(run.stderr.contains("hint:"), "{}", run.stderr);
        assert!(world.project.changed().is_empty());
    }
}
