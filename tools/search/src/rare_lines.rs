//! Looks up what a request quotes or names from a program: the lines of the tree with it, if they are few.

use grep_regex::RegexMatcherBuilder;
use index::FileKind;
use tree::{ListedFile, ReadTree, RepoPath};

use super::named::symbol;
use super::reader::Unshown;
use super::terms::Term;
use super::text::{Hit, in_parallel, matching_lines};

/// A text on more lines than this says little about where the change is.
const MOST_LINES: usize = 12;
/// Shorter texts are on too many lines.
const LEAST_BYTES: usize = 4;
/// Maximum length of a returned line, in bytes.
const LINE_BYTES: usize = 120;

/// Lines with rare texts of a request, by path and line.
#[derive(Debug, Default)]
pub(super) struct RareLines {
    pub(super) lines: Vec<Hit>,
    /// Those of them with a text that is no name, such as a message.
    literal: Vec<(RepoPath, usize)>,
}

impl RareLines {
    /// Returns the lines of code in `files` with what `terms` quote or name, without those texts that are on many lines.
    pub(super) fn of(
        terms: &[Term],
        tree: &ReadTree,
        files: &[ListedFile],
        max_bytes: u64,
        may_show: &dyn Fn(&RepoPath) -> Result<(), Unshown>,
    ) -> RareLines {
        let is_sought = |term: &&Term| term.is_strong() && term.text.len() >= LEAST_BYTES;
        let sought: Vec<&Term> = terms.iter().filter(is_sought).collect();
        let mut rare = RareLines::default();
        for (at, hit) in rare_hits(&sought, MOST_LINES, tree, files, max_bytes, may_show) {
            if sought.get(at).is_some_and(|term| symbol(term).is_none()) {
                rare.literal.push((hit.path.clone(), hit.line));
            }
            rare.lines.push(hit);
        }
        rare.lines.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        rare.lines.dedup();
        rare
    }

    /// Returns the numbers of the lines of a file.
    pub(super) fn in_file(&self, path: &RepoPath) -> impl Iterator<Item = usize> {
        self.lines.iter().filter(move |hit| hit.path == *path).map(|hit| hit.line)
    }

    /// Returns the numbers of the lines of a file with a text that is no name.
    pub(super) fn literal_in(&self, path: &RepoPath) -> impl Iterator<Item = usize> {
        self.literal.iter().filter(move |(in_file, _)| in_file == path).map(|(_, line)| *line)
    }
}

/// Returns the lines of code in `files` with one of the `sought` terms, with the index of the term, but none with a term that
/// is on more than `most` lines.
pub(super) fn rare_hits(
    sought: &[&Term],
    most: usize,
    tree: &ReadTree,
    files: &[ListedFile],
    max_bytes: u64,
    may_show: &dyn Fn(&RepoPath) -> Result<(), Unshown>,
) -> Vec<(usize, Hit)> {
    let literals: Vec<String> = sought.iter().map(|it| regex::escape(&it.text)).collect();
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .build(&literals.join("|"));
    // A text with a line break is on no line.
    let (Ok(matcher), false) = (matcher, sought.is_empty()) else { return Vec::new() };
    let is_code = |file: &&ListedFile| {
        FileKind::of_size(&file.path, file.bytes) != FileKind::Aside && may_show(&file.path).is_ok()
    };
    let files: Vec<ListedFile> = files.iter().filter(is_code).cloned().collect();
    // For each file the lines and which texts are on each. More lines with a text than are wanted need not be kept.
    let found = in_parallel(&files, |searcher, file| {
        let mut counts = vec![0; sought.len()];
        let mut lines: Vec<(usize, Hit)> = Vec::new();
        matching_lines(searcher, &matcher, tree, file, max_bytes, |line, text| {
            for (at, (term, count)) in sought.iter().zip(&mut counts).enumerate() {
                if *count <= most && term.is_in(text) {
                    *count += 1;
                    let text = text.trim();
                    let end = text.floor_char_boundary(LINE_BYTES);
                    let text = text.get(..end).unwrap_or(text).to_owned();
                    lines.push((at, Hit { path: file.path.clone(), line, text }));
                }
            }
            counts.iter().any(|count| *count <= most)
        });
        lines
    });
    let mut found: Vec<(usize, Hit)> = found.into_iter().flatten().collect();
    let mut totals = vec![0; sought.len()];
    for (at, _) in &found {
        if let Some(total) = totals.get_mut(*at) {
            *total += 1;
        }
    }
    found.retain(|(at, _)| totals.get(*at).is_some_and(|total| *total <= most));
    found
}
