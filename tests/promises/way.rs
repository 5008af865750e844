//! The paths of a request and of an answer as drawn in ARCHITECTURE: every function exists and calls the next one.

use std::fs;
use std::path::Path;

use super::tidy::sources::{ROOT, sources, without_comments};

/// The maximum number of functions on a path, not counting those that only send to or receive from a mailbox.
const MAX_FUNCTIONS: usize = 18;
/// The maximum number of mailboxes on a path.
const MAX_MAILBOXES: usize = 3;

/// A function on the path: its folder, its name, and whether it calls the next one directly.
struct Step {
    folder: String,
    name: String,
    calls: bool,
}

/// Parses a drawing whose lines are a folder and functions with arrows between them. Returns the steps and the number of
/// mailboxes.
fn read(drawing: &str) -> (Vec<Step>, usize) {
    let mut steps: Vec<Step> = Vec::new();
    let mut mailboxes = 0;
    for line in drawing.lines() {
        let mut words = line.split_whitespace();
        let Some(folder) = words.next() else { continue };
        for word in words {
            match (word, steps.last_mut()) {
                ("→", Some(step)) => step.calls = true,
                ("⇒", _) => mailboxes += 1,
                ("⇢", _) => {}
                (name, _) => {
                    let name = name.rsplit("::").next().unwrap_or(name).to_owned();
                    steps.push(Step { folder: format!("{folder}/"), name, calls: false });
                }
            }
        }
    }
    (steps, mailboxes)
}

/// Returns the bodies of all functions with the step's name in its folder.
fn bodies<'s>(sources: &'s [(String, String)], step: &Step) -> Vec<Vec<&'s str>> {
    let begins = [format!("fn {}(", step.name), format!("fn {}<", step.name)];
    let mut bodies = Vec::new();
    for (_, code) in sources.iter().filter(|(path, _)| path.starts_with(&step.folder)) {
        let lines: Vec<&str> = without_comments(code).collect();
        for (at, line) in lines.iter().enumerate() {
            if begins.iter().any(|begins| line.contains(begins)) {
                let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
                let body = lines[at + 1..].iter().take_while(|line| **line != end);
                bodies.push(body.copied().collect());
            }
        }
    }
    bodies
}

#[test]
fn the_path_of_a_request_matches_the_drawing() {
    matches_drawing("on its way from the command line");
}

#[test]
fn the_path_of_an_answer_to_the_disk_matches_the_drawing() {
    matches_drawing("on its way to the disk");
}

/// Compares the drawing that follows these words with the sources.
fn matches_drawing(words: &str) {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/ARCHITECTURE.md")).unwrap();
    let (_, below) = text.split_once(words).unwrap();
    let (steps, mailboxes) = read(below.split("```").nth(1).unwrap());
    let sources = sources();
    for (at, step) in steps.iter().enumerate() {
        let Step { folder, name, calls } = step;
        let bodies = bodies(&sources, step);
        assert!(!bodies.is_empty(), "{folder} has no function {name}");
        if *calls {
            let next = format!("{}(", steps[at + 1].name);
            let called = bodies.iter().flatten().any(|line| line.contains(&next));
            assert!(called, "{name} in {folder} does not call {next}…)");
        }
    }
    assert!(steps.len() <= MAX_FUNCTIONS, "{} functions", steps.len());
    assert!(mailboxes <= MAX_MAILBOXES, "{mailboxes} mailboxes");
}
