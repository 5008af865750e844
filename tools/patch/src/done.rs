//! Whether the file has what a hunk would make of it already. Nothing is searched here but that.

use super::body::{self, HunkLine, Kind};
use super::fold::Tier;
use super::locate::Image;
use super::section::Hunk;
use super::tolerance::{Tolerance, Tolerances};

/// Places at which the context of a hunk is looked at; what stands in more places says nothing.
const MAX_PLACES: usize = 200;

/// Whether the new lines are where the header says that they, or the old ones, are: the line, from 0. Hunks before it that are
/// due will move its new lines by `shift`.
///
/// That lines are gone proves nothing: what is left of a hunk without added lines is found by chance.
pub(super) fn at_its_line(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    shift: isize,
    allowed: Tolerances,
) -> Option<usize> {
    let numbers = hunk.numbers.filter(|_| allowed.allow(Tolerance::AlreadyApplied))?;
    results(hunk).find_map(|new| {
        let now = numbers.new.saturating_add_signed(-shift);
        let starts = [now, numbers.old].map(|line| line.saturating_sub(1));
        // Exactly: what a hunk changes may be white space only.
        starts.into_iter().find(|start| image.fits(&new, *start, Tier::Exact))
    })
}

/// Where a hunk that changes nothing, and has as many lines as its header says, shows what the file has: the line, from 0.
pub(super) fn only_shows(image: &Image<'_>, hunk: &Hunk<'_>) -> Option<usize> {
    let body = &hunk.readings.first()?.body;
    if body::has_change(body) || !body::holds(body, hunk.numbers) {
        return None;
    }
    let shown = lines_of(body, HunkLine::is_old);
    image.places(&shown, Tier::Exact).first().copied()
}

/// The only place where the new lines are, of a hunk whose old lines are nowhere: the line, from 0.
///
/// They must stand between context of the hunk, and that context nowhere else around other lines: who has misread what is
/// there would be told that it is done.
pub(super) fn elsewhere(image: &Image<'_>, hunk: &Hunk<'_>, allowed: Tolerances) -> Option<usize> {
    if !allowed.allow(Tolerance::AlreadyApplied) || !allowed.allow(Tolerance::Position) {
        return None;
    }
    let readings = || hunk.readings.iter().map(|reading| reading.body.as_slice());
    let old = |body| lines_of(body, HunkLine::is_old);
    if readings().any(|body| !image.places(&old(body), Tier::LOOSEST).is_empty()) {
        return None;
    }
    readings().find_map(|body| {
        if is_due(image, body) {
            return None;
        }
        let new = lines_of(body, HunkLine::is_new);
        let [start] = image.places(&new, Tier::Exact)[..] else { return None };
        let is_held = is_held(image, body, start, new.len());
        (is_held && !stands_elsewhere(image, &old(body), start..start + new.len())).then_some(start)
    })
}

/// Whether one of the hunks has its old lines somewhere in a file, and what it makes of them, too: it may be due in the one
/// place, or done in the other.
pub(super) fn is_open(bytes: &[u8], hunks: &[&Hunk<'_>]) -> bool {
    let image = Image::of(bytes);
    let is_there =
        |lines: &[&HunkLine<'_>], tier| lines.is_empty() || !image.places(lines, tier).is_empty();
    let mut bodies = hunks.iter().flat_map(|hunk| &hunk.readings).map(|reading| &reading.body);
    bodies.any(|body| {
        is_there(&lines_of(body, HunkLine::is_old), Tier::LOOSEST)
            && is_there(&lines_of(body, HunkLine::is_new), Tier::Exact)
    })
}

/// The new lines of every reading that adds some.
pub(super) fn results<'h, 'a>(hunk: &'h Hunk<'a>) -> impl Iterator<Item = Vec<&'h HunkLine<'a>>> {
    let adds = |body: &&Vec<HunkLine<'_>>| body.iter().any(|line| line.kind == Kind::Added);
    let bodies = hunk.readings.iter().map(|reading| &reading.body);
    bodies.filter(adds).map(|body| lines_of(body, HunkLine::is_new))
}

fn lines_of<'h, 'a>(
    body: &'h [HunkLine<'a>],
    is_wanted: impl Fn(&HunkLine<'a>) -> bool,
) -> Vec<&'h HunkLine<'a>> {
    body.iter().filter(|line| is_wanted(line)).collect()
}

/// Whether the rarest line that a body takes away is in the file yet.
fn is_due(image: &Image<'_>, body: &[HunkLine<'_>]) -> bool {
    let stays =
        |gone: &HunkLine<'_>| body.iter().any(|line| line.is_new() && line.text == gone.text);
    let gone = body.iter().filter(|line| line.kind == Kind::Removed && !stays(line));
    let rarest = gone
        .filter(|line| !line.text.trim_ascii().is_empty())
        .min_by_key(|line| image.count(line.text));
    rarest.is_some_and(|line| image.count(line.text) > 0)
}

/// Whether what a body adds, at `start`, has context that says something on both sides, or an end of the file.
fn is_held(image: &Image<'_>, body: &[HunkLine<'_>], start: usize, len: usize) -> bool {
    let is_added = |line: &HunkLine<'_>| line.kind == Kind::Added;
    let says = |lines: &[HunkLine<'_>]| {
        let mut context = lines.iter().take_while(|line| line.kind == Kind::Context);
        context.any(|line| !line.text.trim_ascii().is_empty())
    };
    let back: Vec<HunkLine<'_>> = body.iter().rev().copied().collect();
    body.iter().any(is_added)
        && (start == 0 || says(body))
        && (start + len == image.lines.len() || says(&back))
}

/// Whether the context of these old lines stands elsewhere than at `there`, whatever stands in place of removed lines.
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
