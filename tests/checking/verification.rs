//! What a verification concludes is true for the code: checks see each other's results, nothing of them stays, and nothing is
//! concluded from an old result, from a slow build, or from a tree that moves.

use std::fs;
use std::time::Duration;

use mock::ScriptedReply;
use serde_json::json;

use crate::sessions::replay::replayed;
use crate::support::{
    Project, Provider, Run, World, architect, diff, editor, plan_verified_by, wait_until,
};

/// A runner for tests that are shell scripts. Like most, it names each file before it runs it.
const RUNNER: &str = "for test in tests/test_*.sh; do echo \"$test\"; sh \"$test\" || { echo \"FAILED $test::it - it fails\"; exit 1; }; done\n";

/// Creates the world of a request that changes `value.txt` from 1 to 2, verified by these commands, with files of the project
/// and further answers.
fn changing(files: &[(&str, &str)], checks: &[&str], more: Vec<ScriptedReply>) -> World {
    let mut all = vec![("value.txt", "1\n")];
    all.extend(files);
    let first = editor(diff("value.txt", "1", "2"));
    let plan = architect(plan_verified_by(&["value.txt"], checks)).forever();
    let replies: Vec<ScriptedReply> = [first].into_iter().chain(more).chain([plan]).collect();
    World::of(Project::new(&all), Provider::new(replies))
}

fn run(world: &World) -> Run {
    world.request("Make it two").args(["--yolo"]).run()
}

#[test]
fn a_check_sees_what_an_earlier_one_built() {
    let files = [
        (".gitignore", "out\n"),
        ("build.sh", "mkdir -p out && cp value.txt out/built\n"),
        ("test.sh", "read -r value < out/built && [ \"$value\" = 1 ]\n"),
    ];
    let checks = ["sh build.sh", "sh test.sh"];
    let world = changing(&files, &checks, vec![editor("no diff").forever()]);
    // Left from an earlier build, and right for the old value.
    world.project.write("out/built", "1\n");
    let run = run(&world);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let of_test: Vec<_> = run
        .all("VerificationRun")
        .into_iter()
        .filter(|check| check["command"] == "sh test.sh")
        .map(|check| (check["baseline"] == true, check["outcome"].clone()))
        .collect();
    assert!(of_test.contains(&(true, json!("passed"))), "{of_test:?}");
    assert!(of_test.contains(&(false, json!("code_failure"))), "{of_test:?}");
    assert_eq!(world.project.read("out/built"), "1\n", "what checks build is discarded");
}

#[test]
fn a_check_that_passes_only_after_another_has_changed_a_file_fails() {
    let files = [
        ("other.txt", "wrong\n"),
        ("format.sh", "echo right > other.txt\n"),
        ("check.sh", "grep -q right other.txt && grep -q 2 value.txt\n"),
    ];
    let mend = "--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-2\n+2 \n";
    let world = changing(&files, &["sh format.sh", "sh check.sh"], vec![editor(mend).forever()]);
    let run = run(&world);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let left = run.all("CheckedTreeChanged")[0];
    assert_eq!(left["written"], json!([{"path": "other.txt", "command": "sh format.sh"}]));
    let needs = run.all("VerificationRun").iter().any(|check| {
        check["findings"]["needs"] == json!({"path": "other.txt", "command": "sh format.sh"})
    });
    assert!(needs, "{}", run.stdout);
    let told = world.provider.requests().iter().any(|request| {
        format!("{request:?}").contains("passes only after `sh format.sh` has changed other.txt")
    });
    assert!(told, "the Editor is told which file belongs to the change");
    assert_eq!(world.project.read("other.txt"), "wrong\n");
    let (code, document) = replayed(&world, "latest");
    assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{document:#}");
}

#[test]
fn a_check_that_changes_a_file_and_changes_it_back_is_no_trouble() {
    let files = [
        ("other.txt", "right\n"),
        ("away.sh", "echo wrong > other.txt\n"),
        ("back.sh", "echo right > other.txt\n"),
        ("check.sh", "grep -q right other.txt && grep -q 2 value.txt\n"),
    ];
    let checks = ["sh away.sh", "sh back.sh", "sh check.sh"];
    let run = run(&changing(&files, &checks, Vec::new()));
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(run.all("CheckedTreeChanged").is_empty());
}

#[test]
fn an_updated_lock_file_becomes_part_of_the_change() {
    let files = [
        ("Gemfile", "one\n"),
        ("Gemfile.lock", "one\n"),
        ("other.lock", "one\n"),
        ("build.sh", "cp Gemfile Gemfile.lock; cp Gemfile other.lock\n"),
        ("check.sh", "cmp -s Gemfile Gemfile.lock && grep -q two Gemfile\n"),
    ];
    let replies = vec![
        architect(plan_verified_by(&["Gemfile"], &["sh build.sh", "sh check.sh"])),
        editor(diff("Gemfile", "one", "two")),
    ];
    let world = World::of(Project::new(&files), Provider::new(replies));
    let run = run(&world);
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let mut changed = world.project.changed();
    changed.sort();
    assert_eq!(changed, ["Gemfile", "Gemfile.lock"]);
    assert_eq!(world.project.read("Gemfile.lock"), "two\n");
    let (code, document) = replayed(&world, "latest");
    assert_eq!((code, &document["identical"]), (Some(0), &json!(true)), "{document:#}");
    let undone = world.deepseek(["rewind", "1"]).run();
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(world.project.changed().is_empty(), "{:?}", world.project.changed());
}

#[test]
fn checks_are_run_again_if_the_tree_moves_meanwhile() {
    let files = [
        ("other.txt", "a\n"),
        ("check.sh", "grep -q 2 value.txt || exit 1\nwhile grep -q a other.txt; do :; done\n"),
    ];
    let world = changing(&files, &["sh check.sh"], Vec::new());
    let mut program = world.request("Make it two");
    let mut running = program.args(["--yolo"]).start();
    // The change is applied, and its check waits.
    running.until(|| world.project.read("value.txt") == "2\n");
    let begun = wait_until(Duration::from_secs(20), || {
        let sessions = fs::read_dir(world.state().join("sessions")).ok()?.flatten();
        let mut logs =
            sessions.filter_map(|it| fs::read_to_string(it.path().join("events.jsonl")).ok());
        logs.any(|log| log.contains("VerifyStarted")).then_some(())
    });
    assert!(begun.is_some());
    world.project.write("other.txt", "b\n");
    let run = running.end();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    // The write may have come before the check began to run.
    let moved = run.all("CheckedTreeChanged");
    let checks = run.all("VerificationRun").iter().filter(|it| it["baseline"] == false).count();
    assert_eq!(checks, 1 + moved.len(), "{}", run.stderr);
    if let [moved] = moved.as_slice() {
        assert_eq!(moved["moved"], json!(["other.txt"]));
    }
}

#[test]
fn nothing_of_the_checks_stays_that_git_would_show() {
    let files = [
        ("pyproject.toml", ""),
        ("package.json", "{}"),
        ("CMakeLists.txt", ""),
        (
            "check.sh",
            "mkdir -p .pytest_cache/v build dist node_modules/.cache && touch .pytest_cache/v/x .pytest_cache/.gitignore build/x dist/x made && grep -q 2 value.txt\n",
        ),
    ];
    let world = changing(&files, &["sh check.sh"], Vec::new());
    let run = run(&world);
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.changed(), ["value.txt"]);
    for path in [".pytest_cache", "build", "dist", "made", "node_modules"] {
        assert!(!world.project.path(path).exists(), "{path}");
    }
}

#[test]
fn a_cache_that_git_ignores_is_kept_and_one_that_the_old_tree_wrote_is_not() {
    let files = [
        ("Cargo.toml", ""),
        (".gitignore", "/target\n"),
        ("check.sh", "mkdir -p target && cat value.txt >> target/log && grep -q 2 value.txt\n"),
    ];
    let world = changing(&files, &["sh check.sh"], Vec::new());
    let run = run(&world);
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.read("target/log"), "2\n", "only the delivered tree writes there");
}

#[test]
fn a_failure_of_another_day_proves_nothing() {
    let files = [(".gitignore", "env\n"), ("check.sh", "test -e env/ready\n")];
    let old = "--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-1\n+1 # one\n";
    let comment = vec![architect(plan_verified_by(&["value.txt"], &["sh check.sh"])), editor(old)];
    let world = changing(&files, &["sh check.sh"], vec![editor("DONE|it is done").forever()]);
    let first = run(&world);
    assert_eq!(first.ending(), "0 delivered/unverified", "{}", first.stderr);
    let undone = world.deepseek(["rewind", "1"]).run();
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    world.project.write("env/ready", "");
    let again = Provider::new(comment);
    let mut program = world.request("Explain it");
    let second = program.args(["--yolo"]).env("DEEPSEEK_BASE_URL", again.base_url()).run();
    assert_eq!(second.ending(), "0 delivered/passed", "{}", second.stderr);
    let before: Vec<_> = second
        .all("VerificationRun")
        .into_iter()
        .filter(|check| check["baseline"] == true)
        .collect();
    assert_eq!(before[0]["findings"]["cached"], true);
    assert_eq!(before[1]["outcome"], "passed", "it is run again before anything is concluded");
}

#[test]
fn a_failure_is_not_blamed_on_the_change_because_of_a_result_of_another_day() {
    let files = [(".gitignore", "env\n"), ("check.sh", "test -e env/ready\n")];
    let world = changing(&files, &["sh check.sh"], Vec::new());
    world.project.write("env/ready", "");
    assert_eq!(run(&world).ending(), "0 delivered/passed");
    let undone = world.deepseek(["rewind", "1"]).run();
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    fs::remove_file(world.project.path("env/ready")).unwrap();
    let again = Provider::new(vec![
        architect(plan_verified_by(&["value.txt"], &["sh check.sh"])).forever(),
        editor(diff("value.txt", "1", "2")),
        editor("DONE|it is done").forever(),
    ]);
    let mut program = world.request("Make it two");
    let second = program.args(["--yolo"]).env("DEEPSEEK_BASE_URL", again.base_url()).run();
    let outcomes: Vec<_> =
        second.all("VerifyCompleted").iter().map(|it| it["outcome"].clone()).collect();
    assert_eq!(outcomes[0], "pre_existing", "{}", second.stderr);
}

/// Returns the answers of a request that mends `value.txt` and adds a test with this text.
fn with_test(name: &str, test: &str) -> Vec<ScriptedReply> {
    let new = format!("--- /dev/null\n+++ b/tests/test_{name}.sh\n@@ -0,0 +1 @@\n+{test}\n");
    vec![
        architect(plan_verified_by(
            &["value.txt", &format!("tests/test_{name}.sh")],
            &["sh check.sh"],
        )),
        editor(diff("value.txt", "1", "2") + &new),
    ]
}

#[test]
fn a_test_that_hangs_without_the_change_proves_it() {
    let files = [("value.txt", "1\n"), ("check.sh", RUNNER), ("tests/test_old.sh", "true\n")];
    let replies = with_test("new", "while grep -q 1 value.txt; do :; done");
    let world = World::of(Project::new(&files), Provider::new(replies));
    let run = run(&world);
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let tried = run.one("OldTreeTested");
    assert_eq!(tried["outcome"], "fails");
    assert!(run.elapsed < Duration::from_secs(20), "{:?}", run.elapsed);
}

#[test]
fn an_old_tree_that_builds_slowly_is_not_a_proof() {
    let build = "while grep -q 1 value.txt; do sleep 1; done\n";
    let files = [
        ("value.txt", "1\n"),
        // The old tree would be built for ever, before a test runs. Its baseline is not asked for.
        ("check.sh", &format!("{build}{RUNNER}")),
        ("tests/test_old.sh", "true\n"),
    ];
    let replies = with_test("new", "grep -q 2 value.txt");
    let world = World::of(Project::new(&files), Provider::new(replies));
    let mut program = world.request("Make it two");
    let run = program.args(["--yolo", "--set", "agent_loop.baseline=\"off\""]).run();
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert_eq!(run.one("OldTreeTested")["outcome"], "timed_out");
}

#[test]
fn an_author_who_says_more_than_a_diff_is_asked_only_where_no_check_shows_what_it_is_worth() {
    let repaired = "[ \"$(cat value.txt)\" = 2 ]\n";
    let passes = "grep -q . value.txt\n";
    for (check, calls) in [(repaired, 2), (passes, 3)] {
        let said = format!("{}\nThe old readers still expect 1.\n", diff("value.txt", "1", "2"));
        let plan = plan_verified_by(&["value.txt"], &["sh check.sh"]);
        let replies = vec![architect(plan), editor(said).forever()];
        let project = Project::new(&[("value.txt", "1\n"), ("check.sh", check)]);
        let run = run(&World::of(project, Provider::new(replies)));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.all("ModelRequest").len(), calls, "{check}");
        let refusals = run.all("PatchRefused").len();
        assert_eq!(refusals, calls - 2, "{check}");
        assert!(run.stdout.contains("The old readers still expect 1."), "{}", run.stdout);
    }
}
