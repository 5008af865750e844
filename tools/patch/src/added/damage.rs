//! The description of a damaged line. Pure.

use crate::diff::hunk_lines::HunkLine;
use crate::diff::lines::show;
use crate::refusal::difference;
use crate::refusal::reasons::Reason;

/// What is wrong with an added line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) reason: Reason,
    pub(crate) note: String,
}

impl Damage {
    /// Describes `line`; `has` completes a sentence that begins with the line.
    pub(crate) fn at(reason: Reason, line: &HunkLine<'_>, has: &str) -> Damage {
        let text = difference::cut(&show(line.text), 1);
        Damage { reason, note: format!("Line {} of the diff {has}: `{text}`.", line.at) }
    }
}
