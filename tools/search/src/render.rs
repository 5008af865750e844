//! Renders evidence as the text of a prompt. Pure; contents are unchanged and cannot break out of their fences.

use super::excerpt::{fence_around, numbered_line};
use super::items::{Evidence, EvidenceItem, ItemKind, MapLine};
use super::text::Hit;

/// Number of hash digits shown.
const HASH_DIGITS: usize = 8;

/// Estimates the tokens of `text`: one per four bytes, rounded up.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// Bytes that [`estimate_tokens`] counts as one token.
pub const BYTES_PER_TOKEN: usize = 4;

/// Maximum size of a section title, in bytes.
pub const TITLE_BYTES: usize = 80;

/// The titles of sections, each of at most [`TITLE_BYTES`] including its line ending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Titles {
    /// Title of the commands that check a change.
    pub checks: String,
    /// Title of the lines with what the request quotes or names.
    pub mentions: String,
    /// Title of the lines that name the example.
    pub example: String,
    /// Title of the map.
    pub map: String,
    /// Title of the notes about what is not shown.
    pub omitted: String,
}

/// Renders the part that is the same for every request: no hashes, no counts, nothing from source files.
pub fn render_stable(evidence: &Evidence, titles: &Titles) -> String {
    let mut text: String = evidence.stable.iter().map(stable_item).collect();
    if !evidence.checks.is_empty() {
        text.extend([&titles.checks, "\n", &list(&evidence.checks)]);
    }
    text
}

/// Renders the part that depends on the request. What of it are instructions does not count against its limit.
pub fn render(evidence: &Evidence, titles: &Titles) -> String {
    let mut text: String = evidence.instructions.iter().map(stable_item).collect();
    text.extend(evidence.items.iter().map(item));
    for (title, section) in [
        (&titles.mentions, evidence.mentions.iter().map(mention).collect()),
        (&titles.example, evidence.example_lines.iter().map(mention).collect()),
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

/// Renders one item of the stable part, without the hash and line numbers, which change with every edit.
pub(super) fn stable_item(item: &EvidenceItem) -> String {
    let cut = if item.last_line < item.lines { " (beginning)" } else { "" };
    let kind = match item.kind {
        ItemKind::Instructions => " (instructions)",
        ItemKind::Overview | ItemKind::Named | ItemKind::Example | ItemKind::Passage => "",
    };
    let fence = fence_around(&item.text);
    let end = if item.text.ends_with('\n') { "" } else { "\n" };
    let encoding = encoding(item.encoding);
    format!("### {}{cut}{kind}{encoding}\n{fence}\n{}{end}{fence}\n", item.path, item.text)
}

/// Renders the encoding of an item.
pub(super) fn encoding(name: Option<&str>) -> String {
    name.map(|name| format!(" ({name})")).unwrap_or_default()
}

/// Renders one item: a heading line, and its text in a fence.
pub(super) fn item(item: &EvidenceItem) -> String {
    let hash: String = item.hash.to_string().chars().take(HASH_DIGITS).collect();
    let lines = if item.last_line < item.first_line {
        " (empty)".to_owned()
    } else if item.last_line - item.first_line + 1 == item.lines {
        format!(":{}-{}", item.first_line, item.last_line)
    } else {
        format!(":{}-{} of {}", item.first_line, item.last_line, item.lines)
    };
    let kind = if item.kind == ItemKind::Example { " (an example)" } else { "" };
    let mut text = format!("### {}{lines} {hash}{kind}{}\n", item.path, encoding(item.encoding));
    if !item.text.is_empty() {
        let fence = fence_around(&item.text);
        let end = if item.text.ends_with('\n') { "" } else { "\n" };
        text.extend([&fence, "\n"]);
        for (line, at) in item.text.split_inclusive('\n').zip(item.first_line..) {
            text.push_str(&numbered_line(at, line));
        }
        text.extend([end, &fence, "\n"]);
    }
    text
}

/// Renders a line of a file.
pub(super) fn mention(hit: &Hit) -> String {
    format!("{}:{}: {}\n", hit.path, hit.line, hit.text)
}

/// Renders one file of the map.
pub(super) fn map_line(line: &MapLine) -> String {
    if line.definitions.is_empty() {
        return format!("{}\n", line.path);
    }
    format!("{}: {}\n", line.path, line.definitions.join(", "))
}

/// Renders one line of a list.
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
            encoding: None,
            text: text.to_owned(),
        }
    }

    #[test]
    fn evidence_is_rendered_section_by_section() {
        let path = |text| RepoPath::parse(text).unwrap();
        let evidence = Evidence {
            stable: vec![shown(ItemKind::Instructions, "Be kind.\n", 1, 2)],
            checks: vec!["make test".into()],
            instructions: vec![shown(ItemKind::Instructions, "Be kind.\n", 1, 1)],
            items: vec![
                shown(ItemKind::Passage, "````\nx\n````", 7, 20),
                EvidenceItem { encoding: Some("GBK"), ..shown(ItemKind::Named, "修\n", 1, 1) },
                shown(ItemKind::Named, "", 1, 0),
                shown(ItemKind::Example, "z\n", 1, 1),
            ],
            mentions: vec![Hit { path: path("b.rs"), line: 7, text: "a();".into() }],
            example_lines: vec![Hit { path: path("c.rs"), line: 8, text: "mod a;".into() }],
            map: vec![
                MapLine { path: path("a.rs"), definitions: vec!["fn a".into(), "struct B".into()] },
                MapLine { path: path("文.md"), definitions: Vec::new() },
            ],
            omitted: vec![".env: no".into()],
            files: 9,
            truncated: true,
            partial: false,
            stale: 0,
        };
        let titles = Titles {
            checks: "Checks:".into(),
            mentions: "Lines:".into(),
            example: "Named by:".into(),
            map: "Files:".into(),
            omitted: "Not shown:".into(),
        };
        insta::assert_snapshot!(render(&evidence, &titles), @r"
        ### src/a.md (instructions)
        ```
        Be kind.
        ```
        ### src/a.md:7-9 of 20 e3b0c442
        `````
           7| ````
           8| x
           9| ````
        `````
        ### src/a.md:1-1 e3b0c442 (GBK)
        ```
           1| 修
        ```
        ### src/a.md (empty) e3b0c442
        ### src/a.md:1-1 e3b0c442 (an example)
        ```
           1| z
        ```
        Lines:
        b.rs:7: a();
        Named by:
        c.rs:8: mod a;
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
        fn no_text_breaks_out_of_its_fence(text in "[`~a\n ]{1,40}") {
            let fence = fence_around(&text);
            proptest::prop_assert!(fence.len() >= 3 && !text.contains(&fence));
        }
    }
}
