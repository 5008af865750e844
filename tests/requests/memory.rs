//! Workspace memory: written on delivery, given to models while its files are unchanged, and editable by the user.

use std::fs;

use mock::ScriptedReply;

use crate::support::{
    Project, Provider, Terminal, World, architect, greeting_fix, greeting_fix_checked_by,
};

fn listed(world: &World) -> String {
    let run = world.deepseek(["memory", "list"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).to("analysis").forever()
}

#[test]
fn a_delivery_is_remembered_for_later_sessions_while_its_files_are_unchanged() {
    let replies = greeting_fix_checked_by(&["sh check.sh"]).into_iter().chain([says("So.")]);
    let world = World::greeting(replies.collect::<Vec<_>>());
    world.project.write("Makefile", "check:\n\tsh check.sh\n");
    assert_eq!(world.chat("Fix the greeting").code, Some(0));
    let list = listed(&world);
    assert!(list.contains("fact      `sh check.sh` passed for a change"), "{list}");
    assert!(list.contains("outcome   Fix the greeting: changed greet.txt"), "{list}");

    world.asks("What was done here?");
    let prompt = world.provider.last_message("analysis", 1);
    assert!(prompt.contains("- outcome: Fix the greeting: changed greet.txt"), "{prompt}");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);

    world.project.write("greet.txt", "good evening\n");
    world.asks("And now?");
    let told = world.provider.last_message("analysis", 2);
    assert!(told.contains("- fact:") && !told.contains("- outcome:"), "{told}");
    assert!(listed(&world).contains("changed greet.txt (not used: its files changed)"));
}

#[test]
fn undelivered_work_is_not_remembered_and_memory_can_be_turned_off() {
    let world = World::greeting(vec![architect("no plan").forever()]);
    assert_ne!(world.chat("Fix the greeting").code, Some(0));
    assert_eq!(listed(&world), "");
    let world = World::greeting(greeting_fix()).configure("[memory]\nenabled = false");
    assert_eq!(world.chat("Fix the greeting").code, Some(0));
    assert_eq!(listed(&world), "");
}

#[test]
fn an_inconclusive_check_is_not_remembered() {
    let no_other = architect("DONE|there is no other check");
    let fix = greeting_fix_checked_by(&["no-such-program-here"]);
    let world = World::greeting([fix, vec![no_other]].concat());
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/unverified", "{}", run.stderr);
    let list = listed(&world);
    assert!(list.contains("outcome") && !list.contains("fact"), "{list}");
}

#[test]
fn the_users_decisions_are_remembered_and_can_be_edited_and_forgotten() {
    let ask = ScriptedReply::text("NEED_ANSWER|Loud or quiet?").to("architect");
    let replies: Vec<ScriptedReply> = [ask].into_iter().chain(greeting_fix()).collect();
    let world = World::of(Project::greeting(), Provider::new(replies));
    let mut terminal = Terminal::start(&mut world.deepseek([
        "--approval",
        "auto",
        "--force-execute",
        "-p",
        "Fix the greeting",
    ]));
    terminal.until("Your answer", 1);
    terminal.types("quiet\n");
    assert_eq!(terminal.end(), Some(0));
    let list = listed(&world);
    assert!(list.contains("2  decision  asked \"Loud or quiet?\", the user said: quiet"), "{list}");

    let edited = world.deepseek(["memory", "edit", "2", "greetings are quiet"]).run();
    assert_eq!(edited.code, Some(0), "{}", edited.stderr);
    assert!(listed(&world).contains("decision  greetings are quiet"));
    let shown = world.deepseek(["memory", "show", "2"]).run();
    assert!(shown.stdout.contains("\nsent to models"), "{}", shown.stdout);
    assert_eq!(world.deepseek(["memory", "show", "99"]).run().code, Some(2));
    assert_eq!(world.deepseek(["memory", "forget", "2"]).run().code, Some(0));
    assert!(!listed(&world).contains("quiet"));
    assert_eq!(world.deepseek(["memory", "forget", "--all"]).run().code, Some(0));
    assert_eq!(listed(&world), "");
}

#[test]
fn unreadable_memory_is_reported_and_does_not_stop_requests() {
    let world = World::greeting(greeting_fix());
    assert_eq!(world.deepseek(["memory", "forget", "--all"]).run().code, Some(0));
    let workspaces = fs::read_dir(world.state().join("workspaces")).unwrap();
    let file = workspaces.map(|it| it.unwrap().path().join("memory.json")).next().unwrap();
    fs::write(&file, "{").unwrap();
    let list = world.deepseek(["memory", "list"]).run();
    assert_eq!(list.code, Some(2));
    assert!(list.stderr.contains("delete the file"), "{}", list.stderr);
    assert_eq!(world.chat("Fix the greeting").code, Some(0));
}
