//! Tests VERIFY lines: what policy decides about each, and that shells pass exactly the words that were judged.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use config::{Approval, Mode, Policy};
use policy::{Act, Confinement, PolicyRules, Stage};

use super::CommandLine;

/// The expected result for each line: the verdicts under `suggest` and `auto`, and the words of each simple command.
/// `?` stands for opaque.
const LINES: &str = include_str!("lines.txt");

fn rules(approval: Approval) -> PolicyRules {
    let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
    let policy = Policy { approval, mode: Mode::Agent, ..config.policy };
    PolicyRules::new(&policy, config.agent_loop.safety_gate).unwrap()
}

/// Returns the lines with the expected result of each, which is on the line after it.
fn lines() -> Vec<(&'static str, String)> {
    let mut cases = Vec::new();
    let mut rest = LINES.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    while let (Some(line), Some(expected)) = (rest.next(), rest.next()) {
        cases.push((line, expected.trim().to_owned()));
    }
    cases
}

/// Parses a line of the table, in which `␤` stands for a new line.
fn parsed(line: &str) -> CommandLine {
    CommandLine::parse(&line.replace("␤", "\n")).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn judged(line: &str, rules: &[PolicyRules; 2]) -> String {
    let line = parsed(line);
    let verdicts = rules.each_ref().map(|rules| {
        let effect = Act::Command(line.command());
        rules.decide(Stage::Verifying, effect, Confinement::Off).name()
    });
    let mut said = verdicts.join("/");
    if line.needs_shell() {
        said.push_str(" sh");
    }
    if line.masks_failure() {
        said.push_str(" masks");
    }
    if let Some(what) = line.opaque() {
        return format!("{said} ?{what:?}");
    }
    for segment in line.segments() {
        let negated = if segment.negated { "! " } else { "" };
        let set = segment.assignments.iter().map(|it| format!("{}={:?} ", it.name, it.value));
        let set: String = set.collect();
        said.push_str(&format!(" {negated}{set}{:?}", segment.words));
    }
    said
}

#[test]
fn every_line_is_judged_as_expected() {
    let rules = [rules(Approval::Suggest), rules(Approval::Auto)];
    let mut wrong = Vec::new();
    let lines = lines();
    for (line, expected) in &lines {
        let is = judged(line, &rules);
        if is != *expected {
            wrong.push(format!("{line}\n    {is}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines are judged differently:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(lines.len() >= 117, "{} lines", lines.len());
}

/// Names reserved by shells, which no function can replace.
const KEPT: [&str; 9] = [".", "builtin", "command", "eval", "exec", "exit", "set", "time", "trap"];

/// Returns whether a function of this name can replace a program in every shell.
fn can_be_a_function(name: &str) -> bool {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    !name.is_empty()
        && is_name
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !KEPT.contains(&name)
}

/// Runs `line` with every program replaced by a function that ends with `status`. Returns the words of each call, sorted.
fn run(shell: &str, line: &CommandLine, status: u8) -> Vec<Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let programs = line.segments().iter().filter_map(|segment| segment.words.first());
    let programs: BTreeSet<&String> = programs.collect();
    // Each call is one write, because the commands of a pipeline run concurrently.
    let mut script = "said () {\nall=\nfor word in \"$@\"; do all=\"$all$word\u{1f}\"; done\nprintf '%s\u{1e}' \"$all\"\n}\n".to_owned();
    for name in programs {
        let one = format!(
            "{name} () {{\nsaid {name} \"$@\" >> '{}'\nreturn {status}\n}}\n",
            dir.path().join("out").display()
        );
        script.push_str(&one);
    }
    fs::write(dir.path().join("out"), "").unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test is about how shells behave")]
    let mut process = Process::new(shell);
    process
        .args(["-c", &format!("{script}{}\n", line.text())])
        .current_dir(dir.path().join("empty"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let said = fs::read_to_string(dir.path().join("out")).unwrap();
    let calls = said.split_terminator('\u{1e}');
    let words = |call: &str| call.split_terminator('\u{1f}').map(str::to_owned).collect();
    let mut calls: Vec<Vec<String>> = calls.map(words).collect();
    calls.sort();
    calls
}

/// Returns the calls that should be made when every command ends with `status`.
fn expected(line: &CommandLine, status: u8) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    let mut last = 0;
    for segment in line.segments() {
        let runs = match segment.join {
            policy::Join::And => last == 0,
            policy::Join::Or => last != 0,
            policy::Join::First | policy::Join::Pipe | policy::Join::Then => true,
        };
        if !runs {
            continue;
        }
        last = if segment.words.is_empty() { 0 } else { status };
        if segment.negated {
            last = u8::from(last == 0);
        }
        if !segment.words.is_empty() {
            calls.push(segment.words.clone());
        }
    }
    calls.sort();
    calls
}

fn there_is(shell: &str) -> bool {
    ["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(shell).exists())
}

/// Returns whether the test can predict the calls of a line. A `!` negates a whole pipeline, which the test does not model.
fn is_followed(line: &CommandLine) -> bool {
    let pipes = line.segments().iter().any(|it| it.join == policy::Join::Pipe);
    let negates = line.segments().iter().any(|it| it.negated);
    // The words do not tell what a shell substitutes for wildcards and `~`.
    let expands = line.segments().iter().any(|it| it.expands);
    line.opaque().is_none() && !expands && !(pipes && negates)
}

/// Returns whether the words of a line can be compared with those that a shell passes.
fn is_comparable(line: &CommandLine) -> bool {
    let mut programs = line.segments().iter().filter_map(|segment| segment.words.first());
    is_followed(line) && programs.all(|name| can_be_a_function(name))
}

fn compare<'a>(shell: &str, texts: impl Iterator<Item = &'a str>) -> usize {
    let lines = texts.filter_map(|text| CommandLine::parse(text).ok()).filter(is_comparable);
    let mut compared = 0;
    for line in lines {
        for status in [0, 1] {
            let text = line.text();
            assert_eq!(run(shell, &line, status), expected(&line, status), "{shell}: {text}");
        }
        compared += 1;
    }
    compared
}

#[test]
fn shells_pass_the_words_that_were_judged() {
    for shell in ["sh", "bash"] {
        if !there_is(shell) {
            println!("skipped: there is no {shell}");
            continue;
        }
        let texts: Vec<String> = lines().iter().map(|(line, _)| line.replace('␤', "\n")).collect();
        let compared = compare(shell, texts.iter().map(String::as_str));
        assert!(compared > 60, "{compared} lines were compared with {shell}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(CASES))]
    /// For any text: a line that is not opaque runs exactly the commands that were judged.
    #[test]
    fn shells_pass_the_words_of_any_line_that_is_read(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 1..12),
    ) {
        let text = pieces.concat();
        for shell in ["sh", "bash"].into_iter().filter(|shell| there_is(shell)) {
            compare(shell, std::iter::once(text.as_str()));
        }
    }
}

/// Number of random lines to compare; ten thousand passed when the parser was written.
const CASES: u32 = 300;

/// The pieces that random lines are made of.
const PIECES: [&str; 44] = [
    "p",
    "q",
    " ",
    " ",
    " ",
    "a",
    "b c",
    "'",
    "\"",
    "\\",
    "&&",
    "||",
    "|",
    ";",
    "\n",
    "!",
    "! ",
    "#",
    " #",
    "X=1 ",
    "Y='a b' ",
    "=",
    "2>&1",
    "1",
    "12",
    ">/dev/null",
    " 2>/dev/null ",
    "<",
    ">",
    "&",
    "&>",
    "(",
    ")",
    "{",
    "}",
    "$",
    "`",
    "~",
    "]",
    "-",
    "\\ ",
    "\\\n",
    "'x y'",
    "\"q\"",
];
