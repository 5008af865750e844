//! Converts equivalent formats of other agents to unified diffs: `apply_patch`, search and replace, and hunks in fences
//! with names. Each is a grammar of the whole answer. Pure.

use std::ops::Range;

use crate::answer::fence::Fence;
use crate::answer::foreign_marks;

/// A hunk header without numbers: the hunk applies where its old lines are, if that is one place.
const HUNK: &str = "@@ @@\n";

/// Returns the lines of an answer without the prose before and after. Text that could be code is not prose. `None` if
/// the answer has CR, or the prose after the change does not end with a sentence.
fn core(answer: &str) -> Option<Vec<&str>> {
    let lines: Vec<&str> = answer.lines().collect();
    let mut rest = lines.get(between_prose(answer, &lines)?)?;
    while let [blank, others @ ..] = rest
        && blank.trim().is_empty()
    {
        rest = others;
    }
    Some(rest.to_vec())
}

/// Returns the lines between the prose before and after, as [`core`] does, with blank ones.
pub(crate) fn between_prose(answer: &str, lines: &[&str]) -> Option<Range<usize>> {
    if answer.contains('\r') {
        return None;
    }
    let may_be_prose = |line: &&str| {
        let begins = line.starts_with(|c: char| c.is_alphabetic());
        let has_words = line.contains(' ') || line.ends_with(['.', '!']);
        let is_plain =
            !line.contains(['<', '>', '{', '}', '[', ']', '|', '=', '@', '\\', '+', '…']);
        line.trim().is_empty() || begins && has_words && is_plain && !line.contains("...")
    };
    let ends = |line: &str| line.trim_end().ends_with(['.', ':', '!', '?']);
    let before = lines.iter().take_while(|line| may_be_prose(line)).count();
    // A name may look like prose; only text that ends with a sentence is.
    let before = lines.get(..before)?.iter().rposition(|line| ends(line)).map_or(0, |at| at + 1);
    let after = lines.iter().rev().take_while(|line| may_be_prose(line)).count();
    let end = lines.len() - after;
    let last = lines.get(end..)?.iter().rfind(|line| !line.trim().is_empty());
    (before <= end && last.is_none_or(|line| ends(line))).then_some(before..end)
}

/// Returns the path that a line of text consists of, without any decoration.
fn path_in(line: &str) -> Option<&str> {
    let around = |c: char| c.is_whitespace() || "#*`'\":".contains(c);
    let name = line.trim_matches(around);
    let name = name.strip_prefix("File:").map_or(name, |rest| rest.trim_matches(around));
    is_path(name).then_some(name)
}

/// Returns true if a path can be told apart from other text.
fn is_path(name: &str) -> bool {
    let is_one = !name.is_empty() && !name.contains(char::is_whitespace);
    is_one && !name.ends_with(['.', ')', '}', ']', '>'])
}

/// Returns the headers of a changed file.
fn names_of(path: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n")
}

/// Returns true if a line can be part of a hunk.
fn is_body(line: &str) -> bool {
    line.starts_with([' ', '+', '-'])
}

/// The file that the next change is about. It is named once, directly before the change.
#[derive(Default)]
struct Subject<'a> {
    path: Option<&'a str>,
    /// True if the change of this file has yet to come.
    is_due: bool,
}

impl<'a> Subject<'a> {
    /// Sets the path; `None` if another path is still waiting for its change.
    fn name(&mut self, path: &'a str) -> Option<()> {
        let is_other = self.path != Some(path);
        if self.is_due && is_other {
            return None;
        }
        (self.path, self.is_due) = (Some(path), true);
        Some(())
    }

    /// Sets the path that follows the language of the fence opened by `line`, if there is one.
    fn name_in_fence(&mut self, line: &'a str) -> Option<()> {
        let info = line.trim_start_matches(['`', '~', ' ']).trim_end();
        match info.split_once([' ', ':']) {
            None => Some(()),
            Some((_, rest)) => self.name(path_in(rest.trim_start_matches("title="))?),
        }
    }
}

/// Converts the patch between `*** Begin Patch` and `*** End Patch`, in a fence or a shell command. `None` if it
/// creates, deletes or moves a file, or locates a hunk by
/// the text above it.
pub(crate) fn apply_patch(answer: &str) -> Option<String> {
    let lines = core(answer)?;
    let mut lines = lines.iter().copied().peekable();
    let fence = lines.next_if(|line| Fence::opening(line.as_bytes()).is_some());
    let call = lines.next_if(|line| line.starts_with("apply_patch <<"));
    lines.next_if_eq(&"*** Begin Patch")?;
    let mut text = String::with_capacity(answer.len());
    // Whether hunks may follow.
    let mut is_changed = false;
    loop {
        let line = lines.next()?;
        if line == "*** End Patch" {
            break;
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            text.push_str(&names_of(Some(path).filter(|path| is_path(path))?));
            if lines.peek().is_some_and(|next| is_body(next)) {
                text.push_str(HUNK);
            }
            is_changed = true;
        } else if line.starts_with("--- ") && lines.peek().is_some_and(|it| it.starts_with("+++ "))
        {
            text.extend([line, "\n", lines.next()?, "\n"]);
            is_changed = true;
        } else if is_changed && line.trim_end() == "@@" {
            text.push_str(HUNK);
        } else if line
            .strip_prefix('-')
            .is_some_and(|old| lines.peek().and_then(|it| it.strip_prefix('+')) == Some(old))
        {
            // Only a newline at the end of the file can have changed, which the format does not state.
            return None;
        } else if is_changed && (line.starts_with("@@ -") || is_body(line)) {
            text.extend([line, "\n"]);
        } else if is_changed && line.is_empty() && lines.peek().is_some_and(|next| is_body(next)) {
            text.push_str(" \n");
        } else if !line.is_empty() {
            return None;
        }
    }
    if let Some(call) = call {
        let tag = call.trim_start_matches("apply_patch <<").trim_matches(['\'', '"', '-', ' ']);
        lines.next_if_eq(&tag)?;
    }
    if let Some(fence) = fence.and_then(|line| Fence::opening(line.as_bytes())) {
        lines.next_if(|line| fence.is_closed_by(line.as_bytes()))?;
    }
    lines.all(str::is_empty).then_some(text)
}

/// Converts search and replace blocks. The file of a block is named above it or by its fence; otherwise it is that of
/// the previous block.
pub(crate) fn search_and_replace(answer: &str) -> Option<String> {
    let mut text = String::with_capacity(answer.len());
    let (mut subject, mut fence, mut written) = (Subject::default(), None::<Fence>, None);
    let lines = core(answer)?;
    let mut lines = lines.iter().copied();
    while let Some(line) = lines.next() {
        if let Some((_, closes)) = MARKS.iter().find(|(opens, _)| *opens == line) {
            subject.is_due = false;
            if written != Some(subject.path?) {
                written = subject.path;
                text.push_str(&names_of(subject.path?));
            }
            let old = side(&mut lines, "=======")?;
            let new = side(&mut lines, closes)?;
            let closes = |line: &&str| fence.is_some_and(|it| it.is_closed_by(line.as_bytes()));
            if old.iter().chain(&new).any(closes) {
                return None;
            }
            text.push_str(&hunk(&old, &new)?);
        } else if fence.is_some_and(|fence| fence.is_closed_by(line.as_bytes())) {
            fence = None;
        } else if fence.is_none() && Fence::opening(line.as_bytes()).is_some() {
            fence = Fence::opening(line.as_bytes());
            subject.name_in_fence(line)?;
        } else if !line.trim().is_empty() {
            subject.name(path_in(line)?)?;
        }
    }
    (written.is_some() && fence.is_none() && !subject.is_due).then_some(text)
}

/// The marks that open and close a block.
const MARKS: [(&str, &str); 3] = [
    ("<<<<<<< SEARCH", ">>>>>>> REPLACE"),
    ("<<<<<<< ORIGINAL", ">>>>>>> UPDATED"),
    ("------- SEARCH", "+++++++ REPLACE"),
];

/// Returns a hunk that replaces `old` with `new`; `None` if `old` is blank.
fn hunk(old: &[&str], new: &[&str]) -> Option<String> {
    if old.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (context, old) = old.split_at_checked(head)?;
    let new = new.get(head..)?;
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, end) = old.split_at_checked(old.len() - tail)?;
    let new = new.get(..new.len() - tail)?;
    let mut text = HUNK.to_owned();
    for (marker, lines) in [(" ", context), ("-", old), ("+", new), (" ", end)] {
        text.extend(lines.iter().flat_map(|line| [marker, line, "\n"]));
    }
    Some(text)
}

/// Returns the lines up to the one that ends them; `None` if a line before it looks like a mark.
fn side<'a>(lines: &mut impl Iterator<Item = &'a str>, ends: &str) -> Option<Vec<&'a str>> {
    let looks_like_a_mark = |line: &str| {
        foreign_marks::is_block_mark(line.as_bytes())
            || ["<<<<<", ">>>>>", "=====", "\\ No newline"].iter().any(|run| line.starts_with(run))
    };
    let mut found = Vec::new();
    for line in lines {
        if line == ends {
            return Some(found);
        }
        if looks_like_a_mark(line) {
            return None;
        }
        found.push(line);
    }
    None
}

/// Converts hunks in fences that name their file or directly follow its name.
pub(crate) fn named(answer: &str) -> Option<String> {
    let mut text = String::with_capacity(answer.len());
    let mut subject = Subject::default();
    let lines = core(answer)?;
    let mut lines = lines.iter().copied().peekable();
    while let Some(line) = lines.next() {
        if let Some(fence) = Fence::opening(line.as_bytes()) {
            subject.name_in_fence(line)?;
            // Every one of these fences needs its own name.
            if !std::mem::take(&mut subject.is_due) {
                return None;
            }
            lines.peek().filter(|next| next.starts_with("@@"))?;
            text.push_str(&names_of(subject.path?));
            loop {
                let line = lines.next()?;
                if fence.is_closed_by(line.as_bytes()) {
                    break;
                }
                let is_name = line.starts_with("--- ")
                    && lines.peek().is_some_and(|next| next.starts_with("+++ "));
                // In this form, hunks of a new file have no names.
                let is_made = line.starts_with("@@ -0,0");
                if is_name
                    || is_made
                    || !(line.is_empty() || line.starts_with("@@") || is_body(line))
                {
                    return None;
                }
                text.extend([line, "\n"]);
            }
        } else if !line.trim().is_empty() {
            subject.name(path_in(line)?)?;
        }
    }
    (!text.is_empty() && !subject.is_due).then_some(text)
}
