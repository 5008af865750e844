//! Hints at a terminal: after a no, and of what takes place only there.

use super::follow::Printed;
use super::requests::{LANES, lane_project, two_lanes};
use crate::support::{
    Provider, Screen, Terminal, World, greeting_fix, greeting_fix_checked_by, shell,
};

/// The scenarios.
pub(super) const ALL: &[fn(&Printed)] = &[declined, pages, commits, conversations];

fn declined(hints: &Printed) {
    let edit = ["--force-execute", "-p", "Fix the greeting"];
    let world = World::greeting(greeting_fix());
    let mut terminal = Terminal::start(&mut world.deepseek(edit));
    terminal.until("Apply it? [y/N", 1);
    terminal.types("n\r");
    terminal.ends();
    hints.note_text(&terminal.shown());
    let world = World::greeting(greeting_fix_checked_by(&["grep world greet.txt"])).unconfined();
    let mut program = world.deepseek(edit);
    let mut terminal = Terminal::start(program.args(["--approval", "auto"]));
    terminal.until("not listed", 1);
    terminal.types("n\r");
    terminal.ends();
    hints.note_text(&terminal.shown());
    let world = World::of(lane_project(), Provider::new(two_lanes("sh check.sh"))).unconfined();
    let mut program = world.deepseek(LANES);
    let mut terminal = Terminal::start(program.args(["--approval", "suggest", "--plain"]));
    for asked in 1..=2 {
        terminal.until("[y/N", asked);
        terminal.types("n\r");
    }
    terminal.ends();
    hints.note_text(&terminal.shown());
}

fn pages(hints: &Printed) {
    let world = World::greeting(greeting_fix());
    let run = world.deepseek(["--force-execute", "-p", "Fix it", "--approval", "auto"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut terminal = Terminal::start(&mut world.deepseek(["export", "--html"]));
    assert_eq!(terminal.ends(), Some(2), "{}", terminal.shown());
    hints.note_text(&terminal.shown());
    let run = world.deepseek(["export", "--html", "--out", "report.html"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.project.path("report.html").exists());
}

fn commits(hints: &Printed) {
    let world = World::greeting(greeting_fix());
    shell(world.project.root(), "git config user.name t && git config user.email t@example.org");
    let run = world.deepseek(["--force-execute", "-p", "Fix it", "--approval", "auto"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut terminal = Terminal::start(&mut world.deepseek(["commit"]));
    terminal.until("[y/N]", 1);
    terminal.types("n\r");
    terminal.ends();
    hints.note_text(&terminal.shown());
    let mut terminal = Terminal::start(&mut world.deepseek(["commit", "-m", "Another"]));
    terminal.until("[y/N]", 1);
    terminal.types("y\r");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
}

fn conversations(hints: &Printed) {
    let world = World::greeting(vec![mock::ScriptedReply::of(mock::Behaviour::StallAfterHeaders)]);
    let mut screen = Screen::start(&mut world.deepseek(["--force-execute"]), 24, 160);
    screen.until_shown("›");
    screen.types("\x18\x05");
    screen.until_shown("hint: ");
    hints.note_text(&screen.rows().join("\n"));
    screen.types("Fix it\r");
    screen.until("the model is asked", |_| !world.provider.requests().is_empty());
    screen.types("/new\r");
    screen.until_shown("is running: wait until it ends");
    let said =
        screen.rows().join("\n").replace("a request is running", "hint: a request is running");
    hints.note_text(&said);
    screen.types("\x03");
    screen.until_shown("stopped");
    screen.types("\x04");
}
