//! The description of a damaged line. Pure.

use super::body::HunkLine;
use super::difference;
use super::lines::show;
use super::refuse::Reason;

/// What is wrong with an added line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) reason: Reason,
    pub(super) note: String,
}

impl Damage {
    /// Describes `line`; `has` completes a sentence that begins with the line.
    pub(super) fn at(reason: Reason, line: &HunkLine<'_>, has: &str) -> Damage {
        let text = difference::cut(&show(line.text), 1);
        Damage { reason, note: format!("Line {} of the diff {has}: `{text}`.", line.at) }
    }
}
