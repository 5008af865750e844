//! The evidence for a request: what of the tree goes into the first prompt. It asks no model and writes nothing.

use std::cell::LazyCell;

use index::Index;
use tree::{FileHash, Hidden, RepoPath};

use super::named::{Names, resolve};
use super::packing::Packing;
use super::reader::{Reader, Unshown};
use super::render::BYTES_PER_TOKEN;
use super::terms::extract;

/// Bounds of the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceOptions {
    /// Most tokens of what is shown for the request, as [`super::estimate_tokens`] counts them, while no title has more
    /// than [`super::TITLE_BYTES`]. A bound, and a goal: room that helps is used.
    pub tokens: usize,
    /// How the room is used.
    pub spread: Spread,
}

/// How the room is used for what a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Some lines of many files, and a list of files: for whoever has to find all that a change touches.
    Wide,
    /// More lines of a few files, and the names of the next ones: for whoever can look for the rest.
    Deep,
    /// None but the files that are named: for whoever has a change before them that says what it is about.
    Named,
}

/// What is known about a request before a model is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// What says the same for every request: instructions, what the project is.
    pub stable: Vec<EvidenceItem>,
    /// The commands that would check a change.
    pub checks: Vec<String>,
    /// Texts, in the order in which they are worth reading.
    pub items: Vec<EvidenceItem>,
    /// Files, most relevant first.
    pub map: Vec<MapLine>,
    /// What was named and is not shown whole, with the reason, one line each.
    pub omitted: Vec<String>,
    /// Files of the tree that may be read.
    pub files: usize,
    /// Whether there are more that were not looked at.
    pub truncated: bool,
    /// Whether something was not known in time, such as earlier commits.
    pub partial: bool,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceItem {
    /// Why it is here.
    pub kind: ItemKind,
    /// The file.
    pub path: RepoPath,
    /// First line shown, from 1.
    pub first_line: usize,
    /// Last line shown; before the first for an empty file.
    pub last_line: usize,
    /// Lines of the whole file.
    pub lines: usize,
    /// Hash of the whole file.
    pub hash: FileHash,
    /// The lines with their ends, as they are.
    pub text: String,
}

/// Why lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// `AGENTS.md` and its like: what the project tells every agent.
    Instructions,
    /// It says what the project is.
    Overview,
    /// The user named the file.
    Named,
    /// It has to do with what the request talks about, or the tree is small.
    Passage,
}

/// A file of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapLine {
    /// The file.
    pub path: RepoPath,
    /// Its main definitions, such as `fn gather`; empty where they would say nothing new.
    pub definitions: Vec<String>,
}

/// Gathers the evidence for `request` from the tree of `index`.
///
/// Files that the index may not read are neither searched nor shown nor listed. `checks` are the commands that would
/// check a change. The same request on the same tree gives the same
/// evidence, unless it is partial.
pub fn gather(
    request: &str,
    index: &Index,
    options: &EvidenceOptions,
    checks: &[String],
) -> Evidence {
    let (files, truncated) = index.files();
    let may_show = shows(index);
    let names = resolve(&extract(request), index.tree(), &files, &may_show);
    let reader = Reader::new(index.tree(), index.max_file_bytes(), &may_show);
    let mut packing = Packing::new(reader, &files, &names, options.tokens);
    packing.stable(checks);
    packing.notes(&names.omitted);
    packing.instructions();
    // Only where it is needed: a small tree has no index.
    let ranking = LazyCell::new(|| index.rank(request, &files));
    packing.named(|| &ranking);
    if !packing.everything() {
        packing.spread(&ranking, options.spread);
    }
    Evidence { truncated, ..packing.finish() }
}

/// What `words` are about, in at most `bytes`: the best lines of the first files, and the names of the next ones.
pub fn about(words: &str, index: &Index, bytes: usize) -> Evidence {
    let (files, truncated) = index.files();
    let may_show = shows(index);
    let names = Names::default();
    let reader = Reader::new(index.tree(), index.max_file_bytes(), &may_show);
    let mut packing = Packing::new(reader, &files, &names, bytes / BYTES_PER_TOKEN);
    let ranking = index.rank(words, &files);
    packing.spread(&ranking, Spread::Deep);
    Evidence { truncated, ..packing.finish() }
}

/// Whether a file of the index may be shown.
fn shows(index: &Index) -> impl Fn(&RepoPath) -> Result<(), Unshown> + '_ {
    let hidden = Hidden::below(index.tree().root());
    move |path| match (index.may_read(path), hidden.has(path)) {
        (false, _) => Err(Unshown::Refused),
        (true, true) => Err(Unshown::Hidden),
        (true, false) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
