//! The page about actors: every actor has a row in it, and every test that it names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::tidy::sources::{ROOT, sources, without_comments};

fn page() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/actors.md")).unwrap()
}

/// Returns the name of the actor that a line implements: of an actor, or of a worker in a pool of actors.
fn implemented(line: &str) -> Option<&str> {
    let (begin, rest) = line.split_once("Actor for ").or_else(|| line.split_once("Worker for "))?;
    let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
    begin.starts_with("impl").then_some(name)
}

/// Returns the names of the actors in the table of questions.
fn described(page: &str) -> BTreeSet<&str> {
    let (_, table) = page.split_once("## Six questions").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap()).collect()
}

#[test]
fn every_actor_is_described() {
    let (page, sources) = (page(), sources());
    let lines = sources.iter().flat_map(|(_, code)| without_comments(code));
    let actors: BTreeSet<&str> = lines.filter_map(implemented).collect();
    assert_eq!(described(&page), actors);
}

#[test]
fn every_test_that_the_page_of_actors_names_exists() {
    let page = page();
    let rows = page.lines().filter_map(|line| line.strip_prefix('|'));
    let rows = rows.filter(|row| row.contains(".rs`"));
    let mut tests = 0;
    for row in rows {
        let last = row.trim_end_matches(" |").rsplit('|').next().unwrap();
        let [_, file, _, test, _] = last.split('`').collect::<Vec<_>>()[..] else {
            panic!("no test: {row}")
        };
        let code = fs::read_to_string(Path::new(ROOT).join(file)).expect(file);
        let (before, _) = code.split_once(&format!("fn {test}(")).expect(row);
        let before = before.trim_end_matches("async ").trim_end();
        assert!(before.ends_with("test]"), "{file}: {test} is no test");
        tests += 1;
    }
    assert!(tests > described(&page).len(), "{tests} tests");
}

#[test]
fn no_actor_has_a_name() {
    for (path, code) in sources() {
        let code: String = without_comments(&code).map(str::trim).collect();
        let starts = ["Actor::spawn", "ActorRuntime::spawn"].into_iter();
        for start in starts.flat_map(|start| code.match_indices(start)) {
            let (_, arguments) = code[start.0..].split_once('(').unwrap();
            assert!(arguments.starts_with("None"), "{path} names an actor: {arguments:.40}");
        }
    }
}

#[test]
fn every_queue_has_a_bound() {
    let lints = fs::read_to_string(Path::new(ROOT).join(".clippy.toml")).unwrap();
    for channel in ["tokio::sync::mpsc::unbounded_channel", "crossbeam_channel::unbounded"] {
        assert!(lints.contains(&format!("path = \"{channel}\"")), "clippy permits {channel}");
    }
}

/// What reaches an actor beside its mailbox cannot be seen in the log.
#[test]
fn every_handle_sends_through_a_mailbox() {
    for (path, code) in sources() {
        let own = path == "actors/src/mailbox.rs";
        let kept = without_comments(&code).any(|line| line.contains("actor: ActorRef<"));
        assert!(own || !kept, "{path} has a handle that keeps an ActorRef");
    }
}
