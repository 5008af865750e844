//! The conversation at a terminal: live rows below the printed output, and keys that are never lost.

use mock::ScriptedReply;
use rustix::process::Signal;

use crate::support::{
    Screen, World, architect, diff, editor, greeting_fix, plan, processes_left_in,
};

/// Starts a conversation in which every message is an edit.
pub(crate) fn edits(world: &World, rows: u16, columns: u16) -> Screen {
    let mut program = world.deepseek(["--force-execute", "--approval", "suggest"]);
    // This terminal cuts off rows that become too long.
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), rows, columns);
    screen.until_shown("›");
    screen
}

/// Returns everything shown, without what differs between runs or depends on the prompts.
fn shown(world: &World, screen: &mut Screen) -> String {
    screen.is_complete();
    let root = world.project.root().display().to_string();
    let all = screen.all().join("\n").replace(&root, "[workspace]");
    let all = all.replace(env!("CARGO_PKG_VERSION"), "[version]");
    let counts = |line: &str| {
        let starts = ["cache:", "architect", "session "];
        line.contains(" tokens")
            || line.contains("` passed")
            || starts.iter().any(|it| line.starts_with(it))
    };
    let without_counts = |line: &str| {
        // The end of an id may consist of letters only.
        let line = line.split(" · session ").next().unwrap();
        let words = line.split(' ').map(|word| {
            let is_count = word.chars().any(|c| c.is_ascii_digit());
            if is_count { "…" } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let lines = all
        .lines()
        // The baseline check runs in parallel with the first edit, so either may be shown first.
        .filter(|line| !line.ends_with("before the change"))
        .map(|line| if counts(line) { without_counts(line) } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

/// Checks that sequences which would destroy the user's own output are never sent, and that every frame is ended.
fn is_well_behaved(screen: &Screen) {
    let shown = screen.terminal.shown();
    for never in ["\x1b[3J", "\x1b[2J", "\x1b[r", "\x1b[?1000h"] {
        assert!(!shown.contains(never), "{never:?}");
    }
    assert_eq!(shown.matches("\x1b[?1049h").count(), shown.matches("\x1b[?1049l").count());
    let count = |what: &str| shown.matches(what).count();
    assert!(count("\x1b[?2026h") <= count("\x1b[?2026l"));
    assert_eq!(count("\x1b[?2004h"), count("\x1b[?2004l"));
}

/// Checks that the program ends with this exit code and restores the terminal.
pub(crate) fn ends(screen: &mut Screen, code: i32) {
    assert_eq!(screen.terminal.ends(), Some(code), "{}", screen.terminal.shown());
    let (before, now) = (&screen.terminal.settings_before, screen.terminal.settings());
    assert_eq!(format!("{before:?}"), format!("{now:?}"));
    let taken = screen.terminal.shown().matches("\x1b[?2004h").count();
    screen.terminal.until("\x1b[?2004l", taken);
    is_well_behaved(screen);
}

#[test]
fn the_first_lines_name_the_workspace_and_how_to_get_help() {
    let world = World::greeting(Vec::new());
    let mut screen = edits(&world, 24, 80);
    insta::assert_snapshot!("first_start", shown(&world, &mut screen));
    assert_eq!(screen.cursor(), (2, 2));
    screen.types("/help\r");
    screen.until_shown("(also Ctrl-C twice)");
    insta::assert_snapshot!("help", shown(&world, &mut screen));
    screen.types("\x03");
    screen.until_shown("Ctrl-C again or Ctrl-D leaves");
    screen.types("\x03");
    ends(&mut screen, 0);
}

#[test]
fn model_thinking_and_approval_are_changed_between_requests_and_the_session_replays() {
    let answer = |text: &str| ScriptedReply::text(text).to("analysis");
    let world = World::greeting(vec![answer("One."), answer("Two."), answer("Three.")]);
    let mut program = world.deepseek(["--approval", "suggest"]);
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 40, 80);
    screen.until_shown("›");
    for (line, shown) in [
        ("/ask first", "One."),
        ("/thinking on", "from the next request on: thinking on"),
        ("/thinking loud", "unknown value of thinking `loud`; choose on, off or auto"),
        ("/model falsh", "unknown model `falsh`; did you mean deepseek-flash?"),
        ("/mode yolow", "unknown mode `yolow`; did you mean yolo?"),
        ("/ask second", "Two."),
        ("/model deepseek-v4-pro", "from the next request on: model deepseek-v4-pro"),
        ("/approval auto", "agent · auto · deepseek-v4-pro"),
        ("/ask third", "Three."),
    ] {
        screen.types(line);
        screen.types("\r");
        screen.until_shown(shown);
    }
    screen.until("the last request is running", |rows| {
        rows.iter().filter(|row| row.contains(" tokens in")).count() == 3
    });
    screen.types("\x04");
    ends(&mut screen, 0);
    let sent: Vec<(String, String)> = world
        .provider
        .of("analysis")
        .iter()
        .map(|it| &it.request.json)
        .map(|body| (body["model"].to_string(), body["thinking"]["type"].to_string()))
        .collect();
    let expected = [
        ("deepseek-flash", "disabled"),
        ("deepseek-flash", "enabled"),
        ("deepseek-v4-pro", "enabled"),
    ];
    assert_eq!(sent, expected.map(|(model, kind)| (format!("{model:?}"), format!("{kind:?}"))));
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn tab_changes_the_mode_and_words_are_completed() {
    let answer = ScriptedReply::text(plan(&["greet.txt"])).to("architect");
    let world = World::greeting(vec![answer]);
    let mut screen = edits(&world, 24, 80);
    screen.types("\t");
    screen.until_shown("yolo · asks only for unconfined commands");
    screen.types("\t");
    screen.until_shown("hetun · as the card says, else suggest");
    screen.types("\t");
    screen.until_shown("plan · read-only");
    // Plan mode does not write, whatever the request.
    screen.types("Fix the greeting\r");
    screen.until_shown("tokens in");
    screen.until("the request is running", |rows| !rows.iter().any(|row| row.contains("so far")));
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    assert!(!screen.rows().iter().any(|row| row.contains("Apply it?")));
    screen.types("\x1b[Z\x1b[Z\x1b[Z");
    screen.until_shown("agent · suggest");
    screen.types("/config get budget.u");
    screen.until_shown("❯ budget.usd");
    screen.types("\t\x15/model pro");
    screen.until_shown("❯ deepseek-v4-pro");
    screen.types("\t\x15\x04");
    ends(&mut screen, 0);
}

#[test]
fn arguments_of_commands_are_completed_and_tab_there_keeps_the_mode() {
    let answer = ScriptedReply::text("It is a file.").to("analysis");
    let world = World::greeting([vec![answer], greeting_fix()].concat());
    world.deepseek(["ask", "What is greet.txt?"]).run();
    let sessions = world.deepseek(["sessions", "--output", "json"]).run();
    let session = sessions.events[0][0]["id"].as_str().unwrap();
    let words = ["--force-execute", "--approval", "never", "-p", "Fix the greeting"];
    assert_eq!(world.deepseek(words).run().code, Some(3));
    let mut screen = edits(&world, 24, 80);
    screen.types(&format!("/resume {}", &session[..3]));
    screen.until_shown("What is greet.txt?");
    screen.types("\x15/diff ");
    screen.until("the patch", |rows| rows.iter().any(|row| row.starts_with("❯ ")));
    screen.types("\t\r");
    screen.until_shown("+hello world");
    screen.types("/approval ");
    screen.until_shown("  never");
    // The arrows choose, and Enter takes what was chosen.
    screen.types("\x1b[B\r");
    screen.until_shown("› /approval auto");
    screen.types("\x15see @zzqq\t");
    screen.until_shown("there is no completion");
    screen.types("\x15");
    screen.until_shown("agent · suggest");
    assert!(!screen.terminal.shown().contains("yolo"), "{}", screen.terminal.shown());
    screen.types("\t");
    // That nothing is asked from now on is printed.
    screen.until_shown("mode yolo: asks only for unconfined commands · Shift-Tab goes back");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn a_question_calls_the_user_by_notification_or_bell() {
    for (program, sent) in
        [("WezTerm", "\x1b]9;deepseek: a question is waiting\x07"), ("xterm", "\x07")]
    {
        let world = World::greeting(greeting_fix());
        let mut talk = world.deepseek(["--force-execute", "--approval", "suggest"]);
        talk.env("TERM_PROGRAM", program);
        let mut screen = Screen::start(talk.env("XTERM_VERSION", "a test"), 24, 80);
        screen.until_shown("›");
        screen.types("Fix the greeting\r");
        screen.until_shown("Apply it?");
        screen.terminal.until(sent, 1);
        screen.types("\x03");
        screen.until_shown("tokens in");
        screen.types("\x04");
        ends(&mut screen, 0);
    }
}

#[test]
fn the_first_lines_say_when_the_user_is_asked_in_each_mode() {
    for (flags, said) in [
        (&["--yolo"][..], "yolo · asks only for unconfined commands · sandbox"),
        (&["--yolo", "--approval", "never"], "yolo · asks only for unconfined commands · sandbox"),
        (&["--set", "policy.mode=plan"], "plan · read-only · sandbox"),
        (&["--approval", "auto"], "agent · approval auto · sandbox"),
    ] {
        let world = World::greeting(Vec::new());
        let mut program = world.deepseek(flags.iter().copied());
        let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 24, 100);
        screen.until_shown(said);
        screen.until("the row of settings does not show it", |rows| {
            let settings = said.split(" · sandbox").next().unwrap().replace("approval ", "");
            rows.last().is_some_and(|row| row.starts_with(&settings))
        });
        screen.types("\x04");
        ends(&mut screen, 0);
    }
}

#[test]
fn progress_of_the_last_request_is_gone_when_the_next_starts() {
    let slow = ScriptedReply::of(mock::Behaviour::KeepaliveForever).to("analysis");
    let world = World::greeting(vec![ScriptedReply::text("One.").to("analysis"), slow]);
    let mut screen = edits(&world, 24, 80);
    screen.types("/ask first\r");
    screen.until_shown("session ");
    let at = screen.terminal.shown().len();
    screen.types("/ask second\r");
    screen.until_shown("› second");
    screen.until_shown(" s");
    let shown = String::from_utf8_lossy(&screen.terminal.shown_since(at)).into_owned();
    // Its first frame does not show the usage of the request before.
    let first = shown.split("› second").nth(1).unwrap_or_default();
    assert!(!first.contains("so far") && !first.contains(" tokens"), "{first:?}");
    screen.types("\x03");
    screen.until_shown("✗ stopped");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn a_request_can_be_stopped_before_it_has_begun() {
    let slow = ScriptedReply::of(mock::Behaviour::KeepaliveForever).to("analysis");
    let world = World::greeting(vec![slow]);
    let mut screen = edits(&world, 24, 80);
    screen.types("/ask wait\r\x03");
    screen.until_shown("✗ stopped");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn an_unknown_command_and_an_unknown_revision_are_reported_at_once() {
    let world = World::greeting(Vec::new());
    let mut screen = edits(&world, 24, 100);
    screen.types("/comit\r");
    screen.until_shown("did you mean /commit?");
    screen.types("/review no-such-branch\r");
    screen.until_shown("error: there is no commit, branch or tag `no-such-branch`");
    screen.until_shown("hint: `git branch --all`");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn an_idle_conversation_does_not_block_other_processes() {
    let world = World::greeting(greeting_fix());
    let mut screen = edits(&world, 24, 80);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn an_edit_is_shown_approved_applied_and_undone() {
    let world = World::greeting(greeting_fix());
    let mut screen = edits(&world, 24, 80);
    screen.types("Fix the greeting\r");
    screen.until_shown("Apply it?");
    insta::assert_snapshot!("asked", shown(&world, &mut screen));
    screen.presses("\x1by", "session ");
    insta::assert_snapshot!("delivered", shown(&world, &mut screen));
    assert_eq!(world.project.read("greet.txt"), "hello world\n");
    screen.types("/diff --run latest\r");
    screen.until_shown("+hello world");
    screen.types("/undo\r");
    screen.until("it is not undone", |_| world.project.read("greet.txt") == "hello\n");
    // Typed text reaches the input again.
    screen.types("你好");
    screen.until_shown("› 你好");
    let row = screen.cursor().0;
    assert_eq!(screen.cursor(), (row, 6));
    screen.types("\x15\x04");
    ends(&mut screen, 0);
}

/// Starts a conversation that waits for approval of a change; another change follows after a no.
pub(crate) fn asked_about_a_change() -> (World, Screen) {
    let worse =
        vec![architect(plan(&["greet.txt"])), editor(diff("greet.txt", "hello", "hi world"))];
    let world = World::greeting([worse, greeting_fix()].concat());
    let mut screen = edits(&world, 24, 80);
    screen.types("Fix the greeting\r");
    screen.until_shown("Apply it?");
    (world, screen)
}

/// Declines the change with a reason; waits until `answer` is shown and the next change needs approval.
pub(crate) fn says_no(screen: &mut Screen, answer: &str) {
    screen.presses("\x1bn", "no, because:");
    screen.types("it must still say hello\r");
    screen.until_shown(answer);
    screen.until("the better change needs approval", |rows| {
        rows.iter().any(|row| row.contains("hello world"))
            && rows.iter().any(|row| row.contains("y yes"))
    });
}

#[test]
fn a_no_with_a_reason_goes_back_to_the_model() {
    let (world, mut screen) = asked_about_a_change();
    says_no(&mut screen, "no, because it must still say hello");
    assert!(world.provider.last_message("architect", 2).contains("it must still say hello"));
    screen.presses("\x1by", "session ");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn an_interrupt_stops_the_request_and_keeps_what_was_typed() {
    let world = World::greeting([greeting_fix(), greeting_fix()].concat());
    let mut screen = edits(&world, 24, 80);
    screen.types("Fix the greeting\r");
    screen.until_shown("Apply it?");
    screen.types("yes, but later\ra draft");
    screen.until_shown("queued: yes, but later");
    screen.until_shown("› a draft");
    assert_eq!(world.project.read("greet.txt"), "hello\n");
    screen.types("\x03");
    screen.until_shown("the queue is paused");
    screen.until_shown("› a draft");
    insta::assert_snapshot!("interrupted", shown(&world, &mut screen));
    // The request resumes on the user's command.
    screen.types("\x15\r");
    screen.until_shown("› yes, but later");
    screen.until_shown("Apply it?");
    screen.presses("\x1by", "✓ delivered");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn a_signal_ends_the_program_and_restores_the_terminal() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let world = World::greeting(greeting_fix());
        let mut screen = edits(&world, 24, 80);
        screen.terminal.signal(signal);
        ends(&mut screen, 0);
        let mut screen = edits(&world, 24, 80);
        screen.types("Fix the greeting\r");
        screen.until_shown("Apply it?");
        screen.terminal.signal(signal);
        ends(&mut screen, 0);
    }
}

#[test]
fn resizing_the_terminal_duplicates_and_loses_nothing() {
    let world = World::greeting(greeting_fix());
    let mut screen = edits(&world, 24, 80);
    screen.types("Fix the greeting\r");
    screen.until_shown("Apply it?");
    for (rows, columns) in [(12, 40), (30, 100), (8, 60), (24, 80)] {
        screen.resize(rows, columns);
        screen.types("x");
        screen
            .until("the input is not there", |rows| rows.iter().any(|row| row.starts_with("› x")));
        screen.types("\x15");
        screen.until("the input is not empty", |rows| rows.iter().any(|row| row == "›"));
        screen.until_shown("y yes");
    }
    let all = screen.all();
    let count = |text: &str| all.iter().filter(|row| row.contains(text)).count();
    assert_eq!(count("deepseek 0"), 1, "{all:#?}");
    assert_eq!(count("@@ -1 +1 @@"), 1, "{all:#?}");
    screen.presses("\x1by", "session ");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn resizing_while_an_answer_arrives_leaves_no_fragment() {
    let words: Vec<String> = (0..600).map(|n| format!("w{n:03}")).collect();
    let text: Vec<String> = words.chunks(31).map(|line| line.join(" ")).collect();
    let reply =
        ScriptedReply { chunk_chars: 7, chunk_delay_ms: 4, ..ScriptedReply::text(text.join("\n")) };
    let world = World::greeting(vec![reply.to("analysis")]);
    let mut screen = edits(&world, 24, 80);
    screen.types("/ask Count\r");
    for (at, (rows, columns)) in
        ["w200", "w300", "w400"].into_iter().zip([(12, 40), (24, 80), (12, 40)])
    {
        screen.terminal.until(at, 1);
        screen.resize(rows, columns);
    }
    screen.until_shown("session ");
    screen.is_complete();
    let all = screen.all();
    for (ours, most) in [("so far", 1), ("agent · suggest", 1), ("›", 2)] {
        let count = all.iter().filter(|row| row.contains(ours)).count();
        assert!(count <= most, "{ours}: {all:#?}");
    }
    for word in &words {
        assert!(all.iter().filter(|row| row.contains(word)).count() <= 1, "{word}: {all:#?}");
    }
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn a_small_terminal_shows_the_end_of_a_long_change_and_the_choice() {
    let long: Vec<String> = (1..=60).map(|n| format!("+line {n}")).collect();
    let change = format!("--- /dev/null\n+++ b/long.txt\n@@ -0,0 +1,60 @@\n{}\n", long.join("\n"));
    let world = World::greeting(vec![architect(plan(&["long.txt"])), editor(change)]);
    let mut screen = edits(&world, 12, 40);
    screen.types("Write a long file\r");
    screen.until_shown("y yes");
    screen.until_shown("+line 60");
    screen.is_complete();
    insta::assert_snapshot!("small", screen.rows().join("\n"));
    let all = screen.all();
    for n in 1..=60 {
        let line = format!("+line {n}");
        assert_eq!(all.iter().filter(|row| **row == line).count(), 1, "{line}");
    }
    screen.types("\x03");
    screen.until_shown("session ");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn a_long_paste_is_shown_as_a_label_and_reaches_the_model_unchanged() {
    let world = World::greeting(vec![ScriptedReply::text("Two hundred.").to("analysis")]);
    let mut screen = edits(&world, 24, 80);
    let pasted: Vec<String> = (0..200).map(|n| format!("$1 {n}\tend")).collect();
    let pasted = pasted.join("\n");
    screen.types(&format!("/ask What is this? \x1b[200~{pasted}\x1b[201~"));
    screen.until_shown("[pasted: 200 lines, ");
    screen.types("\r");
    screen.until_shown("Two hundred.");
    assert!(world.provider.last_message("analysis", 1).contains(&pasted));
    screen.until_shown("session ");
    screen.types("\x04");
    ends(&mut screen, 0);
    // It is also available in the next conversation.
    let mut screen = edits(&world, 24, 80);
    screen.types("\x1b[A");
    screen.until_shown("[pasted: 200 lines, ");
    screen.types("\x15\x04");
    ends(&mut screen, 0);
}

#[test]
fn file_names_are_completed_and_an_answer_is_formatted_as_it_arrives() {
    let answer = "# Greeting\n\nIt **greets**:\n\n```\nhello\n```\n\n| file | says |\n|--|--|\n| *greet.txt* | hello |\n";
    let world = World::greeting(vec![ScriptedReply::text(answer).to("analysis")]);
    let mut screen = edits(&world, 24, 80);
    screen.types("/ask What is in @gr");
    screen.until_shown("❯ @greet.txt");
    screen.types("\t");
    screen.until_shown("› /ask What is in @greet.txt");
    screen.types("?\r");
    screen.until_shown("session ");
    let shown = shown(&world, &mut screen);
    let expected = "\nGreeting\n\nIt greets:\n\nhello\n\nfile      │ says\n──────────┼──────\ngreet.txt │ hello\n";
    assert!(shown.contains(expected), "{shown}");
    screen.types("\x04");
    ends(&mut screen, 0);
}

#[test]
fn plain_mode_is_used_on_request_and_on_dumb_terminals() {
    let world = World::greeting(Vec::new()).configure("[sandbox]\nmode = \"off\"\n");
    for (args, term) in [(&["--plain"][..], "xterm"), (&[][..], "dumb")] {
        let line = format!("TERM={term}; export TERM");
        let mut screen = Screen::start(&mut world.after(&line, &args.join(" ")), 24, 80);
        screen.until_shown("Ask a question or describe");
        screen.until_shown("›");
        // Plain mode has the same commands.
        for (line, said) in [
            ("/status", "  approval   suggest"),
            ("/comit", "did you mean /commit?"),
            ("/mode yolo", "yolo · asks only for unconfined commands"),
            ("/undo", "no request has changed anything here yet"),
            ("/review gone", "there is no commit, branch or tag `gone`"),
            ("!false", "exit 1"),
            ("!echo one; echo two", "two"),
            ("/diff", "no patches are staged in this workspace"),
        ] {
            screen.types(&format!("{line}\r"));
            screen.until(said, |rows| {
                rows.iter().any(|row| row.contains(said) && !row.contains("echo"))
                    && rows.last().is_some_and(|row| row.trim_end() == "›")
            });
        }
        screen.types("\x04");
        assert_eq!(screen.terminal.ends(), Some(0));
        assert!(!screen.terminal.shown().contains("\x1b[?7l"), "{}", screen.terminal.shown());
    }
}

#[test]
fn a_shell_command_reports_its_exit_and_can_be_stopped() {
    let world = World::greeting(greeting_fix()).configure("[sandbox]\nmode = \"off\"\n");
    let mut screen = edits(&world, 20, 60);
    let until = |screen: &mut Screen, said: &str| {
        screen.until(said, |rows| rows.iter().any(|row| row == said));
    };
    screen.types("!printf hello\r");
    until(&mut screen, "hello");
    screen.types("!false\r");
    until(&mut screen, "exit 1");
    screen.types("!echo out; exit 3\r");
    until(&mut screen, "exit 3");
    screen.types("!echo so far; sleep 600\r");
    // Output is shown at once, and stays.
    until(&mut screen, "so far");
    screen.until_shown("Ctrl-C stops it");
    screen.types("a draft");
    screen.until_shown("› a draft");
    screen.types("\x03\x03");
    until(&mut screen, "stopped");
    screen.types("\x14");
    screen.until_shown("q goes back");
    for said in ["hello", "exit 1", "out", "exit 3", "so far", "stopped"] {
        until(&mut screen, said);
    }
    screen.types("q");
    screen.until_shown("›");
    screen.types("!sleep 600\r");
    screen.until_shown("Ctrl-C stops it");
    screen.terminal.signal(Signal::TERM);
    ends(&mut screen, 0);
    assert_eq!(processes_left_in(world.project.root()), [""; 0]);
}

#[test]
fn secrets_in_the_output_of_a_shell_line_are_masked() {
    let world = World::greeting(Vec::new()).configure("[sandbox]\nmode = \"off\"\n");
    world.project.write(".env", "DATABASE_PASSWORD=Tr0ub4dor-and-3\n");
    let token = format!("ghp_{}", "x9Y".repeat(12));
    world.project.write("token.txt", format!("token {token}\n"));
    for args in [&["--plain"][..], &[]] {
        let mut program = world.deepseek(args.iter().copied());
        let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 24, 80);
        screen.until_shown("›");
        screen.types("!cat .env token.txt; echo done\r");
        screen.until("the prompt after the output", |rows| {
            let mut below = rows.iter().skip_while(|row| *row != "done");
            below.any(|row| row.starts_with('›'))
        });
        screen.types("\x04");
        assert_eq!(screen.terminal.ends(), Some(0));
        let shown = screen.terminal.shown();
        assert!(shown.matches("[redacted:").count() >= 2, "{shown}");
        assert!(!shown.contains("Tr0ub4dor") && !shown.contains(&token), "{shown}");
    }
}
