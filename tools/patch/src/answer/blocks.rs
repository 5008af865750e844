//! The blocks of an answer: files that are changed in two of them, code next to the diff, and the text around. Pure.

use std::collections::{BTreeMap, BTreeSet};

use tree::RepoPath;

use crate::added;
use crate::answer::fence::Fence;
use crate::answer::regions::Use;
use crate::diff::lines::lossy_text;
use crate::names::resolve::Target;
use crate::refusal::reasons::{PatchMismatch, Reason};

/// The maximum number of other characters in a line that consists of a name: a language, quotes, a colon.
const DECORATION: usize = 9;

/// A code block next to the diff, by its first and last line, from 0.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) at: usize,
    pub(crate) end: usize,
}

/// Returns the code blocks that are not part of the diff.
pub(crate) fn blocks(uses: &[Use]) -> Vec<Block> {
    let starts = (0..).zip(uses).filter(|(_, what)| **what == Use::Opens).map(|(at, _)| at);
    let block = |at: usize| {
        let inside = uses.get(at + 1..)?.iter().take_while(|what| **what != Use::Closes);
        if !inside.clone().any(|what| *what == Use::Prose)
            || inside.clone().any(|what| matches!(what, Use::Header | Use::Body))
        {
            return None;
        }
        let end = at + inside.count();
        let is_closed = uses.get(end + 1) == Some(&Use::Closes);
        Some(Block { at, end: end + usize::from(is_closed) })
    };
    starts.filter_map(block).collect()
}

/// Refuses a file that is changed in two blocks, or in two sections with prose in between.
pub(crate) fn against_two(targets: &[Target<'_, '_>], uses: &[Use]) -> Option<PatchMismatch> {
    let parted = |before: &mut usize, what: &Use| {
        *before += usize::from(matches!(what, Use::Opens | Use::Prose));
        Some(*before)
    };
    let parted: Vec<usize> = uses.iter().scan(0, parted).collect();
    let mut first: BTreeMap<&RepoPath, (usize, usize)> = BTreeMap::new();
    for target in targets {
        let lines = target.hunks.iter().map(|hunk| hunk.at);
        for line in lines.chain(target.hunks.is_empty().then_some(target.span.start + 1)) {
            let block = parted.get(line.saturating_sub(1)).copied().unwrap_or(0);
            for path in target.paths() {
                let (there, before) = *first.entry(path).or_insert((block, line));
                if there != block {
                    let mismatch = PatchMismatch::file(Reason::ContradictoryFileOps, path.as_str());
                    return Some(mismatch.note(format!(
                        "Lines {before} and {line} both change {path}, with other text between them: send one block with all hunks of a file."
                    )));
                }
            }
        }
    }
    None
}

/// Refuses a code block whose label, or the line above it, is the name of a declared file that the diff does not touch:
/// it has the new content of that file.
pub(crate) fn against_a_whole_file(
    lines: &[&[u8]],
    uses: &[Use],
    touched: &[&RepoPath],
    declared: Option<&BTreeSet<RepoPath>>,
) -> Option<PatchMismatch> {
    let is_meant = |path: &RepoPath| {
        let is_declared =
            declared.map_or(path.as_str().contains(['.', '/']), |declared| declared.contains(path));
        is_declared && !touched.contains(&path)
    };
    blocks(uses).iter().find_map(|block| {
        // The first line of the block may be a comment with the name.
        let first = lines.get(block.at + 1).and_then(|line| name_in(line));
        let path = headings(lines, block.at).chain(first).find(is_meant)?;
        let mismatch = PatchMismatch::file(Reason::UnsupportedFormat, path.as_str());
        Some(mismatch.note(format!(
            "Line {} opens a block with the whole file. Write its changes as hunks, and a new file below `--- /dev/null` and `+++ b/{path}`.",
            block.at + 1
        )))
    })
}

/// Refuses hunks in a fence that is labelled with another known file, or that is right below its name.
pub(crate) fn against_a_heading(
    lines: &[&[u8]],
    target: &Target<'_, '_>,
    is_known: &dyn Fn(&RepoPath) -> bool,
) -> Option<PatchMismatch> {
    let is_it = |name: &RepoPath| {
        target.paths().any(|path| {
            let bare = name.as_str().strip_prefix("a/").or(name.as_str().strip_prefix("b/"));
            path == name
                || bare == Some(path.as_str())
                || path.as_str().ends_with(&format!("/{name}"))
        })
    };
    let above = lines.get(..target.span.start)?;
    let at = above.iter().rposition(|line| !line.trim_ascii().is_empty())?;
    Fence::opening(lines.get(at)?)?;
    let other = headings(lines, at).find(|name| is_known(name) && !is_it(name))?;
    let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, target.path.as_str());
    Some(mismatch.note(format!(
        "The text around its hunks names {other}: write the same path there and in the headers."
    )))
}

/// Yields the names by which a fence is headed: its label, and the line above it, if that is nothing but a name.
fn headings(lines: &[&[u8]], fence: usize) -> impl Iterator<Item = RepoPath> {
    let before = lines.get(..fence).unwrap_or_default();
    let above = before.iter().rposition(|line| !line.trim_ascii().is_empty());
    let above = above.filter(|above| above + 2 >= fence).and_then(|at| before.get(at)).copied();
    let label = lines.get(fence).map(|line| Fence::label(line));
    label.into_iter().chain(above).filter_map(name_in)
}

/// Returns the name that a line consists of.
fn name_in(line: &[u8]) -> Option<RepoPath> {
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/".contains(byte) || !byte.is_ascii();
    let words = line.split(|byte| !is_part(byte));
    let mut names = words.filter_map(|word| {
        let word = word.strip_suffix(b".").unwrap_or(word);
        RepoPath::from_bytes(word.strip_prefix(b"./").unwrap_or(word)).ok()
    });
    let only = names.next().filter(|_| names.next().is_none())?;
    (line.trim_ascii().len() <= only.as_str().len() + DECORATION).then_some(only)
}

/// Returns a line, from 0, below the first header that stands for hunks or lines that the answer does not have.
pub(crate) fn announces_more(lines: &[&[u8]], uses: &[Use]) -> Option<usize> {
    let first = uses.iter().position(|what| *what == Use::Header)?;
    let prose = (first..).zip(uses.get(first..)?).filter(|(_, what)| **what == Use::Prose);
    prose.map(|(at, _)| at).find(|at| lines.get(*at).is_some_and(|it| added::announces_more(it)))
}

/// Returns the text that stands outside of the blocks of the diff; `None` if there is none.
pub(crate) fn remark(lines: &[&[u8]], uses: &[Use]) -> Option<String> {
    let others = blocks(uses);
    let is_kept = |at: usize, what: Use| {
        what == Use::Prose || others.iter().any(|block| (block.at..=block.end).contains(&at))
    };
    let mut text = String::new();
    let mut is_parted = false;
    for (at, (line, what)) in lines.iter().zip(uses).enumerate() {
        if is_kept(at, *what) {
            if is_parted && !text.is_empty() {
                text.push('\n');
            }
            text.push_str(lossy_text(line).trim_end());
            text.push('\n');
        }
        is_parted = !is_kept(at, *what);
    }
    (!text.is_empty()).then_some(text)
}
