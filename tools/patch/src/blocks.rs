//! Code blocks of an answer: which are not part of its diff, and which files they may be about. Pure.

use std::collections::{BTreeMap, BTreeSet};

use tree::RepoPath;

use super::commands;
use super::fence::Fence;
use super::line_use::Use;
use super::refuse::{PatchMismatch, Reason};
use super::resolve::Target;
use super::tolerance::Tolerance;

/// The maximum number of other characters in a line that consists of a name: a language, quotes, a colon.
const DECORATION: usize = 9;

/// A code block that is not part of the diff, with the text that may name its file.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// The line of the answer, from 0, that opens the block.
    pub(super) at: usize,
    /// Its last line, from 0.
    pub(super) end: usize,
    /// The number, from 0, and the text of its first line.
    first: (usize, &'a [u8]),
    /// The line before the block, its first line, and the label of its fence.
    labels: Vec<&'a [u8]>,
}

/// Returns the code blocks that are not part of the diff.
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
        let end = inside().last().map_or(at, |(last, _)| last);
        let is_closed = uses.get(end + 1) == Some(&Use::Closes);
        Some(Block { at, end: end + usize::from(is_closed), first: (first, line(first)), labels })
    };
    starts.filter_map(block).collect()
}

/// Returns the files that are changed in more than one fence, or with prose in between.
pub(super) fn in_several<'p>(
    targets: &'p [Target<'_, '_>],
    uses: &[Use],
) -> BTreeSet<&'p RepoPath> {
    let parted = |before: &mut usize, what: &Use| {
        *before += usize::from(matches!(what, Use::Opens | Use::Prose));
        Some(*before)
    };
    let parted: Vec<usize> = uses.iter().scan(0, parted).collect();
    let block = |at: usize| parted.get(at).copied().unwrap_or(0);
    let mut first: BTreeMap<&RepoPath, usize> = BTreeMap::new();
    let mut several = BTreeSet::new();
    for target in targets {
        for hunk in target.hunks {
            let block = block(hunk.at.saturating_sub(1));
            if *first.entry(&target.path).or_insert(block) != block {
                several.insert(&target.path);
            }
        }
    }
    several
}

/// Finds a file with two changes between which a tag is closed: the first change may be a draft of the second.
pub(super) fn may_be_drafts<'p>(
    lines: &[&[u8]],
    uses: &[Use],
    targets: &'p [Target<'_, '_>],
) -> Option<&'p RepoPath> {
    let closes = |at: usize| {
        let line = lines.get(at).map(|line| line.trim_ascii_start()).unwrap_or_default();
        let marks: [&[u8]; 5] = [b"</", b"[/", "\u{25c1}/".as_bytes(), b"<|", b"-->"];
        // Channel marks that lost their brackets.
        let ends_a_channel = || memchr::memmem::find(line, b"assistantfinal").is_some();
        let is_mark = || marks.iter().any(|mark| line.starts_with(mark)) || ends_a_channel();
        uses.get(at) == Some(&Use::Prose) && is_mark()
    };
    let mut last: BTreeMap<&RepoPath, usize> = BTreeMap::new();
    let mut hunks =
        targets.iter().flat_map(|target| target.hunks.iter().map(|hunk| (&target.path, hunk.at)));
    let (path, _) = hunks.find(|(path, at)| {
        last.insert(path, *at).is_some_and(|before| (before..*at).any(closes))
    })?;
    Some(path)
}

/// Finds a code block with the new content of a file that the diff does not touch.
pub(super) fn whole_file(
    lines: &[&[u8]],
    uses: &[Use],
    touched: &[&RepoPath],
    declared: Option<&BTreeSet<RepoPath>>,
    exists: &dyn Fn(&RepoPath) -> bool,
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
        let exists = exists(&path);
        let note = commands::instead(block.first.1, &path, exists).map_or_else(
            || {
                let how = if exists {
                    format!(
                        "its changes as hunks: `--- a/{path}`, `+++ b/{path}`, `@@ -l,n +l,n @@`"
                    )
                } else {
                    commands::new_file(&path)
                };
                format!("Line {} opens a block with the whole file. Write {how}.", block.at + 1)
            },
            |said| format!("Line {} {said}", block.first.0 + 1),
        );
        Some(PatchMismatch::file(Reason::UnsupportedFormat, path.as_str()).note(note))
    })
}

/// Finds a declared file that the diff does not touch but a code block is about: the block names it, or follows the
/// name of a file that does not exist yet. Blocks with commands and their output only mention files.
pub(super) fn left_out(
    lines: &[&[u8]],
    uses: &[Use],
    touched: &[&RepoPath],
    declared: &BTreeSet<RepoPath>,
    exists: &dyn Fn(&RepoPath) -> bool,
) -> Option<PatchMismatch> {
    const COMMANDS: [&[u8]; 6] = [b"sh", b"bash", b"shell", b"zsh", b"console", b"shell-session"];
    const TEXT: [&[u8]; 3] = [b"text", b"txt", b"output"];
    let rest: Vec<&RepoPath> = declared.iter().filter(|path| !touched.contains(path)).collect();
    if rest.is_empty() {
        return None;
    }
    let names = |line: &[u8], path: &RepoPath| {
        let is_it = |name: &RepoPath| {
            let name = name.as_str();
            let bare = name.strip_prefix("a/").or(name.strip_prefix("b/")).unwrap_or(name);
            name == path.as_str() || bare == path.as_str()
        };
        paths_in(line).iter().any(is_it)
    };
    // The info string of the open fence, unless it is for commands; and the prose since the last change or block.
    let (mut inside, mut above): (Option<&[u8]>, Vec<&[u8]>) = (None, Vec::new());
    for (at, (line, what)) in lines.iter().zip(uses).enumerate() {
        let named = match what {
            Use::Opens => {
                inside = Some(Fence::info(line)).filter(|info| !COMMANDS.contains(info));
                None
            }
            Use::Closes | Use::Body | Use::Header => {
                above.clear();
                inside = inside.filter(|_| *what != Use::Closes);
                None
            }
            Use::Prose if inside.is_some() => {
                let is_due =
                    |path: &&&RepoPath| !exists(path) && above.iter().any(|it| names(it, path));
                let shows = |path: &&&RepoPath| {
                    !inside.is_some_and(|info| TEXT.contains(&info)) && names(line, path)
                };
                rest.iter().find(shows).or_else(|| rest.iter().find(is_due))
            }
            Use::Prose => {
                above.push(line);
                None
            }
            Use::Blank => None,
        };
        if let Some(path) = named {
            let mismatch = PatchMismatch::file(Reason::UnsupportedFormat, path.as_str());
            return Some(mismatch.note(format!(
                "Line {} is in a block that seems to be about this file, but the diff does not change it: add its hunks.",
                at + 1
            )));
        }
    }
    None
}

/// Returns true if the label of the fence around a section names another file; so do, for a section without names, the
/// two lines above; or the text between two of its hunks.
pub(super) fn names_another(
    lines: &[&[u8]],
    target: &Target<'_, '_>,
    is_known: &dyn Fn(&RepoPath) -> bool,
) -> bool {
    let is_it = |name: &RepoPath| {
        let ends_in_it = |path: &RepoPath| path.as_str().ends_with(&format!("/{name}"));
        // The name, possibly with dashes glued to it, may be below a directory that stands for a side of the diff.
        let is_side = |path: &RepoPath| {
            let name = name.as_str().trim_start_matches('-');
            name.strip_prefix("a/").or(name.strip_prefix("b/")) == Some(path.as_str())
        };
        target.paths().any(|path| path == name || ends_in_it(path) || is_side(path))
    };
    let is_other = |label: &[u8]| {
        let names = paths_in(label);
        // The name itself, or below a directory that stands for a side of the diff.
        let below = |name: &RepoPath| {
            let below = name.as_str().split_once('/').map(|(_, rest)| RepoPath::parse(rest));
            matches!(below, Some(Ok(path)) if is_known(&path))
        };
        names.iter().any(|name| is_known(name) || below(name)) && !names.iter().any(is_it)
    };
    let above = lines.get(..target.span.start).unwrap_or_default().iter().rev();
    let mut above = above.filter(|line| !line.trim_ascii().is_empty()).peekable();
    let fence = above.next_if(|line| Fence::opening(line).is_some());
    let has_no_names = target.tolerates.contains(&Tolerance::NoHeader);
    let heads = |line: &[u8]| {
        let is_name = |name: &RepoPath| name.as_str().contains(['/', '.']);
        let length = |names: &[RepoPath]| names.iter().map(|it| it.as_str().len()).sum::<usize>();
        let names = paths_in(line);
        names.iter().any(is_name) || line.trim_ascii().len() <= length(&names) + DECORATION
    };
    // A line directly above a fence that consists of a name is its heading.
    let is_headed = fence.is_some()
        && above.peek().is_some_and(|line| {
            let names = paths_in(line);
            let length = names.first().map_or(0, |name| name.as_str().len());
            is_other(line) && names.len() == 1 && line.trim_ascii().len() <= length + DECORATION
        });
    fence.is_some_and(|line| is_other(Fence::label(line)))
        || is_headed
        || has_no_names && above.take(2).any(|line| is_other(line))
        || between_hunks(lines, target).any(|line| is_other(line) && heads(line))
}

/// Yields the lines between the hunks of a section.
fn between_hunks<'l>(
    lines: &'l [&[u8]],
    target: &'l Target<'_, '_>,
) -> impl Iterator<Item = &'l [u8]> {
    let ends = target.hunks.iter().map(|hunk| {
        let shortest = hunk.readings.last().and_then(|reading| reading.body.last());
        shortest.map_or(hunk.at, |line| line.at)
    });
    let next = target.hunks.iter().skip(1).map(|hunk| hunk.at.saturating_sub(1));
    ends.zip(next).flat_map(|(end, next)| lines.get(end..next).unwrap_or_default()).copied()
}

/// Returns what may be file names in a line of prose.
pub(super) fn paths_in(label: &[u8]) -> Vec<RepoPath> {
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/".contains(byte) || !byte.is_ascii();
    let words = label.split(|byte| !is_part(byte)).map(<[u8]>::trim_ascii);
    let words = words.map(|word| {
        let word = word.strip_suffix(b".").unwrap_or(word);
        word.strip_prefix(b"./").unwrap_or(word)
    });
    words.filter_map(|word| RepoPath::from_bytes(word).ok()).collect()
}
