//! What evidence consists of.

use tree::{FileHash, RepoPath};

use super::excerpt::ShownSpan;
use super::reader::Text;
use super::text::Hit;

/// What is known about a request before any model is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The part that is the same for every request: instructions and project overview.
    pub stable: Vec<EvidenceItem>,
    /// The commands that check a change.
    pub checks: Vec<String>,
    /// The instructions for the directories of named files.
    pub instructions: Vec<EvidenceItem>,
    /// Texts, in reading order.
    pub items: Vec<EvidenceItem>,
    /// Further lines with what the request quotes or names, if they are few.
    pub mentions: Vec<Hit>,
    /// Lines elsewhere that name the example, if there is one and the lines are few.
    pub example_lines: Vec<Hit>,
    /// Files, most relevant first.
    pub map: Vec<MapLine>,
    /// What was named but is not shown whole, one line each with the reason.
    pub omitted: Vec<String>,
    /// Number of readable files of the tree.
    pub files: usize,
    /// True if there are more files, which were not examined.
    pub truncated: bool,
    /// True if some information was not available in time, such as the commit history.
    pub partial: bool,
    /// Number of files that changed since they were indexed, and were read instead.
    pub stale: usize,
}

/// Lines of a file with their origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceItem {
    /// Why it is shown.
    pub kind: ItemKind,
    /// The file.
    pub path: RepoPath,
    /// First line shown, from 1.
    pub first_line: usize,
    /// Last line shown; before the first one for an empty file.
    pub last_line: usize,
    /// Number of lines of the whole file.
    pub lines: usize,
    /// Hash of the whole file.
    pub hash: FileHash,
    /// The encoding of the file, unless it is UTF-8.
    pub encoding: Option<&'static str>,
    /// The lines with their line endings, decoded, and shortened if they are long.
    pub text: String,
}

impl EvidenceItem {
    /// Returns the lines in `span` of a file.
    pub(super) fn of(kind: ItemKind, path: &RepoPath, text: &Text, span: ShownSpan) -> Self {
        Self {
            kind,
            path: path.clone(),
            first_line: span.first,
            last_line: span.last,
            lines: text.lines.count(),
            hash: text.hash(),
            encoding: text.encoding,
            text: text.lines.slice(span).to_owned(),
        }
    }
}

/// Why lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// Instructions of the project for every agent, such as `AGENTS.md`.
    Instructions,
    /// It describes the project.
    Overview,
    /// The user named the file.
    Named,
    /// It is one of a kind of which the request asks for another.
    Example,
    /// It is related to the request, or the tree is small.
    Passage,
}

/// A file of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapLine {
    /// The file.
    pub path: RepoPath,
    /// Its main definitions, such as `fn gather`. Empty if they would say nothing new.
    pub definitions: Vec<String>,
}
