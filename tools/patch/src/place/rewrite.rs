//! Places the hunks of one file and computes its new bytes. Neither paths nor other files are known here.

use std::collections::HashSet;

use crate::added::{self, Damage, FileHabits};
use crate::diff::headers;
use crate::diff::hunk_lines::{self, HunkLine, Kind, new_lines};
use crate::diff::lines::{Eol, Lines};
use crate::diff::sections::{Hunk, Reading};
use crate::place::already_applied;
use crate::place::copied_numbers;
use crate::place::edits::{self, Edit};
use crate::place::left_behind::left_behind;
use crate::place::locate::{
    Image, NEAR, Place, Search, exactly_at_its_line, is_left_behind, locate, locate_once,
    under_another_heading,
};
use crate::place::witnesses::{self, Contradiction, Found};
use crate::plan::tolerance::{Tolerance, Tolerances};
use crate::refusal::nearest_place;
use crate::refusal::reasons::{PatchMismatch, Reason};

/// The new bytes of a file, and the tolerances used.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tolerated: Vec<Tolerated>,
    /// Hunks that seem to be applied already elsewhere than stated, as they would be refused otherwise.
    pub(crate) done: Vec<PatchMismatch>,
}

/// A tolerance that was used: the hunk and the line at which it was placed, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tolerated {
    pub(crate) tolerance: Tolerance,
    pub(crate) hunk: Option<usize>,
    pub(crate) line: Option<usize>,
    /// The first and the last line of the answer that were left out, from 1.
    pub(crate) left: Option<[usize; 2]>,
}

impl Tolerated {
    /// Returns the hunk, from 0, and its line, from 1, if it is not at its stated line.
    fn moved(&self) -> Option<(usize, usize)> {
        let is_move = matches!(self.tolerance, Tolerance::Position | Tolerance::Near);
        Some((self.hunk.filter(|_| is_move)?.checked_sub(1)?, self.line?))
    }

    /// Creates a record of a tolerance that concerns the file as a whole.
    pub(crate) fn in_file(tolerance: Tolerance) -> Tolerated {
        Tolerated { tolerance, hunk: None, line: None, left: None }
    }
}

/// The maximum number of hunks placed on the result of others: each one recomputes the file.
const MAX_FOLLOWING: usize = 50;

/// The state of placing hunks in a file.
#[derive(Debug, Default)]
struct Placed<'a> {
    edits: Vec<Edit<'a>>,
    tolerated: Vec<Tolerated>,
    /// The places of hunks whose headers state a line.
    found: Vec<Found>,
    /// The hunks, from 0, that have no place, and why.
    refused: Vec<(usize, PatchMismatch)>,
}

/// The problem with a hunk, and a note on it.
type Wrong = (Reason, Option<String>);

/// How hunks are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    pub(crate) allowed: Tolerances,
    /// True if the line ends of the answer carry no information.
    pub(crate) blind_eol: bool,
}

impl Reader {
    /// Applies `hunks` to `base`. The name is used in messages, and for its extension.
    pub(crate) fn rewrite(
        self,
        base: &[u8],
        hunks: &[&Hunk<'_>],
        name: &str,
    ) -> Result<Rewritten, Vec<PatchMismatch>> {
        // A byte order mark is never shown to models: it stays, unless the diff mentions it.
        if let Some(text) = base.strip_prefix(MARK)
            && !hunks.iter().flat_map(|hunk| &hunk.readings).any(has_mark)
        {
            let mut made = self.rewrite(text, hunks, name)?;
            if !made.bytes.is_empty() {
                made.bytes.splice(..0, MARK.iter().copied());
            }
            return Ok(made);
        }
        let image = Image::of(base);
        let habits = FileHabits::of(base, name);
        let Placed { edits, mut tolerated, found, mut refused } =
            self.place(&image, &habits, hunks, name);
        refused.extend(against_neighbours(&image, hunks, &found, name));
        refused.sort_by_key(|(index, _)| *index);
        if hunks.len() > 1
            && let Some([a, b]) = edits::twice(&edits).find(|[a, b]| are_apart(hunks, *a, *b))
        {
            let hunk = hunks.get(b).map(|hunk| hunk.reference(b, hunks.len()));
            let mismatch = PatchMismatch::file(Reason::AmbiguousHunk, name);
            let note = format!(
                "It makes the same change as hunk {}, whose header states another place, but it matches only there.",
                a + 1
            );
            return Err(vec![PatchMismatch { hunk, ..mismatch }.note(note)]);
        }
        let (edits, folded) = self.combine(edits).map_err(|[a, b]| {
            let mismatch = PatchMismatch::file(Reason::ConflictingHunks, name);
            let hunk = hunks.get(b).map(|hunk| hunk.reference(b, hunks.len()));
            vec![
                PatchMismatch { hunk, ..mismatch }
                    .note(format!("It conflicts with hunk {}.", a + 1)),
            ]
        })?;
        tolerated.extend(folded);
        if let Some(mismatch) = marked_throughout(&habits, hunks, name) {
            return Err(vec![mismatch]);
        }
        let bytes = edits::apply(&image.lines, &edits);
        if base.starts_with(MARK) && has_mark_inside(&bytes) {
            let mismatch = PatchMismatch::file(Reason::DamagedLine, name);
            return Err(vec![mismatch.note("The file begins with a byte order mark, which would no longer be at its start. Write the first line without it.")]);
        }
        let moved: Vec<(usize, usize)> = tolerated.iter().filter_map(Tolerated::moved).collect();
        let left_behind = left_behind(&bytes, hunks, &moved, &edits, name);
        if !left_behind.is_empty() {
            return Err(left_behind);
        }
        let mut done = Vec::new();
        if refused.is_empty() {
            return Ok(Rewritten { bytes, tolerated, done });
        }
        let made = Image::of(&bytes);
        refused.retain(|(index, mismatch)| {
            let line = self.done_elsewhere([&image, &made], hunks.get(*index), mismatch.reason);
            let Some(line) = line else { return true };
            let (hunk, tolerance) = (Some(index + 1), Tolerance::AlreadyApplied);
            let line = Some(line + 1);
            tolerated.push(Tolerated { hunk, line, ..Tolerated::in_file(tolerance) });
            done.push(mismatch.clone());
            false
        });
        if refused.is_empty() {
            return Ok(Rewritten { bytes, tolerated, done });
        }
        let first = edits.iter().map(|edit| edit.hunk).min();
        let Some((bytes, more)) =
            first.and_then(|first| self.follow_up(&bytes, hunks, first, &refused, name))
        else {
            return Err(refused.into_iter().map(|(_, mismatch)| mismatch).collect());
        };
        tolerated.extend(more);
        Ok(Rewritten { bytes, tolerated, done })
    }

    /// Returns the line, from 0, where a hunk without a place is already applied, both before and after all other
    /// hunks.
    fn done_elsewhere(
        self,
        [before, after]: [&Image<'_>; 2],
        hunk: Option<&&Hunk<'_>>,
        reason: Reason,
    ) -> Option<usize> {
        let hunk = hunk.filter(|_| reason == Reason::HunkNotFound)?;
        already_applied::elsewhere(after, hunk, self.allowed)?;
        let line = already_applied::elsewhere(before, hunk, self.allowed)?;
        under_another_heading(before, hunk, line).is_none().then_some(line)
    }

    /// Sorts the edits and merges repeated ones; or returns two hunks that are in conflict.
    fn combine(
        self,
        edits: Vec<Edit<'_>>,
    ) -> Result<(Vec<Edit<'_>>, Option<Tolerated>), [usize; 2]> {
        let (edits, folded) = edits::combine(edits, self.allowed.allow(Tolerance::Duplicate))?;
        let tolerated = Tolerated::in_file(Tolerance::Duplicate);
        Ok((edits, (folded > 0).then_some(tolerated)))
    }

    /// Places every hunk on the file in its current state.
    fn place<'a>(
        self,
        image: &Image<'_>,
        habits: &FileHabits<'_>,
        hunks: &[&Hunk<'a>],
        name: &str,
    ) -> Placed<'a> {
        let mut placed = Placed::default();
        let mut shift = 0;
        let changes = |hunk: &Hunk<'_>| {
            hunk.readings.iter().any(|reading| hunk_lines::has_change(&reading.body))
        };
        let may_show =
            self.allowed.allow(Tolerance::Unchanged) && hunks.iter().any(|hunk| changes(hunk));
        // A hunk further down shows that the rest of the file stays.
        let is_at_top = |hunk: &&Hunk<'_>| hunk.numbers.is_some_and(|numbers| numbers.old == 0);
        let may_be_whole = !image.lines.is_empty() && hunks.iter().all(is_at_top);
        let at_their_lines =
            hunks.iter().map(|hunk| exactly_at_its_line(image, hunk, self.allowed));
        let taken: Vec<usize> = at_their_lines.flatten().collect();
        for (index, hunk) in hunks.iter().enumerate() {
            let mut refuse_as = |mismatch: PatchMismatch| {
                let (file, hunk) =
                    (Some(name.to_owned()), Some(hunk.reference(index, hunks.len())));
                placed.refused.push((index, PatchMismatch { file, hunk, ..mismatch }));
            };
            let mut refuse = |reason, candidates: &[usize]| {
                refuse_as(nearest_place::explain(image, hunk, reason, candidates));
            };
            let mut tolerate = |tolerance, line: usize| {
                placed.tolerated.push(Tolerated {
                    tolerance,
                    hunk: Some(index + 1),
                    line: Some(line + 1),
                    left: left_out(tolerance, hunk),
                });
            };
            if let Some(line) = already_applied::only_shows(image, hunk).filter(|_| may_show) {
                tolerate(Tolerance::Unchanged, line);
                continue;
            }
            // A hunk with `-0,0` after hunks further down may belong to another, new file.
            let begins =
                |hunk: &Hunk<'_>| hunk.numbers.map(|numbers| (numbers.old, numbers.old_count));
            let earlier = hunks.get(..index).unwrap_or_default();
            if begins(hunk) == Some((0, 0)) && earlier.iter().any(|it| begins(it) > Some((0, 0))) {
                refuse(Reason::NoAnchor, &[]);
                continue;
            }
            let mut search = locate(image, hunk, shift, &taken, self.allowed);
            let bare = matches!(search, Search::Nowhere(..) | Search::Already(_))
                .then(|| copied_numbers::without_numbers(image, hunk, shift))
                .flatten()
                .filter(|_| self.allowed.allow(Tolerance::Numbered));
            if let Some(bare) = &bare {
                search = locate(image, bare, shift, &taken, self.allowed);
            }
            match search {
                Search::Found(place) if drops_code(image, hunk, &place) => {
                    refuse(Reason::StrayLine, &[place.start]);
                }
                Search::Found(place) if is_cut_off(image, hunk, &place) => {
                    refuse(Reason::TruncatedDiff, &[]);
                }
                Search::Found(place) if adds_its_neighbours(image, &place) => {
                    refuse(Reason::StrayLine, &[place.start]);
                }
                Search::Found(place)
                    if let Some(mismatch) = against_heading(image, hunk, &place) =>
                {
                    refuse_as(mismatch);
                }
                Search::Found(place) if may_be_whole && holds_most(image, &place) => {
                    refuse(Reason::AmbiguousHunk, &[]);
                }
                Search::Found(place) => {
                    placed.found.extend(Found::of(index, hunk, &place));
                    match edits::edits(&image.lines, &place, index, self.blind_eol) {
                        Ok(edits) => {
                            if let Some(Damage { reason, note }) =
                                added::found(habits, place.reading)
                            {
                                refuse_as(PatchMismatch::answer(reason).note(note));
                            } else {
                                placed.edits.extend(edits);
                            }
                        }
                        Err(reason) => refuse(reason, &[place.start]),
                    }
                    let numbered = bare.as_ref().map(|_| &Tolerance::Numbered);
                    let tolerated = place.tolerates.iter().chain(numbered);
                    tolerated.for_each(|tolerance| tolerate(*tolerance, place.start));
                    shift += growth(place.reading);
                }
                Search::Already(line) => tolerate(Tolerance::AlreadyApplied, line),
                Search::Nowhere(reason, candidates) => refuse(reason, &candidates),
            }
        }
        placed
    }

    /// Places the hunks that were not found on the result of the others, one after the other: only exact and unique
    /// matches, and only if the stated line does not match afterwards as well.
    fn follow_up(
        self,
        bytes: &[u8],
        hunks: &[&Hunk<'_>],
        first: usize,
        refused: &[(usize, PatchMismatch)],
        name: &str,
    ) -> Option<(Vec<u8>, Vec<Tolerated>)> {
        let is_next = |(index, mismatch): &(usize, PatchMismatch)| {
            mismatch.reason == Reason::HunkNotFound && *index >= first
        };
        if !self.allowed.allow(Tolerance::Sequential)
            || refused.len() > MAX_FOLLOWING
            || !refused.iter().all(is_next)
        {
            return None;
        }
        let (mut bytes, mut tolerated) = (bytes.to_vec(), Vec::new());
        for (index, _) in refused {
            let image = Image::of(&bytes);
            let hunk = hunks.get(*index)?;
            let place = locate_once(&image, hunk, self.allowed)?;
            let found = edits::edits(&image.lines, &place, *index, self.blind_eol).ok()?;
            if added::found(&FileHabits::of(&bytes, name), place.reading).is_some() {
                return None;
            }
            let sequential = Tolerated::in_file(Tolerance::Sequential);
            let (number, line) = (Some(index + 1), Some(place.start + 1));
            tolerated.push(Tolerated { hunk: number, line, ..sequential });
            let made = edits::apply(&image.lines, &found);
            let own = place.start..place.start + new_lines(place.reading);
            if is_left_behind(&Image::of(&made), hunk, own) {
                return None;
            }
            bytes = made;
        }
        Some((bytes, tolerated))
    }

    /// Creates a file from `hunks`.
    pub(crate) fn create(
        self,
        hunks: &[&Hunk<'_>],
        name: &str,
    ) -> Result<Rewritten, Vec<PatchMismatch>> {
        let mut made = Rewritten::default();
        for (index, hunk) in hunks.iter().enumerate() {
            let refuse = |(reason, note)| {
                let mismatch = PatchMismatch::file(reason, name);
                let hunk = Some(hunk.reference(index, hunks.len()));
                vec![PatchMismatch { hunk, note, ..mismatch }]
            };
            let follows = |lines: usize| {
                hunk.numbers.is_some_and(|numbers| numbers.old == 0 && numbers.new == lines + 1)
            };
            let lines = Lines::of(&made.bytes);
            if index > 0 && (!follows(lines.len()) || lines.is_open()) {
                let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, name);
                return Err(vec![mismatch.note("Write a new file as one hunk.")]);
            }
            let (bytes, tolerated) = self.created(hunk, name).map_err(refuse)?;
            let tolerated = tolerated.map(|tolerance| Tolerated {
                hunk: Some(index + 1),
                left: left_out(tolerance, hunk),
                ..Tolerated::in_file(tolerance)
            });
            made.bytes.extend(bytes);
            made.tolerated.extend(tolerated);
        }
        Ok(made)
    }

    /// Returns the content of a hunk of a new file, and the tolerance used.
    fn created(self, hunk: &Hunk<'_>, name: &str) -> Result<(Vec<u8>, Option<Tolerance>), Wrong> {
        let all_added = |body: &[HunkLine<'_>]| {
            !body.is_empty() && body.iter().all(|line| line.kind == Kind::Added)
        };
        let usable = |tolerates: Option<Tolerance>| {
            tolerates.is_none_or(|needed| self.allowed.allow(needed))
        };
        let whole = hunk.readings.first().map_or(&[][..], |reading| &reading.body);
        // Text after a blank line may be code that lost its markers, unless the header excludes it by its counts.
        let is_whole = |body: &[HunkLine<'_>]| {
            let end = body.last().map_or(0, |line| line.at);
            let tail = whole.iter().position(|line| line.at > end).and_then(|at| whole.get(at..));
            !hunk_lines::is_prose(tail.unwrap_or_default()) || hunk_lines::holds(body, hunk.numbers)
        };
        let Some(reading) = hunk.readings.iter().find(|Reading { body, tolerates }| {
            usable(*tolerates) && all_added(body) && is_whole(body)
        }) else {
            let is_empty = hunk.readings.iter().all(|reading| reading.body.is_empty());
            let reason = if is_empty { Reason::EmptyHunk } else { Reason::NewFileHasOldLines };
            return Err((reason, None));
        };
        let habits = FileHabits::of(b"", name);
        let damage = added::found(&habits, &reading.body)
            .or_else(|| added::found_throughout(&habits, &[&reading.body]));
        if let Some(Damage { reason, note }) = damage {
            return Err((reason, Some(note)));
        }
        if reading.body.iter().rev().skip(1).any(|line| line.eol == Eol::None) {
            return Err((Reason::EofMarkerNotAtEof, None));
        }
        let mut bytes = Vec::new();
        for line in &reading.body {
            bytes.extend_from_slice(line.text);
            bytes.extend_from_slice(line.eol.as_bytes());
        }
        Ok((bytes, reading.tolerates))
    }
}

/// Explains what is wrong with the added lines of all hunks, if they have a mark in common.
fn marked_throughout(
    habits: &FileHabits<'_>,
    hunks: &[&Hunk<'_>],
    name: &str,
) -> Option<PatchMismatch> {
    let readings = hunks.iter().filter_map(|hunk| hunk.readings.last());
    let bodies: Vec<&[HunkLine<'_>]> = readings.map(|reading| &reading.body[..]).collect();
    let Damage { reason, note } = added::found_throughout(habits, &bodies)?;
    Some(PatchMismatch::file(reason, name).note(note))
}

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns true if a byte order mark begins a line other than the first, which has none.
fn has_mark_inside(text: &[u8]) -> bool {
    !text.starts_with(MARK) && memchr::memmem::find(text, b"\n\xef\xbb\xbf").is_some()
}

fn has_mark(reading: &Reading<'_>) -> bool {
    reading.body.iter().any(|line| line.text.starts_with(MARK))
}

/// Returns true if the headers of two hunks state different places, by line number or by heading.
fn are_apart(hunks: &[&Hunk<'_>], a: usize, b: usize) -> bool {
    let [Some(a), Some(b)] = [hunks.get(a), hunks.get(b)] else { return false };
    let lines = a.numbers.zip(b.numbers).map(|(a, b)| a.old.abs_diff(b.old));
    let headings = headers::heading(a.header).zip(headers::heading(b.header));
    lines.is_some_and(|lines| lines > NEAR) || headings.is_some_and(|(a, b)| a != b)
}

/// Returns the first and the last line of the answer, from 1, that the shortest reading of a hunk leaves out, blank ones
/// aside.
fn left_out(tolerance: Tolerance, hunk: &Hunk<'_>) -> Option<[usize; 2]> {
    let short = hunk.readings.last().filter(|_| tolerance == Tolerance::Tail)?;
    let whole = hunk.readings.first().map(|reading| &reading.body)?;
    let is_left = |line: &&HunkLine<'_>| short.body.iter().all(|kept| kept.at != line.at);
    let is_blank = |line: &&HunkLine<'_>| line.raw.trim_ascii().is_empty();
    let left: Vec<&HunkLine<'_>> = whole.iter().filter(is_left).collect();
    let first = left.iter().find(|line| !is_blank(line)).or(left.first())?;
    let last = left.iter().rev().find(|line| !is_blank(line)).or(left.last())?;
    Some([first.at, last.at])
}

/// The number of old lines by which a hunk may be miscounted.
const MISCOUNTED: usize = 2;

/// The usual number of context lines below a change.
const CONTEXT: usize = 3;

/// Returns true if a hunk at its stated line ends in a change, although the file continues, and lacks lines that its
/// header announces: on both sides, or several old ones after context. If it ends in context, it lacks several on both
/// sides, and does not have as many lines of context below its changes as above, or the usual number, as complete hunks do.
fn is_cut_off(image: &Image<'_>, hunk: &Hunk<'_>, place: &Place<'_, '_>) -> bool {
    let (old, new) = hunk_lines::counts(place.reading);
    let begins_in_context = place.reading.first().is_some_and(|line| line.kind == Kind::Context);
    let lacks = hunk.numbers.is_some_and(|it| {
        old < it.old_count && new < it.new_count
            || begins_in_context && old + MISCOUNTED < it.old_count && new <= it.new_count
    });
    let ends_in_change = place.reading.last().is_some_and(|line| line.kind != Kind::Context);
    let lacks_several = hunk.numbers.is_some_and(|it| {
        old.saturating_add(MISCOUNTED) < it.old_count
            && new.saturating_add(MISCOUNTED) < it.new_count
    });
    let is_context = |line: &&HunkLine<'_>| line.kind == Kind::Context;
    let above = place.reading.iter().take_while(is_context).count();
    let below = place.reading.iter().rev().take_while(is_context).count();
    let is_uneven = lacks_several && above > 0 && below != above && below != CONTEXT;
    let at_its_line = !has_moved(place);
    let is_inside = place.start + old < image.lines.len();
    (lacks && ends_in_change || is_uneven) && at_its_line && is_inside
}

/// Returns true if the first or last line of a hunk, an added one, is the adjacent line of the file including its `+`:
/// then it is context from a list that lost its marker.
fn adds_its_neighbours(image: &Image<'_>, place: &Place<'_, '_>) -> bool {
    let is_at = |line: Option<&HunkLine<'_>>, at: Option<usize>| {
        let line = line.filter(|line| line.kind == Kind::Added && line.text.starts_with(b" "));
        let file = at.and_then(|at| image.lines.get(at));
        line.zip(file).is_some_and(|(line, file)| line.raw == file.text)
    };
    let end = place.start + place.reading.iter().filter(|line| line.is_old()).count();
    is_at(place.reading.first(), place.start.checked_sub(1))
        || is_at(place.reading.last(), Some(end))
}

/// Explains why the place of a hunk contradicts the heading in its header.
fn against_heading(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    place: &Place<'_, '_>,
) -> Option<PatchMismatch> {
    if has_moved(place)
        && let Some(at) = under_another_heading(image, hunk, place.start)
    {
        return Some(PatchMismatch::answer(Reason::AmbiguousHunk).note(format!(
            "Its old lines are at line {}, but the heading in its header is line {}, and they are not in that part of the file.",
            place.start + 1,
            at + 1
        )));
    }
    witnesses::against_heading(image, hunk, place)
        .map(|contradiction| contradiction.explain(image, hunk))
}

/// Explains why hunks at their stated lines, or placed by number alone, are contradicted by the other hunks of the file.
fn against_neighbours(
    image: &Image<'_>,
    hunks: &[&Hunk<'_>],
    found: &[Found],
    name: &str,
) -> Vec<(usize, PatchMismatch)> {
    let explain = |(index, contradiction): (usize, Contradiction)| {
        let hunk = hunks.get(index)?;
        let mismatch = contradiction.explain(image, hunk);
        let (file, hunk) = (Some(name.to_owned()), Some(hunk.reference(index, hunks.len())));
        Some((index, PatchMismatch { file, hunk, ..mismatch }))
    };
    let contradicted = witnesses::against_neighbours(image, hunks, found);
    let (anchorless, note) = witnesses::against_numbers(hunks, found).unwrap_or_default();
    let without_anchor = anchorless.into_iter().filter_map(|index| {
        let hunk = Some(hunks.get(index)?.reference(index, hunks.len()));
        let mismatch = PatchMismatch::file(Reason::NoAnchor, name).note(note.clone());
        Some((index, PatchMismatch { hunk, ..mismatch }))
    });
    contradicted.into_iter().filter_map(explain).chain(without_anchor).collect()
}

/// Returns true if a hunk is not at its stated line.
fn has_moved(place: &Place<'_, '_>) -> bool {
    let is_move = |it: &Tolerance| matches!(it, Tolerance::Position | Tolerance::Near);
    place.tolerates.iter().any(is_move)
}

/// Returns true if a line taken for prose after a hunk occurs in the file right below the hunk: then it is code that
/// lost its marker.
fn drops_code(image: &Image<'_>, hunk: &Hunk<'_>, place: &Place<'_, '_>) -> bool {
    let whole = hunk.readings.first().map_or(&[][..], |reading| &reading.body);
    let end = place.reading.last().map_or(0, |line| line.at);
    let dropped = || whole.iter().filter(|line| line.at > end).map(|line| line.raw.trim_ascii());
    let below = place.start + place.reading.iter().filter(|line| line.is_old()).count();
    let below = || image.lines.from(below).map(|line| line.text.trim_ascii());
    dropped().any(|line| !line.is_empty() && below().take(dropped().count()).any(|it| it == line))
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

/// Returns by how many lines a hunk makes the file longer.
fn growth(body: &[HunkLine<'_>]) -> isize {
    body.iter()
        .map(|line| isize::from(line.kind == Kind::Added) - isize::from(line.kind == Kind::Removed))
        .sum()
}
