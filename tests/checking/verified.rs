//! How far a delivery is verified: proven, passed, or unverified with the reason. New tests are also run on the tree without the
//! change.

use std::fs;

use mock::ScriptedReply;
use serde_json::json;

use crate::sessions::replay::replayed;
use crate::support::{
    Project, Provider, World, architect, diff, editor, greeting_fix, plan, plan_verified_by,
};

/// A check that runs every test; the shell plays the test runner.
const RUNNER: &str = "for test in tests/test_*.sh; do sh \"$test\" || exit 1; done\n";

/// Creates the greeting project with a test, and a check that runs all tests.
fn tested() -> Project {
    Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", RUNNER),
        ("tests/test_old.sh", "grep -q hello greet.txt\n"),
    ])
}

/// Returns a plan and a diff that fix the greeting and add a test with this text.
fn fix_with_test(test: &str) -> Vec<ScriptedReply> {
    let new = format!("--- /dev/null\n+++ b/tests/test_new.sh\n@@ -0,0 +1 @@\n+{test}\n");
    let both = diff("greet.txt", "hello", "hello world") + &new;
    vec![architect(plan(&["greet.txt", "tests/test_new.sh"])), editor(both)]
}

const FAILS_WITHOUT: &str =
    "grep -q world greet.txt || { echo \"FAILED tests/test_new.sh::world - no world\"; exit 1; }";

#[test]
fn a_new_test_that_fails_without_the_change_proves_it() {
    let world = World::of(tested(), Provider::new(fix_with_test(FAILS_WITHOUT)));
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
    assert_eq!(
        changed,
        ["greet.txt", "tests/test_new.sh"],
        "trying the test must not change the user's tree"
    );
    let left: Vec<_> = fs::read_dir(world.state().join("workspaces"))
        .unwrap()
        .flatten()
        .flat_map(|workspace| fs::read_dir(workspace.path().join("lanes")).into_iter().flatten())
        .collect();
    assert!(left.is_empty(), "the copy was not removed: {left:?}");
    let (code, document) = replayed(&world, "latest");
    assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{document:#}");
}

#[test]
fn a_new_test_that_passes_or_cannot_be_built_without_the_change_proves_nothing() {
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
        let world = World::of(tested(), Provider::new(fix_with_test(test)));
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
        assert_eq!(run.one("OldTreeTested")["outcome"], outcome, "{test}");
    }
}

#[test]
fn the_old_tree_is_not_tested_if_already_proven_or_without_new_tests() {
    let failed_before = World::greeting(greeting_fix());
    let run = failed_before.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(run.all("OldTreeTested").is_empty());
    let untested =
        vec![architect(plan(&["greet.txt"])), editor(diff("greet.txt", "hello", "hello world"))];
    let run = World::of(tested(), Provider::new(untested)).chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert!(run.all("OldTreeTested").is_empty());
}

#[test]
fn data_that_only_tests_read_proves_a_change_if_the_plan_says_so() {
    let runner = "while read -r word; do grep -q \"$word\" greet.txt || { echo \"FAILED tests::words - no $word\"; exit 1; }; done < cases.txt\n";
    for (intent, ending) in [("test data: one more word", "proven"), ("one more word", "passed")] {
        let files = [("greet.txt", "hello\n"), ("cases.txt", "hello\n"), ("check.sh", runner)];
        let plan = plan(&["greet.txt", "cases.txt"])
            .replace("cases.txt|as asked", &format!("cases.txt|{intent}"));
        let both = diff("greet.txt", "hello", "hello world")
            + "--- a/cases.txt\n+++ b/cases.txt\n@@ -1 +1,2 @@\n hello\n+world\n";
        let replies = vec![architect(plan), editor(both)];
        let run = World::of(Project::new(&files), Provider::new(replies)).chat("Fix the greeting");
        assert_eq!(run.ending(), format!("0 delivered/{ending}"), "{intent}: {}", run.stderr);
    }
}

/// Creates a project whose check fails because of a missing module.
fn missing(module: &str) -> Project {
    let check = format!("echo \"ModuleNotFoundError: No module named '{module}'\"; exit 1\n");
    Project::new(&[("greet.txt", "hello\n"), ("check.sh", &check), ("shop/cart.py", "")])
}

/// Returns the answers that fix the greeting, and an Architect that knows no other check.
fn unmended() -> Vec<ScriptedReply> {
    [greeting_fix(), vec![architect("DONE|left_pad is missing")]].concat()
}

#[test]
fn a_check_that_lacks_a_package_leaves_the_delivery_unverified() {
    let world = World::of(missing("left_pad"), Provider::new(unmended()));
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    assert_eq!(
        world.provider.roles(),
        "architect editor architect",
        "no model is asked to work around it, only for another check"
    );
    let why = &run.delivery()["verified"]["unverified"];
    let name = json!({ "kind": "package", "name": "left_pad" });
    assert_eq!((&why["why"], &why["missing"]), (&json!("environment"), &name));
}

#[test]
fn a_missing_module_of_the_workspace_is_not_a_missing_package() {
    let again = || editor(diff("greet.txt", "hello world", "hello world!"));
    let replies = [
        greeting_fix(),
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
fn pre_existing_failures_go_once_to_the_editor_and_once_to_the_architect() {
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", "echo 'FAILED t.py::old - it never worked'; exit 1\n"),
    ]);
    let replies = [
        greeting_fix(),
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
    assert!(run.stderr.contains("it never worked"), "the user must be told which: {}", run.stderr);
    let asked: Vec<_> = run.all("EditorStarted").iter().map(|it| it["iteration"].clone()).collect();
    assert_eq!(asked, [1, 2, 2], "asking the Architect is not an attempt");
    let prompt = world.provider.last_message("architect", 2);
    assert!(prompt.contains("nothing new fails") && prompt.contains("it never worked"), "{prompt}");
}

#[test]
fn a_failed_check_without_output_still_counts_as_a_failure() {
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
fn a_delivery_below_the_required_level_exits_with_failure() {
    let passed = || fix_with_test("grep -q hello greet.txt");
    for (replies, level, code) in [
        (passed(), "passed", 0),
        (passed(), "proven", 1),
        (fix_with_test(FAILS_WITHOUT), "proven", 0),
    ] {
        let world = World::of(tested(), Provider::new(replies));
        let run = world.request("Fix the greeting").args(["--require", level]).run();
        assert_eq!(run.code, Some(code), "{level}: {}", run.stderr);
        assert_eq!(run.delivery()["state"], "delivered");
        assert_eq!(world.project.read("greet.txt"), "hello world\n", "the change is kept");
    }
    let world = World::of(missing("left_pad"), Provider::new(unmended()));
    let args =
        ["-p", "Fix the greeting", "--force-execute", "--approval", "auto", "--require", "passed"];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("not verified: package `left_pad` is missing"), "{}", run.stderr);
}
