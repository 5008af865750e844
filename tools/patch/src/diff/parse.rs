//! Parses an answer into file sections and hunks. Only the grammar of diffs is known here, neither files nor policy.

use crate::answer::blocks;
use crate::answer::envelope::Opened;
use crate::answer::examples::example;
use crate::answer::regions::{self, Use};
use crate::diff::headers::Name;
use crate::diff::hunk_lines::{self, HunkLine};
use crate::diff::parser::{Counts, Parser, Stop};
use crate::diff::sections::{Hunk, Section};
use crate::plan::tolerance::{Repair, Tolerance, Tolerances};
use crate::refusal::advice;
use crate::refusal::reasons::{PatchMismatch, Reason, Refusal};

/// A parsed answer.
#[derive(Debug, Default)]
pub(crate) struct PatchSet<'a> {
    pub(crate) sections: Vec<Section<'a>>,
    /// How each line of the answer is used.
    pub(crate) uses: Vec<Use>,
    /// The repairs of the answer as a whole.
    pub(crate) repairs: Vec<Repair>,
}

/// Parses an answer. Counts are trusted if they hold for every hunk; otherwise none is.
pub(crate) fn parse<'a>(answer: &Opened<'a>, allowed: Tolerances) -> Result<PatchSet<'a>, Refusal> {
    let lines = &answer.lines;
    if let Some(at) = example(lines) {
        let shown = PatchMismatch::line(Reason::UnsupportedFormat, lines, at);
        return Err(shown.note("It shows a diff inside another text: send the diff alone.").into());
    }
    let mut parser = Parser::new(lines, answer.complete, Counts::Trusted);
    let mut repairs = Vec::new();
    let mut sections = match parser.run() {
        Ok(sections) => sections,
        Err(Stop::CountsFail) if allowed.allow(Tolerance::Counts) => {
            repairs.push(Repair::of(Tolerance::Counts));
            parser = Parser::new(lines, answer.complete, Counts::Ignored);
            parser.run().map_err(|stop| refusal(&stop, lines))?
        }
        Err(stop) => return Err(refusal(&stop, lines)),
    };
    if sections.is_empty() {
        return Err(no_diff(lines, &parser.uses).into());
    }
    let is_cut =
        !answer.complete && parser.ends_in_a_header(&sections) || parser.ends_in_an_opening();
    if is_cut
        || parser.lacks_lines(&sections)
        || only_the_last_lacks(&sections, &parser.uses, answer.complete)
    {
        return Err(cut(lines, &parser.uses, parser.fence.is_some()).into());
    }
    keep_what_is_counted(&mut sections);
    if let Some(at) = regions::stray(lines, &parser.uses, &sections) {
        let stray = PatchMismatch::line(Reason::StrayLine, lines, at);
        let note = advice::on_lost_names(lines).or(stray.note);
        return Err(PatchMismatch { note, ..stray }.into());
    }
    // An answer that ends inside a fence may have been cut anywhere.
    let is_whole = answer.complete && is_last_whole(&sections);
    let is_cut = parser.fence.is_some() && (!is_whole || parser.ends_in_a_header(&sections));
    if is_cut || parser.ends_in_an_opening() {
        return Err(cut(lines, &parser.uses, parser.fence.is_some()).into());
    }
    Ok(PatchSet { sections, uses: parser.uses, repairs })
}

fn refusal(stop: &Stop, lines: &[&[u8]]) -> Refusal {
    match *stop {
        Stop::CountsFail => PatchMismatch::answer(Reason::TruncatedDiff),
        Stop::Foreign(at) => PatchMismatch::line(Reason::UnsupportedFormat, lines, at),
    }
    .into()
}

/// Explains what an answer without a section contains instead.
fn no_diff(lines: &[&[u8]], uses: &[Use]) -> PatchMismatch {
    if let [only] | [only, []] = lines
        && memchr::memchr(b'\r', only).is_some()
    {
        return PatchMismatch::answer(Reason::UnsupportedFormat)
            .note("Its lines end in a carriage return only: end them with a newline.");
    }
    // A diff in a JSON string has no lines of its own.
    let is_escaped = |line: &&[u8]| line.windows(4).any(|window| window == b"\\n@@");
    if lines.iter().any(is_escaped) {
        return PatchMismatch::answer(Reason::UnsupportedFormat)
            .note("It is escaped: write real line breaks, not `\\n`.");
    }
    if let Some(block) = blocks::blocks(uses).first() {
        return PatchMismatch::answer(Reason::UnsupportedFormat)
            .note(format!("Line {} opens a code block that is not a diff.", block.at + 1));
    }
    PatchMismatch { note: advice::on_gutter(lines), ..PatchMismatch::answer(Reason::NoDiff) }
}

/// Refuses an answer that ends where something is open; names the fence, if it is one.
fn cut(lines: &[&[u8]], uses: &[Use], is_in_fence: bool) -> PatchMismatch {
    let mismatch = PatchMismatch::answer(Reason::TruncatedDiff);
    match uses.iter().rposition(|what| *what == Use::Opens).filter(|_| is_in_fence) {
        Some(at) if lines.iter().skip(at + 1).all(|line| line.is_empty()) => {
            mismatch.note(format!(
                "Line {} opens a fence that is never closed. To close a fence, write its backquotes and nothing else.",
                at + 1
            ))
        }
        _ => mismatch,
    }
}

/// Treats lines after a blank line as lines that lost their markers, not as prose, if there are exactly as many as the
/// header still announces and the counts of all other hunks hold. A hunk with as much context below as above is complete.
fn keep_what_is_counted(sections: &mut [Section<'_>]) {
    let is_counted = |hunk: &Hunk<'_>| match &hunk.readings[..] {
        [whole, short] => {
            let (len, (above, below)) = (short.body.len(), hunk_lines::context(&short.body));
            let is_even = above > 0 && above == below;
            !is_even
                && whole.body.iter().skip(len).any(HunkLine::is_bare)
                && hunk_lines::is_counted(&whole.body, len, hunk.numbers)
        }
        _ => false,
    };
    let mut hunks = sections.iter().flat_map(|section| &section.hunks);
    if hunks.all(|hunk| hunk.holds() || is_counted(hunk)) {
        let hunks = sections.iter_mut().flat_map(|section| &mut section.hunks);
        hunks.filter(|hunk| is_counted(hunk)).for_each(|hunk| hunk.readings.truncate(1));
    }
}

/// Returns true if the last hunk, if there is one, has all lines that its header says, or at least all old ones.
fn is_last_whole(sections: &[Section<'_>]) -> bool {
    let Some(last) = sections.last().and_then(|section| section.hunks.last()) else { return true };
    last.holds() || last.bodies().any(|body| hunk_lines::is_complete(body, last.numbers))
}

/// Returns true if the counts hold for every hunk of several but the last, which has too few lines: the answer was cut
/// off. A fence that is closed below it, and a new file in a complete answer, are only miscounted.
fn only_the_last_lacks(sections: &[Section<'_>], uses: &[Use], is_complete: bool) -> bool {
    let creates = sections.last().is_some_and(|last| last.old == Some(Name::Null));
    let last = uses.iter().rposition(|what| *what == Use::Body);
    let is_closed = last
        .and_then(|at| uses.get(at + 1..))
        .is_some_and(|below| below.iter().find(|what| **what != Use::Blank) == Some(&Use::Closes));
    if is_closed || creates && is_complete {
        return false;
    }
    let mut hunks = sections.iter().flat_map(|section| &section.hunks).rev();
    let Some(last) = hunks.next() else { return false };
    let lacks = |body: &[HunkLine<'_>]| {
        hunk_lines::lacks(body, last.numbers) && !hunk_lines::is_complete(body, last.numbers)
    };
    let mut others = hunks.peekable();
    last.bodies().all(lacks) && others.peek().is_some() && others.all(Hunk::holds)
}
