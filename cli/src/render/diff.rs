//! Changes shown to people: a unified diff made from the bytes before and after, never from a model's text.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};
use tools::tree::{Change, FileState, Op};

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// With ANSI colours.
    Colour,
    /// Without.
    Plain,
}

impl Paint {
    /// `text` in `style`, or as it is.
    pub(crate) fn with(self, style: Style, text: &str) -> String {
        match self {
            Self::Colour => format!("{style}{text}{style:#}"),
            Self::Plain => text.to_owned(),
        }
    }
}

/// All changes as one unified diff. Control characters of the files can not reach the terminal.
pub(crate) fn changes_as_text(changes: &[Change], paint: Paint) -> String {
    changes.iter().map(|change| change_as_text(change, paint)).collect()
}

fn change_as_text(change: &Change, paint: Paint) -> String {
    let old_name = match &change.op {
        Op::Create => "/dev/null".to_owned(),
        Op::Rename { from } => format!("a/{from}"),
        Op::Modify | Op::Delete => format!("a/{}", change.path),
    };
    let new_name =
        if change.op == Op::Delete { "/dev/null".to_owned() } else { format!("b/{}", change.path) };
    let bold = Style::new().bold();
    let mut text = String::new();
    writeln!(text, "{}", paint.with(bold, &format!("--- {old_name}"))).ok();
    writeln!(text, "{}", paint.with(bold, &format!("+++ {new_name}"))).ok();
    let (before, after) = (content(change.before.as_ref()), content(change.after.as_ref()));
    if before.contains('\0') || after.contains('\0') {
        writeln!(text, "(not text)").ok();
        return text;
    }
    let diff = TextDiff::from_lines(before.as_str(), after.as_str());
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        let header = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        writeln!(text, "{}", paint.with(header, hunk.header().to_string().trim_end())).ok();
        for op in hunk.ops() {
            if paint == Paint::Colour && is_worth_comparing(op) {
                for line in diff.iter_inline_changes(op) {
                    text.push_str(&shown_line(line.tag(), line.iter_strings_lossy(), paint));
                }
            } else {
                for line in diff.iter_changes(op) {
                    let whole = std::iter::once((false, line.to_string_lossy()));
                    text.push_str(&shown_line(line.tag(), whole, paint));
                }
            }
        }
    }
    text
}

/// Whether lines were replaced by others, and by so few that the words in them can be compared at once.
fn is_worth_comparing(op: &DiffOp) -> bool {
    const MANY_LINES: usize = 100;
    let replaced = op.tag() == DiffTag::Replace;
    replaced && op.old_range().len().max(op.new_range().len()) <= MANY_LINES
}

/// A line in its pieces; those that differ from the line it replaces are emphasised.
fn shown_line<'l>(
    tag: ChangeTag,
    pieces: impl Iterator<Item = (bool, Cow<'l, str>)>,
    paint: Paint,
) -> String {
    let (sign, style) = match tag {
        ChangeTag::Equal => (" ", Style::new()),
        ChangeTag::Insert => ("+", Style::new().fg_color(Some(AnsiColor::Green.into()))),
        ChangeTag::Delete => ("-", Style::new().fg_color(Some(AnsiColor::Red.into()))),
    };
    let mut line = paint.with(style, sign);
    let mut end = "\\ No newline at end of file\n";
    for (emphasised, piece) in pieces {
        if piece.ends_with('\n') {
            end = "";
        }
        let text = harmless(piece.trim_end_matches('\n'));
        if !text.is_empty() {
            line.push_str(&paint.with(if emphasised { style.invert() } else { style }, &text));
        }
    }
    format!("{line}\n{end}")
}

/// `text` with control characters made visible, so that a file can not drive the terminal.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

fn content(state: Option<&FileState>) -> String {
    state.map(|state| String::from_utf8_lossy(&state.bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tools::tree::RepoPath;

    use super::*;

    fn change(before: &'static str, after: &'static str) -> Change {
        let state = |text: &'static str| {
            Some(FileState { bytes: text.as_bytes().into(), executable: false })
        };
        Change {
            path: RepoPath::parse("a.txt").unwrap(),
            op: Op::Modify,
            before: state(before),
            after: state(after),
        }
    }

    #[test]
    fn a_change_is_shown_as_git_would() {
        let text = changes_as_text(&[change("1\n2\n3", "1\n\u{1b}[31m2b\n3")], Paint::Plain);
        assert_eq!(
            text,
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+\u{fffd}[31m2b\n 3\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn in_colour_the_words_that_differ_stand_out() {
        let text =
            changes_as_text(&[change("let a = one(x);\n", "let a = two(x);\n")], Paint::Colour);
        let inverted: Vec<&str> = text
            .split("\u{1b}[7m")
            .skip(1)
            .filter_map(|rest| rest.split(['m', '\u{1b}']).nth(2))
            .collect();
        assert_eq!(inverted, ["one", "two"], "{text:?}");
        let plain = changes_as_text(&[change("1\n2\n", "3\n4\n")], Paint::Plain);
        assert!(plain.ends_with("-1\n-2\n+3\n+4\n"), "{plain}");
    }
}
