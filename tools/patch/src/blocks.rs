//! Blocks of code in an answer: which are no part of its diff, and which files they may be about. Pure.

use std::collections::{BTreeMap, BTreeSet};

use tree::RepoPath;

use super::account::Use;
use super::fence::Fence;
use super::refuse::{PatchMismatch, Reason};
use super::resolve::Target;
use super::tolerance::Tolerance;

/// Characters that a line with nothing but a name may have besides: a language, quotes, a colon.
const DECORATION: usize = 9;

/// A code block that is no part of the diff, and the words that may name its file.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// Line of the answer, from 0, that opens it.
    pub(super) at: usize,
    /// What stands before it, behind its fence, and in its first line.
    labels: Vec<&'a [u8]>,
}

/// The code blocks that are no part of the diff.
pub(super) fn blocks<'a>(lines: &[&'a [u8]], uses: &[Use]) -> Vec<Block<'a>> {
    let line = |at: usize| lines.get(at).copied().unwrap_or_default();
    let starts = (0..).zip(uses).filter(|(_, what)| **what == Use::Opens).map(|(at, _)| at);
    let block = |at: usize| {
        let inside = || {
            (at + 1..).zip(uses.iter().skip(at + 1)).take_while(|(_, what)| **what != Use::Closes)
        };
        let (first, _) = inside().find(|(_, what)| **what == Use::Prose)?;
        if inside().any(|(_, what)| matches!(what, Use::Header | Use::Body)) {
            return None;
        }
        let above = lines.get(..at)?.iter().rposition(|line| !line.trim_ascii().is_empty());
        let above = above.filter(|above| {
            matches!(uses.get(*above), Some(Use::Prose | Use::Body)) && above + 2 >= at
        });
        let around = above.into_iter().chain([first]).map(line);
        let labels = around.chain([Fence::label(line(at))]).collect();
        Some(Block { at, labels })
    };
    starts.filter_map(block).collect()
}

/// Files that have sections in more than one fence.
pub(super) fn in_several<'p>(
    targets: &'p [Target<'_, '_>],
    uses: &[Use],
) -> BTreeSet<&'p RepoPath> {
    let opened = |before: &mut usize, what: &Use| {
        *before += usize::from(*what == Use::Opens);
        Some(*before)
    };
    let opened: Vec<usize> = uses.iter().scan(0, opened).collect();
    let block = |target: &Target<'_, '_>| opened.get(target.span.start).copied().unwrap_or(0);
    let mut first: BTreeMap<&RepoPath, usize> = BTreeMap::new();
    let mut several = BTreeSet::new();
    for target in targets {
        let block = block(target);
        if *first.entry(&target.path).or_insert(block) != block {
            several.insert(&target.path);
        }
    }
    several
}

/// A block of code that is given as the new content of a file which the diff does not touch.
pub(super) fn whole_file(
    lines: &[&[u8]],
    uses: &[Use],
    touched: &[&RepoPath],
    declared: Option<&BTreeSet<RepoPath>>,
) -> Option<PatchMismatch> {
    let is_meant = |path: &RepoPath, only: bool| {
        let looks_like_a_path = only && path.as_str().contains(['.', '/']);
        let declared = declared.map_or(looks_like_a_path, |declared| declared.contains(path));
        declared && !touched.contains(&path)
    };
    blocks(lines, uses).iter().find_map(|block| {
        let mut labels = block.labels.iter().flat_map(|label| {
            let paths = paths_in(label);
            let length = paths.iter().map(|path| path.as_str().len()).sum::<usize>();
            let only = paths.len() == 1 && label.trim_ascii().len() <= length + DECORATION;
            paths.into_iter().map(move |path| (path, only))
        });
        let (path, _) = labels.find(|(path, only)| is_meant(path, *only))?;
        Some(
            PatchMismatch::file(Reason::UnsupportedFormat, path.as_str()).note(format!(
                "Line {} opens a block with the whole file; a new file is `--- /dev/null`, `+++ b/{path}`, `@@ -0,0 +1,n @@` and its lines behind `+`.",
                block.at + 1
            )),
        )
    })
}

/// Whether the fence around a section is labelled with another file; or, if the section has no names, one of the two lines above.
pub(super) fn names_another(
    lines: &[&[u8]],
    target: &Target<'_, '_>,
    is_file: &dyn Fn(&RepoPath) -> bool,
) -> bool {
    let is_it = |name: &RepoPath| {
        let ends_in_it = |path: &RepoPath| path.as_str().ends_with(&format!("/{name}"));
        target.paths().any(|path| path == name || ends_in_it(path))
    };
    let is_other = |label: &[u8]| {
        let names = paths_in(label);
        names.iter().any(is_file) && !names.iter().any(is_it)
    };
    let above = lines.get(..target.span.start).unwrap_or_default().iter().rev();
    let mut above = above.filter(|line| !line.trim_ascii().is_empty()).peekable();
    let fence = above.next_if(|line| Fence::opening(line).is_some());
    let has_no_names = target.forgives.contains(&Tolerance::NoHeader);
    fence.is_some_and(|line| is_other(Fence::label(line)))
        || has_no_names && above.take(2).any(|line| is_other(line))
}

/// What may be the name of a file in a line of prose.
fn paths_in(label: &[u8]) -> Vec<RepoPath> {
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/".contains(byte) || !byte.is_ascii();
    let words = label.split(|byte| !is_part(byte)).map(<[u8]>::trim_ascii);
    let words = words.map(|word| {
        let word = word.strip_suffix(b".").unwrap_or(word);
        word.strip_prefix(b"./").unwrap_or(word)
    });
    words.filter_map(|word| RepoPath::from_bytes(word).ok()).collect()
}
