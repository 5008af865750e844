//! How a run ends when its checks do not show what was done: they cannot run here, fail as they did before, or are
//! exchanged; or when a model repeats itself. What is applied and breaks nothing is delivered, what breaks something is
//! not, and neither costs many calls.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use mock::{Replies, ScriptedReply};
use serde_json::{Value, json};

use crate::confinement::sandbox::skipped;
use crate::sessions::replay::replayed;
use crate::sessions::resume::{answers_so_far, resumes_after_kills};
use crate::support::{
    Project, Provider, Run, World, architect, diff, editor, greeting_fix_checked_by,
    plan_verified_by,
};

/// A check that fails as it did before any change, for a reason outside the code that nothing recognizes.
const WALLED: &str = "echo 'CMake Error: the source directory does not match'; exit 1\n";
/// A check that shows the change.
const HONEST: &str = "grep -q world greet.txt";

/// Creates a greeting with these scripts, and allows commands that run them.
fn world(scripts: &[(&str, &str)], replies: impl Into<Replies>) -> World {
    let files = [&[("greet.txt", "hello\n"), ("check.sh", WALLED)], scripts].concat();
    World::of(Project::new(&files), Provider::new(replies.into()))
        .configure("[policy]\nallow_commands = [\"sh *\", \"grep *\", \"make *\", \"mvn *\"]\n")
}

/// Returns the plan for the greeting with these checks.
fn plan(checks: &[&str]) -> ScriptedReply {
    architect(plan_verified_by(&["greet.txt"], checks))
}

fn fix() -> ScriptedReply {
    editor(diff("greet.txt", "hello", "hello world"))
}

/// Runs the request, and checks that its record replays.
fn ran(world: &World) -> Run {
    let run = world.chat("Fix the greeting");
    let (code, document) = replayed(world, "latest");
    assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{document:#}");
    run
}

/// Runs the request, and checks how it ends and who was asked for it.
fn ends(world: &World, ending: &str, roles: &str) -> Run {
    let run = ran(world);
    assert_eq!(run.ending(), ending, "{}", run.stderr);
    assert_eq!(world.provider.roles(), roles);
    run
}

#[test]
fn checks_that_an_architect_names_instead_are_run_on_what_is_applied() {
    let done = || editor("DONE|the greeting is right; CMake wants another directory");
    for instead in [
        plan(&[HONEST]),
        architect(format!(
            "ARCHITECT_PLAN_V1\nVERIFY|{HONEST}\nNO_EDIT|true|it is done\nARCHITECT_PLAN_END"
        )),
        architect(format!(
            "ARCHITECT_PLAN_V1\nVERIFY|{HONEST}\nDONE|it is done\nARCHITECT_PLAN_END"
        )),
    ] {
        let world = world(&[], vec![plan(&["sh check.sh"]), fix(), done(), instead]);
        let run = ends(&world, "0 delivered/passed", "architect editor editor architect");
        assert_eq!(run.all("VerifyStarted")[1]["commands"], json!([HONEST]));
        assert!(run.all("PatchApplied").len() == 1 && run.all("RoleCrashed").is_empty());
    }
}

#[test]
fn a_change_that_breaks_nothing_is_delivered_although_its_check_fails_as_before() {
    let done = editor("DONE|Maven has no repository here");
    let agreed = architect("DONE|it cannot be checked here");
    let world = || world(&[], vec![plan(&["sh check.sh"]), fix(), done.clone(), agreed.clone()]);
    let first = world();
    let run = ends(&first, "0 delivered/unverified", "architect editor editor architect");
    let why = &run.delivery()["verified"]["unverified"];
    let expected = json!({ "why": "old_failures", "reason": "it cannot be checked here" });
    assert_eq!(*why, expected);
    let steps: Vec<_> = run.all("StepMarked").iter().map(|it| it["mark"].clone()).collect();
    assert_eq!(steps, ["done"]);
    let question = first.provider.last_message("editor", 2);
    assert_eq!(question.matches("CMake Error").count(), 1, "it is shown once: {question}");
    let second = world();
    let strict = second.request("Fix the greeting").args(["--require", "passed"]).run();
    assert_eq!(strict.code, Some(1), "{}", strict.stderr);
    assert!(
        strict.stderr.contains("the model says: it cannot be checked here"),
        "{}",
        strict.stderr
    );
}

#[test]
fn a_build_tool_without_its_repository_costs_no_delivery() {
    let tools = tempfile::tempdir().unwrap();
    let mvn = tools.path().join("mvn");
    let says = "[ERROR] Could not create local repository at /home/user/.m2/repository -> [Help 1]";
    fs::write(&mvn, format!("#!/bin/sh\necho '{says}'\nexit 1\n")).unwrap();
    fs::set_permissions(&mvn, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
    let done = "DONE|Maven has no repository here";
    let replies = vec![plan(&["mvn -o -q test"]), fix(), editor(done), architect(done)];
    let world = world(&[], replies);
    let run = world.request("Fix the greeting").env("PATH", path).run();
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    // Whether the complaint is known decides who is asked.
    assert!(world.provider.requests().len() <= 4, "{}", world.provider.roles());
    assert_eq!(run.all("VerificationRun").len(), 2, "before the change and with it");
}

#[test]
fn a_change_that_breaks_something_is_not_delivered_whatever_the_models_say() {
    // The check passes before the change.
    let check = "grep -qx hello greet.txt || { echo FAILED t.py::a - x; exit 1; }\n";
    let done = || editor("DONE|the check is wrong");
    let agreed = || architect("DONE|the check is wrong");
    let replies =
        vec![plan(&["sh check.sh"]), fix(), done(), agreed(), architect("NO_EDIT|true|it is done")];
    let world = world(&[("check.sh", check)], replies);
    ends(&world, "1 needs_work/checks_fail", "architect editor editor architect architect");
    let prompt = world.provider.last_message("architect", 3);
    for part in ["did not before the change", "FAILED t.py::a"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
}

#[test]
fn a_new_plan_cannot_exchange_a_check_that_the_change_breaks() {
    let check = "grep -qx hello greet.txt || { echo FAILED t.py::a - x; exit 1; }\n";
    let replies = vec![
        plan(&["sh check.sh"]),
        fix(),
        editor("DONE|the check is wrong"),
        plan(&["grep -q hello greet.txt"]),
        editor(diff("greet.txt", "hello world", "hello")),
    ];
    let world = world(&[("check.sh", check)], replies);
    let run = ran(&world);
    let commands: Vec<_> =
        run.all("VerifyStarted").iter().map(|it| it["commands"].clone()).collect();
    let both = json!(["grep -q hello greet.txt", "sh check.sh"]);
    assert_eq!(commands, [json!(["sh check.sh"]), both.clone(), both]);
    assert_eq!(run.ending(), "0 delivered/passed", "the change was taken back: {}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello\n");
}

#[test]
fn a_check_named_later_that_failed_before_the_change_too_is_no_new_failure() {
    let other = "sh other.sh";
    let replies = vec![
        plan(&["sh check.sh"]),
        fix(),
        editor("DONE|it is done"),
        plan(&[other]),
        editor("DONE|it is done"),
    ];
    let world =
        world(&[("other.sh", "echo FAILED t.py::old - it never worked; exit 1\n")], replies);
    let run = ends(&world, "0 delivered/unverified", "architect editor editor architect editor");
    let baseline: Vec<_> = run
        .all("VerificationRun")
        .iter()
        .filter(|it| it["baseline"] == true)
        .map(|it| it["command"].clone())
        .collect();
    assert_eq!(baseline, ["sh check.sh", other]);
}

/// A plan whose check lacks a package, and the diff for it.
fn lacking() -> Vec<ScriptedReply> {
    greeting_fix_checked_by(&["sh lacks.sh"])
}

const LACKS: (&str, &str) = ("lacks.sh", "echo \"No module named 'pytest'\"; exit 1\n");

fn lacks_pytest() -> Value {
    json!({ "kind": "package", "name": "pytest", "cure": "python3 -m pip install pytest" })
}

#[test]
fn another_check_is_asked_for_before_the_diff_is_applied_and_the_diff_is_kept() {
    let world = world(&[LACKS], [lacking(), vec![plan(&[HONEST])]].concat());
    let run = ends(&world, "0 delivered/proven", "architect editor architect");
    let prompt = world.provider.last_message("architect", 2);
    for part in ["- `sh lacks.sh`: package `pytest` is missing\n", "not yet applied"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(run.all("PatchApplied").len(), 1);
    assert_eq!(run.one("VerifyStarted")["commands"], json!([HONEST]));
}

#[test]
fn if_no_other_check_can_run_the_change_is_delivered_with_what_is_missing() {
    for answer in ["DONE|pytest is missing", "NO_EDIT|true|pytest is missing"] {
        let world = world(&[LACKS], [lacking(), vec![architect(answer)]].concat());
        let run = ends(&world, "0 delivered/unverified", "architect editor architect");
        let missing = &run.delivery()["verified"]["unverified"]["missing"];
        assert_eq!(*missing, lacks_pytest());
        assert_eq!(world.project.read("greet.txt"), "hello world\n");
    }
    // An Architect that insists is not asked again.
    let world = world(&[LACKS], [lacking(), vec![plan(&["sh lacks.sh"])]].concat());
    ends(&world, "0 delivered/unverified", "architect editor architect");
}

#[test]
fn derived_checks_take_the_place_of_those_that_cannot_run() {
    let world = world(&[LACKS, ("Makefile", "test:\n\tgrep -q world greet.txt\n")], lacking());
    let run = ends(&world, "0 delivered/proven", "architect editor");
    let started = run.one("VerifyStarted");
    assert_eq!((&started["commands"], &started["derived"]), (&json!(["make test"]), &json!(true)));
}

#[test]
fn a_check_that_lacked_something_when_it_was_tried_is_not_named_again_unless_nothing_else_checks() {
    let tries = || architect("NEED_RUN|sh lacks.sh");
    let makefile = ("Makefile", "test:\n\tgrep -q world greet.txt\n");
    let named = vec![tries(), plan(&["sh lacks.sh"]), plan(&["make test"]), fix()];
    let world = world(&[LACKS, makefile], named);
    let run = ran(&world);
    if run.all("CommandTried").is_empty() {
        skipped("commands cannot be confined here, so none is tried");
        return;
    }
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.one("CommandTried")["missing"], lacks_pytest());
    let prompt = world.provider.last_message("architect", 3);
    for part in ["`sh lacks.sh`: you tried it, and package `pytest` is missing", "make test"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
}

#[test]
fn an_obstacle_that_was_there_before_leaves_the_change_unverified_and_a_new_one_does_not() {
    // Killed like a command that the machine has no memory for.
    let killed = || greeting_fix_checked_by(&["sh check.sh"]);
    let no_other = || vec![architect("DONE|there is no other check")];
    let before = world(&[("check.sh", "kill -9 $$\n")], [killed(), no_other()].concat());
    let run = ends(&before, "0 delivered/unverified", "architect editor architect");
    let why = &run.delivery()["verified"]["unverified"];
    assert_eq!((&why["why"], &why["command"]), (&json!("cannot_run"), &json!("sh check.sh")));
    let dies = "grep -q world greet.txt && kill -9 $$; exit 0\n";
    let new = world(&[("check.sh", dies)], killed());
    ends(&new, "1 needs_work/unverifiable", "architect editor");
}

#[test]
fn a_model_that_repeats_itself_is_asked_about_ten_times_in_all() {
    let red = "grep -q moon greet.txt || { echo FAILED t.py::a - x; exit 1; }\n";
    for (answer, most) in [
        ("NEED_CONTEXT|check.sh".to_owned(), 8),
        ("NEED_FILE|other.txt|it is read there".to_owned(), 6),
        ("I will not do that.".to_owned(), 8),
        (diff("greet.txt", "hallo", "hello world"), 8),
        (diff("greet.txt", "hello", "hello world"), 9),
    ] {
        let replies = vec![plan(&["sh check.sh"]).forever(), editor(&answer).forever()];
        let world = world(&[("check.sh", red)], replies);
        let run = ran(&world);
        assert_eq!(run.code, Some(1), "{answer}: {}", run.stderr);
        let calls = world.provider.requests().len();
        assert!(calls <= most, "{answer}: {calls} calls, {}", world.provider.roles());
    }
    // The first diff is applied, and then there is nothing to add.
    let replies =
        vec![plan(&["sh check.sh"]).forever(), fix(), editor("DONE|it is done").forever()];
    let green = "grep -qx hello greet.txt || { echo FAILED a; exit 1; }\n";
    let done = world(&[("check.sh", green)], replies);
    ends(&done, "1 needs_work/checks_fail", "architect editor editor architect editor");
    // An Architect that only looks.
    let looks = world(&[], vec![architect("NEED_CONTEXT|check.sh").forever()]);
    let run = ends(&looks, "1 needs_work/no_plan", "architect architect architect");
    assert_eq!(*run.one("AnswerRepeated"), json!({ "role": "architect", "times": 3 }));
}

/// First the plan's check lacks a package, then the other one fails as it did before, and the third one passes. Each
/// answer depends only on its request.
fn roundabout() -> World {
    let plans = ["sh lacks.sh", "sh check.sh", HONEST]
        .map(|check| plan_verified_by(&["greet.txt"], &[check]));
    let drafts = [diff("greet.txt", "hello", "hello world"), "DONE|it is done".to_owned()];
    let replies = Replies::driven(move |request| {
        let (answers, count) = match request.header("x-agent-role") {
            Some("architect") => (plans.as_slice(), plans.len()),
            _ => (drafts.as_slice(), drafts.len()),
        };
        ScriptedReply::text(answers[answers_so_far(request).min(count - 1)].clone())
    });
    world(&[LACKS], replies)
}

#[test]
fn a_run_that_looks_for_a_check_that_can_run_is_resumed() {
    let roles = "architect editor architect editor architect";
    ends(&roundabout(), "0 delivered/passed", roles);
    let args = [
        "--force-execute",
        "-p",
        "Fix the greeting",
        "--approval",
        "auto",
        "--output",
        "stream-json",
    ];
    let kills = resumes_after_kills(5, &args, 0, roundabout, |world, step| {
        assert_eq!(world.project.read("greet.txt"), "hello world\n", "step {step}");
    });
    assert!(kills > 5, "{kills} kills");
}

#[test]
fn thinking_has_a_budget_of_its_own() {
    let world = World::greeting(crate::support::greeting_fix());
    let thinks = |tokens: &str| {
        let key = format!("budget.reasoning_tokens={tokens}");
        let words = ["--set", &key, "-p", "Fix it", "--force-execute", "--approval", "auto"];
        world.deepseek(words.into_iter().chain(["--output", "stream-json"])).run()
    };
    let run = thinks("400");
    assert_eq!(run.ending(), "4 budget_exhausted", "{}", run.stderr);
    assert!(run.stderr.contains("the budget of 400 tokens for reasoning"), "{}", run.stderr);
    assert!(run.stderr.contains("raise budget.reasoning_tokens"), "{}", run.stderr);
    assert!(world.provider.requests().is_empty());
    let run = thinks("2000");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let [planned, drafted] = ["architect", "editor"]
        .map(|role| world.provider.of(role)[0].request.json["max_tokens"].as_u64().unwrap());
    assert!(planned == 2000 && drafted > 2000, "{planned} {drafted}");
}
