//! Messages from the user to a running request.

use mock::ScriptedReply;
use rustix::process::Signal;

use crate::command_line::live::{asked_about_a_change, edits, ends, says_no};
use crate::sessions::resume::journal;
use crate::support::{Screen, World, architect, diff, editor, greeting_fix, plan};

fn ends_and_replays(world: &World, mut screen: Screen) {
    screen.types("\x04");
    ends(&mut screen, 0);
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_message_to_a_running_request_reaches_the_next_model_call() {
    let (world, mut screen) = asked_about_a_change();
    screen.types("/now it is for children\r");
    screen.until_shown("› it is for children");
    says_no(&mut screen, "sent to the model: it is for children");
    let message = world.provider.last_message("architect", 2);
    assert!(message.contains("it is for children"), "{message}");
    assert!(!world.provider.last_message("architect", 1).contains("it is for children"));
    let message = world.provider.last_message("editor", 2);
    assert!(message.contains("it is for children"), "every later role is told: {message}");
    screen.presses("\x1by", "session ");
    ends_and_replays(&world, screen);
}

#[test]
fn a_message_that_comes_too_late_becomes_the_next_request() {
    let moon = diff("greet.txt", "hello world", "hello moon");
    let next = vec![architect(plan(&["greet.txt"])), editor(moon)];
    let world = World::greeting([greeting_fix(), next].concat());
    let mut screen = edits(&world, 50, 80);
    screen.types("Fix the greeting\r");
    screen.until_shown("Apply it?");
    // Ctrl-Enter, as sent by terminals that distinguish it from Enter.
    screen.types("and greet the moon\x1b[13;5u");
    screen.until_shown("› and greet the moon");
    screen.presses("\x1by", "the request ended before this could be sent: it is queued");
    screen.until("the message is not the next request", |rows| {
        let queued = rows.iter().position(|row| row.contains("it is queued"));
        queued.is_some_and(|at| rows.iter().skip(at).any(|row| row.contains("y yes")))
    });
    let asked = world.provider.last_message("architect", 2);
    assert!(asked.contains("and greet the moon"), "{asked}");
    screen.types("\x03\x03\x03");
}

#[test]
fn a_message_sent_before_a_crash_is_delivered_after_it() {
    let (world, mut screen) = asked_about_a_change();
    screen.types("/now it is for children\r");
    screen.until("the message is not recorded", |_| {
        journal(&world).iter().any(|line| line["kind"] == "UserSaid@v1")
    });
    screen.terminal.signal(Signal::KILL);
    screen.terminal.ends();
    let mut screen = edits(&world, 24, 80);
    screen.until_shown("to resume it: /resume ");
    let all = screen.all().join("\n");
    let id = all.split("/resume ").nth(1).unwrap().lines().next().unwrap().trim().to_owned();
    screen.types(&format!("/resume {id}\r"));
    screen.until_shown("Apply it?");
    says_no(&mut screen, "sent to the model: it is for children");
    let message = world.provider.last_message("architect", 2);
    assert!(message.contains("it is for children"), "{message}");
    screen.presses("\x1by", "tokens in");
    ends_and_replays(&world, screen);
}

#[test]
fn a_message_can_be_sent_while_a_question_is_answered() {
    let asks = ScriptedReply::text("NEED_ANSWER|loud or quiet?").to("analysis");
    let world = World::greeting(vec![asks, ScriptedReply::text("Quiet, then.").to("analysis")]);
    let mut program = world.deepseek(["--approval", "suggest"]);
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 24, 80);
    screen.until_shown("›");
    // Text being typed when a question arrives is not taken as its answer.
    screen.types("/ask Which greeting?\r/now children");
    screen.until_shown("Alt-a answer");
    screen.types(" sleep\r");
    screen.until_shown("› children sleep");
    screen.presses("\x1bn", "sent to the model: children sleep");
    screen.until_shown("Quiet, then.");
    assert_eq!(screen.all().concat().matches("Quiet, then.").count(), 1, "{:#?}", screen.all());
    let message = world.provider.last_message("analysis", 2);
    assert!(message.contains("children sleep"), "{message}");
    screen.until_shown("tokens in");
    ends_and_replays(&world, screen);
}
