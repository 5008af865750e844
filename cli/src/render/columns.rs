//! Side-by-side view of two texts, with differing lines next to each other. Pure.

use similar::{ChangeTag, TextDiff};

use super::harmless;

/// Width of a column: two of them fit into 80 columns.
const WIDTH: usize = 38;

/// Lines of context around a difference.
const AROUND: usize = 3;

/// Formats the differing parts of two texts side by side. A line that only one of them has is marked between the columns.
pub(crate) fn side_by_side(left: &str, right: &str) -> String {
    let diff = TextDiff::from_lines(left, right);
    let mut text = String::new();
    for group in diff.grouped_ops(AROUND) {
        text.push_str(&row("…", ' ', "…"));
        let mut gone = Vec::new();
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Delete => gone.push(line),
                ChangeTag::Insert if gone.is_empty() => text.push_str(&row("", '>', line)),
                ChangeTag::Insert => text.push_str(&row(gone.remove(0), '|', line)),
                ChangeTag::Equal => {
                    text.extend(gone.drain(..).map(|line| row(line, '<', "")));
                    text.push_str(&row(line, ' ', line));
                }
            }
        }
        text.extend(gone.drain(..).map(|line| row(line, '<', "")));
    }
    text
}

/// Formats one line of each text, wrapped over as many rows as the longer one needs.
fn row(left: &str, mark: char, right: &str) -> String {
    let (left, right) = (pieces(left), pieces(right));
    let empty = String::new();
    let rows = (0..left.len().max(right.len())).map(|n| {
        let (left, right) = (left.get(n).unwrap_or(&empty), right.get(n).unwrap_or(&empty));
        let line = format!("{left:<WIDTH$} {mark} {right}");
        format!("{}\n", line.trim_end())
    });
    rows.collect()
}

/// Splits a line into pieces of the column width.
fn pieces(line: &str) -> Vec<String> {
    let chars: Vec<char> = harmless(line).chars().collect();
    if chars.is_empty() {
        return vec![String::new()];
    }
    chars.chunks(WIDTH).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_lines_are_next_to_each_other() {
        let shown = side_by_side("same\nold\ngone\nend\n", "same\nnew\nend\nmore\n");
        let rows: Vec<String> = shown
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(rows, ["… …", "same same", "old | new", "gone <", "end end", "> more"]);
    }

    #[test]
    fn long_lines_wrap_into_the_next_row() {
        let long = "x".repeat(WIDTH + 3);
        let shown = side_by_side(&long, "y");
        let next = shown.lines().nth(2).unwrap();
        assert_eq!(next.split_whitespace().collect::<Vec<_>>(), ["xxx", "|"], "{shown}");
    }
}
