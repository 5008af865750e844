//! `deepseek commit` commits the changes of a run to the user's repository, with the request as the message, and nothing else.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::{
    Project, Provider, Screen, Terminal, World, architect, diff, editor, greeting_fix, plan, shell,
    wait_until,
};

/// Creates a world whose greeting has been fixed, in a repository with a configured author.
fn with_fixed_greeting() -> World {
    after_fix_in(World::greeting(greeting_fix()))
}

fn after_fix_in(world: World) -> World {
    shell(world.project.root(), "git config user.name t && git config user.email t@example.org");
    let run = world.chat("fix the greeting.");
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    world
}

fn git(world: &World, words: &str) -> String {
    shell(world.project.root(), &format!("git {words}"))
}

#[test]
fn only_the_changes_of_the_run_are_committed_and_the_users_index_is_kept() {
    let world = with_fixed_greeting();
    world.project.write("mine.txt", "mine\n");
    world.project.write("later.txt", "later\n");
    git(&world, "add mine.txt");
    let run = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("  greet.txt (changed)\n"), "{}", run.stderr);
    assert_eq!(git(&world, "log -1 --format=%B"), "Fix the greeting\n\n- do what was asked\n\n");
    assert_eq!(git(&world, "show --name-only --format="), "greet.txt\n");
    assert_eq!(git(&world, "status --porcelain"), "A  mine.txt\n?? later.txt\n");
    let second = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(second.stderr.contains("there is nothing to commit"), "{}", second.stderr);
}

#[test]
fn a_commit_needs_approval() {
    let world = with_fixed_greeting();
    let before = git(&world, "rev-parse HEAD");
    let run = world.deepseek(["commit"]).run();
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("`deepseek commit --yes` does not ask"), "{}", run.stderr);
    for (answer, code) in [("n\r", 3), ("y\r", 0)] {
        assert_eq!(git(&world, "rev-parse HEAD"), before);
        let mut terminal =
            Terminal::start(&mut world.deepseek(["commit", "-m", "Greet the world"]));
        terminal.until("[y/N]", 1);
        assert!(terminal.shown().contains("Greet the world"), "{}", terminal.shown());
        terminal.types(answer);
        assert_eq!(terminal.ends(), Some(code), "{}", terminal.shown());
    }
    assert_eq!(git(&world, "log -1 --format=%s"), "Greet the world\n");
}

#[test]
fn a_commit_can_be_stopped_at_its_question() {
    let world = with_fixed_greeting();
    let before = git(&world, "rev-parse HEAD");
    for signal in [Signal::INT, Signal::TERM] {
        let mut terminal = Terminal::start(&mut world.deepseek(["commit"]));
        terminal.until("[y/N]", 1);
        terminal.signal(signal);
        assert_eq!(terminal.ends(), Some(130), "{}", terminal.shown());
        assert!(terminal.shown().contains("stopped; nothing was written"), "{}", terminal.shown());
    }
    assert_eq!(git(&world, "rev-parse HEAD"), before);
}

#[test]
fn a_hook_runs_without_the_key_and_its_refusal_changes_nothing() {
    let new = vec![
        architect(plan(&["new.txt"])),
        editor("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"),
    ];
    let project = Project::new(&[("check.sh", "test -f new.txt\n")]);
    let world = after_fix_in(World::of(project, Provider::new(new)));
    let hook = "#!/bin/sh\nenv > seen; grep -q yes allowed 2>/dev/null || { echo 'not on a Monday' >&2; exit 1; }\n";
    world.project.write(".git/hooks/pre-commit", hook);
    shell(world.project.root(), "chmod +x .git/hooks/pre-commit");
    let run = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("not on a Monday\n"), "{}", run.stderr);
    assert!(!world.project.read("seen").contains("DEEPSEEK_API_KEY"));
    assert_eq!(git(&world, "status --porcelain -- new.txt"), "?? new.txt\n");
    world.project.write("allowed", "yes\n");
    let run = world.deepseek(["commit", "--yes", "--output", "json"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.events[0]["files"], serde_json::json!(["new.txt"]));
    assert!(git(&world, "rev-parse HEAD").starts_with(run.events[0]["commit"].as_str().unwrap()));
}

#[test]
fn a_file_with_changes_by_the_user_is_marked() {
    let world = with_fixed_greeting();
    world.project.write("greet.txt", "hello world\nand mine\n");
    let run = world.deepseek(["commit"]).run();
    assert!(run.stderr.contains("greet.txt (changed, with changes of yours)"), "{}", run.stderr);
    // A change that was undone is not committed.
    world.project.write("greet.txt", "hello\n");
    let run = world.deepseek(["commit", "--yes"]).run();
    assert!(run.stderr.contains("there is nothing to commit"), "{}", run.stderr);
}

#[test]
fn without_git_a_commit_is_not_offered() {
    let files = [("greet.txt", "hello\n"), ("check.sh", "grep -q world greet.txt\n")];
    let world = World::of(Project::without_git(&files), Provider::new(greeting_fix()));
    let run = world.deepseek(["--force-execute", "-p", "Fix it", "--approval", "auto"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!run.stderr.contains("commit: "), "{}", run.stderr);
    let run = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("git init"), "{}", run.stderr);
}

#[test]
fn the_commit_command_shown_after_a_request_works_in_a_conversation() {
    let first =
        vec![architect(plan(&["greet.txt"])), editor(diff("greet.txt", "hello", "hello world"))];
    let world = World::greeting(first);
    shell(world.project.root(), "git config user.name t && git config user.email t@example.org");
    let mut program = world.deepseek(["--force-execute", "--approval", "auto"]);
    let mut screen = Screen::start(program.env("XTERM_VERSION", "a test"), 40, 100);
    screen.until_shown("›");
    screen.types("Fix the greeting\r");
    screen.until_shown("  commit: /commit");
    screen.until_shown("session ");
    screen.types("/commit\r");
    screen.until_shown("Commit this file with this message?");
    // A no commits nothing, and the message says how to change the commit message.
    screen.presses("\x1bn", "message? no");
    screen.until_shown("nothing was committed");
    // An `n` that came too late for the question is in the input.
    screen.types("\x15/commit\r");
    screen.until("the question is not shown again", |rows| {
        rows.iter().any(|row| row == "  y yes · n no, then Enter")
    });
    screen.presses("\x1by", "message? yes");
    screen.until_shown("committed as ");
    // Text typed before the conversation has the terminal back does not reach it.
    let is_status = |row: &String| row.starts_with("agent ·");
    screen.until("the status", |rows| {
        rows.iter().rfind(|row| !row.is_empty()).is_some_and(is_status)
    });
    // Keys that came too late are in the input.
    screen.types("\x15\x04");
    assert_eq!(screen.terminal.ends(), Some(0));
    assert_eq!(git(&world, "log -1 --format=%s"), "Fix the greeting\n");
}

#[test]
fn waiting_for_another_process_is_reported() {
    let world = World::greeting(Vec::new());
    let mut asks = world.deepseek(["--force-execute", "--approval", "suggest"]);
    let mut screen = Screen::start(asks.env("XTERM_VERSION", "a test"), 24, 100);
    screen.until_shown("›");
    let workspaces = std::fs::read_dir(world.state().join("workspaces")).unwrap();
    let lock = workspaces.map(|it| it.unwrap().path().join("lock")).next().unwrap();
    let held = std::fs::OpenOptions::new().write(true).open(&lock).unwrap();
    std::fs::write(&lock, "4711\n").unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let waits = "waiting: another deepseek is running in this directory (pid 4711)";
    screen.types("/commit\r");
    screen.until_shown(waits);
    // What is typed meanwhile is not mixed into the output of the command, but reaches the input.
    screen.types("typed meanwhile");
    let echo = || screen.all().concat().contains("typed").then_some(());
    assert!(wait_until(Duration::from_millis(300), echo).is_none(), "{:#?}", screen.all());
    screen.until_shown("hint: wait until its request has ended");
    screen.until_shown("› typed meanwhile");
    screen.types("\x15");
    // The output of a command is in the transcript as well.
    screen.types("\x14");
    screen.until_shown("q goes back");
    let transcript = screen.rows().join("\n");
    assert!(transcript.contains(waits) && transcript.contains("hint: wait until"), "{transcript}");
    screen.types("q");
    let run = world.deepseek(["commit"]).run();
    assert!(run.stderr.starts_with(waits), "{}", run.stderr);
    screen.types("/ask Why?\r");
    screen.until("the waiting is not reported", |rows| {
        rows.iter().filter(|row| row.as_str() == waits).count() == 2
    });
    screen.until_shown("hint: wait until its request has ended");
    screen.types("\x04");
    assert_eq!(screen.terminal.ends(), Some(0));
}

/// Fixes the greeting, and changes another file in the same run.
fn fix_with(path: &str, old: &str, new: &str) -> Vec<mock::ScriptedReply> {
    let both = diff("greet.txt", "hello", "hello world") + &diff(path, old, new);
    vec![architect(plan(&["greet.txt", path])), editor(both)]
}

#[test]
fn a_commit_of_the_user_in_between_changes_nothing() {
    let world = with_fixed_greeting();
    world.project.write("other.txt", "mine\n");
    git(&world, "add other.txt");
    // Later than the change, and on another day.
    shell(world.project.root(), "GIT_COMMITTER_DATE='2050-01-01T00:00:00Z' git commit -qm mine");
    let run = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(git(&world, "show --name-only --format=%s"), "Fix the greeting\n\ngreet.txt\n");
}

#[test]
fn what_the_user_committed_or_changed_alone_is_no_change_of_ours() {
    // The user commits our change with own lines around it, and edits on.
    let world = with_fixed_greeting();
    world.project.write("greet.txt", "hello world\nand mine\n");
    git(&world, "commit -qam mine");
    world.project.write("greet.txt", "hello world\nand mine, again\n");
    let run = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("there is nothing to commit"), "{}", run.stderr);
    // The user replaces what we did.
    let world = with_fixed_greeting();
    world.project.write("greet.txt", "hello\nmine\n");
    let run = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("greet.txt (nothing of deepseek's change is left in it)"),
        "{}",
        run.stderr
    );
}

#[test]
fn line_ends_that_git_converts_are_no_difference() {
    let world = with_fixed_greeting();
    git(&world, "commit -qam mine");
    git(&world, "config core.autocrlf true");
    world.project.write("greet.txt", "hello world\r\nmine\r\n");
    let run = world.deepseek(["commit", "--yes"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("there is nothing to commit"), "{}", run.stderr);
}

#[test]
fn every_file_that_a_commit_leaves_out_is_named_with_the_reason() {
    for (path, prepare, why) in [
        (
            "lib/f.txt",
            "git init -q lib; git -C lib add f.txt; git -C lib commit -qm lib",
            "it belongs to the repository lib",
        ),
        (
            "local.txt",
            "git rm -q --cached local.txt; echo local.txt > .gitignore; git add .gitignore",
            "git ignores it",
        ),
        ("f.txt", "git update-index --assume-unchanged f.txt", "git takes it as unchanged"),
    ] {
        let project =
            Project::new(&[("greet.txt", "hello\n"), ("check.sh", "grep -q world greet.txt\n")]);
        project.write(path, "a\n");
        shell(
            project.root(),
            &format!(
                "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org; test -d lib || git add -A; {prepare}; git commit -q --allow-empty -m more"
            ),
        );
        let world = after_fix_in(World::of(project, Provider::new(fix_with(path, "a", "b"))));
        let run = world.deepseek(["commit", "--yes"]).run();
        assert_eq!(run.code, Some(0), "{path}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("left out: {path} ({why}")), "{path}: {}", run.stderr);
        assert_eq!(git(&world, "show --name-only --format="), "greet.txt\n", "{path}");
        // Alone, it is why there is nothing to commit.
        let run = world.deepseek(["commit", "--output", "json"]).run();
        assert_eq!(run.code, Some(1), "{path}: {}", run.stderr);
        let said = run.stdout + &run.stderr;
        assert!(said.contains(why), "{path}: {said}");
    }
}
