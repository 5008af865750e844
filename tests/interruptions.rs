//! Ctrl-C at every stage, power cuts, and two processes in one workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use mock::{Behaviour, Reply};
use rustix::process::Signal;

use crate::support::{
    Project, Provider, Terminal, World, architect, diff, editor, left_in, mended, plan, wait_until,
};

/// A second is promised; a machine that does much else gets some more.
const PROMPTLY: Duration = Duration::from_secs(3);

/// A check that tells when it begins, and does not end by itself.
const ENDLESS: &str = "sleep 1000 &\ntouch begun\nsleep 1000\n";

fn silence() -> Reply {
    Reply::of(Behaviour::StallAfterHeaders)
}

fn fix() -> Reply {
    editor(diff("greet.txt", "hello", "hello world"))
}

/// Presses Ctrl-C once `seen` shows that the stage is reached.
fn interrupted(world: &World, request: &str, seen: impl Fn(&World) -> bool) {
    let mut running = world.request(request).start();
    running.until(|| seen(world));
    let (run, took) = running.interrupt();
    assert_eq!(run.ending(), "130 cancelled", "{}", run.stderr);
    assert!(took < PROMPTLY, "it took {took:?}");
    assert!(left_in(world.project.root()).is_empty(), "{:?}", left_in(world.project.root()));
    let closed = wait_until(PROMPTLY, || world.provider.is_idle().then_some(()));
    assert!(closed.is_some(), "a call is still open");
}

#[test]
fn ctrl_c_ends_a_model_call() {
    let calls: [(&str, Vec<Reply>); 4] = [
        ("Fix the greeting", vec![silence().to("architect")]),
        ("Fix the greeting", vec![architect(plan(&["greet.txt"])), silence().to("editor")]),
        ("What is this?", vec![silence().to("analysis")]),
        ("the build is broken", vec![silence().to("intent")]),
    ];
    for (request, replies) in calls {
        let count = replies.len();
        let world = World::greeting(replies);
        interrupted(&world, request, |world| world.provider.requests().len() == count);
        assert!(world.project.changed().is_empty());
    }
}

#[test]
fn ctrl_c_ends_a_retry_that_waits() {
    let throttled = Reply { retry_after: Some("60".to_owned()), ..Reply::of(Behaviour::Http429) };
    let world =
        World::greeting(vec![throttled.forever()]).configure("[llm]\nretry_max_ms = 100000\n");
    interrupted(&world, "Fix the greeting", |world| world.provider.requests().len() == 1);
}

#[test]
fn ctrl_c_ends_a_check_with_everything_it_started() {
    for baseline in ["off", "wait"] {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", ENDLESS)]);
        let provider = Provider::new(mended());
        let world = World::of(project, provider)
            .configure(&format!("[agent_loop]\nbaseline = \"{baseline}\"\n"))
            .unconfined();
        interrupted(&world, "Fix the greeting", |world| world.project.path("begun").exists());
        let patched = world.project.read("greet.txt") == "hello world\n";
        assert_eq!(patched, baseline == "off", "fully patched or as it was");
    }
}

#[test]
fn after_an_interruption_the_next_request_is_served() {
    let world =
        World::greeting(vec![silence().to("architect"), architect(plan(&["greet.txt"])), fix()]);
    interrupted(&world, "Fix the greeting", |world| world.provider.requests().len() == 1);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
}

#[test]
fn one_process_at_a_time_writes_and_the_second_is_told_whose_turn_it_is() {
    let world = World::greeting(vec![
        silence().to("architect"),
        Reply::text("It greets.").to("analysis"),
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
    assert_eq!(reader.code, Some(0), "who only reads need not wait: {}", reader.stderr);

    first.kill();
    let third = world.chat("Fix the greeting");
    assert_eq!(third.ending(), "0 delivered/proven", "a dead owner is none: {}", third.stderr);
}

#[test]
fn the_second_process_waits_its_turn() {
    let slow = Reply { delay_ms: 300, ..architect(plan(&["greet.txt"])) };
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
fn a_journal_cut_off_by_a_power_cut_can_be_read() {
    let world = World::greeting(vec![architect(plan(&["greet.txt"])), silence().to("editor")]);
    let mut running = world.request("Fix the greeting").start();
    running.until(|| world.provider.requests().len() == 2);
    running.kill();
    let shown = world.deepseek(["sessions", "show", "latest"]).run();
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("PlanCreated"), "{}", shown.stdout);
    assert!(world.project.changed().is_empty());
}

#[test]
fn an_idle_conversation_holds_nothing_and_ends_when_it_is_told_to() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let answers = [("EDIT", "intent"), ("ANSWER", "intent"), ("ANALYSIS", "analysis")];
        let answers = answers.map(|(text, role)| Reply::text(text).to(role));
        let world = World::greeting([mended(), answers.to_vec()].concat());
        let mut terminal =
            Terminal::start(&mut world.deepseek(["--plain", "--approval", "suggest"]));
        terminal.until("›", 1);
        terminal.types("Fix the greeting\r");
        terminal.until("Apply it? [y/N", 1);
        terminal.types("n\n");
        terminal.until("hint:", 1);

        // It waits for what is said next, and not for those who work meanwhile.
        let applied = world.deepseek(["apply", "--yes"]).run();
        assert_eq!(applied.code, Some(0), "{}", applied.stderr);
        assert_eq!(world.project.read("greet.txt"), "hello world\n");

        // It goes on afterwards, and while it works nobody else does.
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
fn a_conversation_that_nobody_spoke_in_ends_too() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let world = World::greeting(mended());
        let terminal = Terminal::start(&mut world.deepseek(["--plain"]));
        terminal.until("›", 1);
        terminal.signal(signal);
        assert_eq!(terminal.end(), Some(0));
    }
}

#[test]
fn every_signal_that_ends_a_program_ends_its_command_too() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", ENDLESS)]);
        let answers = [architect(plan(&["greet.txt"])), fix()];
        let world = World::of(project, Provider::new(answers.to_vec())).unconfined();
        let mut running = world.request("Fix the greeting").start();
        running.until(|| world.project.path("begun").exists());
        running.signal(signal);
        let run = running.end();
        assert_eq!(run.ending(), "130 cancelled", "{signal:?}: {}", run.stderr);
        assert!(left_in(world.project.root()).is_empty(), "{signal:?}");
    }
}

#[test]
fn a_workspace_that_is_not_where_it_was_is_told_so_and_nothing_runs_in_what_is_there() {
    for what in ["moved", "replaced", "a link", "deleted"] {
        let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", "touch ran\n")]);
        let root = project.root().to_owned();
        let aside = root.with_extension("aside");
        let answers = mock::Replies::driven(move |request| {
            if request.header("x-agent-role") == Some("architect") {
                return Reply::text(plan(&["greet.txt"]));
            }
            let aside = root.with_extension("aside");
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
            Reply::text(diff("greet.txt", "hello", "hello world"))
        });
        let world = World::of(project, Provider::new(answers)).unconfined();
        let run = world.chat("Fix the greeting");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(run.code.is_some_and(|code| code > 0), "{what}: {said}");
        assert!(said.contains("was moved, deleted or replaced"), "{what}: {said}");
        assert_eq!(world.provider.requests().len(), 2, "{what}: it goes on and pays");
        assert!(!world.project.path("pwned").exists(), "{what}: {said}");
        fs::remove_dir_all(world.project.root().with_extension("other")).ok();
        fs::remove_file(world.project.root()).ok();
        fs::remove_dir_all(world.project.root()).ok();
        fs::rename(aside, world.project.root()).ok();
    }
}
