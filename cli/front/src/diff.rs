//! Unified diffs for people, computed from the bytes before and after a change, never from a model's text.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};
use tools::encoding::{decode, decode_lossy};
use tree::{Change, FileMode, FileState, Op};

use crate::paint::Paint;

/// Formats all changes as one unified diff. With [`Paint::Raw`] it is for programs; otherwise control characters in files do not
/// reach the terminal.
pub fn changes_as_text(changes: &[Change], paint: Paint) -> String {
    let parts = changes.iter().flat_map(parts);
    parts.map(|change| change_as_text(&change, paint)).collect()
}

/// Splits a change of a file into a symlink, or the reverse, into a deletion and a creation, as git does.
fn parts(change: &Change) -> Vec<Cow<'_, Change>> {
    let is_link = |state: &FileState| state.mode == FileMode::Symlink;
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return vec![Cow::Borrowed(change)];
    };
    if is_link(before) == is_link(after) {
        return vec![Cow::Borrowed(change)];
    }
    let old = match &change.op {
        Op::Rename { from } => from,
        Op::Create | Op::Modify | Op::Delete => &change.path,
    };
    let gone = Change::of(old.clone(), Some(before.clone()), None);
    let new = Change::of(change.path.clone(), None, Some(after.clone()));
    gone.into_iter().chain(new).map(Cow::Owned).collect()
}

fn change_as_text(change: &Change, paint: Paint) -> String {
    let mut text: String =
        head(change).iter().map(|line| paint.with(Style::new().bold(), line) + "\n").collect();
    let (before, after) = (content(change.before.as_ref()), content(change.after.as_ref()));
    if before == after {
        return text;
    }
    let (old, new) = names(change);
    if before.contains('\0') || after.contains('\0') {
        writeln!(text, "Binary files {old} and {new} differ").ok();
        return text;
    }
    let encodings = [&change.before, &change.after]
        .map(|state| decode(&state.as_ref()?.bytes)?.encoding.unusual());
    if let Some(name) = encodings.into_iter().flatten().next_back().filter(|_| paint != Paint::Raw)
    {
        writeln!(text, "(in {name})").ok();
    }
    for line in [format!("--- {old}"), format!("+++ {new}")] {
        writeln!(text, "{}", paint.with(Style::new().bold(), &line)).ok();
    }
    let diff = TextDiff::from_lines(before.as_str(), after.as_str());
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        let header = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        writeln!(text, "{}", paint.with(header, hunk.header().to_string().trim_end())).ok();
        for op in hunk.ops() {
            if paint.is_coloured() && is_worth_comparing(op) {
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

/// Returns the old and the new name of a change, as git writes them.
fn names(change: &Change) -> (String, String) {
    let old = match &change.op {
        Op::Create => "/dev/null".to_owned(),
        Op::Rename { from } => format!("a/{from}"),
        Op::Modify | Op::Delete => format!("a/{}", change.path),
    };
    let gone = change.op == Op::Delete;
    (old, if gone { "/dev/null".to_owned() } else { format!("b/{}", change.path) })
}

/// Returns the lines that git writes before the names: the operation and the modes.
fn head(change: &Change) -> Vec<String> {
    let mode = |state: Option<&FileState>| match state.map(|state| state.mode) {
        Some(FileMode::Symlink) => "120000",
        Some(FileMode::Executable) => "100755",
        Some(FileMode::Regular) | None => "100644",
    };
    let (before, after) = (mode(change.before.as_ref()), mode(change.after.as_ref()));
    let (path, from) = match &change.op {
        Op::Rename { from } => (&change.path, from),
        Op::Create | Op::Modify | Op::Delete => (&change.path, &change.path),
    };
    let mut head = vec![format!("diff --git a/{from} b/{path}")];
    match &change.op {
        Op::Create => head.push(format!("new file mode {after}")),
        Op::Delete => head.push(format!("deleted file mode {before}")),
        Op::Modify | Op::Rename { .. } if before != after => {
            head.extend([format!("old mode {before}"), format!("new mode {after}")]);
        }
        Op::Modify | Op::Rename { .. } => {}
    }
    if let Op::Rename { from } = &change.op {
        head.extend([format!("rename from {from}"), format!("rename to {path}")]);
    }
    head
}

/// Returns true if lines were replaced, and few enough that comparing their words is fast.
fn is_worth_comparing(op: &DiffOp) -> bool {
    const MAX_LINES: usize = 100;
    let replaced = op.tag() == DiffTag::Replace;
    replaced && op.old_range().len().max(op.new_range().len()) <= MAX_LINES
}

/// Formats a line from its pieces; pieces that differ from the replaced line are emphasised.
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
        let text = paint.content(piece.trim_end_matches('\n'));
        if !text.is_empty() {
            line.push_str(&paint.with(if emphasised { style.invert() } else { style }, &text));
        }
    }
    format!("{line}\n{end}")
}

/// Makes control characters and bidirectional formatting characters visible, so that a file cannot control the terminal or display
/// something other than its content.
pub fn harmless(text: &str) -> String {
    let changes_direction = |c| matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = |c: char| match c {
        '\t' => c,
        // Part of a Windows line ending.
        '\r' => '\u{240d}',
        c if c.is_control() || changes_direction(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Like [`harmless`], for text of several lines.
pub fn harmless_text(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

fn content(state: Option<&FileState>) -> String {
    state.map(|state| decode_lossy(&state.bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tree::RepoPath;

    use super::*;

    fn change(before: &'static str, after: &'static str) -> Change {
        let state = |text: &'static str| {
            Some(FileState { bytes: text.as_bytes().into(), mode: FileMode::Regular })
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
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+\u{fffd}[31m2b\n 3\n\\ No newline at end of file\n"
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

    #[test]
    fn renames_modes_binary_files_and_symlinks_are_shown_as_git_would() {
        let of = |bytes: &'static [u8], mode| Some(FileState { bytes: bytes.into(), mode });
        let file = |bytes, executable| of(bytes, FileMode::of_file(executable));
        let link = |bytes| of(bytes, FileMode::Symlink);
        let shown = |path: &str, op: Op, before, after| {
            let path = RepoPath::parse(path).unwrap();
            changes_as_text(&[Change { path, op, before, after }], Paint::Raw)
        };
        let from = RepoPath::parse("a").unwrap();
        assert_eq!(
            shown("b", Op::Rename { from }, file(b"x\n", false), file(b"x\n", false)),
            "diff --git a/a b/b\nrename from a\nrename to b\n"
        );
        assert_eq!(
            shown("x", Op::Modify, file(b"1", false), file(b"1", true)),
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
        );
        assert_eq!(
            shown("p", Op::Create, None, file(b"\0", false)),
            "diff --git a/p b/p\nnew file mode 100644\nBinary files /dev/null and b/p differ\n"
        );
        assert_eq!(
            shown("l", Op::Create, None, link(b"d/f")),
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+d/f\n\\ No newline at end of file\n"
        );
        assert!(
            shown("l", Op::Modify, file(b"f\n", true), link(b"f")).starts_with(
                "diff --git a/l b/l\ndeleted file mode 100755\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-f\ndiff --git a/l b/l\nnew file mode 120000\n"
            )
        );
        assert!(
            shown("c", Op::Modify, file(b"1\r\n", false), file(b"2\r\n", false))
                .ends_with("-1\r\n+2\r\n")
        );
    }

    #[test]
    fn nothing_in_a_file_drives_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31m\u{202e}b\r\tc"), "a\u{fffd}[31m\u{fffd}b\u{240d}\tc");
    }
}
