//! What the hands do at a terminal: no key does what its user did not ask for.

use std::time::Duration;

use crate::sessions::resume::sleep;
use crate::support::{Project, Provider, Screen, World, greeting_fix};

/// Longer than keys are not taken for the answer to a new question.
const SEEN: Duration = Duration::from_millis(400);

fn talk(world: &World) -> Screen {
    let mut program = world.deepseek(["--force-execute", "--approval", "suggest"]);
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 24, 160);
    screen.until_shown("›");
    screen
}

fn leaves(screen: &mut Screen) {
    screen.types("\x15\x04");
    assert_eq!(screen.terminal.ends(), Some(0), "{}", screen.terminal.shown());
}

#[test]
fn tab_in_a_word_completes_a_path_and_switches_no_mode() {
    let project = Project::new(&[("shop/cart.py", "a = 1\n"), ("shop/tax.py", "b = 1\n")]);
    let world = World::of(project, Provider::new(vec![]));
    let mut screen = talk(&world);
    screen.types("look at shop/ca\t");
    screen.until_shown("› look at shop/cart.py");
    screen.types("and nothing\t");
    screen.until_shown("there is no completion");
    assert!(!screen.rows().iter().any(|row| row.contains("yolo")), "{:?}", screen.rows());
    screen.types("\x15");
    screen.presses("\t", "mode yolo");
    leaves(&mut screen);
}

#[test]
fn a_message_at_a_question_is_no_answer_and_a_word_with_enter_is_one() {
    let world = World::greeting(greeting_fix());
    let mut screen = talk(&world);
    screen.types("Fix the greeting\r");
    screen.until_shown("Apply it?");
    sleep(SEEN);
    screen.types("you should say hi");
    screen.until_shown("› you should say hi");
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    screen.types("\x15y");
    screen.until_shown("Enter answers");
    screen.types("\r");
    screen.until_shown("✓ delivered");
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    leaves(&mut screen);
}

#[test]
fn always_is_given_with_enter_and_says_how_to_take_it_back() {
    let world = World::greeting(greeting_fix()).with_default_commands();
    let mut screen = talk(&world);
    screen.types("Fix the greeting\r");
    screen.until_shown("Run it?");
    sleep(SEEN);
    screen.types("a");
    screen.until_shown("`sh check.sh` runs without a question in this directory from now on");
    let allowed = || world.deepseek(["policy", "allowed"]).run().stdout;
    assert_eq!(allowed(), "");
    screen.types("\r");
    screen.until_shown("Apply it?");
    assert_eq!(allowed(), "sh check.sh\n");
    assert!(screen.all().concat().contains("deepseek policy forget 'sh check.sh'"));
    assert_eq!(world.deepseek(["policy", "forget", "sh check.sh"]).run().code, Some(0));
    assert_eq!(allowed(), "");
    screen.presses("\x1bn", "no, because:");
    screen.types("\r");
    screen.until_shown("session ");
    leaves(&mut screen);
}
