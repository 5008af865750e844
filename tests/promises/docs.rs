//! The documentation matches the program: its generated parts are generated again and compared.
//!
//! `UPDATE_DOCS=1 cargo test -p deepseek --test deepseek docs` rewrites them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod seeds;

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
pub(crate) const EVENTS: &str = include_str!("../../actors/facts/src/event.rs");
const BEGIN: &str = "<!-- generated: do not edit below -->\n";
const END: &str = "<!-- end of the generated part -->\n";

#[test]
fn configuration_lists_every_key_with_its_default() {
    compare("docs/configuration.md", &keys_as_tables(config::DEFAULTS));
}

#[test]
fn cli_shows_the_help_of_every_command() {
    let mut text = String::new();
    let root = help(&[]);
    let shared: Vec<String> = entries(&root).into_iter().filter(|e| e.starts_with("  ")).collect();
    show_command(&[], &shared, &mut text);
    compare("docs/cli.md", &text);
}

#[test]
fn events_describes_every_kind() {
    let text = kinds_as_tables(EVENTS);
    let described = text.lines().filter(|line| line.starts_with("### `")).count();
    assert_eq!(described, EVENTS.matches("#[serde(rename = \"").count(), "a kind was not read");
    compare("docs/events.md", &text);
}

#[test]
fn events_describes_every_type_of_its_fields() {
    const PLAIN: [&str; 8] = ["String", "Vec", "Option", "bool", "u32", "u64", "usize", "Usd"];
    let page = read("docs/events.md");
    let mut missing = BTreeSet::new();
    let (_, kinds) = page.split_once(BEGIN).expect("the document marks its generated part");
    for line in kinds.lines().filter(|line| line.starts_with("| `")) {
        let kind = line.split('|').nth(2).unwrap_or_default();
        let names = kind.split(|c: char| !c.is_alphanumeric()).filter(|name| !name.is_empty());
        let strange = names.filter(|name| !PLAIN.contains(name));
        missing.extend(strange.filter(|name| !page.contains(&format!("**`{name}`**"))));
    }
    assert!(missing.is_empty(), "docs/events.md does not say what these are: {missing:?}");
}

#[test]
fn links_to_files_are_not_broken() {
    let mut documents = vec![PathBuf::from(ROOT).join("README.md")];
    documents.extend(files_in("docs"));
    documents.extend(files_in("docs/adr"));
    for document in documents.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(document).expect("a listed document is readable");
        let dir = document.parent().expect("a document is in a directory");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let inside = !target.is_empty() && !target.contains("://");
            assert!(!inside || dir.join(target).exists(), "{}: {link}", document.display());
        }
    }
}

/// Compares the generated part of a document; with `UPDATE_DOCS`, rewrites it.
fn compare(document: &str, generated: &str) {
    let page = read(document);
    let (before, rest) = page.split_once(BEGIN).expect("the document marks its generated part");
    let (part, after) = rest.split_once(END).expect("the generated part ends");
    let generated = format!("\n{}\n", generated.trim());
    if part == generated.as_str() {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let updated = format!("{before}{BEGIN}{generated}{END}{after}");
        fs::write(Path::new(ROOT).join(document), updated).expect("the document can be written");
        return;
    }
    let lines = part.lines().zip(generated.lines());
    let differs = lines.clone().position(|(old, new)| old != new);
    let (old, new) = differs.and_then(|at| lines.clone().nth(at)).unwrap_or(("(ends)", "(ends)"));
    assert!(
        part == generated.as_str(),
        "{document} is stale:\n  document   {old}\n  generated  {new}\n\
        UPDATE_DOCS=1 cargo test -p deepseek --test deepseek docs rewrites it"
    );
}

fn read(document: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(document)).expect("the document is there")
}

fn files_in(dir: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(ROOT).join(dir)).expect("the directory is there");
    entries.map(|entry| entry.expect("an entry is readable").path()).collect()
}

/// Renders the defaults as one table per section, with the comments as explanations.
fn keys_as_tables(defaults: &str) -> String {
    let mut text = String::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = defaults.lines();
    while let Some(line) = lines.next() {
        if let Some(said) = line.strip_prefix("# ") {
            comment.push(said);
            continue;
        }
        if line.starts_with('[') {
            text.push_str(&format!("\n## `{line}`\n\n"));
            if !comment.is_empty() {
                text.push_str(&format!("{}\n\n", comment.join(" ")));
            }
            text.push_str("| key | default | meaning |\n|---|---|---|\n");
        } else if let Some((key, value)) = line.split_once(" = ") {
            let mut value = value.to_owned();
            while value.starts_with('[') && !value.ends_with(']') {
                value.push_str(&format!(" {}", lines.next().expect("an array ends").trim()));
            }
            let value = value.replace("[ ", "[").replace(", ]", "]").replace('|', "\\|");
            text.push_str(&format!("| `{key}` | `{value}` | {} |\n", comment.join(" ")));
        }
        // A comment belongs to the line directly below it.
        comment.clear();
    }
    text
}

/// Renders the help of a command and its subcommands, without the options that every command has.
fn show_command(words: &[&str], shared: &[String], text: &mut String) {
    let help = help(words);
    let name = ["deepseek"].iter().chain(words).copied().collect::<Vec<_>>().join(" ");
    let own: String = entries(&help)
        .into_iter()
        .filter(|entry| words.is_empty() || !shared.contains(entry))
        .collect();
    // A heading over nothing is left out.
    let own = own.trim_end().trim_end_matches("Options:").trim_end();
    text.push_str(&format!("\n## `{name}`\n\n```text\n{own}\n```\n"));
    let below = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let below = below.lines().take_while(|line| line.starts_with("  "));
    // The continuation of a wrapped description is indented further than a command.
    let below = below.filter(|line| !line.starts_with("   "));
    for command in below.filter_map(|line| line.split_whitespace().next()) {
        if command != "help" {
            show_command(&[words, &[command]].concat(), shared, text);
        }
    }
}

/// Returns the output of `--help`, without trailing blanks.
#[expect(clippy::disallowed_methods, reason = "the program is run as a user runs it")]
fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_deepseek"))
        .args(words)
        .arg("--help")
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{words:?} --help: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("help is text");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

/// Splits help before each option; the first entry is everything above the options.
fn entries(help: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    for line in help.lines() {
        if line.starts_with("  -") || line.starts_with("      --") {
            entries.push(String::new());
        }
        if let Some(entry) = entries.last_mut() {
            entry.push_str(line);
            entry.push('\n');
        }
    }
    // The last entry has no blank line after it; it gets one to compare equal to the others.
    if let Some(last) = entries.last_mut() {
        last.push('\n');
    }
    entries
}

/// Renders every variant of the event enum as a table of its fields, read from its formatted source.
fn kinds_as_tables(source: &str) -> String {
    let (_, body) = source.split_once("\npub enum Event {\n").expect("there is an enum of events");
    let (body, _) = body.split_once("\n}\n").expect("the enum ends");
    let mut text = String::new();
    let mut said: Vec<&str> = Vec::new();
    let mut note = "";
    for line in body.lines() {
        let code = line.trim();
        if let Some(comment) = code.strip_prefix("/// ") {
            said.push(comment);
        } else if let Some((_, kind)) = code.split_once("rename = \"") {
            let kind = kind.split('"').next().unwrap_or_default();
            text.push_str(&format!("\n### `{kind}`\n\n{}\n\n", said.join(" ")));
            text.push_str("| field | type | meaning |\n|---|---|---|\n");
            said.clear();
        } else if code.contains("skip_serializing_if") {
            note = " (may be absent)";
        } else if let Some((field, kind)) = code.split_once(": ") {
            let (kind, meaning) = (kind.trim_end_matches(','), said.join(" "));
            text.push_str(&format!("| `{field}` | `{kind}` | {meaning}{note} |\n"));
            said.clear();
            note = "";
        }
    }
    text
}
