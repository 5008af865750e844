//! The way of a request, as ARCHITECTURE draws it: every function of it is there, and calls the one that comes next.

use std::fs;
use std::path::Path;

use super::tidy::{ROOT, sources, without_comments};

/// Most functions of the way, besides those that only hand into a mailbox or take out of it.
const MOST_FUNCTIONS: usize = 18;
/// Most mailboxes of it.
const MOST_MAILBOXES: usize = 3;

/// A function of the way: its folder, its name, and whether it calls the next one itself.
struct Step {
    folder: String,
    name: String,
    calls: bool,
}

/// The steps of a drawing whose lines are a folder and functions with arrows between them, and how many mailboxes it has.
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

/// What a function does; of all that have this name in a folder.
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
fn the_way_of_a_request_is_as_it_is_drawn() {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/ARCHITECTURE.md")).unwrap();
    let (_, below) = text.split_once("on its way from the command line").unwrap();
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
    assert!(steps.len() <= MOST_FUNCTIONS, "{} functions", steps.len());
    assert!(mailboxes <= MOST_MAILBOXES, "{mailboxes} mailboxes");
}
