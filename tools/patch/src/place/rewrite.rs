//! Places the hunks of one file and computes its new bytes. Neither paths nor other files are known here.

use crate::added::{self, FileHabits};
use crate::diff::headers;
use crate::diff::hunk_lines::{self, HunkLine};
use crate::diff::sections::Hunk;
use crate::place::already_applied;
use crate::place::copied_numbers;
use crate::place::doubts;
use crate::place::edits::{self, Edit};
use crate::place::left_behind;
use crate::place::locate::{
    Image, NEAR, Search, exactly_at_its_line, is_left_behind, locate, locate_once,
};
use crate::place::witnesses::{self, Found};
use crate::plan::tolerance::{Repair, Tolerance, Tolerances};
use crate::refusal::nearest_place;
use crate::refusal::reasons::{PatchMismatch, Reason};

/// The new bytes of a file, and the tolerances used.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) bytes: Vec<u8>,
    pub(crate) repairs: Vec<Repair>,
    /// Hunks that seem to be applied already elsewhere than stated, as they would be refused otherwise.
    pub(crate) done: Vec<PatchMismatch>,
}

/// How hunks are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    pub(crate) allowed: Tolerances,
    /// True if the line ends of the answer carry no information.
    pub(crate) blind_eol: bool,
}

/// The maximum number of hunks placed on the result of others: each one recomputes the file.
const MAX_FOLLOWING: usize = 50;

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl Reader {
    /// Applies `hunks` to `base`. The name is used in messages, and for its extension.
    pub(crate) fn rewrite(
        self,
        base: &[u8],
        hunks: &[&Hunk<'_>],
        name: &str,
    ) -> Result<Rewritten, Vec<PatchMismatch>> {
        // A byte order mark is never shown to models: it stays, unless the diff mentions it.
        let has_mark = |line: &HunkLine<'_>| line.text.starts_with(MARK);
        if let Some(text) = base.strip_prefix(MARK)
            && !hunks.iter().flat_map(|hunk| hunk.bodies()).flatten().any(has_mark)
        {
            let mut made = self.rewrite(text, hunks, name)?;
            if !made.bytes.is_empty() {
                made.bytes.splice(..0, MARK.iter().copied());
            }
            return Ok(made);
        }
        let (image, habits) = (Image::of(base), FileHabits::of(base, name));
        Revision { reader: self, image, habits, hunks, name }.made()
    }
}

/// A file and the hunks for it.
struct Revision<'r, 'a> {
    reader: Reader,
    image: Image<'r>,
    habits: FileHabits<'r>,
    hunks: &'r [&'r Hunk<'a>],
    name: &'r str,
}

/// The state of placing hunks in a file.
#[derive(Debug, Default)]
struct Placed<'a> {
    edits: Vec<Edit<'a>>,
    repairs: Vec<Repair>,
    /// The places of hunks whose headers state a line.
    found: Vec<Found>,
    /// The hunks, from 0, that have no place, and why.
    refused: Vec<(usize, PatchMismatch)>,
}

/// What becomes of a hunk that is not refused.
#[derive(Default)]
struct Fit<'a> {
    /// Empty if the hunk is skipped.
    edits: Vec<Edit<'a>>,
    found: Option<Found>,
    repairs: Vec<Repair>,
    /// By how many lines it makes the file longer.
    growth: isize,
}

impl<'a> Revision<'_, 'a> {
    fn allows(&self, tolerance: Tolerance) -> bool {
        self.reader.allowed.allow(tolerance)
    }

    /// Says which hunk, from 0, a mismatch is about.
    fn about(&self, index: usize, mismatch: PatchMismatch) -> PatchMismatch {
        let hunk = self.hunks.get(index).map(|hunk| hunk.reference(index, self.hunks.len()));
        PatchMismatch { file: Some(self.name.to_owned()), hunk, ..mismatch }
    }

    /// Applies all hunks, or says why not.
    fn made(&self) -> Result<Rewritten, Vec<PatchMismatch>> {
        let Placed { edits, mut repairs, found, mut refused } = self.place();
        refused.extend(self.contradicted(&found));
        refused.sort_by_key(|(index, _)| *index);
        if let Some([a, b]) = edits::twice(&edits).find(|pair| self.are_apart(*pair)) {
            let mismatch = PatchMismatch::answer(Reason::AmbiguousHunk).note(format!(
                "It makes the same change as hunk {}, whose header states another place, but it matches only there.",
                a + 1
            ));
            return Err(vec![self.about(b, mismatch)]);
        }
        let folds = self.allows(Tolerance::Duplicate);
        let (edits, folded) = edits::combine(edits, folds).map_err(|[a, b]| {
            let mismatch = PatchMismatch::answer(Reason::ConflictingHunks);
            vec![self.about(b, mismatch.note(format!("It conflicts with hunk {}.", a + 1)))]
        })?;
        repairs.extend((folded > 0).then_some(Repair::of(Tolerance::Duplicate)));
        let bodies: Vec<&[HunkLine<'_>]> = self.hunks.iter().map(|hunk| hunk.shortest()).collect();
        if let Some(mismatch) = added::found_throughout(&self.habits, &bodies) {
            return Err(vec![PatchMismatch { file: Some(self.name.to_owned()), ..mismatch }]);
        }
        let bytes = edits::apply(&self.image.lines, &edits);
        if self.image.lines.bytes().starts_with(MARK) && has_mark_inside(&bytes) {
            let mismatch = PatchMismatch::file(Reason::DamagedLine, self.name);
            return Err(vec![mismatch.note("The file begins with a byte order mark, which would no longer be at its start. Write the first line without it.")]);
        }
        let moved: Vec<(usize, usize)> = repairs.iter().filter_map(Repair::moved).collect();
        let left_behind = left_behind::left_behind(&bytes, self.hunks, &moved, &edits);
        if !left_behind.is_empty() {
            let mismatch = PatchMismatch::answer(Reason::AmbiguousHunk)
                .note("Once the other hunks are applied, its old lines are also in another place, which may be the intended one.");
            return Err(left_behind
                .into_iter()
                .map(|it| self.about(it, mismatch.clone()))
                .collect());
        }
        let mut made = Rewritten { bytes, repairs, done: Vec::new() };
        if !refused.is_empty() {
            self.skip_what_is_done(&mut made, &mut refused);
        }
        if !refused.is_empty() {
            let first = edits.iter().map(|edit| edit.hunk).min();
            if first.and_then(|first| self.follow_up(&mut made, first, &refused)).is_none() {
                return Err(refused.into_iter().map(|(_, mismatch)| mismatch).collect());
            }
        }
        Ok(made)
    }

    /// Places every hunk on the file in its current state.
    fn place(&self) -> Placed<'a> {
        let mut placed = Placed::default();
        let at_their_lines = self
            .hunks
            .iter()
            .map(|hunk| exactly_at_its_line(&self.image, hunk, self.reader.allowed));
        let taken: Vec<usize> = at_their_lines.flatten().collect();
        let mut bodies = self.hunks.iter().flat_map(|hunk| hunk.bodies());
        let may_show = self.allows(Tolerance::Unchanged) && bodies.any(hunk_lines::has_change);
        // A hunk further down shows that the rest of the file stays.
        let is_at_top = |hunk: &&Hunk<'_>| hunk.numbers.is_some_and(|numbers| numbers.old == 0);
        let may_be_whole = !self.image.lines.is_empty() && self.hunks.iter().all(is_at_top);
        let mut shift = 0;
        for index in 0..self.hunks.len() {
            match self.fit(index, shift, &taken, [may_show, may_be_whole]) {
                Ok(fit) => {
                    shift += fit.growth;
                    placed.edits.extend(fit.edits);
                    placed.found.extend(fit.found);
                    placed.repairs.extend(fit.repairs);
                }
                Err(mismatch) => placed.refused.push((index, self.about(index, *mismatch))),
            }
        }
        placed
    }

    /// Finds the place of a hunk, and checks what it says there. `shift` is by how many lines the hunks above it make the
    /// file longer; `taken` are the places of those that match exactly at their stated lines.
    fn fit(
        &self,
        index: usize,
        shift: isize,
        taken: &[usize],
        [may_show, may_be_whole]: [bool; 2],
    ) -> Result<Fit<'a>, Box<PatchMismatch>> {
        let (image, allowed) = (&self.image, self.reader.allowed);
        let Some(hunk) = self.hunks.get(index) else { return Ok(Fit::default()) };
        let repair = |tolerance, line| repair(tolerance, hunk, index).line(line);
        let skipped =
            |tolerance, line| Ok(Fit { repairs: vec![repair(tolerance, line)], ..Fit::default() });
        let refuse = |reason, places: &[usize]| {
            Box::new(nearest_place::explain(image, hunk, reason, places))
        };
        if may_show && let Some(line) = already_applied::only_shows(image, hunk) {
            return skipped(Tolerance::Unchanged, line);
        }
        // A hunk with `-0,0` after hunks further down may belong to another, new file.
        let begins = |hunk: &Hunk<'_>| hunk.numbers.map(|numbers| (numbers.old, numbers.old_count));
        let mut earlier = self.hunks.iter().take(index);
        if begins(hunk) == Some((0, 0)) && earlier.any(|it| begins(it) > Some((0, 0))) {
            return Err(refuse(Reason::NoAnchor, &[]));
        }
        let mut search = locate(image, hunk, shift, taken, allowed);
        let bare = (!matches!(search, Search::Found(_)) && allowed.allow(Tolerance::Numbered))
            .then(|| copied_numbers::without_numbers(image, hunk, shift))
            .flatten();
        if let Some(bare) = &bare {
            search = locate(image, bare, shift, taken, allowed);
        }
        let place = match search {
            Search::Found(place) => place,
            Search::Already(line) => return skipped(Tolerance::AlreadyApplied, line),
            Search::Nowhere(reason, places) => return Err(refuse(reason, &places)),
        };
        if let Some(mismatch) = doubts::about(image, hunk, &place, may_be_whole) {
            return Err(mismatch.into());
        }
        let edits = edits::edits(&image.lines, &place, index, self.reader.blind_eol)
            .map_err(|reason| refuse(reason, &[place.start]))?;
        if let Some(mismatch) = added::found(&self.habits, place.reading) {
            return Err(mismatch.into());
        }
        let numbered = bare.as_ref().map(|_| Tolerance::Numbered);
        let tolerates = place.tolerates.iter().copied().chain(numbered);
        let (old, new) = hunk_lines::counts(place.reading);
        Ok(Fit {
            edits,
            found: Found::of(index, hunk, &place),
            repairs: tolerates.map(|tolerance| repair(tolerance, place.start)).collect(),
            growth: new.cast_signed() - old.cast_signed(),
        })
    }

    /// Explains why hunks at their stated lines, or placed by number alone, are contradicted by the other hunks.
    fn contradicted(&self, found: &[Found]) -> Vec<(usize, PatchMismatch)> {
        let by_place = witnesses::against_neighbours(&self.image, self.hunks, found);
        let (anchorless, note) = witnesses::against_numbers(self.hunks, found).unwrap_or_default();
        let mismatch = PatchMismatch::answer(Reason::NoAnchor).note(note);
        let without_anchor = anchorless.into_iter().map(|index| (index, mismatch.clone()));
        let all = by_place.into_iter().chain(without_anchor);
        all.map(|(index, mismatch)| (index, self.about(index, mismatch))).collect()
    }

    /// Returns true if the headers of two hunks state different places, by line number or by heading.
    fn are_apart(&self, pair: [usize; 2]) -> bool {
        let [Some(a), Some(b)] = pair.map(|index| self.hunks.get(index)) else { return false };
        let lines = a.numbers.zip(b.numbers).map(|(a, b)| a.old.abs_diff(b.old));
        let headings = headers::heading(a.header).zip(headers::heading(b.header));
        lines.is_some_and(|lines| lines > NEAR) || headings.is_some_and(|(a, b)| a != b)
    }

    /// Skips the hunks without a place that are already applied elsewhere, both before and after all other hunks.
    fn skip_what_is_done(&self, made: &mut Rewritten, refused: &mut Vec<(usize, PatchMismatch)>) {
        let after = Image::of(&made.bytes);
        let is_done = |index: usize, reason| {
            let hunk = self.hunks.get(index).filter(|_| reason == Reason::HunkNotFound)?;
            already_applied::elsewhere(&after, hunk, self.reader.allowed)?;
            let line = already_applied::elsewhere(&self.image, hunk, self.reader.allowed)?;
            witnesses::under_another_heading(&self.image, hunk, line).is_none().then_some(line)
        };
        refused.retain(|(index, mismatch)| {
            let Some(line) = is_done(*index, mismatch.reason) else { return true };
            made.repairs.push(Repair::of(Tolerance::AlreadyApplied).hunk(*index).line(line));
            made.done.push(mismatch.clone());
            false
        });
    }

    /// Places the hunks that were not found on the result of the others, one after the other: only exact and unique
    /// matches, and only if the stated line does not match afterwards as well.
    fn follow_up(
        &self,
        made: &mut Rewritten,
        first: usize,
        refused: &[(usize, PatchMismatch)],
    ) -> Option<()> {
        let is_next = |(index, mismatch): &(usize, PatchMismatch)| {
            mismatch.reason == Reason::HunkNotFound && *index >= first
        };
        if !self.allows(Tolerance::Sequential)
            || refused.len() > MAX_FOLLOWING
            || !refused.iter().all(is_next)
        {
            return None;
        }
        for (index, _) in refused {
            let image = Image::of(&made.bytes);
            let hunk = self.hunks.get(*index)?;
            let place = locate_once(&image, hunk, self.reader.allowed)?;
            let edits = edits::edits(&image.lines, &place, *index, self.reader.blind_eol).ok()?;
            if added::found(&FileHabits::of(&made.bytes, self.name), place.reading).is_some() {
                return None;
            }
            made.repairs.push(Repair::of(Tolerance::Sequential).hunk(*index).line(place.start));
            let bytes = edits::apply(&image.lines, &edits);
            let own = place.start..place.start + hunk_lines::counts(place.reading).1;
            if is_left_behind(&Image::of(&bytes), hunk, own) {
                return None;
            }
            made.bytes = bytes;
        }
        // A hunk that has moved may have been written against the result of these.
        let image = Image::of(&made.bytes);
        let moved = made.repairs.iter().filter_map(Repair::moved);
        let mut moved = moved.filter_map(|(index, _)| self.hunks.get(index));
        (!moved.any(|hunk| is_left_behind(&image, hunk, 0..0))).then_some(())
    }
}

/// Returns true if a byte order mark begins a line other than the first, which has none.
fn has_mark_inside(text: &[u8]) -> bool {
    !text.starts_with(MARK) && memchr::memmem::find(text, b"\n\xef\xbb\xbf").is_some()
}

/// Records a tolerance of a hunk, with the lines of the answer, blank ones aside, that its shortest reading leaves out.
pub(crate) fn repair(tolerance: Tolerance, hunk: &Hunk<'_>, index: usize) -> Repair {
    let repair = Repair::of(tolerance).hunk(index);
    if tolerance != Tolerance::Tail {
        return repair;
    }
    let is_left = |line: &&HunkLine<'_>| hunk.shortest().iter().all(|kept| kept.at != line.at);
    let left: Vec<&HunkLine<'_>> = hunk.longest().iter().filter(is_left).collect();
    let is_text = |line: &&&HunkLine<'_>| !line.raw.trim_ascii().is_empty();
    let first = left.iter().find(is_text).or(left.first());
    let last = left.iter().rfind(is_text).or(left.last());
    first.zip(last).map_or(repair.clone(), |(first, last)| repair.left_out(first.at, last.at))
}
