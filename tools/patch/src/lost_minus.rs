//! Finds removed lines that lost their `-` and stay as context next to what replaces them. Only the counts of the header
//! and the text of the lines tell them from other context. Pure.

use std::cell::OnceCell;

use super::body::{self, HunkLine, Kind};
use super::difference;
use super::lines::show;
use super::refuse::{PatchMismatch, Reason};
use super::section::Hunk;

/// The minimum number of words of a line that can resemble another.
const MIN_WORDS: usize = 2;
/// The maximum number of lines that one line may be replaced by.
const SEVERAL: usize = 4;

/// Explains that context directly above added lines should have been removed: the header has exactly as many old lines
/// as the hunk, and as many new lines less as there are lines that resemble the added ones below them.
fn kept(hunk: &Hunk<'_>, body: &[HunkLine<'_>]) -> Option<PatchMismatch> {
    let numbers = hunk.numbers?;
    let (old, new) = body::counts(body);
    let lost = new.checked_sub(numbers.new_count).filter(|lost| *lost > 0)?;
    if old != numbers.old_count {
        return None;
    }
    let line = kept_above(body, lost)?;
    let text = difference::cut(&show(line.text), 1);
    let lines = if lost == 1 { "line".to_owned() } else { format!("{lost} lines") };
    Some(PatchMismatch::answer(Reason::StrayLine).note(format!(
        "The header counts {lines} less than the hunk keeps and adds, and line {} of the diff resembles what is added below it: `{text}`. Begin what is replaced with `-`, or correct the counts.",
        line.at
    )))
}

/// The hunks of a file, of which it is computed only once whether their author counted.
pub(super) struct Counted<'p, 'h, 'a> {
    hunks: &'p [&'h Hunk<'a>],
    is_counted: OnceCell<bool>,
}

impl<'p, 'h, 'a> Counted<'p, 'h, 'a> {
    pub(super) fn of(hunks: &'p [&'h Hunk<'a>]) -> Counted<'p, 'h, 'a> {
        Counted { hunks, is_counted: OnceCell::new() }
    }

    /// Explains that context directly above added lines should have been removed, if the counts of every hunk hold or are
    /// explained the same way: otherwise the author did not count.
    pub(super) fn kept(&self, hunk: &Hunk<'_>, body: &[HunkLine<'_>]) -> Option<PatchMismatch> {
        let is_explained = |hunk: &&Hunk<'_>| {
            let mut bodies = hunk.readings.iter().map(|reading| &reading.body);
            bodies.any(|body| body::holds(body, hunk.numbers) || kept(hunk, body).is_some())
        };
        let is_counted = || *self.is_counted.get_or_init(|| self.hunks.iter().all(is_explained));
        kept(hunk, body).filter(|_| is_counted())
    }
}

/// Returns the first of exactly `lost` lines of context directly above a change, each of which resembles an added line
/// of it.
fn kept_above<'h, 'a>(body: &'h [HunkLine<'a>], lost: usize) -> Option<&'h HunkLine<'a>> {
    let is_context = |at: usize| body.get(at).is_some_and(|line| line.kind == Kind::Context);
    let starts = (1..body.len()).filter(|at| !is_context(*at) && is_context(*at - 1));
    starts.into_iter().find_map(|start| {
        let change = body.get(start..)?;
        let added: Vec<&HunkLine<'_>> = change
            .iter()
            .take_while(|line| line.kind != Kind::Context)
            .filter(|line| line.kind == Kind::Added)
            .collect();
        let first = start.checked_sub(lost)?;
        let above = body.get(first..start)?;
        // A line may be replaced by several.
        let several = added.get(..added.len().min(SEVERAL)).unwrap_or_default();
        let column = added.first().map_or(0, |new| blank(new.text));
        let text = several.iter().map(|new| new.text).collect::<Vec<_>>().join(&b' ');
        let together = [&b" ".repeat(column)[..], text.trim_ascii_start()].concat();
        let is_kept = |line: &HunkLine<'_>| {
            line.kind == Kind::Context
                && (added.iter().any(|new| resembles(line, new.text)) || resembles(line, &together))
        };
        // One line more that resembles them is a list with similar entries.
        let is_list = first.checked_sub(1).and_then(|at| body.get(at)).is_some_and(is_kept);
        (above.iter().all(is_kept) && !is_list).then(|| above.first()).flatten()
    })
}

fn blank(line: &[u8]) -> usize {
    line.len() - line.trim_ascii_start().len()
}

/// Returns the key of `key: value` or `key = value`.
fn key(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(|byte| b":=".contains(byte))?;
    let key = line.get(..end)?.trim_ascii_end();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.\"'$@".contains(byte);
    let has_value = line.get(end + 1..).is_some_and(|it| !it.trim_ascii().is_empty());
    (has_value && !key.is_empty() && key.iter().all(is_part)).then_some(key)
}

/// Returns true if both lines have the same key, or most of their words are the same, in the same column. Context may
/// lack its marker.
fn resembles(line: &HunkLine<'_>, new: &[u8]) -> bool {
    let words = |line: &'_ [u8]| -> Vec<Vec<u8>> {
        let words =
            line.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii()));
        words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
    };
    let (old_words, new_words) = (words(line.text), words(new));
    let same = old_words.iter().filter(|word| new_words.contains(word)).count();
    let has_same_key = key(line.text).is_some_and(|it| key(new) == Some(it));
    let has_same_words = old_words.len() >= MIN_WORDS
        && 3 * same >= 2 * old_words.len()
        && 2 * same >= new_words.len();
    [line.text, line.raw].iter().any(|old| blank(old) == blank(new))
        && (has_same_key || has_same_words)
}

#[cfg(test)]
mod tests {
    use super::super::testing::applied;
    use super::*;

    const FILE: &str =
        "import os\n\ndef total(items):\n    count = len(items)\n    return count * 2\n\nx = 1\n";

    fn reason(hunk: &str) -> Option<Reason> {
        applied(FILE, hunk).err()
    }

    #[test]
    fn a_replaced_line_that_lost_its_marker_is_refused() {
        for hunk in [
            "@@ -3,3 +3,3 @@\n def total(items):\n     count = len(items)\n-    return count * 2\n+    count = len(items) + 1\n+    return count * 3\n",
            "@@ -4,3 +4,3 @@\n     count = len(items)\n     return count * 2\n+    return count * 3\n \n",
            "@@ -4,3 +4,3 @@\n     count = len(items)\n    return count * 2\n+    return count * 3\n \n",
            "@@ -3,3 +3,3 @@\n def total(items):\n     count = len(items)\n     return count * 2\n+    count = len(items) + 1\n+    return count * 3\n",
        ] {
            assert_eq!(reason(hunk), Some(Reason::StrayLine), "{hunk}");
        }
    }

    #[test]
    fn other_wrong_counts_are_ignored() {
        for hunk in [
            // The old count is wrong as well.
            "@@ -4,2 +4,3 @@\n     count = len(items)\n     return count * 2\n+    return count * 3\n \n",
            // The new count is short by another number.
            "@@ -4,3 +4,2 @@\n     count = len(items)\n     return count * 2\n+    return count * 3\n \n",
            // The added line resembles nothing.
            "@@ -4,3 +4,3 @@\n     count = len(items)\n     return count * 2\n+    log(items)\n \n",
            // The counts hold.
            "@@ -4,3 +4,4 @@\n     count = len(items)\n     return count * 2\n+    return count * 3\n \n",
            "@@ -1,2 +1,2 @@\n import os\n+import sys\n \n",
        ] {
            assert_eq!(reason(hunk), None, "{hunk}");
        }
    }

    #[test]
    fn an_equal_key_and_a_line_that_becomes_several_resemble_each_other() {
        let file = "[package]\nversion = \"0.3.1\"\n\nfn a() {\n    b(c, d).e(f)\n}\n";
        let version =
            "@@ -1,3 +1,3 @@\n [package]\n version = \"0.3.1\"\n+version = \"0.4.0\"\n \n";
        let call =
            "@@ -4,3 +4,4 @@\n fn a() {\n     b(c, d).e(f)\n+    b(c, d)\n+        .e(f)\n }\n";
        let reason = |hunks: &str| applied(file, hunks).err();
        for hunks in [version, call, &format!("{version}{call}")] {
            assert_eq!(reason(hunks), Some(Reason::StrayLine), "{hunks}");
        }
        for hunks in [
            &version.replace("+version", "+edition"),
            &version.replace("+version", "+  version"),
            &version.replace("+1,3", "+1,4"),
            // The counts of the other hunk are wrong in another way.
            &format!("{version}{}", call.replace("+4,4", "+4,9")),
        ] {
            assert_eq!(reason(hunks), None, "{hunks}");
        }
    }

    #[test]
    fn keys() {
        for (line, of) in [
            ("  version = 1", Some("version")),
            ("\"vite\": \"^5\",", Some("\"vite\"")),
            ("  --bg: #fff;", Some("--bg")),
            ("key:", None),
            ("a b = 1", None),
            ("- name: a", None),
            ("f(a)", None),
            ("= 1", None),
        ] {
            assert_eq!(key(line.as_bytes()), of.map(str::as_bytes), "{line}");
        }
    }
}
