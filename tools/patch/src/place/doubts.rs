//! Decides whether a hunk can be meant for the place that it matches. Pure.

use std::collections::HashSet;

use crate::diff::hunk_lines::{self, CONTEXT, HunkLine, Kind, MISCOUNTED};
use crate::diff::sections::Hunk;
use crate::place::locate::{Image, Place};
use crate::place::witnesses;
use crate::refusal::nearest_place;
use crate::refusal::reasons::{PatchMismatch, Reason};

/// Explains why a hunk must not be applied at `place`. `may_be_whole` is true if nothing says that the rest of the file
/// stays.
pub(crate) fn about(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    place: &Place<'_, '_>,
    may_be_whole: bool,
) -> Option<PatchMismatch> {
    let refuse =
        |reason, places: &[usize]| Some(nearest_place::explain(image, hunk, reason, places));
    if drops_code(image, hunk, place) || adds_its_neighbours(image, place) {
        refuse(Reason::StrayLine, &[place.start])
    } else if is_cut_off(image, hunk, place) {
        refuse(Reason::TruncatedDiff, &[])
    } else if may_be_whole && holds_most(image, place) {
        refuse(Reason::AmbiguousHunk, &[])
    } else if place.has_moved()
        && let Some(at) = witnesses::under_another_heading(image, hunk, place.start)
    {
        Some(PatchMismatch::answer(Reason::AmbiguousHunk).note(format!(
            "Its old lines are at line {}, but the heading in its header is line {}, and they are not in that part of the file.",
            place.start + 1,
            at + 1
        )))
    } else {
        witnesses::against_heading(image, hunk, place)
    }
}

/// Returns true if a line taken for prose after a hunk occurs in the file right below the hunk: then it is code that
/// lost its marker.
fn drops_code(image: &Image<'_>, hunk: &Hunk<'_>, place: &Place<'_, '_>) -> bool {
    let end = place.reading.last().map_or(0, |line| line.at);
    let dropped = || hunk.longest().iter().filter(|line| line.at > end);
    let below = || image.lines.from(place.end()).take(dropped().count());
    let is_below =
        |dropped: &HunkLine<'_>| below().any(|it| it.text.trim_ascii() == dropped.raw.trim_ascii());
    dropped().any(|line| !line.raw.trim_ascii().is_empty() && is_below(line))
}

/// Returns true if the first or last line of a hunk, an added one, is the adjacent line of the file including its `+`:
/// then it is context from a list that lost its marker.
fn adds_its_neighbours(image: &Image<'_>, place: &Place<'_, '_>) -> bool {
    let is_at = |line: Option<&HunkLine<'_>>, at: Option<usize>| {
        let line = line.filter(|line| line.kind == Kind::Added && line.text.starts_with(b" "));
        let file = at.and_then(|at| image.lines.get(at));
        line.zip(file).is_some_and(|(line, file)| line.raw == file.text)
    };
    is_at(place.reading.first(), place.start.checked_sub(1))
        || is_at(place.reading.last(), Some(place.end()))
}

/// Returns true if a hunk at its stated line ends in a change, although the file continues, and lacks lines that its
/// header announces: on both sides, or several old ones after context. If it ends in context, it lacks several on both
/// sides, and does not have as many lines of context below its changes as above, or the usual number, as complete hunks do.
fn is_cut_off(image: &Image<'_>, hunk: &Hunk<'_>, place: &Place<'_, '_>) -> bool {
    let is_inside = place.end() < image.lines.len() && !place.has_moved();
    let Some(numbers) = hunk.numbers.filter(|_| is_inside) else { return false };
    let (old, new) = hunk_lines::counts(place.reading);
    let lacks_old = numbers.old_count.saturating_sub(old);
    let lacks_new = numbers.new_count.saturating_sub(new);
    match hunk_lines::context(place.reading) {
        (_, 0) if lacks_old > 0 && lacks_new > 0 => true,
        (0, _) => false,
        (_, 0) => lacks_old > MISCOUNTED && new <= numbers.new_count,
        (above, below) => {
            lacks_old.min(lacks_new) > MISCOUNTED && below != above && below != CONTEXT
        }
    }
}

/// Returns true if a hunk only adds lines, which include most lines of the file: they may be the complete new file.
fn holds_most(image: &Image<'_>, place: &Place<'_, '_>) -> bool {
    let added: HashSet<&[u8]> =
        place.reading.iter().map(|line| line.text.trim_ascii_end()).collect();
    let texts = image.lines.from(0).map(|line| line.text.trim_ascii_end());
    let (held, rest): (Vec<&[u8]>, Vec<&[u8]>) =
        texts.filter(|text| !text.is_empty()).partition(|text| added.contains(text));
    let only_adds = place.reading.iter().all(|line| line.kind == Kind::Added);
    only_adds && held.len() > rest.len()
}
