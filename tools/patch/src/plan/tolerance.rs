//! The deviations that are tolerated in a model's diff. Each tolerance can be switched off individually.

use serde::{Deserialize, Serialize};

use tree::RepoPath;

use crate::diff::lines::lossy_text;
use crate::refusal::difference;

macro_rules! tolerances {
    ($(#[doc = $what:literal] $name:ident => $done:literal,)+) => {
        /// A deviation that leaves a diff with exactly one meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Tolerance {
            $(#[doc = $what] $name,)+
        }

        impl Tolerance {
            /// All tolerances, in order of declaration.
            pub const ALL: &'static [Tolerance] = &[$(Tolerance::$name),+];

            /// Returns what was done, for people.
            pub fn describe(self) -> &'static str {
                match self { $(Tolerance::$name => $done,)+ }
            }
        }
    };
}

tolerances! {
    /// A byte order mark or a block of reasoning before the answer.
    Preamble => "skipped a byte order mark or reasoning before the answer",
    /// Escape codes throughout, a special token at the end, or a fence glued to the last line.
    Leaked => "removed escape codes, a special token, or a fence glued to the last line",
    /// The whole diff is indented or quoted.
    Indented => "removed indentation or quoting from the whole diff",
    /// The whole answer has CRLF line ends.
    CrlfAnswer => "read an answer with CRLF line ends",
    /// The counts in hunk headers are wrong or missing.
    Counts => "ignored wrong or missing line counts",
    /// The line numbers are wrong or missing, and the old lines occur once.
    Position => "found the old lines elsewhere, in exactly one place",
    /// The line numbers are a little off, and the other places that fit are far away.
    Near => "chose the match next to the stated line, of several far apart",
    /// The old lines carry the line numbers that were shown to the author.
    Numbered => "removed copied line numbers",
    /// Blank context lines at the very end were cut off.
    CutBlank => "restored blank context lines cut off at the end",
    /// Blank lines or prose between a hunk and what follows it.
    Tail => "dropped blank lines or prose around the hunk",
    /// LF and CRLF differ, or the marker for the end of the file is wrong.
    Eol => "kept the file's line ends",
    /// White space at the ends of lines differs.
    Trailing => "ignored white space at line ends",
    /// Context lines lost the space they begin with.
    Marker => "restored lost context markers",
    /// Quotes, dashes and spaces look alike in context lines.
    Punctuation => "matched look-alike punctuation in context",
    /// White space inside or before context lines differs.
    Space => "ignored white space in context",
    /// White space between the words of removed lines differs.
    Gaps => "ignored white space between words, also in removed lines",
    /// A hunk shows the result of earlier hunks of the file.
    Sequential => "placed the hunk on the result of earlier hunks",
    /// A code block next to the diff.
    PassedOver => "skipped a block that is not part of the diff",
    /// Text outside of the diff, which is shown and never read.
    Remark => "left out text that is not part of the diff",
    /// A hunk that changes nothing, or a file that is named without a change.
    Unchanged => "skipped a hunk or file that changes nothing",
    /// The same edit twice.
    Duplicate => "made a repeated edit once",
    /// The file already has the new lines.
    AlreadyApplied => "skipped a change that the file already has",
    /// The diff has hunks but no file headers, and only one file is declared.
    NoHeader => "used the only declared file",
    /// The path differs from that of a file only in how its accents are encoded, or in blanks.
    Accents => "used the file whose path looks the same, but encodes its accents or blanks differently",
    /// An undeclared file is changed, and the rest of the diff does not need that change.
    Aside => "put aside, because the file is not declared",
    /// The file has changed elsewhere since it was shown.
    Merged => "merged with a change made in the meantime",
    /// The answer is escaped, or in an equivalent format.
    Translated => "read an answer that is escaped or in another format",
}

impl Tolerance {
    /// Returns true if something was chosen or left out, which whoever approves the change should know.
    pub fn is_a_choice(self) -> bool {
        matches!(self, Tolerance::Near | Tolerance::Aside)
    }

    /// Returns true if a hunk was placed elsewhere than its header says.
    pub(crate) fn is_a_move(self) -> bool {
        matches!(self, Tolerance::Position | Tolerance::Near)
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// The set of tolerances that are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerances(u32);

impl Tolerances {
    /// All tolerances.
    pub const ALL: Tolerances = Tolerances(u32::MAX);
    /// The tolerances that are safe when no one reviews the change: nothing is chosen or left out.
    pub const UNATTENDED: Tolerances =
        Tolerances::ALL.without(Tolerance::Near).without(Tolerance::Aside);
    /// No tolerances: a diff must be correct in everything but the prose around it.
    pub const NONE: Tolerances = Tolerances(0);

    /// Returns this set with `tolerance` added.
    #[must_use]
    pub fn with(self, tolerance: Tolerance) -> Tolerances {
        Tolerances(self.0 | tolerance.bit())
    }

    /// Returns this set with `tolerance` removed.
    #[must_use]
    pub const fn without(self, tolerance: Tolerance) -> Tolerances {
        Tolerances(self.0 & !tolerance.bit())
    }

    /// Returns true if `tolerance` is on.
    pub fn allow(self, tolerance: Tolerance) -> bool {
        self.0 & tolerance.bit() != 0
    }
}

/// A tolerance that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The tolerance.
    pub tolerance: Tolerance,
    /// The file; `None` if the repair concerns the whole answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<RepoPath>,
    /// The hunk of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<usize>,
    /// The line at which the hunk was placed, from 1. If lines of the answer were left out, the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The last line of the answer that was left out, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_line: Option<usize>,
    /// The first line of the answer that was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Repair {
    /// Creates a repair of the whole answer.
    pub(crate) fn of(tolerance: Tolerance) -> Repair {
        Repair { tolerance, file: None, hunk: None, line: None, last_line: None, text: None }
    }

    /// Sets the file.
    pub(crate) fn file(self, path: &RepoPath) -> Repair {
        Repair { file: Some(path.clone()), ..self }
    }

    /// Sets the hunk of the file, from 0.
    pub(crate) fn hunk(self, index: usize) -> Repair {
        Repair { hunk: Some(index + 1), ..self }
    }

    /// Sets the line of the file, from 0, unless lines of the answer are left out.
    pub(crate) fn line(self, line: usize) -> Repair {
        if self.last_line.is_some() { self } else { Repair { line: Some(line + 1), ..self } }
    }

    /// Returns the hunk, from 0, and its line, from 0, if it is not at its stated line.
    pub(crate) fn moved(&self) -> Option<(usize, usize)> {
        let hunk = self.hunk.filter(|_| self.tolerance.is_a_move())?;
        Some((hunk.checked_sub(1)?, self.line?.checked_sub(1)?))
    }

    /// Sets the lines of the answer that were left out, from 1.
    pub(crate) fn left_out(self, first: usize, last: usize) -> Repair {
        Repair { line: Some(first), last_line: Some(last), ..self }
    }

    /// Quotes the first line that was left out; `lines` are those of the answer.
    pub(crate) fn quote(&mut self, lines: &[&[u8]]) {
        let first = self.line.filter(|_| self.last_line.is_some());
        let line = first.and_then(|first| lines.get(first.checked_sub(1)?));
        let text = line.map(|line| difference::cut(lossy_text(line.trim_ascii()).as_str(), 1));
        self.text = text.filter(|text| !text.is_empty());
    }
}

impl std::fmt::Display for Repair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if let Some(hunk) = self.hunk {
            write!(f, "hunk {hunk}: ")?;
        }
        f.write_str(self.tolerance.describe())?;
        match (self.line, self.last_line) {
            (Some(line), None) => write!(f, ", at line {line}")?,
            (Some(line), Some(last)) if line < last => {
                write!(f, ", lines {line} to {last} of the answer")?;
            }
            (Some(line), Some(_)) => write!(f, ", line {line} of the answer")?,
            (None, _) => {}
        }
        match &self.text {
            Some(text) if text.starts_with('`') => write!(f, ": `` {text} ``"),
            Some(text) => write!(f, ": `{text}`"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tolerance_is_switched_individually() {
        for tolerance in Tolerance::ALL.iter().copied() {
            let without = Tolerances::ALL.without(tolerance);
            let on = Tolerance::ALL.iter().filter(|other| without.allow(**other)).count();
            assert_eq!(on, Tolerance::ALL.len() - 1);
            assert!(!without.allow(tolerance) && without.with(tolerance).allow(tolerance));
            assert_eq!(Tolerances::UNATTENDED.allow(tolerance), !tolerance.is_a_choice());
        }
    }
}
