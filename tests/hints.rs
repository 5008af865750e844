//! Hints of failures work: the commands that they name are run as written, and do not fail in the same way.

use mock::Reply;

use crate::support::{Run, World, architect, greeting_fix};

/// Returns the commands of this program that a text names, in backticks or after a colon.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let after_colon =
        text.split_once(": deepseek ").map(|(_, rest)| rest.split(';').next().unwrap());
    let after_colon =
        after_colon.filter(|_| !text.contains('`')).map(|rest| format!("deepseek {rest}"));
    let commands = quoted.map(str::to_owned).chain(after_colon);
    commands.filter(|command| command.starts_with("deepseek ")).collect()
}

/// Returns the error message of a failure, and its hint.
fn failure(run: &Run) -> (String, String) {
    let line = |start: &str| {
        let line = run.stderr.lines().rfind(|line| line.starts_with(start));
        line.unwrap_or_default().trim_start_matches(start).to_owned()
    };
    (line("error: "), line("hint: "))
}

/// Splits a command into words like a shell, as far as hints need it.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.into_iter().skip(1).filter(|word| !word.is_empty()).collect()
}

/// Returns true for a command with a placeholder.
fn has_placeholder(command: &str) -> bool {
    command.split(' ').any(|word| {
        word.contains('…') || (word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase()))
    })
}

/// Runs a command that fails, then runs the commands that its hint names. The editor is `true`. Returns how many were run.
fn follow(world: &World, fails: &[&str]) -> usize {
    let run = world.deepseek(fails.iter().copied()).run();
    assert_ne!(run.code, Some(0), "{fails:?}: {}", run.stderr);
    let (error, hint) = failure(&run);
    let commands = named(&format!("{error} {hint}"));
    let mut followed = 0;
    for command in commands.iter().filter(|command| !has_placeholder(command)) {
        let mut program = world.deepseek(words(command).iter().map(String::as_str));
        let done = program.env("EDITOR", "true").run();
        let (new_error, _) = failure(&done);
        assert!(new_error != error, "{fails:?}: `{command}` fails in the same way: {error}");
        let is_understood = !done.stderr.contains("unexpected argument")
            && !done.stderr.contains("there is no command");
        assert!(is_understood, "{fails:?}: `{command}`: {}", done.stderr);
        followed += 1;
    }
    followed
}

#[test]
fn commands_named_by_hints_work() {
    let world = World::greeting([greeting_fix(), greeting_fix()].concat());
    let mut followed = 0;
    for fails in [
        &["rewnd"] as &[&str],
        &["sesions"],
        &["login"],
        &["resume"],
        &["exec", "fix the greeting"],
        &["run", "fix the greeting"],
        &["run"],
        &["diff"],
        &["diff", "HEAD"],
        &["diff", "--lane", "02"],
        &["diff", "--run", "nothing"],
        &["apply"],
        &["rewind", "99"],
        &["commit"],
        &["-c"],
        &["sessions", "show", "nothing"],
        &["explain", "99"],
        &["replay", "nothing"],
        &["export", "nothing"],
        &["config", "get", "no.key"],
        &["config", "set", "no.key", "1"],
        &["--set", "no.key=1", "-p", "x"],
        &["mission", "show", "nothing"],
        &["autopilot", "resume"],
        &["memory", "show", "99"],
        &["--budget-usd", "0.000001", "--force-execute", "-p", "Fix the greeting"],
        // The change is staged, and the hinted command shows it.
        &["--force-execute", "-p", "Fix the greeting"],
    ] {
        followed += follow(&world, fails);
    }
    assert!(followed >= 24, "only {followed} commands were followed");
}

#[test]
fn the_hint_for_a_broken_configuration_opens_it() {
    let world = World::greeting(Vec::new());
    world.project.write(".deepseek/config.toml", "policy = [");
    for fails in [&["config", "show"] as &[&str], &["-p", "x"], &["doctor"]] {
        let run = world.deepseek(fails.iter().copied()).run();
        let said = run.stdout + &run.stderr;
        assert!(said.contains("`deepseek config edit --local` opens the file"), "{said}");
    }
    world.project.write("editor.sh", ": > \"$1\"\n");
    let editor = format!("sh {}", world.project.path("editor.sh").display());
    let run = world.deepseek(["config", "edit", "--local"]).env("EDITOR", editor).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.deepseek(["config", "show"]).run().code, Some(0));
}

#[test]
fn hints_for_unreadable_answers_and_refused_calls_work() {
    let world = World::greeting(vec![architect("Sure! I would mend it.").forever()]);
    assert!(follow(&world, &["--force-execute", "-p", "Fix the greeting"]) >= 1);
    let refused = Reply::of(mock::Behaviour::Http400).forever();
    let world = World::greeting(vec![refused]);
    assert!(follow(&world, &["--force-execute", "-p", "Fix the greeting"]) >= 1);
}
