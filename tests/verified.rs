//! How far a delivery is verified: proven, passed, or not and why. Tests of a change are tried on the tree without it.

use std::fs;

use mock::Reply;
use serde_json::json;

use crate::replay::replayed;
use crate::support::{
    Project, Provider, World, architect, diff, editor, mended, plan, plan_verified_by,
};

/// Runs every test there is; the shell plays the tool.
const RUNNER: &str = "for test in tests/test_*.sh; do sh \"$test\" || exit 1; done\n";

/// A greeting with a test, and a check that runs all tests.
fn tested() -> Project {
    Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", RUNNER),
        ("tests/test_old.sh", "grep -q hello greet.txt\n"),
    ])
}

/// A plan and a diff that mend the greeting and bring a test with this text.
fn mended_with(test: &str) -> Vec<Reply> {
    let new = format!("--- /dev/null\n+++ b/tests/test_new.sh\n@@ -0,0 +1 @@\n+{test}\n");
    let both = diff("greet.txt", "hello", "hello world") + &new;
    vec![architect(plan(&["greet.txt", "tests/test_new.sh"])), editor(both)]
}

const FAILS_WITHOUT: &str =
    "grep -q world greet.txt || { echo \"FAILED tests/test_new.sh::world - no world\"; exit 1; }";

#[test]
fn a_new_test_that_fails_without_the_change_proves_it() {
    let world = World::of(tested(), Provider::new(mended_with(FAILS_WITHOUT)));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let tried = run.one("OldTreeTested");
    assert_eq!(
        (&tried["outcome"], &tried["tests"]),
        (&json!("fails"), &json!(["tests/test_new.sh"]))
    );
    assert_eq!(tried["command"], "sh check.sh");
    let mut changed = world.project.changed();
    changed.sort();
    assert_eq!(changed, ["greet.txt", "tests/test_new.sh"], "the user's tree has nothing of it");
    let left: Vec<_> = fs::read_dir(world.state().join("workspaces"))
        .unwrap()
        .flatten()
        .flat_map(|workspace| fs::read_dir(workspace.path().join("lanes")).into_iter().flatten())
        .collect();
    assert!(left.is_empty(), "the copy is gone: {left:?}");
    let (code, document) = replayed(&world, "latest");
    assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{document:#}");
}

#[test]
fn a_new_test_that_passes_anyway_or_cannot_be_built_proves_nothing() {
    for (test, outcome) in [
        ("grep -q hello greet.txt", "passes"),
        (
            "grep -q world greet.txt || { echo \"error[E0425]: cannot find it\"; exit 1; }",
            "says_nothing",
        ),
        (
            "grep -q world greet.txt || { echo \"ImportError: cannot import name it\"; exit 1; }",
            "says_nothing",
        ),
    ] {
        let world = World::of(tested(), Provider::new(mended_with(test)));
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
        assert_eq!(run.one("OldTreeTested")["outcome"], outcome, "{test}");
    }
}

#[test]
fn what_is_proven_already_or_has_no_tests_costs_nothing() {
    let failed_before = World::greeting(mended());
    let run = failed_before.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(run.all("OldTreeTested").is_empty());
    let untested =
        vec![architect(plan(&["greet.txt"])), editor(diff("greet.txt", "hello", "hello world"))];
    let run = World::of(tested(), Provider::new(untested)).chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert!(run.all("OldTreeTested").is_empty());
}

/// A project whose check misses a module.
fn missing(module: &str) -> Project {
    let check = format!("echo \"ModuleNotFoundError: No module named '{module}'\"; exit 1\n");
    Project::new(&[("greet.txt", "hello\n"), ("check.sh", &check), ("shop/cart.py", "")])
}

#[test]
fn what_misses_a_package_before_and_after_is_delivered_and_not_verified() {
    let world = World::of(missing("left_pad"), Provider::new(mended()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor", "no model is asked to get round it");
    let why = &run.delivery()["verified"]["unverified"];
    let name = json!({ "kind": "package", "name": "left_pad" });
    assert_eq!((&why["why"], &why["missing"]), (&json!("environment"), &name));
}

#[test]
fn a_module_of_the_workspace_is_no_package() {
    let again = || editor(diff("greet.txt", "hello world", "hello world!"));
    let replies = [
        mended(),
        vec![
            again(),
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello world!", "hello!")),
        ],
    ];
    let world = World::of(missing("shop.rules"), Provider::new(replies.concat()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "1 needs_work/pre_existing", "{}", run.stderr);
}

#[test]
fn old_failures_go_to_the_editor_once_and_to_the_architect_once() {
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", "echo 'FAILED t.py::old - it never worked'; exit 1\n"),
    ]);
    let replies = [
        mended(),
        vec![
            editor(diff("greet.txt", "hello world", "hello, world")),
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello, world", "hello world")),
        ],
    ];
    let world = World::of(project, Provider::new(replies.concat()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "1 needs_work/pre_existing", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor architect editor");
    assert_eq!(world.project.read("greet.txt"), "hello world\n", "the change is kept");
    assert!(run.stderr.contains("it never worked"), "the user is told which: {}", run.stderr);
    let asked: Vec<_> = run.all("EditorStarted").iter().map(|it| it["iteration"].clone()).collect();
    assert_eq!(asked, [1, 2, 2], "to ask the Architect is no attempt");
    let told = world.provider.told("architect", 2);
    assert!(told.contains("nothing new fails") && told.contains("it never worked"), "{told}");
}

#[test]
fn a_check_that_says_nothing_has_a_failure_all_the_same() {
    let silent = ["grep -q world greet.txt"];
    let replies = vec![
        architect(plan_verified_by(&["greet.txt"], &silent)),
        editor(diff("greet.txt", "hello", "hello wurld")),
        editor(diff("greet.txt", "hello wurld", "hello world")),
    ];
    let world = World::of(Project::greeting(), Provider::new(replies)).with_default_commands();
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor editor");
    let findings = &run.all("VerificationRun")[0]["findings"];
    assert_eq!(findings["errors"].as_array().map(Vec::len), Some(1), "{findings}");
}

#[test]
fn less_than_is_required_is_not_enough() {
    let passed = || mended_with("grep -q hello greet.txt");
    for (replies, level, code) in [
        (passed(), "passed", 0),
        (passed(), "proven", 1),
        (mended_with(FAILS_WITHOUT), "proven", 0),
    ] {
        let world = World::of(tested(), Provider::new(replies));
        let run = world.request("Fix the greeting").args(["--require", level]).run();
        assert_eq!(run.code, Some(code), "{level}: {}", run.stderr);
        assert_eq!(run.delivery()["state"], "delivered");
        assert_eq!(world.project.read("greet.txt"), "hello world\n", "the change is kept");
    }
    let world = World::of(missing("left_pad"), Provider::new(mended()));
    let args =
        ["-p", "Fix the greeting", "--force-execute", "--approval", "auto", "--require", "passed"];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("not verified: package `left_pad` is missing"), "{}", run.stderr);
}
