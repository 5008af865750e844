//! Evidence as the text of a prompt. Pure; contents stay as they are and cannot break out of their fences.

use super::evidence::{Evidence, EvidenceItem, ItemKind, MapLine};
use super::excerpt::{fence, numbered};

/// Digits of a hash that are shown.
const HASH_DIGITS: usize = 8;

/// How many tokens `text` is, roughly: one for four bytes, rounded up.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// What [`estimate_tokens`] takes for a token.
pub const BYTES_PER_TOKEN: usize = 4;

/// Most bytes that the title of a section takes.
pub const TITLE_BYTES: usize = 80;

/// The lines above the sections that have a title, each of at most [`TITLE_BYTES`] with the end of its line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Titles {
    /// Above the commands that would check a change.
    pub checks: String,
    /// Above the map.
    pub map: String,
    /// Above what is not shown.
    pub omitted: String,
}

/// The part that is the same for every request: no hash, no count, nothing of a file of source.
pub fn render_stable(evidence: &Evidence, titles: &Titles) -> String {
    let mut text: String = evidence.stable.iter().map(stable_item).collect();
    if !evidence.checks.is_empty() {
        text.extend([&titles.checks, "\n", &list(&evidence.checks)]);
    }
    text
}

/// The part that is about the request, with these titles.
pub fn render(evidence: &Evidence, titles: &Titles) -> String {
    let mut text: String = evidence.items.iter().map(item).collect();
    for (title, section) in [
        (&titles.map, evidence.map.iter().map(map_line).collect()),
        (&titles.omitted, list(&evidence.omitted)),
    ] {
        if !section.is_empty() {
            text.extend([title, "\n", &section]);
        }
    }
    text
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| list_line(line)).collect()
}

/// One item of the stable part, without what changes with every change of it.
pub(super) fn stable_item(item: &EvidenceItem) -> String {
    let cut = if item.last_line < item.lines { " (beginning)" } else { "" };
    let kind = match item.kind {
        ItemKind::Instructions => " (instructions)",
        ItemKind::Overview | ItemKind::Named | ItemKind::Passage => "",
    };
    let fence = fence(&item.text);
    let end = if item.text.ends_with('\n') { "" } else { "\n" };
    format!("### {}{cut}{kind}\n{fence}\n{}{end}{fence}\n", item.path, item.text)
}

/// One item: a line that says what it is, and its text in a fence.
pub(super) fn item(item: &EvidenceItem) -> String {
    let hash: String = item.hash.to_string().chars().take(HASH_DIGITS).collect();
    let lines = if item.last_line < item.first_line {
        " (empty)".to_owned()
    } else if item.last_line - item.first_line + 1 == item.lines {
        format!(":{}-{}", item.first_line, item.last_line)
    } else {
        format!(":{}-{} of {}", item.first_line, item.last_line, item.lines)
    };
    let mut text = format!("### {}{lines} {hash}", item.path);
    match item.kind {
        ItemKind::Instructions => text.push_str(" (instructions)"),
        ItemKind::Named | ItemKind::Passage | ItemKind::Overview => {}
    }
    text.push('\n');
    if !item.text.is_empty() {
        let fence = fence(&item.text);
        let end = if item.text.ends_with('\n') { "" } else { "\n" };
        text.extend([&fence, "\n"]);
        for (line, at) in item.text.split_inclusive('\n').zip(item.first_line..) {
            text.push_str(&numbered(at, line));
        }
        text.extend([end, &fence, "\n"]);
    }
    text
}

/// One file of the map.
pub(super) fn map_line(line: &MapLine) -> String {
    if line.definitions.is_empty() {
        return format!("{}\n", line.path);
    }
    format!("{}: {}\n", line.path, line.definitions.join(", "))
}

/// One line of a list.
pub(super) fn list_line(line: &str) -> String {
    format!("- {line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tree::{FileHash, RepoPath};

    fn shown(kind: ItemKind, text: &str, first_line: usize, lines: usize) -> EvidenceItem {
        EvidenceItem {
            kind,
            path: RepoPath::parse("src/a.md").unwrap(),
            first_line,
            last_line: first_line + text.lines().count() - 1,
            lines,
            hash: FileHash::of(b""),
            text: text.to_owned(),
        }
    }

    #[test]
    fn everything_in_its_place() {
        let path = |text| RepoPath::parse(text).unwrap();
        let evidence = Evidence {
            stable: vec![shown(ItemKind::Instructions, "Be kind.\n", 1, 2)],
            checks: vec!["make test".into()],
            items: vec![
                shown(ItemKind::Instructions, "Be kind.\n", 1, 1),
                shown(ItemKind::Passage, "````\nx\n````", 7, 20),
                shown(ItemKind::Named, "", 1, 0),
            ],
            map: vec![
                MapLine { path: path("a.rs"), definitions: vec!["fn a".into(), "struct B".into()] },
                MapLine { path: path("文.md"), definitions: Vec::new() },
            ],
            omitted: vec![".env: no".into()],
            files: 9,
            truncated: true,
            partial: false,
        };
        let titles =
            Titles { checks: "Checks:".into(), map: "Files:".into(), omitted: "Not shown:".into() };
        insta::assert_snapshot!(render(&evidence, &titles), @r"
        ### src/a.md:1-1 e3b0c442 (instructions)
        ```
           1| Be kind.
        ```
        ### src/a.md:7-9 of 20 e3b0c442
        `````
           7| ````
           8| x
           9| ````
        `````
        ### src/a.md (empty) e3b0c442
        Files:
        a.rs: fn a, struct B
        文.md
        Not shown:
        - .env: no
        ");
        insta::assert_snapshot!(render_stable(&evidence, &titles), @r"
        ### src/a.md (beginning) (instructions)
        ```
        Be kind.
        ```
        Checks:
        - make test
        ");
    }

    #[test]
    fn tokens_are_rounded_up() {
        assert_eq!(["", "a", "abcd", "修复"].map(estimate_tokens), [0, 1, 1, 2]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_out(text in "[`~a\n ]{1,40}") {
            let fence = fence(&text);
            proptest::prop_assert!(fence.len() >= 3 && !text.contains(&fence));
        }
    }
}
