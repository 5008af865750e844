//! What scenarios printed as hints, and the commands and flags that hints name: they are run as written.

use std::cell::RefCell;

use serde_json::Value;

use crate::support::{Program, Run, World};

/// The hints that scenarios printed.
#[derive(Default)]
pub(crate) struct Printed(RefCell<Vec<String>>);

impl Printed {
    /// Returns the hints.
    pub(crate) fn into_hints(self) -> Vec<String> {
        self.0.into_inner()
    }

    /// Takes the hints of a process that has ended.
    pub(crate) fn note(&self, run: &Run) {
        self.note_text(&run.stderr);
        let errors = run.events.iter().filter_map(|event| event["error"]["hint"].as_str());
        self.0.borrow_mut().extend(errors.map(str::to_owned));
    }

    /// Takes the hints of a text.
    pub(crate) fn note_text(&self, text: &str) {
        let hints = text.lines().filter_map(|line| line.split_once("hint: "));
        self.0.borrow_mut().extend(hints.map(|(_, hint)| hint.trim_end().to_owned()));
    }

    /// Runs a command that fails, and follows its hint in the same world.
    pub(crate) fn follow(&self, world: &World, fails: &[&str]) {
        self.follow_by(fails, |args| world.deepseek(args.iter().copied()));
    }

    /// Runs a command that fails, then the commands that its hint names, and the command again with each flag that the hint
    /// names. None of them may fail in the same way. The editor is `true`.
    pub(crate) fn follow_by(&self, fails: &[&str], program: impl Fn(&[&str]) -> Program) {
        let run = program(fails).run();
        assert_ne!(run.code, Some(0), "{fails:?}: {}", run.stderr);
        self.note(&run);
        let error = failure(&run).0;
        for args in ways(&run, fails) {
            let words: Vec<&str> = args.iter().map(String::as_str).collect();
            let done = program(&words).env("EDITOR", "true").run();
            let is_same =
                !error.is_empty() && failure(&done).0 == error && done.stdout == run.stdout;
            assert!(!is_same, "{fails:?}: {args:?} fails in the same way: {error}");
            let misunderstood = [
                "unexpected argument",
                "there is no command",
                "a value is required",
                "has no effect",
            ];
            for reason in misunderstood {
                assert!(!done.stderr.contains(reason), "{fails:?}: {args:?}: {}", done.stderr);
            }
        }
    }
}

/// Returns the error message of a failure, and its hint.
fn failure(run: &Run) -> (String, String) {
    let line = |start: &str| {
        let line = run.stderr.lines().rfind(|line| line.starts_with(start));
        line.unwrap_or_default().trim_start_matches(start).to_owned()
    };
    let part = |name: &str| {
        let value = run.events.iter().find_map(|event| event["error"][name].as_str());
        value.map_or_else(|| line(if name == "hint" { "hint: " } else { "error: " }), str::to_owned)
    };
    (part("message"), part("hint"))
}

/// Returns the arguments of the commands that the message and the hint of a failure name, and those of the failed command
/// with each flag that the hint names.
fn ways(run: &Run, fails: &[&str]) -> Vec<Vec<String>> {
    let (error, hint) = failure(run);
    let text = format!("{error} {hint}");
    let commands =
        named(&text).into_iter().chain(Some(hint.clone()).filter(|it| it.starts_with("deepseek ")));
    let commands = commands.map(|command| words(&command).split_off(1));
    let again = flags(&hint).into_iter().map(|flag| with(fails, &flag));
    commands.chain(again).filter(|words| !words.iter().any(|word| is_placeholder(word))).collect()
}

/// Returns the commands of this program that a text names, in backticks or after a colon.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2).map(str::to_owned);
    let commands = quoted.chain(after_colon(text).map(str::to_owned));
    commands.filter(|command| command.starts_with("deepseek ")).collect()
}

/// Returns the command after a colon, without backticks.
fn after_colon(text: &str) -> Option<&str> {
    let at = text.find(": deepseek ")? + ": ".len();
    text[at..].split(';').next()
}

/// Returns the flags that a hint names outside of commands: in backticks with their values, else alone.
fn flags(hint: &str) -> Vec<Vec<String>> {
    let hint =
        after_colon(hint).map_or_else(|| hint.to_owned(), |command| hint.replace(command, ""));
    let mut flags = Vec::new();
    for (number, part) in hint.split('`').enumerate() {
        if number % 2 == 0 {
            let alone = part.split(' ').filter(|word| word.starts_with("--"));
            flags.extend(alone.map(|flag| vec![flag.trim_end_matches([';', ',', '.']).to_owned()]));
        } else if part.starts_with('-') {
            flags.push(words(part));
        }
    }
    flags.retain(|_| !hint.starts_with("deepseek "));
    flags
}

/// Returns a command with a flag, in place of the same flag.
fn with(command: &[&str], flag: &[String]) -> Vec<String> {
    let mut words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    if let Some(before) = words.iter().position(|word| *word == flag[0]) {
        words.drain(before..(before + flag.len()).min(words.len()));
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(end..end, flag.iter().cloned());
    words
}

/// Splits a command into words like a shell, as far as hints need it.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in command.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns true for a word that stands for another.
fn is_placeholder(word: &str) -> bool {
    word.contains('…') || (word.chars().all(|c| c.is_ascii_uppercase()) && !word.is_empty())
}

/// Returns the value of a field of the only document that a command prints.
pub(crate) fn printed(world: &World, args: &[&str]) -> Value {
    let run = world.deepseek(args.iter().copied().chain(["--output", "json"])).run();
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}
