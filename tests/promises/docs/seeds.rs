//! The page of seeds is complete, names only what exists, and counts its states.

use std::fs;
use std::path::Path;

use super::{ROOT, compare, read};

const PAGE: &str = "docs/seeds.md";
const STATEMENTS: usize = 276;
const STATES: [&str; 4] = ["built", "partly", "other", "not yet"];

/// A statement of a document, with the place where it is.
struct Row<'p> {
    document: &'p str,
    number: usize,
    place: &'p str,
    state: &'p str,
}

#[test]
fn every_statement_has_a_number_a_place_and_a_state() {
    let page = read(PAGE);
    let rows = rows(&page);
    let numbers: Vec<usize> = rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers, (1..=STATEMENTS).collect::<Vec<_>>());
    for Row { number, place, state, .. } in rows {
        assert!(STATES.contains(&state), "{number}: there is no state `{state}`");
        let lacks = ["partly", "not yet"].contains(&state);
        assert_eq!(lacks, place.contains("missing: "), "{number}: it is {state}");
        let decided = state != "other" || place.contains("](adr/");
        assert!(decided, "{number}: no decision is named");
    }
}

#[test]
fn every_file_name_and_test_exists() {
    let page = read(PAGE);
    let mut wrong = Vec::new();
    for Row { number, place, .. } in rows(&page) {
        let mut file: Option<(&str, String)> = None;
        for quoted in place.split('`').skip(1).step_by(2) {
            if is_path(quoted) {
                file = fs::read_to_string(Path::new(ROOT).join(quoted)).ok().map(|it| (quoted, it));
                if file.is_none() {
                    wrong.push(format!("{number}: there is no file {quoted}"));
                }
            } else if quoted.chars().all(is_of_a_name)
                && !file.as_ref().is_some_and(|(path, text)| has(path, text, quoted))
            {
                let path = file.as_ref().map(|(path, _)| *path);
                wrong.push(format!("{number}: {quoted} is not in {path:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{PAGE}: {wrong:#?}");
}

#[test]
fn states_are_counted() {
    let page = read(PAGE);
    let rows = rows(&page);
    let mut documents: Vec<&str> = rows.iter().map(|row| row.document).collect();
    documents.dedup();
    let mut text =
        format!("| document | {} | all |\n|---|---|---|---|---|---|\n", STATES.join(" | "));
    let mut line = |name: &str, counted: &[&Row<'_>]| {
        let of = |state| counted.iter().filter(|row| row.state == state).count().to_string();
        let counts: Vec<String> = STATES.into_iter().map(of).collect();
        text.push_str(&format!("| {name} | {} | {} |\n", counts.join(" | "), counted.len()));
    };
    for document in documents {
        line(document, &rows.iter().filter(|row| row.document == document).collect::<Vec<_>>());
    }
    line("all", &rows.iter().collect::<Vec<_>>());
    compare(PAGE, &text);
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let (mut rows, mut document) = (Vec::new(), "");
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            document = title;
        }
        let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
        let cells: Vec<&str> = cells.map_or_else(Vec::new, |cells| cells.split(" | ").collect());
        if let [number, _, place, state] = cells[..]
            && let Ok(number) = number.parse()
        {
            rows.push(Row { document, number, place, state });
        }
    }
    rows
}

fn is_path(quoted: &str) -> bool {
    quoted.contains('/') && !quoted.starts_with('/')
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns true if a file has a name as a whole word; of a file of tests, it must be a test.
fn has(path: &str, text: &str, name: &str) -> bool {
    if path.starts_with("tests/") {
        return text.contains(&format!("fn {name}()"));
    }
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        ![before, after].into_iter().flatten().any(is_of_a_name)
    })
}
