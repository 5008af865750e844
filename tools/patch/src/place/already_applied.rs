//! Detects hunks that the file already contains. Nothing else is searched for here.

use crate::diff::gutter;
use crate::diff::hunk_lines::{self, HunkLine, Kind, added_lines, new_lines, old_lines};
use crate::diff::sections::Hunk;
use crate::place::compare::Tier;
use crate::place::locate::Image;
use crate::plan::tolerance::{Tolerance, Tolerances};

/// The maximum number of places at which the context of a hunk is checked; context in more places identifies nothing.
const MAX_PLACES: usize = 200;

/// Returns the line, from 0, if the new lines are already where the header puts them or the old ones. Earlier hunks
/// that still have to be applied will move the new lines by `shift`.
///
/// The absence of old lines proves nothing: the rest of a hunk without added lines, or with blank ones only, can match by
/// chance.
pub(crate) fn at_its_line(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    shift: isize,
    allowed: Tolerances,
) -> Option<usize> {
    let numbers = hunk.numbers.filter(|_| allowed.allow(Tolerance::AlreadyApplied))?;
    hunk.bodies().filter(|body| is_telling(body) && !is_numbered(body)).map(new_lines).find_map(
        |new| {
            let now = numbers.new.saturating_add_signed(-shift);
            let starts = [now, numbers.old].map(|line| line.saturating_sub(1));
            // Compare exactly: the hunk may change nothing but white space.
            starts.into_iter().find(|start| image.fits(&new, *start, Tier::Exact))
        },
    )
}

/// Returns the line, from 0, where a hunk that changes nothing, and has as many lines as its header says, matches the
/// file.
pub(crate) fn only_shows(image: &Image<'_>, hunk: &Hunk<'_>) -> Option<usize> {
    let body = hunk.longest();
    if hunk_lines::has_change(body) || !hunk_lines::holds(body, hunk.numbers) {
        return None;
    }
    let shown = old_lines(body);
    image.places(&shown, Tier::Exact).first().copied()
}

/// Returns the only place, from 0, of the new lines of a hunk whose old lines are nowhere.
///
/// They must be between context of the hunk, and that context must not occur elsewhere around other lines: otherwise an
/// author who misread the file would be told that the change is already made.
pub(crate) fn elsewhere(image: &Image<'_>, hunk: &Hunk<'_>, allowed: Tolerances) -> Option<usize> {
    if !allowed.allow(Tolerance::AlreadyApplied) || !allowed.allow(Tolerance::Position) {
        return None;
    }
    if hunk.bodies().any(|body| !image.places(&old_lines(body), Tier::LOOSEST).is_empty()) {
        return None;
    }
    hunk.bodies().find_map(|body| {
        if is_due(image, body) {
            return None;
        }
        let new = new_lines(body);
        let [start] = image.places(&new, Tier::Exact)[..] else { return None };
        let is_held = is_held(image, body, start, new.len());
        (is_held && !stands_elsewhere(image, &old_lines(body), start..start + new.len()))
            .then_some(start)
    })
}

/// Returns true if a file has both the old and the new lines of one of the hunks: it may still have to be applied in
/// one place, or be applied already in the other.
pub(crate) fn is_open(bytes: &[u8], hunks: &[&Hunk<'_>]) -> bool {
    let image = Image::of(bytes);
    let is_there =
        |lines: &[&HunkLine<'_>], tier| lines.is_empty() || !image.places(lines, tier).is_empty();
    let mut bodies = hunks.iter().flat_map(|hunk| hunk.bodies());
    bodies.any(|body| {
        is_there(&old_lines(body), Tier::LOOSEST) && is_there(&new_lines(body), Tier::Exact)
    })
}

/// Yields the new lines of every reading that adds some.
pub(crate) fn results<'h, 'a>(hunk: &'h Hunk<'a>) -> impl Iterator<Item = Vec<&'h HunkLine<'a>>> {
    let adds = |body: &&[HunkLine<'_>]| added_lines(body).next().is_some();
    hunk.bodies().filter(adds).map(new_lines)
}

/// Returns true if every old line of a body carries a line number, without which it may be in the file.
fn is_numbered(body: &[HunkLine<'_>]) -> bool {
    old_lines(body).into_iter().all(|line| gutter::read(line.text).is_some())
}

/// Returns true if a body adds more than blank lines, which are anywhere.
fn is_telling(body: &[HunkLine<'_>]) -> bool {
    added_lines(body).any(|line| !line.is_blank())
}

/// Returns true if the rarest line that a body removes is still in the file.
fn is_due(image: &Image<'_>, body: &[HunkLine<'_>]) -> bool {
    let stays =
        |gone: &HunkLine<'_>| body.iter().any(|line| line.is_new() && line.text == gone.text);
    let gone = body.iter().filter(|line| line.kind == Kind::Removed && !stays(line));
    let rarest = gone.filter(|line| !line.is_blank()).min_by_key(|line| image.count(line.text));
    rarest.is_some_and(|line| image.count(line.text) > 0)
}

/// Returns true if the lines that a body adds at `start` have non-blank context, or an end of the file, on both sides.
fn is_held(image: &Image<'_>, body: &[HunkLine<'_>], start: usize, len: usize) -> bool {
    let mut ends = body.split(|line| line.kind != Kind::Context);
    let says = |context: Option<&[HunkLine<'_>]>| {
        context.is_some_and(|context| !context.iter().all(HunkLine::is_blank))
    };
    let (above, below) = (says(ends.next()), says(ends.next_back()));
    is_telling(body) && (start == 0 || above) && (start + len == image.lines.len() || below)
}

/// Returns true if the context of these old lines also occurs outside `there`, whatever is in place of the removed
/// lines.
fn stands_elsewhere(
    image: &Image<'_>,
    old: &[&HunkLine<'_>],
    there: std::ops::Range<usize>,
) -> bool {
    let context = old.iter().enumerate().filter(|(_, line)| line.kind == Kind::Context);
    let Some((offset, rarest)) = context.min_by_key(|(_, line)| image.count(line.text)) else {
        return true;
    };
    let fits = |start: usize| {
        let pairs = old.iter().zip(image.lines.from(start));
        let same = pairs
            .filter(|(line, file)| line.kind == Kind::Removed || Tier::LOOSEST.same(line, file));
        same.count() == old.len()
    };
    let mut starts = image.like(rarest.text).filter_map(|at| at.checked_sub(offset));
    image.count(rarest.text) > MAX_PLACES || starts.any(|at| !there.contains(&at) && fits(at))
}
