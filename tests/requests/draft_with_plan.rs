//! A small diff that comes with the plan: used if its author was shown what it changes, and otherwise no more than a remark.

use mock::ScriptedReply;

use crate::sessions::resume::resumes_after_kills;
use crate::support::{Project, Provider, World, architect, diff, editor, plan, plan_verified_by};

/// Returns an answer of the Architect: a plan for the greeting, and a diff with it.
fn planned_with(draft: &str) -> ScriptedReply {
    architect(format!("{}\nEDITOR_DRAFT_V1\n{draft}", plan(&["greet.txt"])))
}

fn says(old: &str, new: &str) -> String {
    diff("greet.txt", old, new)
}

#[test]
fn a_diff_that_comes_with_the_plan_is_the_editors_turn_without_a_call() {
    let world = World::greeting(vec![planned_with(&says("hello", "hello world"))]);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect");
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    let call = run.one("ModelReply")["call"].clone();
    assert_eq!(run.one("EditorStarted")["call"], call);
    let completed = run.one("EditorCompleted");
    assert_eq!((&completed["call"], &completed["drafted"]), (&call, &true.into()));
    assert_eq!(run.one("ApplyCompleted")["iteration"], 1);
    let replayed = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    let started = run.events.iter().find(|it| it["kind"] == "EditorStarted@v1").unwrap();
    let started = started["seq"].to_string();
    let explained = world.deepseek(["explain", &started]).run().stdout;
    assert!(explained.contains("iteration 1: the diff came with the plan"), "{explained}");
    assert!(explained.contains("architect asks"), "{explained}");
    let undone = world.deepseek(["rewind", "1"]).run();
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(world.project.changed().is_empty());
}

#[test]
fn a_diff_that_cannot_be_used_costs_no_attempt_and_the_editor_is_asked() {
    let (fix, files) = (says("hello", "hello world"), ["greet.txt", "other.txt"]);
    let beyond = format!("{fix}{}", diff("other.txt", "a", "b"));
    let unread = "I would write hello world.".to_owned();
    let cases = [
        (says("hallo", "hello world"), "it does not apply"),
        (beyond, "it does not apply"),
        (unread, "it is not a unified diff alone"),
        (format!("{fix}Also mind other.txt.\n"), "it does not apply"),
        (format!("Mind other.txt as well.\n\n{fix}"), "it is not a unified diff alone"),
    ];
    for (draft, why) in cases {
        let project = Project::greeting();
        project.write(files[1], "a\n");
        project.commit();
        let provider = Provider::new(vec![planned_with(&draft), editor(&*fix)]);
        let world = World::of(project, provider);
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
        assert_eq!(world.provider.roles(), "architect editor");
        let said = run.one("DraftPassedOver")["why"].to_string();
        assert!(said.contains(why), "{said}");
        let told = world.provider.last_message("editor", 1);
        assert!(told.contains("diff with this plan, which is not used: "), "{told}");
        assert_eq!(run.one("ApplyCompleted")["iteration"], 1);
        assert_eq!(world.project.read("other.txt"), "a\n");
    }
}

#[test]
fn a_diff_of_lines_that_its_author_was_not_shown_is_not_used() {
    // The file is long, and its last lines have nothing to do with the request.
    let lines: Vec<String> = (1..=900).map(|at| format!("entry {at} of the long list\n")).collect();
    let lines = lines.concat();
    let last = "@@ -898 @@\n entry 898 of the long list\n-entry 899 of the long list\n+changed\n";
    let draft = format!("--- a/list.txt\n+++ b/list.txt\n{last}");
    let answer = plan(&["list.txt"]) + "\nEDITOR_DRAFT_V1\n" + &draft;
    let look = || architect("NEED_CONTEXT|list.txt:890-900");
    for (replies, roles) in [
        (vec![architect(&*answer), editor(&*draft)], "architect editor"),
        (vec![look(), architect(&*answer)], "architect architect"),
    ] {
        let check = "grep -q changed list.txt\n";
        let project = Project::new(&[("list.txt", &lines), ("check.sh", check)]);
        let world = World::of(project, Provider::new(replies));
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{:?}", run.all("DraftPassedOver"));
        assert_eq!(world.provider.roles(), roles);
        let passed_over = run.all("DraftPassedOver");
        assert_eq!(passed_over.is_empty(), roles == "architect architect", "{passed_over:?}");
    }
}

#[test]
fn old_failures_are_told_to_the_architect_that_wrote_the_diff_and_to_no_editor() {
    let project = Project::greeting();
    project.write("old.sh", "echo 'FAILED old::one - as ever'\nexit 1\n");
    project.commit();
    let plan = plan_verified_by(&["greet.txt"], &["sh check.sh", "sh old.sh"]);
    let drafted = format!("{plan}\nEDITOR_DRAFT_V1\n{}", says("hello", "hello world"));
    let done = architect("DONE|what fails is older than the change");
    let world = World::of(project, Provider::new(vec![architect(drafted), done]));
    let world = world.configure("[policy]\nallow_commands = [\"sh check.sh\", \"sh old.sh\"]\n");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect architect");
    let told = world.provider.last_message("architect", 2);
    assert!(told.contains("failed the same way before"), "{told}");
}

#[test]
fn if_the_checks_fail_the_editor_is_given_the_plan_the_files_and_the_diff() {
    let world = World::greeting(vec![
        planned_with(&says("hello", "hello moon")),
        editor(says("hello moon", "hello world")),
    ]);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.provider.roles(), "architect editor");
    let told = world.provider.last_message("editor", 1);
    for shown in ["+hello moon", "   1| hello moon", "sh check.sh", "greet.txt"] {
        assert!(told.contains(shown), "{shown} in {told}");
    }
}

#[test]
fn no_diff_comes_with_a_plan_that_is_all_that_was_asked_for_or_where_it_is_off() {
    let offer = "EDITOR_DRAFT_V1";
    let world = World::greeting(vec![planned_with(&says("hello", "hello world"))]);
    let run = world.deepseek(["-p", "Fix the greeting", "--plan-only"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!world.provider.last_message("architect", 1).contains(offer));
    assert!(world.project.changed().is_empty());

    let off = "[agent_loop]\ndraft_with_plan = false\n";
    let replies =
        vec![planned_with(&says("hello", "hello moon")), editor(says("hello", "hello world"))];
    let world = World::greeting(replies).configure(off);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(!world.provider.last_message("architect", 1).contains(offer));
    assert_eq!(world.provider.roles(), "architect editor");
}

#[test]
fn after_a_refused_diff_a_plan_brings_none() {
    let wrong = || editor(says("hallo", "hello world"));
    let world = World::greeting(vec![
        architect(plan(&["greet.txt"])),
        wrong(),
        wrong(),
        wrong(),
        planned_with(&says("hello", "hello moon")),
        editor(says("hello", "hello world")),
    ]);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert!(run.one("DraftPassedOver")["why"].to_string().contains("refused before"));
}

#[test]
fn a_run_killed_anywhere_between_the_plan_and_its_diff_is_resumed() {
    let kills = resumes_after_kills(
        5,
        &["--force-execute", "-p", "Fix the greeting", "--approval", "auto"],
        0,
        || World::greeting(vec![planned_with(&says("hello", "hello world")).forever()]),
        |world, step| {
            assert_eq!(world.project.read("greet.txt"), "hello world\n", "step {step}");
            assert!(!world.provider.roles().contains("editor"), "step {step}");
        },
    );
    assert!(kills > 3, "{kills}");
}
