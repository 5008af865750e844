//! Finds the place of a hunk in a file: the line that its header states, or the only place that it matches. Of several
//! places, one is chosen only if it is next to that line and all others are far away.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ops::Range;

use crate::diff::hunk_lines::{self, HunkLine};
use crate::diff::lines::Lines;
use crate::diff::sections::{Hunk, Reading};
use crate::place::already_applied;
use crate::place::compare::{self, Tier, fingerprint};
use crate::plan::tolerance::{Tolerance, Tolerances};
use crate::refusal::reasons::Reason;

/// The maximum number of line comparisons per file.
const WORK: usize = 4_000_000;
/// The maximum number of places reported.
const MAX_CANDIDATES: usize = 5;
/// The maximum distance from its stated line at which a hunk may be placed although it also matches elsewhere.
pub(crate) const NEAR: usize = 3;
/// The minimum distance, in lines, of everything else that it could mean in that case.
const FAR: usize = 40;

/// The lines of a file, indexed by content.
pub(crate) struct Image<'a> {
    pub(crate) lines: Lines<'a>,
    index: OnceCell<Index>,
    work: Cell<usize>,
}

/// Lines by fingerprint: the first line and the number of lines, and for each line the next one with the same
/// fingerprint.
struct Index {
    first: HashMap<u64, (usize, usize)>,
    next: Vec<usize>,
}

/// The place of a hunk.
#[derive(Debug)]
pub(crate) struct Place<'h, 'a> {
    pub(crate) reading: &'h [HunkLine<'a>],
    /// The line of the file, from 0, that matches the first old line; for a hunk without old lines, the line that it is
    /// inserted before.
    pub(crate) start: usize,
    pub(crate) tier: Tier,
    pub(crate) tolerates: Vec<Tolerance>,
}

impl<'h, 'a> Place<'h, 'a> {
    fn of(reading: &'h Reading<'a>, start: usize, tier: Tier) -> Place<'h, 'a> {
        let tolerates = reading.tolerates.into_iter().chain(tier.tolerance()).collect();
        Place { reading: &reading.body, start, tier, tolerates }
    }

    /// Returns the line of the file, from 0, below the old lines.
    pub(crate) fn end(&self) -> usize {
        self.start + hunk_lines::counts(self.reading).0
    }

    /// Returns true if it is not the stated line of the hunk.
    pub(crate) fn has_moved(&self) -> bool {
        self.tolerates.iter().any(|tolerance| tolerance.is_a_move())
    }
}

/// The result of a search.
#[derive(Debug)]
pub(crate) enum Search<'h, 'a> {
    Found(Place<'h, 'a>),
    /// The new lines are already in the file, from this line on.
    Already(usize),
    /// Why the hunk has no place, and the matching lines, from 0, if there are several.
    Nowhere(Reason, Vec<usize>),
}

impl<'a> Image<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Image<'a> {
        Image { lines: Lines::of(bytes), index: OnceCell::new(), work: Cell::new(WORK) }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let lines = self.lines.all();
            let mut index = Index { first: HashMap::new(), next: vec![usize::MAX; lines.len()] };
            for (at, (line, next)) in lines.iter().zip(&mut index.next).enumerate().rev() {
                let (first, count) =
                    index.first.entry(fingerprint(line.text)).or_insert((usize::MAX, 0));
                (*next, *first) = (*first, at);
                *count += 1;
            }
            index
        })
    }

    /// Returns how many lines are like `text`, ignoring white space and look-alikes.
    pub(crate) fn count(&self, text: &[u8]) -> usize {
        self.index().first.get(&fingerprint(text)).map_or(0, |(_, count)| *count)
    }

    /// Yields the lines like `text`, in ascending order.
    pub(crate) fn like(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        let index = self.index();
        let first = index.first.get(&fingerprint(text)).map(|(first, _)| *first);
        std::iter::successors(first, |at| {
            index.next.get(*at).copied().filter(|next| *next != usize::MAX)
        })
    }

    /// Returns true if the lines from `start` on match those of `pattern`.
    pub(crate) fn fits(&self, pattern: &[&HunkLine<'_>], start: usize, tier: Tier) -> bool {
        if start.checked_add(pattern.len()).is_none_or(|end| end > self.lines.len()) {
            return false;
        }
        let pairs = pattern.iter().zip(self.lines.from(start));
        let compared = pairs.take_while(|(line, file)| tier.same(line, file)).count();
        self.work.set(self.work.get().saturating_sub(compared + 1));
        compared == pattern.len()
    }

    /// Returns the places that `pattern` matches, up to a small number.
    pub(crate) fn places(&self, pattern: &[&HunkLine<'_>], tier: Tier) -> Vec<usize> {
        let mut places = Vec::new();
        // The rarest line has the fewest places to check.
        let rarest = pattern.iter().enumerate().min_by_key(|(_, line)| self.count(line.text));
        let Some((offset, line)) = rarest else { return places };
        for start in self.like(line.text).filter_map(|at| at.checked_sub(offset)) {
            if places.len() > MAX_CANDIDATES || self.is_exhausted() {
                break;
            }
            if self.fits(pattern, start, tier) {
                places.push(start);
            }
        }
        places
    }

    fn is_exhausted(&self) -> bool {
        self.work.get() == 0
    }
}

/// Searches for the place of a hunk, in the order that docs/patching.md lists. `shift` is the number of lines
/// by which earlier hunks of the file have moved new line numbers. `taken` are the places of hunks that match exactly
/// at their stated lines.
pub(crate) fn locate<'h, 'a>(
    image: &Image<'_>,
    hunk: &'h Hunk<'a>,
    shift: isize,
    taken: &[usize],
    allowed: Tolerances,
) -> Search<'h, 'a> {
    let search = Searcher { image, hunk, allowed };
    if !hunk_lines::has_change(hunk.longest()) {
        return Search::Nowhere(Reason::EmptyHunk, Vec::new());
    }
    if let Some(found) = search.without_old_lines(shift) {
        return found;
    }
    if let Some(place) = search.declared(Tier::Exact) {
        return Search::Found(place);
    }
    let tiers = || {
        Tier::LOOSE
            .into_iter()
            .filter(|tier| tier.tolerance().is_none_or(|needed| allowed.allow(needed)))
    };
    if let Some(place) = tiers().find_map(|tier| search.declared(tier)) {
        let rivals = search.rivals(&place, taken);
        return if !rivals.is_empty() {
            let places = std::iter::once(place.start).chain(rivals);
            Search::Nowhere(Reason::AmbiguousHunk, places.collect())
        } else if image.is_exhausted() {
            Search::Nowhere(Reason::TooComplex, Vec::new())
        } else {
            Search::Found(place)
        };
    }
    let already = already_applied::at_its_line(image, hunk, shift, allowed);
    let mut candidates = Vec::new();
    let mut ambiguous = Tier::Exact;
    for tier in std::iter::once(Tier::Exact).chain(tiers()) {
        ambiguous = tier;
        if let Some(place) = search.unique(tier, &mut candidates) {
            // A hunk that matches only loosely may be applied already where its result is.
            let result = || search.result().filter(|_| tier > Tier::Exact);
            // The same edit may have to be made here, or be applied already there.
            return match already.or_else(result) {
                Some(there) => Search::Nowhere(Reason::AmbiguousHunk, vec![place.start, there]),
                None => Search::Found(place),
            };
        }
        if !candidates.is_empty() {
            break;
        }
    }
    if let Some(there) = already {
        return Search::Already(there);
    }
    if let Some(place) = search.near(ambiguous).filter(|_| !candidates.is_empty()) {
        return Search::Found(place);
    }
    if image.is_exhausted() {
        return Search::Nowhere(Reason::TooComplex, Vec::new());
    }
    let reason = if candidates.is_empty() { Reason::HunkNotFound } else { Reason::AmbiguousHunk };
    Search::Nowhere(reason, candidates)
}

/// Returns the stated line of a hunk, from 0, if the hunk matches exactly there.
pub(crate) fn exactly_at_its_line(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    allowed: Tolerances,
) -> Option<usize> {
    let place = Searcher { image, hunk, allowed }.declared(Tier::Exact)?;
    place.reading.iter().any(HunkLine::is_old).then_some(place.start)
}

/// Returns the only place that a hunk matches exactly, whatever its header says.
pub(crate) fn locate_once<'h, 'a>(
    image: &Image<'_>,
    hunk: &'h Hunk<'a>,
    allowed: Tolerances,
) -> Option<Place<'h, 'a>> {
    Searcher { image, hunk, allowed }.unique(Tier::Exact, &mut Vec::new())
}

/// Returns true if the old lines of a hunk that was placed elsewhere are at its stated line after the diff is applied,
/// outside its `own` lines.
///
/// The hunk may then have been written against the result of other hunks, and be meant for that place.
pub(crate) fn is_left_behind(result: &Image<'_>, hunk: &Hunk<'_>, own: Range<usize>) -> bool {
    let Some(numbers) = hunk.numbers else { return false };
    let old = hunk_lines::old_lines(hunk.longest());
    let (old_count, new_count) = hunk_lines::counts(hunk.longest());
    let starts =
        [numbers.old, numbers.new, numbers.new.saturating_add(new_count).saturating_sub(old_count)];
    let is_there = |start: usize| {
        let is_own = own.start <= start && start.saturating_add(old_count) <= own.end;
        !is_own && result.fits(&old, start, Tier::Exact)
    };
    !old.is_empty() && starts.into_iter().any(|line| is_there(line.saturating_sub(1)))
}

/// Returns true if the old lines of a hunk also occur in the result of all hunks at a place with lines `made` by the
/// previous hunk, other than its `own` place. If its header has no numbers, those lines may be the ones that are meant.
pub(crate) fn is_made_again(
    result: &Image<'_>,
    hunk: &Hunk<'_>,
    own: Range<usize>,
    made: &[Range<usize>],
) -> bool {
    let old = hunk_lines::old_lines(hunk.longest());
    let is_own = |start: usize| own.start <= start && start + old.len() <= own.end;
    let is_made =
        |start: usize| made.iter().any(|it| it.start < start + old.len() && start < it.end);
    let mut places = result.places(&old, Tier::Exact).into_iter();
    places.any(|start| is_made(start) && !is_own(start))
}

struct Searcher<'s, 'i, 'h, 'a> {
    image: &'s Image<'i>,
    hunk: &'h Hunk<'a>,
    allowed: Tolerances,
}

impl<'h, 'a> Searcher<'_, '_, 'h, 'a> {
    fn readings(&self) -> impl Iterator<Item = &'h Reading<'a>> {
        let (hunk, allowed): (&'h Hunk<'a>, _) = (self.hunk, self.allowed);
        let readings = hunk.readings.iter();
        readings.filter(move |reading| reading.tolerates.is_none_or(|needed| allowed.allow(needed)))
    }

    /// Yields the readings, each with its old lines.
    fn patterns(&self) -> impl Iterator<Item = (&'h Reading<'a>, Vec<&'h HunkLine<'a>>)> {
        self.readings().map(|reading| (reading, hunk_lines::old_lines(&reading.body)))
    }

    /// Tries the stated line.
    fn declared(&self, tier: Tier) -> Option<Place<'h, 'a>> {
        let start = self.hunk.numbers?.old.saturating_sub(1);
        let (reading, _) =
            self.patterns().find(|(_, pattern)| self.image.fits(pattern, start, tier))?;
        Some(Place::of(reading, start, tier))
    }

    /// Returns other places, except those `taken`, that match better than `place` at the stated line.
    ///
    /// If the old lines lack only white space at line ends, there are none: every model loses that.
    fn rivals(&self, place: &Place<'_, '_>, taken: &[usize]) -> Vec<usize> {
        let old = place.reading.iter().filter(|line| line.is_old());
        let mut pairs = old.zip(self.image.lines.from(place.start));
        if place.tier <= Tier::Trailing
            && pairs.all(|(line, file)| compare::lacks_only_end(line, &file))
        {
            return Vec::new();
        }
        let mut stricter = Tier::LOOSE.into_iter().rev().filter(|tier| *tier < place.tier);
        let stricter = stricter.next().unwrap_or(Tier::Exact);
        let places = self.patterns().flat_map(|(_, old)| self.image.places(&old, stricter));
        places.filter(|at| !taken.contains(at)).collect()
    }

    /// Returns the only matching place; if there are several, they are added to `candidates`.
    fn unique(&self, tier: Tier, candidates: &mut Vec<usize>) -> Option<Place<'h, 'a>> {
        if !self.allowed.allow(Tolerance::Position) {
            return None;
        }
        for (reading, pattern) in self.patterns() {
            match self.image.places(&pattern, tier).as_slice() {
                [] => {}
                [start] if !self.image.is_exhausted() => {
                    let mut place = Place::of(reading, *start, tier);
                    place.tolerates.push(Tolerance::Position);
                    return Some(place);
                }
                several => {
                    candidates.extend_from_slice(several);
                    return None;
                }
            }
        }
        None
    }

    /// Returns where the file has everything that the hunk would produce, if that is more than two lines, which match
    /// by chance.
    fn result(&self) -> Option<usize> {
        self.readings().find_map(|reading| {
            let new = hunk_lines::new_lines(&reading.body);
            let there = self.image.places(&new, Tier::Exact);
            there.first().copied().filter(|_| new.len() > 2)
        })
    }

    /// Chooses one of several places: next to the stated line, with nothing similar around it.
    ///
    /// Similarity is judged by the loosest comparison. The result of the hunk counts as well, since the hunk may be
    /// applied already.
    fn near(&self, tier: Tier) -> Option<Place<'h, 'a>> {
        if !self.allowed.allow(Tolerance::Near) || tier > Tier::Trailing {
            return None;
        }
        let stated = self.hunk.numbers?.old.saturating_sub(1);
        // The reading that matches several places.
        let (reading, pattern) =
            self.patterns().find(|(_, pattern)| !self.image.places(pattern, tier).is_empty())?;
        let mut near = around(stated, NEAR).filter(|at| self.image.fits(&pattern, *at, tier));
        let start = near.next().filter(|_| near.next().is_none())?;
        let fits_old =
            |at| self.patterns().any(|(_, pattern)| self.image.fits(&pattern, at, Tier::LOOSEST));
        let fits_new = |at| {
            already_applied::results(self.hunk).any(|new| self.image.fits(&new, at, Tier::Exact))
        };
        let is_crowded =
            around(start, FAR - 1).any(|at| at != start && fits_old(at) || fits_new(at));
        if is_crowded || self.image.is_exhausted() {
            return None;
        }
        let mut place = Place::of(reading, start, tier);
        place.tolerates.push(Tolerance::Near);
        Some(place)
    }

    /// Places a hunk of only added lines. It is located by its numbers alone: they must be those of a diff without
    /// context.
    fn without_old_lines(&self, shift: isize) -> Option<Search<'h, 'a>> {
        let reading = self.readings().find(|reading| !reading.body.iter().any(HunkLine::is_old))?;
        let is_empty = self.image.lines.is_empty();
        let sound = self.hunk.numbers.filter(|numbers| {
            numbers.old_count == 0
                && numbers.old <= self.image.lines.len()
                && numbers.new_count == reading.body.len()
                && numbers.old.checked_add_signed(shift).and_then(|line| line.checked_add(1))
                    == Some(numbers.new)
        });
        Some(match sound {
            _ if is_empty => Search::Found(Place::of(reading, 0, Tier::Exact)),
            Some(numbers) => Search::Found(Place::of(reading, numbers.old, Tier::Exact)),
            None => Search::Nowhere(Reason::NoAnchor, Vec::new()),
        })
    }
}

/// Yields the lines at most `reach` away from `line`.
fn around(line: usize, reach: usize) -> impl Iterator<Item = usize> {
    line.saturating_sub(reach)..=line.saturating_add(reach)
}
