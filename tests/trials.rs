//! Commands that models want to see run before they answer (`NEED_RUN`): what they are told of them, and that nothing stays.

use mock::Reply;

use crate::support::{Project, Provider, World, architect, editor, mended, plan};

/// A project with a script that shows a fault, and leaves traces.
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

/// A world in which the Architect wants to see something before it plans.
fn wanting(project: Project, wants: &str) -> World {
    let replies = [vec![architect(wants)], mended()].concat();
    World::of(project, Provider::new(replies)).configure(ALLOWED)
}

#[test]
fn a_model_sees_what_comes_of_a_command_and_nothing_of_it_stays() {
    for level in ["auto", "floor"] {
        let world = wanting(faulty(), "NEED_RUN|sh show.sh\nNEED_CONTEXT|greet.txt")
            .configure(&format!("[sandbox]\nmode = \"{level}\"\nfloor = \"accept\"\n"));
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{level}: {}", run.stderr);
        let told = world.provider.told("architect", 2);
        let shown = "[1] `sh show.sh`: exit 3\ngreeting is wrong\nhello\n[2] ### greet.txt";
        assert!(told.contains(shown), "{level}: {told}");
        assert_eq!(world.project.changed(), ["greet.txt", "show.sh"], "{level}");
        let tried = run.one("CommandTried");
        assert_eq!((&tried["role"], &tried["exit"]), (&"architect".into(), &"exit 3".into()));
        let replay = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replay.code, Some(0), "{level}: {}", replay.stderr);
    }
}

#[test]
fn the_editor_tries_commands_on_what_was_applied() {
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
    let told = world.provider.told("editor", 3);
    assert!(told.contains("greeting is wrong\nhello there"), "{told}");
}

#[test]
fn policy_decides_about_trials_and_the_model_is_told_why() {
    // Not listed, and the user is not there, and what is no command.
    let world = wanting(faulty(), "NEED_RUN|sh other.sh\nNEED_RUN|'");
    let asking = ["chat", "--force-execute", "-p", "Fix the greeting", "--approval", "suggest"];
    world.deepseek(asking).run();
    let told = world.provider.told("architect", 2);
    let why = "`sh other.sh` is not shown: it is not listed in policy.allow_commands, and there is no terminal to ask on";
    assert!(
        told.contains(why) && told.contains("`'` is not shown: a quote is not closed"),
        "{told}"
    );

    // Denied; not behind walls; nothing is run to answer a question.
    let denied = wanting(faulty(), "NEED_RUN|sh denied.sh")
        .configure("[policy]\ndeny_commands = [\"sh denied.sh\"]\n");
    let unconfined = wanting(faulty(), "NEED_RUN|sh show.sh").unconfined();
    for (world, why) in
        [(denied, "`sh denied.sh` is not shown: "), (unconfined, "`sh show.sh` is not shown: ")]
    {
        let run = world.chat("Fix the greeting");
        assert_eq!(run.ending(), "0 delivered/proven", "{why}: {}", run.stderr);
        let told = world.provider.told("architect", 2);
        assert!(told.contains(why), "{why}: {told}");
        assert!(run.all("CommandTried").is_empty());
        let replay = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replay.code, Some(0), "{}", replay.stderr);
    }
    let replies = vec![
        Reply::text("NEED_RUN|sh show.sh").to("analysis"),
        Reply::text("It is wrong.").to("analysis"),
    ];
    let world = World::of(faulty(), Provider::new(replies)).configure(ALLOWED);
    let run = world.asks("What is wrong?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.provider.told("analysis", 2).contains("nothing is run to answer a question"));
}

#[test]
fn trials_are_bounded_in_number_and_in_what_they_say() {
    let project = faulty();
    project.write("show.sh", "seq 100000\n");
    let wants = "NEED_RUN|sh show.sh\n".repeat(5);
    let world = wanting(project, &wants);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.all("CommandTried").len(), 4);
    let told = world.provider.told("architect", 2);
    assert!(told.len() < 4 * 4_000 + 2_000, "{}", told.len());
    assert!(told.contains("bytes left out") && told.contains("\n99999\n100000"), "{told}");
    assert!(told.contains("at most 4 commands are run at once"), "{told}");
}

#[test]
fn what_a_trial_prints_tells_no_secret() {
    let project = faulty();
    project.write("show.sh", "echo token=ghp_0123456789abcdefghijABCDEFGHIJ012345\n");
    let world = wanting(project, "NEED_RUN|sh show.sh");
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(run.one("CommandTried")["masked"], 1);
    assert!(!world.provider.everything_said().contains("ghp_0123456789"));
}
