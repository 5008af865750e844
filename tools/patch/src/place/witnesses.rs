//! Witnesses of the place of a hunk other than its stated line: the heading in its header, and the hunks around it. If
//! one of them contradicts the stated line, and the hunk also matches where that witness points, its place is unknown.

use std::collections::HashSet;

use crate::diff::headers;
use crate::diff::hunk_lines::{self, CONTEXT, Kind};
use crate::diff::lines::{lossy_text, pieces};
use crate::diff::sections::Hunk;
use crate::place::compare::{self, Tier};
use crate::place::locate::{Image, NEAR, Place};
use crate::plan::tolerance::Tolerance;
use crate::refusal::difference;
use crate::refusal::nearest_place;
use crate::refusal::reasons::{PatchMismatch, Reason};

/// The maximum number of lines like a heading; more of them identify no part of the file.
const MAX_ALIKE: usize = 20;
/// The maximum number of lines between two hunks that are searched for another one.
const MAX_BETWEEN: usize = 2000;
/// The maximum number of lines of a part of a file that are examined.
const MAX_PART: usize = 300;
/// The maximum number of old lines that may have changed where the header of a hunk says.
const MAX_CHANGED: usize = 2;
/// The number of bytes above a place that are searched first for the heading.
const REACH: usize = 8 << 10;

/// The place of a hunk whose header states a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// The index of the hunk, from 0.
    pub(crate) hunk: usize,
    /// The stated line of the file, from 0.
    pub(crate) stated: usize,
    /// The line of the file, from 0.
    pub(crate) start: usize,
    pub(crate) tier: Tier,
    /// True if the stated line had no part in finding this place, which is the only one that matches.
    pub(crate) has_moved: bool,
}

impl Found {
    /// Describes the place of a hunk; `None` if its header states no line.
    pub(crate) fn of(index: usize, hunk: &Hunk<'_>, place: &Place<'_, '_>) -> Option<Found> {
        Some(Found {
            hunk: index,
            stated: hunk.numbers?.old.saturating_sub(1),
            start: place.start,
            tier: place.tier,
            has_moved: place.tolerates.contains(&Tolerance::Position),
        })
    }
}

/// Checks a hunk that is at its stated line against the heading in its header: the line may be in another part of the
/// file, while the hunk also matches below that heading.
pub(crate) fn against_heading(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    place: &Place<'_, '_>,
) -> Option<PatchMismatch> {
    let heading = headers::heading(hunk.header)?;
    let stated = hunk.numbers?.old.saturating_sub(1);
    if stated.abs_diff(place.start) > NEAR {
        return None;
    }
    let bytes = image.lines.bytes();
    let start = image.lines.start_of(place.start);
    // A hunk whose leading context was left out keeps the heading of that context.
    let begins_in_context = place.reading.first().is_some_and(|line| line.kind == Kind::Context);
    let left_out = if begins_in_context { 0 } else { CONTEXT };
    let context = image.lines.start_of(place.start.saturating_sub(left_out));
    let is_heading = |at: &usize| begins_a_line(bytes, *at);
    // Usually, the heading is a few lines above, and nothing else has to be searched.
    let reach = start.saturating_sub(REACH);
    // Searching forwards is much faster than backwards.
    let above = memchr::memmem::find_iter(bytes.get(reach..start)?, heading);
    let nearest = above.map(|at| reach + at).filter(is_heading).last();
    if nearest.is_some_and(|at| is_below(bytes, at, start)) {
        return None;
    }
    let alike = memchr::memmem::find_iter(bytes, heading).filter(is_heading);
    let headings: Vec<usize> = alike.take(MAX_ALIKE + 1).collect();
    let old = hunk_lines::old_lines(place.reading);
    let own = start..image.lines.start_of(place.end());
    let is_consistent = |at: &usize| {
        own.contains(at) || is_below(bytes, *at, start) || is_below(bytes, *at, context)
    };
    if headings.len() > MAX_ALIKE || headings.iter().any(is_consistent) {
        return None;
    }
    let fits = |line: &usize| *line != place.start && image.fits(&old, *line, place.tier);
    let mut parts = headings.iter().flat_map(|at| part_below(image, *at));
    let other = parts.find(fits)?;
    let note = format!(
        "Its old lines are at line {}, as its header states, but also at line {}, below `{}`, the heading in its header.",
        place.start + 1,
        other + 1,
        difference::cut(&lossy_text(heading), 1)
    );
    Some(ambiguous(image, hunk, [place.start, other]).note(note))
}

/// Refuses a hunk that may mean either of two places, from 0.
fn ambiguous(image: &Image<'_>, hunk: &Hunk<'_>, places: [usize; 2]) -> PatchMismatch {
    nearest_place::explain(image, hunk, Reason::AmbiguousHunk, &places)
}

/// Returns the line, from 0, of the heading in the header of a hunk that is not at its stated line, if `start` is not in
/// the part of the file below that heading although most of the old lines also occur there: the hunk may mean those, with
/// a few lines changed.
pub(crate) fn under_another_heading(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    start: usize,
) -> Option<usize> {
    let heading = headers::heading(hunk.header)?;
    let stated = hunk.numbers.map(|numbers| numbers.old.saturating_sub(1));
    if stated.is_some_and(|stated| stated.abs_diff(start) <= NEAR) {
        return None;
    }
    let is_it =
        |at: &usize| image.lines.get(*at).is_some_and(|line| line.text.trim_ascii() == heading);
    let mut named = image.like(heading).filter(is_it);
    let at = named.next().filter(|_| named.next().is_none())?;
    let old = hunk_lines::old_lines(hunk.shortest());
    if (start..start + old.len()).contains(&at) {
        return None;
    }
    let below = |at| image.lines.from(at).take(MAX_PART).map(|line| line.text);
    let named = below(at).next()?;
    let part =
        || below(at + 1).take_while(|line| compare::beginning(line) != compare::beginning(named));
    let is_within = start > at && part().count() >= (start - at).min(MAX_PART);
    let part: HashSet<&[u8]> = part().map(<[u8]>::trim_ascii).collect();
    let words = old.iter().map(|line| line.text.trim_ascii());
    let words = words.filter(|text| text.iter().any(u8::is_ascii_alphanumeric));
    let (there, gone): (Vec<&[u8]>, Vec<&[u8]>) = words.partition(|text| part.contains(text));
    let is_there = !there.is_empty() && there.len() >= gone.len() && gone.len() <= MAX_CHANGED;
    (!is_within && is_there).then_some(at)
}

/// Returns true if only white space is before `at` in its line.
fn begins_a_line(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    let line = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    before.get(line..).is_some_and(|before| before.trim_ascii().is_empty())
}

/// Returns true if the line that begins at `start` is in the part of the file below the heading at `heading`: there is
/// no other heading between them. Both are offsets.
fn is_below(bytes: &[u8], heading: usize, start: usize) -> bool {
    let line = memchr::memrchr(b'\n', bytes.get(..heading).unwrap_or_default());
    let between = bytes.get(line.map_or(0, |newline| newline + 1)..start).unwrap_or_default();
    let mut lines = pieces(between).take(MAX_PART);
    let named = lines.next().unwrap_or_default();
    heading < start && !lines.any(|line| is_of_same_kind(named, line))
}

/// Yields the lines, from 0, of the part of the file below the heading at the offset `heading`.
fn part_below(image: &Image<'_>, heading: usize) -> impl Iterator<Item = usize> {
    let above = image.lines.bytes().get(..heading).unwrap_or_default();
    let at = memchr::memchr_iter(b'\n', above).count();
    let mut lines = image.lines.from(at).take(MAX_PART);
    let named = lines.next().map(|line| line.text).unwrap_or_default();
    let part = lines.take_while(move |line| !is_of_same_kind(named, line.text));
    (at + 1..).zip(part).map(|(line, _)| line)
}

/// Returns true if a line is a heading like `heading`: both begin alike, or open a block at the same indentation.
fn is_of_same_kind(heading: &[u8], line: &[u8]) -> bool {
    let opens =
        |line: &[u8]| line.trim_ascii_end().last().copied().filter(|byte| b"{:".contains(byte));
    let begins = |line: &[u8]| line.trim_ascii_start().first().is_some_and(u8::is_ascii_alphabetic);
    compare::beginning(line) == compare::beginning(heading)
        || begins(line)
            && compare::indentation(line) == compare::indentation(heading)
            && opens(line).is_some_and(|end| opens(heading) == Some(end))
}

/// Checks the hunks that are at their stated lines against those that are not, which show that the stated lines of this
/// file may be wrong. Returns the hunks, from 0, that also match where the others point.
///
/// A hunk that has moved points at a place as far from the stated line; at one in the order of the answer, if the stated
/// line is not; and at any other place, if it states the same line.
pub(crate) fn against_neighbours(
    image: &Image<'_>,
    hunks: &[&Hunk<'_>],
    found: &[Found],
) -> Vec<(usize, PatchMismatch)> {
    if found.iter().all(|it| !it.has_moved) {
        return Vec::new();
    }
    let check = |(index, it): (usize, &Found)| {
        let before = found.get(..index)?.last();
        let after = found.get(index + 1..)?.first();
        let hunk = hunks.get(it.hunk)?;
        let (place, witness) = elsewhere(image, hunk, it, [before, after], found)?;
        let note = format!(
            "Its old lines are at line {}, as its header states, but also at line {}; hunk {} is at line {}, not at line {} as its header states.",
            it.start + 1,
            place + 1,
            witness.hunk + 1,
            witness.start + 1,
            witness.stated + 1
        );
        Some((it.hunk, ambiguous(image, hunk, [it.start, place]).note(note)))
    };
    found.iter().enumerate().filter(|(_, it)| !it.has_moved).filter_map(check).collect()
}

/// Finds the hunks without old lines, from 0, whose place only their numbers say, although another hunk of the file is not
/// at its stated line: then those numbers may be wrong as well. The top of the file is known without a number.
pub(crate) fn against_numbers(
    hunks: &[&Hunk<'_>],
    found: &[Found],
) -> Option<(Vec<usize>, String)> {
    let has_old = |it: &&Found| hunks.get(it.hunk).is_some_and(|hunk| hunk.has_old());
    let moved = found.iter().filter(|it| it.start != it.stated).find(has_old)?;
    let is_at_top = |it: &&Found| it.start == 0;
    let anchorless = found.iter().filter(|it| !has_old(it) && !is_at_top(it)).map(|it| it.hunk);
    let note = format!(
        "Only its line number says where it belongs, but hunk {} is at line {}, not at line {} as its header states: add a line of context.",
        moved.hunk + 1,
        moved.start + 1,
        moved.stated + 1
    );
    Some((anchorless.collect(), note))
}

/// Returns another place of a hunk, and the hunk that points there.
fn elsewhere<'f>(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    it: &Found,
    [before, after]: [Option<&'f Found>; 2],
    found: &'f [Found],
) -> Option<(usize, &'f Found)> {
    let mut patterns = hunk.bodies().map(hunk_lines::old_lines);
    let old = patterns.find(|old| !old.is_empty() && image.fits(old, it.start, it.tier))?;
    let has_moved = |it: &&Found| it.has_moved;
    let by_offset = |witness: &'f Found| {
        let place = it.stated.checked_add(witness.start)?.checked_sub(witness.stated)?;
        let place = Some(place).filter(|place| *place != it.start)?;
        image.fits(&old, place, it.tier).then_some((place, witness))
    };
    let by_order = || {
        let not_before = before.filter(|before| before.start > it.start);
        let not_after = after.filter(|after| after.start < it.start);
        let witness = not_before.into_iter().chain(not_after).find(has_moved)?;
        let first = before.map_or(0, |before| before.start + 1);
        let end = after.map_or(image.lines.len(), |after| after.start);
        let mut between = (first..end).take(MAX_BETWEEN);
        Some((between.find(|place| image.fits(&old, *place, it.tier))?, witness))
    };
    let by_number = || {
        let witness = found.iter().filter(has_moved).find(|other| other.stated == it.stated)?;
        let mut places = image.places(&old, it.tier).into_iter();
        Some((places.find(|place| *place != it.start)?, witness))
    };
    let mut neighbours = before.into_iter().chain(after).filter(has_moved);
    neighbours.find_map(by_offset).or_else(by_order).or_else(by_number)
}
