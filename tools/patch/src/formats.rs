//! Formats of other agents that say what a unified diff says, turned into one: `apply_patch`, and search and replace. Whatever else
//! an answer has beside them must be prose. Pure.

use super::foreign;
use super::translate::{is_of_a_change, names_of, path_in};

/// The header of a hunk without numbers: it goes where its old lines are, if that is one place.
const HUNK: &str = "@@ @@\n";

/// The patch between `*** Begin Patch` and `*** End Patch`; none if it deletes a file, whose lines it does not tell.
pub(super) fn apply_patch(answer: &str) -> Option<String> {
    let (before, rest) = answer.split_once("*** Begin Patch\n")?;
    let (patch, after) = rest.split_once("\n*** End Patch")?;
    if before.lines().chain(after.lines()).any(is_of_a_change) {
        return None;
    }
    let mut text = String::with_capacity(answer.len());
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if let Some(path) = line.strip_prefix("*** Update File: ") {
            let path = path.trim();
            if let Some(to) = next.strip_prefix("*** Move to: ") {
                lines.next();
                text.push_str(&renamed(path, to.trim()));
            } else {
                text.push_str(&names_of(path));
            }
            let next = lines.peek().copied().unwrap_or_default();
            if !next.starts_with("@@") && !next.starts_with("*** ") {
                text.push_str(HUNK);
            }
        } else if let Some(path) = line.strip_prefix("*** Add File: ") {
            text.extend(["--- /dev/null\n+++ b/", path.trim(), "\n", HUNK]);
        } else if line.starts_with("*** ") {
            // The end of a file is said by its lines, too.
            if !line.starts_with("*** End of File") {
                return None;
            }
        } else if !(line.starts_with("@@") && next.starts_with("@@")) {
            // A header above another only leads to the place of that, which has to be the only one.
            text.extend([line, "\n"]);
        }
    }
    Some(text)
}

/// The headers of a file that is changed and moved.
fn renamed(from: &str, to: &str) -> String {
    format!(
        "diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n--- a/{from}\n+++ b/{to}\n"
    )
}

/// Blocks of lines to look for and of those in their place. The file of a block is the one that the line above it names, or that
/// of the block before.
pub(super) fn search_and_replace(answer: &str) -> Option<String> {
    let mut text = String::with_capacity(answer.len());
    let (mut named, mut above, mut found) = (None, None, false);
    let mut lines = answer.lines();
    while let Some(line) = lines.next() {
        if opens(line) {
            if above.is_some() && above != named {
                named = above;
                text.push_str(&named.map(names_of).unwrap_or_default());
            }
            let old = side(&mut lines, |line| line == "=======")?;
            let new = side(&mut lines, closes)?;
            text.push_str(&hunk(without_place(&old), &new)?);
            found = true;
        } else if is_of_a_change(line) {
            return None;
        } else if !line.trim().is_empty() && !line.trim_start().starts_with("```") {
            above = path_in(line);
        }
    }
    found.then_some(text)
}

/// The lines to look for, without the line at which some say that they begin.
fn without_place<'l, 'a>(old: &'l [&'a str]) -> &'l [&'a str] {
    match old {
        [start, rule, old @ ..] if start.starts_with(":start_line:") && rule.starts_with("---") => {
            old
        }
        old => old,
    }
}

/// A hunk that puts `new` in the place of `old`, if that says anything.
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

fn opens(line: &str) -> bool {
    foreign::is_block_mark(line.as_bytes()) && line.trim_end().ends_with(['H', 'L'])
}

fn closes(line: &str) -> bool {
    foreign::is_block_mark(line.as_bytes()) && line.trim_end().ends_with(['E', 'D'])
}

/// The lines up to the one that ends them; none if another mark comes first, or nothing ends them.
fn side<'a>(
    lines: &mut impl Iterator<Item = &'a str>,
    ends: impl Fn(&str) -> bool,
) -> Option<Vec<&'a str>> {
    let mut found = Vec::new();
    for line in lines {
        if ends(line.trim_end()) {
            return Some(found);
        }
        if foreign::is_block_mark(line.as_bytes()) || line == "=======" {
            return None;
        }
        found.push(line);
    }
    None
}
