//! Commands that models ask to run before they answer (`NEED_RUN`): the output they get, and that no changes are kept.

use mock::ScriptedReply;

use crate::support::{Project, Provider, World, architect, editor, greeting_fix, plan};

/// Creates a project with a script that shows a bug and writes a file.
fn faulty() -> Project {
    let project = Project::greeting();
    project.write(
        "show.sh",
        "echo 'greeting is wrong' > trace.txt\ncat trace.txt greet.txt\nexit 3\n",
    );
    project
}

const ALLOWED: &str =
    "[policy]\nallow_commands = [\"sh check.sh\", \"sh show.sh\", \"cat keys.env\"]\n";

/// Creates a world in which the Architect's first answer is `wants`, before it plans.
fn wanting(project: Project, wants: &str) -> World {
    let replies = [vec![architect(wants)], greeting_fix()].concat();
    World::of(project, Provider::new(replies)).configure(ALLOWED)
}

#[test]
fn a_model_sees_the_output_of_a_trial_command_and_its_changes_are_discarded() {
    for level in ["auto", "floor"] {
        let world = wanting(faulty(), "NEED_RUN|sh show.sh\nNEED_CONTEXT|greet.txt")
            .configure(&format!("[sandbox]\nmode = \"{level}\"\nfloor = \"accept\"\n"));
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{level}: {}", run.stderr);
        let prompt = world.provider.last_message("architect", 2);
        let shown = "[1] `sh show.sh`: exit 3\ngreeting is wrong\nhello\n[2] ### greet.txt";
        assert!(prompt.contains(shown), "{level}: {prompt}");
        assert_eq!(world.project.changed(), ["greet.txt", "show.sh"], "{level}");
        let tried = run.one("CommandTried");
        assert_eq!((&tried["role"], &tried["exit"]), (&"architect".into(), &"exit 3".into()));
        let replay = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replay.code, Some(0), "{level}: {}", replay.stderr);
    }
}

#[test]
fn of_tests_that_pass_the_end_is_shown_and_of_those_that_fail_all_that_fits() {
    let script = |ends: &str| format!("seq 1000\necho '{ends}'\n");
    let shown = |ends: &str, exit: &str| {
        let project = Project::greeting();
        project.write("show.sh", &(script(ends) + exit));
        let world = wanting(project, "NEED_RUN|sh show.sh");
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
        world.provider.last_message("architect", 2)
    };
    let passing = shown("12 passed, 1 skipped", "");
    assert!(passing.contains("\n12 passed, 1 skipped\n"), "{passing}");
    assert!(passing.contains("bytes left out") && !passing.contains("\n500\n"), "{passing}");
    assert!(shown("11 passed, 1 failed", "exit 1\n").contains("\n500\n"));
    assert!(shown("that is all", "").contains("\n500\n"));
}

#[test]
fn a_name_with_several_short_definitions_shows_them_all() {
    let project = Project::greeting();
    project.write(
        "shapes.py",
        "class Line:\n    def area(self):\n        return 0\n\n\nclass Box:\n    def area(self):\n        return 9\n",
    );
    project.commit();
    let world = wanting(project, "NEED_CONTEXT|shapes.py:area");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let prompt = world.provider.last_message("architect", 2);
    for shown in ["### shapes.py lines 2-3", "return 0", "### shapes.py lines 7-8", "return 9"] {
        assert!(prompt.contains(shown), "{shown} in {prompt}");
    }
    assert!(!prompt.contains("also defined"), "{prompt}");
}

#[test]
fn short_requests_are_answered_whole_beside_long_ones() {
    let project = Project::greeting();
    let long = "a line of a long file, which has many of them\n".repeat(900);
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        project.write(name, &long);
    }
    project.write("show.sh", "echo shown\n");
    project.commit();
    let looks = "NEED_CONTEXT|a.txt:1-400\nNEED_CONTEXT|b.txt:1-400\nNEED_CONTEXT|c.txt:1-400\n\
                 NEED_CONTEXT|d.txt:1-400\nNEED_RUN|sh show.sh\nNEED_CONTEXT|greet.txt";
    let world = wanting(project, looks);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let prompt = world.provider.last_message("architect", 2);
    assert!(prompt.contains("exit 0\nshown\n") && prompt.contains("   1| hello"), "{prompt}");
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        assert!(prompt.contains(&format!("### {name} lines 1-")), "{name} in {prompt}");
    }
}

#[test]
fn the_editors_trial_commands_see_the_applied_change() {
    let broken = "--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1 @@\n-hello\n+hello there\n";
    let mending = "--- a/greet.txt\n+++ b/greet.txt\n@@ -1 +1 @@\n-hello there\n+hello world\n";
    let replies = vec![
        architect(plan(&["greet.txt"])),
        editor(broken),
        editor("NEED_RUN|sh show.sh"),
        editor(mending),
    ];
    let world = World::of(faulty(), Provider::new(replies)).configure(ALLOWED);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    let prompt = world.provider.last_message("editor", 3);
    assert!(prompt.contains("greeting is wrong\nhello there"), "{prompt}");
}

#[test]
fn policy_applies_to_trial_commands_and_the_model_is_told_the_reason() {
    // An unlisted command without a terminal, and invalid syntax.
    let world = wanting(faulty(), "NEED_RUN|sh other.sh\nNEED_RUN|'");
    let asking = ["chat", "--force-execute", "-p", "Fix the greeting", "--approval", "suggest"];
    world.deepseek(asking).run();
    let prompt = world.provider.last_message("architect", 2);
    let why = "`sh other.sh` is not shown: it is not listed in policy.allow_commands, and there is no terminal to ask on";
    assert!(
        prompt.contains(why) && prompt.contains("`'` is not shown: a quote is not closed"),
        "{prompt}"
    );

    // A denied command; a command without a sandbox; and below, a command to answer a question.
    let denied = wanting(faulty(), "NEED_RUN|sh denied.sh")
        .configure("[policy]\ndeny_commands = [\"sh denied.sh\"]\n");
    let unconfined = wanting(faulty(), "NEED_RUN|sh show.sh").unconfined();
    for (world, why) in
        [(denied, "`sh denied.sh` is not shown: "), (unconfined, "`sh show.sh` is not shown: ")]
    {
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{why}: {}", run.stderr);
        let prompt = world.provider.last_message("architect", 2);
        assert!(prompt.contains(why), "{why}: {prompt}");
        assert!(run.all("CommandTried").is_empty());
        let replay = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replay.code, Some(0), "{}", replay.stderr);
    }
    let replies = vec![
        ScriptedReply::text("NEED_RUN|sh show.sh").to("analysis"),
        ScriptedReply::text("It is wrong.").to("analysis"),
    ];
    let world = World::of(faulty(), Provider::new(replies)).configure(ALLOWED);
    let run = world.asks("What is wrong?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        world.provider.last_message("analysis", 2).contains("nothing is run to answer a question")
    );
}

#[test]
fn trial_commands_are_limited_in_number_and_output() {
    let project = faulty();
    project.write("show.sh", "seq 100000\n");
    let wants = "NEED_RUN|sh show.sh\n".repeat(5);
    let world = wanting(project, &wants);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.all("CommandTried").len(), 4);
    let prompt = world.provider.last_message("architect", 2);
    assert!(prompt.len() < 4 * 4_000 + 2_000, "{}", prompt.len());
    assert!(prompt.contains("bytes left out") && prompt.contains("\n99999\n100000"), "{prompt}");
    assert!(prompt.contains("only 4 commands may be run at once"), "{prompt}");
}

#[test]
fn secrets_in_trial_output_are_masked() {
    let project = faulty();
    project.write("show.sh", "echo token=ghp_0123456789abcdefghijABCDEFGHIJ012345\n");
    let world = wanting(project, "NEED_RUN|sh show.sh");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.one("CommandTried")["masked"], 1);
    assert!(!world.provider.all_messages().contains("ghp_0123456789"));
}
