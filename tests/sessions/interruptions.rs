//! Ctrl-C at every stage, power cuts, and two processes in the same workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use mock::{Behaviour, ScriptedReply};
use rustix::process::Signal;

use crate::command_line::visits::two_files_staged;
use crate::support::{
    Project, Provider, Screen, Terminal, World, architect, diff, editor, greeting_fix, plan,
    processes_left_in, wait_until,
};

/// The program promises to stop within a second; a busy machine gets some more.
const PROMPTLY: Duration = Duration::from_secs(3);

/// A check that signals its start with a file, and does not end by itself.
const ENDLESS: &str = "sleep 1000 &\ntouch begun\nsleep 1000\n";

fn no_answer() -> ScriptedReply {
    ScriptedReply::of(Behaviour::StallAfterHeaders)
}

fn fix() -> ScriptedReply {
    editor(diff("greet.txt", "hello", "hello world"))
}

/// Starts a request, presses Ctrl-C once `seen` returns true, and checks that everything stops promptly.
fn assert_interrupts(world: &World, request: &str, seen: impl Fn(&World) -> bool) {
    let mut running = world.request(request).start();
    running.until(|| seen(world));
    let (run, took) = running.interrupt();
    assert_eq!(run.ending(), "130 cancelled", "{}", run.stderr);
    assert!(took < PROMPTLY, "it took {took:?}");
    assert!(
        processes_left_in(world.project.root()).is_empty(),
        "{:?}",
        processes_left_in(world.project.root())
    );
    let closed = wait_until(PROMPTLY, || world.provider.is_idle().then_some(()));
    assert!(closed.is_some(), "a call is still open");
}

#[test]
fn ctrl_c_ends_a_model_call() {
    let calls: [(&str, Vec<ScriptedReply>); 3] = [
        ("Fix the greeting", vec![no_answer().to("architect")]),
        ("Fix the greeting", vec![architect(plan(&["greet.txt"])), no_answer().to("editor")]),
        ("What is this?", vec![no_answer().to("analysis")]),
    ];
    for (request, replies) in calls {
        let count = replies.len();
        let world = World::greeting(replies);
        assert_interrupts(&world, request, |world| world.provider.requests().len() == count);
        assert!(world.project.changed().is_empty());
    }
}

#[test]
fn ctrl_c_ends_a_waiting_retry() {
    let throttled = ScriptedReply {
        retry_after: Some("60".to_owned()),
        ..ScriptedReply::of(Behaviour::Http429)
    };
    let world = World::greeting(vec![throttled.forever()]);
    assert_interrupts(&world, "Fix the greeting", |world| world.provider.requests().len() == 1);
}

#[test]
fn ctrl_c_ends_a_check_and_all_its_child_processes() {
    for baseline in ["off", "wait"] {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", ENDLESS)]);
        let provider = Provider::new(greeting_fix());
        let world = World::of(project, provider)
            .configure(&format!("[agent_loop]\nbaseline = \"{baseline}\"\n"))
            .unconfined();
        assert_interrupts(&world, "Fix the greeting", |world| world.project.path("begun").exists());
        let patched = world.project.read("greet.txt") == "hello world\n";
        assert_eq!(patched, baseline == "off", "either fully patched or unchanged");
    }
}

#[test]
fn after_an_interruption_the_next_request_is_served() {
    let world =
        World::greeting(vec![no_answer().to("architect"), architect(plan(&["greet.txt"])), fix()]);
    assert_interrupts(&world, "Fix the greeting", |world| world.provider.requests().len() == 1);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
}

#[test]
fn only_one_process_may_write_and_a_second_one_is_told_which() {
    let world = World::greeting(vec![
        no_answer().to("architect"),
        ScriptedReply::text("It greets.").to("analysis"),
        architect(plan(&["greet.txt"])),
        fix(),
    ])
    .configure("[limits]\nworkspace_lock_timeout_seconds = 0\n");
    let mut first = world.request("Fix the greeting").start();
    first.until(|| world.provider.requests().len() == 1);

    let second = world.chat("Fix the greeting");
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(second.stderr.contains(&first.id().to_string()), "{}", second.stderr);
    let reader = world.deepseek(["ask", "What does it do?"]).run();
    assert_eq!(reader.code, Some(0), "a reader need not wait: {}", reader.stderr);

    first.kill();
    let third = world.chat("Fix the greeting");
    assert_eq!(
        third.ending(),
        "0 delivered/proven",
        "a dead owner holds no lock: {}",
        third.stderr
    );
}

#[test]
fn a_second_process_waits_for_the_first() {
    let slow = ScriptedReply { delay_ms: 300, ..architect(plan(&["greet.txt"])) };
    let no_edit = "ARCHITECT_PLAN_V1\nPLAN|nothing\nNO_EDIT|true|done\nARCHITECT_PLAN_END\n";
    let world = World::greeting(vec![slow, fix(), architect(no_edit)]);
    let mut first = world.request("Fix the greeting").start();
    first.until(|| world.provider.requests().len() == 1);
    let second = world.request("Fix the greeting").start();
    assert_eq!(first.end().ending(), "0 delivered/proven");
    let second = second.end();
    assert_eq!(second.ending(), "0 no_edit_needed", "{}", second.stderr);
    assert_eq!(world.provider.roles(), "architect editor architect");
}

#[test]
fn a_journal_cut_short_by_a_power_cut_can_be_read() {
    let world = World::greeting(vec![architect(plan(&["greet.txt"])), no_answer().to("editor")]);
    let mut running = world.request("Fix the greeting").start();
    running.until(|| world.provider.requests().len() == 2);
    running.kill();
    let shown = world.deepseek(["sessions", "show", "latest"]).run();
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("PlanCreated"), "{}", shown.stdout);
    assert!(world.project.changed().is_empty());
}

#[test]
fn an_idle_conversation_holds_no_lock_and_ends_on_a_signal() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let answer = ScriptedReply::text("ANALYSIS").to("analysis");
        let world = World::greeting([greeting_fix(), vec![answer]].concat());
        let mut terminal =
            Terminal::start(&mut world.deepseek(["--plain", "--approval", "suggest"]));
        terminal.until("›", 1);
        terminal.types("Fix the greeting\r");
        terminal.until("Apply it? [y/N", 1);
        terminal.types("n\n");
        terminal.until("hint:", 1);

        // While the conversation waits for input, another process can work in the workspace.
        let applied = world.deepseek(["apply", "--yes"]).run();
        assert_eq!(applied.code, Some(0), "{}", applied.stderr);
        assert_eq!(world.project.read("greet.txt"), "hello world\n");

        // The conversation continues afterwards.
        terminal.types("? What is in greet.txt\r");
        terminal.until("ANALYSIS", 1);
        terminal.until("session ", 2);
        terminal.signal(signal);
        let shown = terminal.shown();
        assert_eq!(terminal.end(), Some(0), "{shown}");
        let history = fs::read_to_string(world.state().join("history")).unwrap();
        assert!(history.contains("Fix the greeting"), "{history}");
    }
}

#[test]
fn applying_a_staged_change_can_be_stopped_at_its_question() {
    let world = two_files_staged();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut terminal = Terminal::start(&mut world.deepseek(["apply"]));
        terminal.until("[y/N; ", 1);
        terminal.signal(signal);
        assert_eq!(terminal.ends(), Some(130), "{}", terminal.shown());
        assert!(terminal.shown().contains("stopped; nothing was written"), "{}", terminal.shown());
    }
    assert!(!world.project.path("a.txt").exists());
    // The patch is still staged, and was not declined.
    let staged = world.deepseek(["diff", "--output", "json"]).run().stdout;
    assert!(staged.contains(r#""declined":false"#), "{staged}");
    // The same for a question of a conversation, which then ends.
    let mut program = world.deepseek(["--force-execute"]);
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 24, 100);
    screen.until_shown("›");
    screen.types("/apply\r");
    screen.until_shown("d review");
    screen.terminal.signal(Signal::TERM);
    assert_eq!(screen.terminal.ends(), Some(0), "{}", screen.terminal.shown());
    assert!(screen.terminal.shown().contains("stopped; nothing was written"));
    assert!(!world.project.path("a.txt").exists());
}

#[test]
fn a_conversation_without_any_message_ends_on_a_signal() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let world = World::greeting(greeting_fix());
        let terminal = Terminal::start(&mut world.deepseek(["--plain"]));
        terminal.until("›", 1);
        terminal.signal(signal);
        assert_eq!(terminal.end(), Some(0));
    }
}

#[test]
fn every_terminating_signal_also_ends_the_running_check() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", ENDLESS)]);
        let answers = [architect(plan(&["greet.txt"])), fix()];
        let world = World::of(project, Provider::new(answers.to_vec())).unconfined();
        let mut running = world.request("Fix the greeting").start();
        running.until(|| world.project.path("begun").exists());
        running.signal(signal);
        let run = running.end();
        assert_eq!(run.ending(), "130 cancelled", "{signal:?}: {}", run.stderr);
        assert!(processes_left_in(world.project.root()).is_empty(), "{signal:?}");
    }
}

#[test]
fn a_workspace_that_was_moved_or_replaced_during_a_run_ends_it_and_nothing_runs_there() {
    for what in ["moved", "replaced", "a link", "deleted"] {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", "touch ran\n")]);
        let root = project.root().to_owned();
        let aside = root.with_extension("aside");
        let answers = mock::Replies::driven(move |request| {
            if request.header("x-agent-role") == Some("architect") {
                return ScriptedReply::text(plan(&["greet.txt"]));
            }
            let aside = root.with_extension("aside");
            // The check that began before the workspace went away has ended there.
            wait_until(PROMPTLY, || root.join("ran").exists().then_some(()));
            if root.exists() && !aside.exists() {
                fs::rename(&root, &aside).unwrap();
                match what {
                    "replaced" => {
                        fs::create_dir(&root).unwrap();
                        fs::write(root.join("check.sh"), "touch pwned\n").unwrap();
                    }
                    "a link" => {
                        let other = root.with_extension("other");
                        fs::create_dir(&other).unwrap();
                        fs::write(other.join("check.sh"), "touch pwned\n").unwrap();
                        symlink(other, &root).unwrap();
                    }
                    "deleted" => fs::remove_dir_all(&aside).unwrap(),
                    _ => {}
                }
            }
            ScriptedReply::text(diff("greet.txt", "hello", "hello world"))
        });
        let world = World::of(project, Provider::new(answers)).unconfined();
        let run = world.chat("Fix the greeting");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(run.code.is_some_and(|code| code > 0), "{what}: {said}");
        assert!(said.contains("was moved, deleted or replaced"), "{what}: {said}");
        assert_eq!(
            world.provider.requests().len(),
            2,
            "{what}: the run continued and made another call"
        );
        assert!(!world.project.path("pwned").exists(), "{what}: {said}");
        fs::remove_dir_all(world.project.root().with_extension("other")).ok();
        fs::remove_file(world.project.root()).ok();
        fs::remove_dir_all(world.project.root()).ok();
        fs::rename(aside, world.project.root()).ok();
    }
}
