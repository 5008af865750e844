//! Full-screen views in a conversation: reviewing a change file by file, scrolling the output, picking a session to resume.

use mock::ScriptedReply;
use rustix::process::Signal;

use crate::sessions::resume::cut;
use crate::support::{
    Project, Provider, Screen, Terminal, World, architect, diff, editor, greeting_fix, plan,
};

const AWAY: &str = "\x1b[?1049h";

/// Creates a world in which every message is an edit of two files.
fn two_files() -> World {
    let change = |file: &str| {
        format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,20 @@\n{}", "+line\n".repeat(20))
    };
    let both =
        || vec![architect(plan(&["a.txt", "b.txt"])), editor(change("a.txt") + &change("b.txt"))];
    World::greeting([both(), greeting_fix()].concat())
}

/// Creates the same world, with the change of one message staged.
pub(crate) fn two_files_staged() -> World {
    let world = two_files();
    let words = ["--force-execute", "--approval", "never", "-p", "Make the files"];
    assert_eq!(world.deepseek(words).run().code, Some(3));
    world
}

fn talk(world: &World, more: &[&str]) -> Screen {
    let words = ["--force-execute", "--approval", "suggest"];
    let words = if more.contains(&"--approval") { &words[..1] } else { &words[..] };
    let mut program = world.deepseek(words.iter().chain(more).copied());
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 12, 100);
    screen.until_shown("›");
    screen
}

/// Checks that the program ends on the main screen with the cursor shown.
fn leaves(screen: &mut Screen) {
    screen.types("\x04");
    has_left(screen);
}

fn has_left(screen: &mut Screen) {
    assert_eq!(screen.terminal.ends(), Some(0), "{}", screen.terminal.shown());
    let shown = screen.terminal.shown();
    assert_eq!(shown.matches(AWAY).count(), shown.matches("\x1b[?1049l").count());
    for never in ["\x1b[3J", "\x1b[2J"] {
        assert!(!shown.contains(never), "{never:?}");
    }
}

/// Creates a world in which the diff fixes the greeting but also creates a file that makes the checks fail.
fn one_file_too_many() -> World {
    let check = "[ -e more.txt ] && exit 1\ngrep -q world greet.txt\n";
    let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", check)]);
    let more = format!("--- /dev/null\n+++ b/more.txt\n@@ -0,0 +1,20 @@\n{}", "+line\n".repeat(20));
    let replies = vec![
        architect(plan(&["greet.txt", "more.txt"])),
        editor(diff("greet.txt", "hello", "hello world") + &more),
        editor("DONE|the greeting is mended").forever(),
    ];
    World::of(project, Provider::new(replies))
}

#[test]
fn a_change_is_reviewed_file_by_file_and_the_model_learns_what_was_left_out() {
    let world = one_file_too_many();
    let mut screen = talk(&world, &[]);
    screen.types("Fix the greeting\r");
    screen.until_shown("d review");
    screen.presses("\x1bd", "y n decide");
    insta::assert_snapshot!("review", screen.rows().join("\n"));
    screen.types("\r");
    screen.until_shown("2 undecided");
    screen.types("y");
    screen.until_shown("2/2 more.txt");
    screen.types("n");
    screen.until_shown("Enter answers");
    screen.types("\r");
    screen.until_shown("left out, because:");
    screen.types("it is generated\r");
    screen.until_shown("✓ delivered");
    screen.until_shown("session ");
    let said = "Apply it? only greet.txt, because it is generated";
    assert!(screen.all().concat().contains(said), "{:#?}", screen.all());
    leaves(&mut screen);
    let message = world.provider.last_message("editor", 2);
    assert!(
        message.contains("Applied: greet.txt. Left out, and not applied: more.txt."),
        "{message}"
    );
    assert!(message.contains("asked about more.txt and said no: it is generated"), "{message}");
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    assert!(!world.project.path("more.txt").exists());
    let staged = world.deepseek(["diff"]).run();
    assert!(staged.stderr.contains("no patches are staged"), "{}{}", staged.stdout, staged.stderr);
    // The answer is recorded, so a crash before it is acted on loses nothing.
    let replays = || {
        let replay = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
    };
    replays();
    cut(&world, "ApprovalGiven", 1);
    world.project.write("greet.txt", "hello\n");
    let run = world.deepseek(["run"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    assert!(!world.project.path("more.txt").exists());
    replays();
}

#[test]
fn a_change_can_be_applied_partially_in_plain_mode() {
    let world = one_file_too_many();
    let args = ["--plain", "--force-execute", "--approval", "suggest", "-p", "Fix the greeting"];
    let mut terminal = Terminal::start(&mut world.deepseek(args));
    terminal.until("[y/N; files 1 2, no: WHY, show]", 1);
    assert!(terminal.shown().contains("1 greet.txt\r\n  2 more.txt"), "{}", terminal.shown());
    terminal.types("files 7\r");
    terminal.until("Please type y, n, files 1 2", 1);
    terminal.types("files 1: it is generated\r");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
    let message = world.provider.last_message("editor", 2);
    assert!(message.contains("asked about more.txt and said no: it is generated"), "{message}");
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    assert!(!world.project.path("more.txt").exists());
}

#[test]
fn colours_are_dark_on_a_light_terminal() {
    const REPLY: &str = "\x1b]11;rgb:ffff/ffff/ffff\x07";
    // Those of the row of settings, and of the start of a hunk.
    let (grey, dimmed) = ("\x1b[90m", "\x1b[2m");
    let (blue, cyan) = ("\x1b[34m@@", "\x1b[36m@@");
    for (reply, is_light) in
        [(REPLY, true), ("\x1b]11;rgb:0000/0000/0000\x1b\\", false), ("", false)]
    {
        let world = World::greeting(greeting_fix());
        let mut screen = talk(&world, &["--approval", "auto"]);
        screen.terminal.until("\x1b]11;?\x07", 1);
        screen.types(reply);
        screen.types("Fix the greeting\r");
        screen.until_shown("✓ delivered");
        leaves(&mut screen);
        let shown = screen.terminal.shown();
        assert!(!shown.contains("rgb:"), "{shown:?}");
        assert_eq!(shown.contains(grey), is_light, "{reply:?}: {shown:?}");
        let since = shown.find("› Fix").unwrap();
        assert_eq!(shown[since..].contains(dimmed), !is_light, "{reply:?}: {shown:?}");
        assert!(!shown.contains("38;5;"), "{shown:?}");
    }
    // If a variable names the background, the terminal is not queried, and short-lived commands know it as well.
    let world = two_files_staged();
    let diff = |background: &str| {
        let mut program = world.deepseek(["diff", "--color", "always"]);
        program.env("COLORFGBG", background).run().stdout
    };
    assert!(diff("0;15").contains(blue) && diff("15;0").contains(cyan));
    let mut program = world.deepseek([]);
    let mut screen = Screen::start(program.env("COLORFGBG", "0;15"), 12, 100);
    screen.until_shown("›");
    leaves(&mut screen);
    assert!(!screen.terminal.shown().contains("\x1b]11;"), "{}", screen.terminal.shown());
}

#[test]
fn a_staged_change_can_be_applied_partially_and_the_rest_stays_staged() {
    let world = two_files_staged();
    let staged = || world.deepseek(["diff", "--output", "json"]).run().stdout;
    let whole = staged();
    let mut terminal = Terminal::start(&mut world.deepseek(["apply", "--plain"]));
    terminal.until("[y/N; files 1 2, no: WHY, show]", 1);
    terminal.types("files 1\r");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.shown());
    assert!(
        terminal.shown().contains("applied a.txt; the rest stays staged"),
        "{}",
        terminal.shown()
    );
    assert!(world.project.path("a.txt").exists() && !world.project.path("b.txt").exists());
    let rest = staged();
    assert!(!rest.contains("a.txt") && rest.contains("b.txt"), "{rest}");
    let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let again = world.deepseek(["apply", whole["patch"].as_str().unwrap(), "--yes"]).run();
    assert_eq!(again.code, Some(2), "a partially applied patch cannot be applied again");
    // The part that was left out needs approval like the whole, and after a no it stays staged.
    let mut terminal = Terminal::start(&mut world.deepseek(["apply", "--plain"]));
    terminal.until("[y/N; no: WHY, show]", 1);
    terminal.types("n\r");
    assert_eq!(terminal.ends(), Some(3), "{}", terminal.shown());
    assert_eq!(staged(), rest.replace(r#""declined":false"#, r#""declined":true"#));
    let run = world.deepseek(["apply", "--yes"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.project.path("b.txt").exists());
    let run = world.deepseek(["diff"]).run();
    assert!(run.stderr.contains("no patches are staged"), "{}{}", run.stdout, run.stderr);
    assert_eq!(world.deepseek(["rewind", "1"]).run().code, Some(0));
    assert!(!world.project.path("a.txt").exists() && !world.project.path("b.txt").exists());
}

#[test]
fn words_typed_at_the_question_of_a_command_are_kept_and_do_not_answer_it() {
    let world = two_files_staged();
    let mut screen = talk(&world, &[]);
    screen.types("/apply\r");
    screen.until_shown("d review");
    // A question answers to keys only after a moment.
    screen.presses("\x1bd", "1/2 a.txt");
    screen.types("q");
    screen.until_shown("y yes");
    screen.types("try later\r");
    screen.until_shown("› try later");
    screen.until_shown("Alt-y yes");
    screen.presses("\x1bn", "no, because:");
    screen.types("\r");
    screen.until_shown("the patch is kept, not applied");
    assert!(!world.project.path("a.txt").exists());
    // They are then in the input of the conversation.
    screen.until_shown("agent ·");
    screen.until_shown("› try later");
    screen.types("\x15");
    leaves(&mut screen);
}

#[test]
fn a_staged_change_is_reviewed_and_applied_partially_in_a_conversation() {
    let world = two_files_staged();
    let mut screen = talk(&world, &[]);
    screen.types("/apply\r");
    // Going back does not answer the question.
    screen.until_shown("d review");
    screen.presses("\x1bd", "1/2 a.txt");
    screen.types("yq");
    screen.until_shown("d review");
    screen.presses("\x1bd", "1/2 a.txt: undecided");
    screen.types("n");
    screen.until_shown("2/2 b.txt");
    screen.types("y\r");
    screen.until_shown("left out, because:");
    screen.types("\r");
    screen.until_shown("applied b.txt; the rest stays staged: `/diff` shows it");
    assert!(!world.project.path("a.txt").exists() && world.project.path("b.txt").exists());
    // The same outside of a conversation, except where the alternate screen is not allowed.
    let mut alone = Screen::start(&mut world.deepseek(["apply"]), 12, 100);
    alone.until_shown("[y/N; no: WHY, show, review]");
    alone.types("d\r");
    alone.until_shown("1/1 a.txt: undecided");
    alone.types("n\r");
    assert_eq!(alone.terminal.ends(), Some(3), "{}", alone.terminal.shown());
    leaves(&mut screen);
    assert!(screen.terminal.shown().contains("applied b.txt; the rest stays staged"));
    let mut screen = talk(&world, &["--no-alt-screen"]);
    screen.types("/apply\r");
    screen.until_shown("d show the diff");
    // A no says where the patch is kept, and Esc is a no.
    screen.presses("\x1b", "you declined");
    screen.until_shown("the patch is kept, not applied");
    // The last Esc may still be pending, and would take the next key with it.
    screen.types("\x15/apply\r");
    screen.until_shown("d show the diff");
    let diffs = screen.terminal.shown().matches("diff --git a/a.txt").count();
    // A letter typed too early would become a draft; with Alt it never does.
    let is_shown =
        |screen: &Screen| screen.terminal.shown().matches("diff --git a/a.txt").count() > diffs;
    for _ in 0..50 {
        if is_shown(&screen) {
            break;
        }
        screen.types("\x1bd");
        // Output that was not looked at would end the wait at once.
        screen.rows();
        screen.rests();
    }
    assert!(is_shown(&screen), "{}", screen.terminal.shown());
    screen.presses("\x1by", "applied ");
    leaves(&mut screen);
    assert!(!screen.terminal.shown().contains(AWAY));
    assert!(world.project.path("a.txt").exists());
}

#[test]
fn the_output_can_be_scrolled_on_the_alternate_screen() {
    let answer: Vec<String> = (1..=40).map(|n| format!("line {n}\n\n")).collect();
    let world = World::greeting(vec![ScriptedReply::text(answer.concat()).to("analysis")]);
    let mut screen = talk(&world, &[]);
    screen.types("/ask Tell\r");
    screen.until_shown("session ");
    screen.types("a draft");
    screen.until_shown("› a draft");
    let before = screen.all();
    screen.types("\x14");
    screen.until_shown("q goes back");
    screen.types("g");
    screen.until_shown("deepseek 0");
    screen.types("q");
    screen.until_shown("› a draft");
    screen.is_complete();
    assert_eq!(screen.all(), before);
    screen.types("\x15");
    leaves(&mut screen);
}

#[test]
fn the_mouse_wheel_scrolls_where_it_is_captured() {
    const CAPTURES: &str = "\x1b[?1000h";
    let answer: Vec<String> = (1..=40).map(|n| format!("line {n}\n\n")).collect();
    for (flags, config, is_captured) in [
        (&["--mouse-capture"][..], "", true),
        (&[], "[tui]\nmouse_capture = true\n", true),
        (&["--no-mouse-capture"], "[tui]\nmouse_capture = true\n", false),
        (&[], "", false),
    ] {
        let world = World::greeting(vec![ScriptedReply::text(answer.concat()).to("analysis")]);
        let world = world.configure(config);
        let mut screen = talk(&world, flags);
        screen.types("/ask Tell\r");
        screen.until_shown("session ");
        assert!(!screen.terminal.shown().contains(CAPTURES), "never on the main screen");
        screen.types("\x14");
        screen.until_shown("q goes back");
        assert_eq!(screen.terminal.shown().contains(CAPTURES), is_captured, "{flags:?}");
        // A click does nothing.
        screen.types("g\x1b[<0;3;3M\x1b[<0;3;3m");
        screen.until_shown("deepseek 0");
        screen.types("\x1b[<65;3;3M");
        screen.until("three lines further down", |rows| {
            !rows.iter().any(|row| row.contains("deepseek 0"))
        });
        screen.types("\x1b[<64;3;3M");
        screen.until_shown("deepseek 0");
        screen.types("q");
        screen.until_shown("agent ·");
        leaves(&mut screen);
        if is_captured {
            assert!(screen.terminal.shown().contains("\x1b[?1000l"), "it is released");
        }
    }
}

#[test]
fn the_alternate_screen_is_used_as_configured() {
    for (term, config, is_used) in [
        ("xterm", "", true),
        ("linux", "", false),
        ("linux", "[tui]\nalt_screen = \"always\"\n", true),
        ("xterm", "[tui]\nalt_screen = \"never\"\n", false),
    ] {
        let world = two_files().configure(config);
        let mut program = world.deepseek([]);
        let program = program.env("XTERM_VERSION", "a test").env("TERM", term);
        let mut screen = Screen::start(program, 12, 100);
        screen.until_shown("›");
        screen.types("\x14");
        screen.until_shown(if is_used { "q goes back" } else { "use the scrollback" });
        screen.types(if is_used { "q" } else { "" });
        screen.until_shown("›");
        leaves(&mut screen);
    }
}

#[test]
fn a_session_is_picked_by_its_request_and_resumed() {
    let answers = ["One.", "Two.", "Three."].map(|text| ScriptedReply::text(text).to("analysis"));
    let world = World::greeting(answers.to_vec());
    world.deepseek(["ask", "What is a lexer?"]).run();
    world.deepseek(["ask", "What is a parser?"]).run();
    let mut screen = talk(&world, &[]);
    screen.types("/resume\r");
    screen.until_shown("What is a lexer?");
    screen.types("lexer");
    screen.until("the other is still there", |rows| !rows.iter().any(|row| row.contains("parser")));
    screen.types("\r");
    screen.until_shown("continues session ");
    // The last turns are shown.
    screen.until_shown("  › What is a lexer?");
    screen.until_shown("    One.");
    screen.types("/ask And now?\r");
    screen.until_shown("Three.");
    assert!(world.provider.last_message("analysis", 3).contains("What is a lexer?"));
    screen.until_shown("tokens in");
    leaves(&mut screen);
    // The picker also works before a conversation; cancelling it starts none.
    let count = |world: &World| world.deepseek(["sessions"]).run().stdout.lines().count();
    let before = count(&world);
    let mut program = world.deepseek(["--resume"]);
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 12, 100);
    screen.until_shown("What is a parser?");
    screen.types("\x1b");
    assert_eq!(screen.terminal.ends(), Some(0));
    assert_eq!(count(&world), before);
    let run = world.deepseek(["--resume"]).input("x").run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("`deepseek sessions` lists them"), "{}", run.stderr);
}

#[test]
fn clear_starts_a_new_session() {
    let answers = ["One.", "Two."].map(|text| ScriptedReply::text(text).to("analysis"));
    let world = World::greeting(answers.to_vec());
    let mut screen = talk(&world, &[]);
    screen.types("/ask What is a lexer?\r");
    screen.until_shown("tokens in");
    screen.types("/clear\r");
    screen.until("the new session has not started", |rows| {
        rows.iter().filter(|row| row.starts_with("deepseek ")).count() == 2
    });
    screen.types("/ask What is a parser?\r");
    screen.until_shown("Two.");
    assert!(!world.provider.last_message("analysis", 2).contains("lexer"));
    screen.until("the request is running", |rows| {
        rows.iter().filter(|row| row.contains("tokens in")).count() == 2
    });
    // The old one was closed, and can be resumed.
    screen.types("/resume\r");
    screen.until_shown("❯");
    screen.types("lexer\r");
    screen.until_shown("continues session ");
    screen.until_shown("    One.");
    leaves(&mut screen);
    assert_eq!(world.deepseek(["sessions"]).run().stdout.lines().count(), 2);
}

#[test]
fn a_session_that_is_open_elsewhere_is_not_resumed() {
    let world = World::greeting(vec![ScriptedReply::text("One.").to("analysis")]);
    world.deepseek(["ask", "What is a lexer?"]).run();
    let mut first = talk(&world, &["-c"]);
    first.until_shown("    One.");
    let mut second = talk(&world, &[]);
    second.types("/resume\r");
    second.until_shown("❯");
    second.types("\r");
    // The conversation goes on in its own session.
    second.until_shown("another process is using the session ");
    second.types("/status\r");
    second.until_shown("  approval   suggest");
    leaves(&mut second);
    leaves(&mut first);
}

#[test]
fn changes_of_a_resumed_session_can_be_undone() {
    for plain in [false, true] {
        let world = World::greeting(greeting_fix());
        let words = ["--force-execute", "--approval", "auto", "-p", "Fix the greeting"];
        let run = world.deepseek(words).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(world.project.read("greet.txt"), "hello world\n");
        let args: &[&str] = if plain { &["-c", "--plain"] } else { &["-c"] };
        let mut screen = talk(&world, args);
        screen.until_shown("  › Fix the greeting");
        screen.types("/undo\r");
        screen.until_shown("to redo it: `/rewind latest`");
        assert_eq!(world.project.read("greet.txt"), "hello\n");
        screen.until("the prompt is back", |rows| rows.iter().rev().any(|row| row.trim() == "›"));
        screen.types("\x04");
        assert_eq!(screen.terminal.ends(), Some(0));
    }
}

#[test]
fn an_interrupted_request_is_shown_at_the_start_and_can_be_resumed() {
    let world = World::greeting([greeting_fix(), greeting_fix()].concat());
    let mut screen = talk(&world, &[]);
    screen.types("Fix the greeting\r");
    screen.until_shown("d review");
    screen.terminal.signal(Signal::KILL);
    assert_eq!(screen.terminal.ends(), None);
    let mut screen = talk(&world, &[]);
    screen.until_shown("a request was interrupted here; to resume it: /resume ");
    let all = screen.all().join("\n");
    let id = all.split("/resume ").nth(1).unwrap().lines().next().unwrap().trim().to_owned();
    screen.types(&format!("/resume {id}\r"));
    screen.until_shown("resumes the interrupted request");
    screen.until_shown("d review");
    screen.presses("\x1by", "✓ delivered");
    screen.until_shown("tokens in");
    leaves(&mut screen);
}

#[test]
fn no_alt_screen_never_leaves_the_main_screen() {
    let world = two_files();
    let mut screen = talk(&world, &["--no-alt-screen"]);
    screen.types("\x14");
    screen.until_shown("use the scrollback of the terminal");
    screen.types("/resume\r");
    screen.until_shown("/sessions lists them");
    screen.types("Write two files\r");
    screen.until_shown("d show the diff");
    // The diff is printed again, and the question still waits.
    let is_twice = |screen: &mut Screen| {
        let all = screen.all();
        all.iter().filter(|row| row.starts_with("diff --git a/a.txt")).count() > 1
    };
    while !is_twice(&mut screen) {
        // A letter that comes too early becomes a draft, and later letters go to it.
        screen.types("\x1bd");
        screen.rests();
    }
    screen.until_shown("d show the diff");
    screen.presses("\x1by", "tokens in");
    screen.types("\x04");
    assert!(screen.terminal.ends().is_some());
    assert!(!screen.terminal.shown().contains(AWAY), "{}", screen.terminal.shown());
}

#[test]
fn a_signal_during_a_full_screen_view_restores_the_main_screen() {
    let world = World::greeting(greeting_fix());
    let mut screen = talk(&world, &[]);
    screen.types("\x14");
    screen.until_shown("q goes back");
    screen.terminal.signal(Signal::TERM);
    assert_eq!(screen.terminal.ends(), Some(0));
    screen.terminal.until("\x1b[?1049l", 1);
}

#[test]
fn a_declined_patch_is_named_as_such() {
    let world = World::greeting(greeting_fix());
    let mut terminal = Terminal::start(&mut world.deepseek([
        "--plain",
        "--force-execute",
        "-p",
        "Fix the greeting",
    ]));
    terminal.until("[y/N; no: WHY, show]", 1);
    terminal.types("n\r");
    assert_eq!(terminal.ends(), Some(3), "{}", terminal.shown());
    let staged = world.deepseek(["diff"]).run();
    assert!(staged.stderr.contains(" · declined · session "), "{}", staged.stderr);
    let json = world.deepseek(["diff", "--output", "json"]).run().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["declined"], true);
    // The message names the patch by its short id, and its files.
    let id = json["patch"].as_str().unwrap();
    let short = &id[id.len() - 6..];
    let said = format!("patch {short}: you declined the change to greet.txt");
    let shown = terminal.shown();
    assert_eq!(shown.matches(&said).count(), 2, "{shown}");
    assert!(shown.contains(&format!("`deepseek apply {short}`")) && !shown.contains(id), "{shown}");
    let run = world.deepseek(["apply", short, "--yes"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let applied = world.deepseek(["diff", short]).run();
    assert!(applied.stderr.contains(" · applied · "), "{}", applied.stderr);
}
