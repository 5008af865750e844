//! Checks that cannot run, do not end, or leave processes behind: the user is told, and no model call is spent.

use std::time::Duration;

use crate::support::{
    Project, Provider, Terminal, World, architect, greeting_fix, greeting_fix_checked_by,
    greeting_fix_insisting_on, plan_verified_by, processes_left_in,
};

/// No processes.
const NO_PROCESSES: [String; 0] = [];

#[test]
fn an_architect_that_names_a_forbidden_check_is_corrected_before_anything_is_written() {
    let project = Project::greeting();
    project.write("Makefile", "test:\n\tsh check.sh\n");
    let bad =
        architect(plan_verified_by(&["greet.txt"], &["touch ran.txt", "git push", "sh check.sh"]));
    let replies = [vec![bad], greeting_fix_checked_by(&["sh check.sh"])].concat();
    let world = World::of(project, Provider::new(replies)).unconfined();
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect editor");
    let barred = &run.one("ChecksBarred")["commands"];
    assert_eq!(*barred, serde_json::json!(["touch ran.txt", "git push"]));
    let prompt = world.provider.last_message("architect", 2);
    for part in [
        "- `touch ran.txt`: it is not listed in policy.allow_commands, and there is no terminal",
        "- `git push`: it is listed in policy.deny_commands\n",
        "\nsh check.sh\nmake test\n",
        "Without VERIFY lines these are run:\nmake test\n",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn with_a_terminal_an_unlisted_check_needs_approval() {
    let world = World::greeting(greeting_fix_checked_by(&["grep world greet.txt"])).unconfined();
    let mut terminal = Terminal::start(&mut world.deepseek([
        "--force-execute",
        "-p",
        "Fix the greeting",
        "--approval",
        "auto",
    ]));
    terminal.until("not listed", 1);
    terminal.types("y\r");
    terminal.until("delivered", 1);
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(world.provider.roles(), "architect editor");
}

#[test]
fn a_denied_check_does_not_run_and_the_hint_names_the_flag() {
    let world = World::greeting(greeting_fix_insisting_on("touch ran.txt")).unconfined();
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "3 denied", "{}", run.stderr);
    let hint = run.stderr.lines().find(|line| line.starts_with("hint:")).unwrap();
    assert!(hint.contains("touch ran.txt") && hint.contains("--yolo"), "{hint}");
    assert!(!world.project.path("ran.txt").exists());
    assert_eq!(world.provider.roles(), "architect architect architect editor");
}

#[test]
fn a_denied_command_stays_denied_under_yolo() {
    let world = World::greeting(greeting_fix_insisting_on("git push origin main"));
    let run = world.request("Fix the greeting").args(["--yolo"]).run();
    assert_eq!(run.ending(), "3 denied", "{}", run.stderr);
}

#[test]
fn a_missing_check_program_leaves_the_change_unverified_if_no_other_check_is_named() {
    let no_other = architect("DONE|only no-such-tool shows it");
    let fix = greeting_fix_checked_by(&["no-such-tool --check"]);
    let world = World::greeting([fix, vec![no_other]].concat())
        .configure("[policy]\nallow_commands = [\"no-such-tool --check\"]\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    let missing = &run.delivery()["verified"]["unverified"]["missing"];
    assert_eq!(*missing, serde_json::json!({ "kind": "program", "name": "no-such-tool" }));
    assert_eq!(world.provider.roles(), "architect editor architect");
    let prompt = world.provider.last_message("architect", 2);
    assert!(
        prompt.contains("- `no-such-tool --check`: program `no-such-tool` is missing\n"),
        "{prompt}"
    );
    assert_eq!(world.project.read("greet.txt"), "hello world\n", "the change is kept");
}

#[test]
fn an_architect_that_names_a_missing_program_is_told_if_another_check_can_run() {
    let project = Project::greeting();
    project.write("Makefile", "test:\n\tsh check.sh\n");
    let bad = architect(plan_verified_by(&["greet.txt"], &["no-such-tool --check"]));
    let replies = [vec![bad], greeting_fix_checked_by(&["make test"])].concat();
    let world = World::of(project, Provider::new(replies))
        .configure("[policy]\nallow_commands = [\"no-such-tool *\", \"make test\"]\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect editor");
    assert_eq!(run.one("ChecksBarred")["missing"], serde_json::json!(["no-such-tool"]));
    let prompt = world.provider.last_message("architect", 2);
    for part in [
        "- `no-such-tool --check`: the program `no-such-tool` is not installed here\n",
        "Without VERIFY lines these are run:\nmake test\n",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_check_that_hangs_is_stopped_with_all_its_child_processes() {
    let project =
        Project::new(&[("greet.txt", "hello\n"), ("check.sh", "sleep 1000 & sleep 1000\n")]);
    let world = World::of(project, Provider::new(greeting_fix())).configure(
        "[agent_loop]\nbaseline = \"off\"\nverify_timeout_seconds = 1\nverify_timeout_max_seconds = 1\n",
    );
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "1 needs_work/unverifiable", "{}", run.stderr);
    assert_eq!(run.one("VerificationRun")["outcome"], "timed_out");
    assert!(run.elapsed < Duration::from_secs(10), "{:?}", run.elapsed);
    assert_eq!(processes_left_in(world.project.root()), NO_PROCESSES);
}

#[test]
fn of_a_hundred_megabytes_of_check_output_only_the_beginning_and_end_are_kept() {
    let check = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last\n";
    let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", check)]);
    let world = World::of(project, Provider::new(greeting_fix()))
        .configure("[agent_loop]\nbaseline = \"off\"\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    let bytes = run.one("VerificationRun")["output"]["bytes"].as_u64().unwrap();
    assert!(bytes < 5_000_000, "{bytes} bytes were kept");
}

#[test]
fn a_check_ends_even_if_a_child_process_keeps_its_pipe_open() {
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", "sleep 1000 &\ngrep -q world greet.txt\n"),
    ]);
    let world = World::of(project, Provider::new(greeting_fix()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(run.elapsed < Duration::from_secs(30), "{:?}", run.elapsed);
    assert_eq!(processes_left_in(world.project.root()), NO_PROCESSES);
}

#[test]
fn a_check_does_not_see_the_key() {
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", "test -z \"$DEEPSEEK_API_KEY\" && env\n"),
    ]);
    let world = World::of(project, Provider::new(greeting_fix()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
}

#[test]
fn an_architect_that_names_only_vacuous_checks_is_told_at_once() {
    let empty = architect(plan_verified_by(&["greet.txt"], &["test x", "grep '' greet.txt"]));
    let replies = [vec![empty], greeting_fix()].concat();
    let world = World::greeting(replies)
        .configure("[policy]\nallow_commands = [\"sh check.sh\", \"test *\", \"grep *\"]\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect editor");
    let vacuous = &run.one("ChecksBarred")["vacuous"];
    assert_eq!(*vacuous, serde_json::json!(["test x", "grep '' greet.txt"]));
    let prompt = world.provider.last_message("architect", 2);
    for part in [
        "- `test x`: its condition compares constants only",
        "- `grep '' greet.txt`: its pattern matches every line",
        "Name a check that fails without the change",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_check_that_runs_no_test_does_not_verify_the_change() {
    let says_nothing = |check: &str| {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", check)]);
        let world = World::of(project, Provider::new(greeting_fix()));
        world.chat("Fix the greeting").ending()
    };
    for check in ["echo running 0 tests", "echo 'Ran 0 tests in 0.000s'"] {
        assert_eq!(says_nothing(check), "0 delivered/unverified", "{check}");
    }
    assert_eq!(says_nothing("echo running 1 test"), "0 delivered/passed");
    let world = World::greeting(greeting_fix_insisting_on("test x"))
        .configure("[policy]\nallow_commands = [\"test *\"]\n");
    let run = world.request("Fix the greeting").args(["--require", "passed"]).run();
    assert_eq!(run.ending(), "1 delivered/unverified", "{}", run.stderr);
    assert!(
        run.stderr.contains("no test ran, and no command that did could have failed"),
        "{}",
        run.stderr
    );
    assert_eq!(world.provider.roles(), "architect architect editor");
}

#[test]
fn checks_that_prove_nothing_are_replaced_by_derived_ones_without_asking() {
    let world = || {
        let world = World::greeting(greeting_fix_checked_by(&["true", "test x"]))
            .configure("[policy]\nallow_commands = [\"test *\", \"make test\"]\n");
        world.project.write("Makefile", "test:\n\tsh check.sh\n");
        world
    };
    let plain = world().deepseek(["--force-execute", "-p", "Fix it", "--approval", "auto"]).run();
    assert!(plain.stderr.contains("proves nothing: `true`, `test x`"), "{}", plain.stderr);
    let world = world();
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor");
    let started = run.one("VerifyStarted");
    assert_eq!(started["commands"], serde_json::json!(["make test"]));
    assert_eq!(started["derived"], true);
    assert_eq!(run.one("ChecksBarred")["vacuous"], serde_json::json!(["true", "test x"]));
}
