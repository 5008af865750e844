//! Asks four questions about the lines that a diff adds, which nothing in the file contradicts: does one stand for code,
//! do all have a mark before them, has one a character that nobody sees, is one indented with the other white space. No
//! old line is judged here. Pure.

mod file_habits;
mod foreign_margin;
mod indentation;
mod placeholder;
mod unseen;

pub(crate) use file_habits::FileHabits;
pub(crate) use placeholder::announces_more;

use crate::diff::hunk_lines::{HunkLine, added_lines};
use crate::diff::lines::lossy_text;
use crate::refusal::difference;
use crate::refusal::reasons::{PatchMismatch, Reason};

/// Returns what is wrong with the lines that a hunk adds to a file, or creates it from.
pub(crate) fn found(habits: &FileHabits<'_>, body: &[HunkLine<'_>]) -> Option<PatchMismatch> {
    added_lines(body).next()?;
    if let Some(line) = placeholder::found(habits, body) {
        return Some(damaged(Reason::ElidedCode, line, "replaces code that it does not show"));
    }
    if let Some((line, has)) = unseen::found(habits, body) {
        return Some(damaged(Reason::DamagedLine, line, has));
    }
    let (line, has) = indentation::found(habits, body)?;
    Some(damaged(Reason::IndentStyleMismatch, line, has))
}

/// Returns what is wrong with the lines that all hunks of a file add, if they have a mark in common.
pub(crate) fn found_throughout(
    habits: &FileHabits<'_>,
    bodies: &[&[HunkLine<'_>]],
) -> Option<PatchMismatch> {
    let (line, has) = foreign_margin::found(habits, bodies)?;
    Some(damaged(Reason::DamagedLine, line, &has))
}

/// Refuses an added line; `has` completes a sentence that begins with the line.
fn damaged(reason: Reason, line: &HunkLine<'_>, has: &str) -> PatchMismatch {
    let text = difference::cut(&lossy_text(line.text), 1);
    PatchMismatch::answer(reason).note(format!("Line {} of the diff {has}: `{text}`.", line.at))
}
