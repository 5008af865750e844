//! Turns placed hunks into edits of a file's lines and applies them. The bytes of context always come from the file.

use std::collections::HashMap;

use crate::diff::hunk_lines::{HunkLine, Kind, added_lines, old_lines};
use crate::diff::lines::{Eol, Line, Lines};
use crate::place::compare::{LOOK_ALIKES, Tier, ends_agree};
use crate::place::locate::Place;
use crate::place::old_whitespace;
use crate::refusal::reasons::Reason;

/// Replaces lines `start..end` of a file, counted from 0, with `insert`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit<'a> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) insert: Vec<Line<'a>>,
    /// The index of the hunk, from 0.
    pub(crate) hunk: usize,
    /// True if the newline at the end of the file stays as it is, since the hunk says nothing about it.
    pub(crate) keeps_end: bool,
}

/// Returns the edits of a placed hunk, or the reason why it must not be applied after all.
pub(crate) fn edits<'a>(
    file: &Lines<'_>,
    place: &Place<'_, 'a>,
    hunk: usize,
    blind_eol: bool,
) -> Result<Vec<Edit<'a>>, Reason> {
    let old = old_lines(place.reading);
    let ends = old.iter().zip(place.start + 1..);
    if ends.filter(|(line, _)| line.eol == Eol::None).any(|(_, end)| end != file.len()) {
        return Err(Reason::EofMarkerNotAtEof);
    }
    let matched: Vec<_> = old.into_iter().zip(file.from(place.start)).collect();
    old_whitespace::check(place.reading, &matched, place.tier)?;
    if place.tier >= Tier::Punctuation {
        check_punctuation(place.reading, &matched)?;
    }
    let mut pairs = matched.iter();
    let agrees = pairs.all(|(line, file)| ends_agree(line.eol, file.eol));
    let literal = !blind_eol && (place.tier == Tier::Exact || agrees);
    let keeps_end = keeps_end(place, file);
    let mut edits: Vec<Edit<'a>> = Vec::new();
    let mut next = place.start;
    let mut open = false;
    for line in place.reading {
        if line.kind == Kind::Context {
            open = false;
            next += 1;
            continue;
        }
        if !open {
            edits.push(Edit { start: next, end: next, insert: Vec::new(), hunk, keeps_end });
            open = true;
        }
        let Some(edit) = edits.last_mut() else { continue };
        if line.kind == Kind::Removed {
            next += 1;
            edit.end = next;
        } else {
            let eol = if literal || line.eol == Eol::None {
                line.eol
            } else {
                neighbour(file, next, line.eol)
            };
            edit.insert.push(Line { text: line.text, eol });
        }
    }
    // A line without a newline is the last of the file.
    let is_last = |edit: &Edit<'_>| {
        let marked = edit.insert.iter().position(|line| line.eol == Eol::None);
        marked.is_none_or(|at| at + 1 == edit.insert.len() && edit.end == file.len())
    };
    if edits.iter().all(is_last) { Ok(edits) } else { Err(Reason::EofMarkerNotAtEof) }
}

/// Returns how the lines around `at` end; lines before it take precedence.
fn neighbour(file: &Lines<'_>, at: usize, otherwise: Eol) -> Eol {
    let before = (0..at).rev().filter_map(|at| file.get(at));
    let ends = before.chain(file.from(at)).map(|line| line.eol);
    ends.into_iter().find(|eol| *eol != Eol::None).unwrap_or(otherwise)
}

/// Returns false if a hunk decides the end of the file: it has a no-newline marker, unless both sides have one and the file
/// does not.
fn keeps_end(place: &Place<'_, '_>, file: &Lines<'_>) -> bool {
    let mut marked = place.reading.iter().filter(|line| line.eol == Eol::None);
    match (marked.clone().any(HunkLine::is_old), marked.any(HunkLine::is_new)) {
        (false, false) => true,
        (old, new) => old && new && !file.is_open(),
    }
}

/// Checks that added lines do not bring the look-alikes that were tolerated in context into the file.
fn check_punctuation(
    reading: &[HunkLine<'_>],
    matched: &[(&HunkLine<'_>, Line<'_>)],
) -> Result<(), Reason> {
    let has = |text: &[u8], c: char| {
        memchr::memmem::find(text, c.encode_utf8(&mut [0; 4]).as_bytes()).is_some()
    };
    let is_tolerated = |c: char| {
        let mut pairs = matched.iter();
        pairs.any(|(line, file)| has(line.text, c) && !has(file.text, c))
    };
    let is_brought =
        |c: char| added_lines(reading).any(|line| has(line.text, c)) && is_tolerated(c);
    if LOOK_ALIKES.iter().flat_map(|(fancy, _)| fancy.chars()).any(is_brought) {
        Err(Reason::HunkNotFound)
    } else {
        Ok(())
    }
}

/// Sorts the edits, merges identical ones if `fold` is set, and returns them with the number of edits merged; or
/// returns two hunks, counted from 0, that are in conflict. Replaced lines may touch. An insertion directly next to a
/// change is a conflict, because it could belong before or after it.
pub(crate) fn combine(
    mut edits: Vec<Edit<'_>>,
    fold: bool,
) -> Result<(Vec<Edit<'_>>, usize), [usize; 2]> {
    edits.sort_by_key(|edit| (edit.start, edit.end, edit.hunk));
    let all = edits.len();
    edits.dedup_by(|b, a| {
        fold && (a.start, a.end, &a.insert) == (b.start, b.end, &b.insert) && a.hunk != b.hunk
    });
    let only_inserts = |edit: &Edit<'_>| edit.start == edit.end;
    for (a, b) in edits.iter().zip(edits.iter().skip(1)) {
        let meets = a.end == b.start && (only_inserts(a) || only_inserts(b));
        if a.hunk != b.hunk && (a.end > b.start || meets) {
            return Err([a.hunk, b.hunk]);
        }
    }
    let folded = all - edits.len();
    Ok((edits, folded))
}

/// Returns pairs of hunks, counted from 0, that make the same edit of the same lines.
pub(crate) fn twice(edits: &[Edit<'_>]) -> impl Iterator<Item = [usize; 2]> {
    let mut first: HashMap<(usize, usize, &[Line<'_>]), usize> =
        HashMap::with_capacity(edits.len());
    edits.iter().filter_map(move |edit| {
        let key = (edit.start, edit.end, edit.insert.as_slice());
        let before = *first.entry(key).or_insert(edit.hunk);
        (before != edit.hunk).then_some([before, edit.hunk])
    })
}

/// Applies `edits`, which have been combined, to the file.
pub(crate) fn apply(file: &Lines<'_>, edits: &[Edit<'_>]) -> Vec<u8> {
    let reaches_end = edits.last().filter(|edit| edit.end == file.len() && !file.is_empty());
    let keeps_end = reaches_end.is_some_and(|edit| edit.keeps_end);
    let end_of = |eol| {
        if keeps_end && eol == Eol::None { neighbour(file, file.len(), Eol::Lf) } else { eol }
    };

    let bytes = file.bytes();
    let inserted = edits.iter().flat_map(|edit| &edit.insert);
    let mut made =
        Vec::with_capacity(bytes.len() + inserted.map(|line| line.size()).sum::<usize>());
    let (mut next, mut last) = (0, Eol::None);
    for edit in edits {
        let kept = bytes.get(next..file.start_of(edit.start)).unwrap_or_default();
        made.extend_from_slice(kept);
        if !kept.is_empty() {
            let eol = Eol::of(kept);
            last = end_of(eol);
            made.extend_from_slice(if eol == Eol::None { last.as_bytes() } else { b"" });
        }
        for line in &edit.insert {
            last = end_of(line.eol);
            made.extend_from_slice(line.text);
            made.extend_from_slice(last.as_bytes());
        }
        next = file.start_of(edit.end);
    }
    made.extend_from_slice(bytes.get(next..).unwrap_or_default());
    if keeps_end && file.is_open() {
        made.truncate(made.len() - last.as_bytes().len());
    }
    made
}
