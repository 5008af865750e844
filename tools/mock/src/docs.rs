//! Checks that the documentation page of the fake is complete.

use serde_json::Value;

use super::*;

const PAGE: &str = include_str!("../../../docs/mock.md");

/// Returns the names in the first column of the table under `heading`.
fn documented(heading: &str) -> Vec<&'static str> {
    let (_, section) = PAGE.split_once(&format!("## {heading}\n")).unwrap();
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once('`').unwrap().0).collect()
}

fn keys(value: impl serde::Serialize) -> Vec<String> {
    let Value::Object(fields) = serde_json::to_value(value).unwrap() else { return Vec::new() };
    fields.into_iter().map(|(key, _)| key).collect()
}

#[test]
fn every_behaviour_is_documented() {
    let names: Vec<&str> = Behaviour::ALL.iter().map(|behaviour| behaviour.name()).collect();
    assert_eq!(documented("Behaviours"), names);
}

#[test]
fn every_key_is_documented() {
    assert_eq!(documented("Keys of a reply"), keys(ScriptedReply::default()));
    assert_eq!(documented("Keys of `[server]`"), keys(Options::default()));
}

#[test]
fn the_examples_are_valid_scripts() {
    let examples: Vec<&str> =
        PAGE.split("```toml\n").skip(1).map(|rest| rest.split_once("```\n").unwrap().0).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        assert!(!Script::from_toml(example).unwrap().replies.is_empty(), "{example}");
    }
}
