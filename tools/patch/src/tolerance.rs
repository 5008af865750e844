//! The table of everything that is forgiven in a model's diff. Each entry can be switched off by itself.

use serde::{Deserialize, Serialize};

use tree::RepoPath;

/// Something a diff may get wrong and still be understood in exactly one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// A byte order mark or a block of reasoning before the answer.
    Preamble,
    /// Escape codes throughout, a special token at the end, or a fence that is glued to the last line.
    Leaked,
    /// The whole diff is indented, or quoted.
    Indented,
    /// The whole answer has CRLF line ends.
    CrlfAnswer,
    /// The counts in hunk headers are wrong or missing.
    Counts,
    /// The line numbers are wrong or missing, and the old lines occur once.
    Position,
    /// The line numbers are a little off, and the other places that fit are far away.
    Near,
    /// The old lines carry the line numbers that their author was shown before them.
    Numbered,
    /// Blank context lines at the very end were cut off.
    CutBlank,
    /// Blank lines or prose between a hunk and what follows it.
    Tail,
    /// LF and CRLF differ, or the end of the file is not marked as it is.
    Eol,
    /// White space at the ends of lines differs.
    Trailing,
    /// Context lines lost the space they begin with.
    Marker,
    /// Quotes, dashes and spaces look alike in context lines.
    Punctuation,
    /// White space inside or before context lines differs.
    Space,
    /// White space between the words of removed lines differs.
    Gaps,
    /// A hunk shows what earlier hunks made of the file.
    Sequential,
    /// Changes of one file in several blocks, which may be meant one instead of the other.
    Blocks,
    /// A block of code beside the diff.
    PassedOver,
    /// A hunk, or a file that is named, in which nothing is changed.
    Unchanged,
    /// The same edit twice.
    Duplicate,
    /// The file has the new lines already.
    AlreadyApplied,
    /// Only hunks, and only one file is declared.
    NoHeader,
    /// The path is that of a file but for how its accents are written.
    Accents,
    /// A file is changed that is not declared, and the rest does without.
    Aside,
    /// The file changed since it was shown, elsewhere.
    Merged,
    /// The answer is escaped, a column further in, or in a format that says the same.
    Translated,
}

impl Tolerance {
    /// All of them.
    pub const ALL: [Tolerance; 27] = [
        Tolerance::Preamble,
        Tolerance::Leaked,
        Tolerance::Indented,
        Tolerance::CrlfAnswer,
        Tolerance::Counts,
        Tolerance::Position,
        Tolerance::Near,
        Tolerance::Numbered,
        Tolerance::CutBlank,
        Tolerance::Tail,
        Tolerance::Eol,
        Tolerance::Trailing,
        Tolerance::Marker,
        Tolerance::Punctuation,
        Tolerance::Space,
        Tolerance::Gaps,
        Tolerance::Sequential,
        Tolerance::Blocks,
        Tolerance::PassedOver,
        Tolerance::Unchanged,
        Tolerance::Duplicate,
        Tolerance::AlreadyApplied,
        Tolerance::NoHeader,
        Tolerance::Accents,
        Tolerance::Aside,
        Tolerance::Merged,
        Tolerance::Translated,
    ];

    /// What was forgiven, as a person would say it.
    pub fn describe(self) -> &'static str {
        match self {
            Tolerance::Preamble => "skipped a byte order mark or reasoning before the answer",
            Tolerance::Leaked => {
                "took out escape codes or a special token, or parted what was glued to a line"
            }
            Tolerance::Indented => "removed the indentation or the quoting of the whole diff",
            Tolerance::CrlfAnswer => "read an answer with CRLF line ends",
            Tolerance::Counts => "ignored wrong or missing line counts",
            Tolerance::Position => "found the old lines elsewhere, once",
            Tolerance::Near => "took the place next to the stated line, of several far apart",
            Tolerance::Numbered => "took off line numbers that were copied",
            Tolerance::CutBlank => "supplied blank context lines cut off at the end",
            Tolerance::Tail => "dropped blank lines or prose around the hunk",
            Tolerance::Eol => "kept the file's line ends",
            Tolerance::Trailing => "ignored white space at line ends",
            Tolerance::Marker => "supplied lost context markers",
            Tolerance::Punctuation => "matched look-alike punctuation in context",
            Tolerance::Space => "ignored white space in context",
            Tolerance::Gaps => "ignored white space between words, in removed lines too",
            Tolerance::Sequential => "placed the hunk on the result of earlier ones",
            Tolerance::Blocks => {
                "applied every block of the answer that changes the file; they may be alternatives"
            }
            Tolerance::PassedOver => "passed over a block that is no part of the diff",
            Tolerance::Unchanged => "left what is shown without a change",
            Tolerance::Duplicate => "made an edit given twice once",
            Tolerance::AlreadyApplied => "left lines that are there already",
            Tolerance::NoHeader => "took the only declared file",
            Tolerance::Accents => "took the file whose path has its accents written otherwise",
            Tolerance::Aside => "put aside, since the file is not among the declared ones",
            Tolerance::Merged => "merged with a change made meanwhile",
            Tolerance::Translated => {
                "read an answer that is escaped, a column further in, or in another format"
            }
        }
    }

    /// Whether whoever approves the change should know: something was chosen, or left out.
    pub fn is_a_choice(self) -> bool {
        matches!(self, Tolerance::Near | Tolerance::Aside)
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Which tolerances are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerances(u32);

impl Tolerances {
    /// Every one.
    pub const ALL: Tolerances = Tolerances(u32::MAX);
    /// Those that need nobody to be told: what is chosen or left out is not.
    pub const UNATTENDED: Tolerances =
        Tolerances::ALL.without(Tolerance::Near).without(Tolerance::Aside);
    /// A diff must be right in everything but what surrounds it.
    pub const NONE: Tolerances = Tolerances(0);

    /// These, and `tolerance`.
    #[must_use]
    pub fn with(self, tolerance: Tolerance) -> Tolerances {
        Tolerances(self.0 | tolerance.bit())
    }

    /// These, but not `tolerance`.
    #[must_use]
    pub const fn without(self, tolerance: Tolerance) -> Tolerances {
        Tolerances(self.0 & !tolerance.bit())
    }

    /// Whether `tolerance` is on.
    pub fn allow(self, tolerance: Tolerance) -> bool {
        self.0 & tolerance.bit() != 0
    }
}

/// Something that was forgiven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// What it was.
    pub tolerance: Tolerance,
    /// In which file; none if it concerns the whole answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<RepoPath>,
    /// In which hunk of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<usize>,
    /// Where the hunk went, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Repair {
    /// A repair of the answer as a whole.
    pub(super) fn answer(tolerance: Tolerance) -> Repair {
        Repair { tolerance, file: None, hunk: None, line: None }
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
        if let Some(line) = self.line {
            write!(f, ", at line {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_switched_alone() {
        for tolerance in Tolerance::ALL {
            let without = Tolerances::ALL.without(tolerance);
            let on = Tolerance::ALL.into_iter().filter(|other| without.allow(*other)).count();
            assert_eq!(on, Tolerance::ALL.len() - 1);
            assert!(!without.allow(tolerance) && without.with(tolerance).allow(tolerance));
            assert_eq!(Tolerances::UNATTENDED.allow(tolerance), !tolerance.is_a_choice());
        }
    }
}
