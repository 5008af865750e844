//! The text of a refusal: the place that a hunk most likely means, and the first line that differs from it.

use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write as _};

use crate::diff::hunk_lines::HunkLine;
use crate::diff::lines::lossy_text;
use crate::diff::sections::{Hunk, Reading};
use crate::place::locate::Image;
use crate::refusal::difference::{self, LineDifference};
use crate::refusal::reasons::{Candidate, Nearest, PatchMismatch, Reason, Refusal};

/// Lines that occur more often than this do not identify a place.
const COMMON: usize = 200;
/// Votes at most this many lines apart are for the same place.
const NEAR: usize = 3;
/// Lines of the file shown before and after a difference.
const AROUND: usize = 5;
/// The number of candidates listed.
const CANDIDATES: usize = 5;
/// The maximum length of the text for one mismatch and for a whole refusal, in bytes.
const MISMATCH_BYTES: usize = 2_000;
const REFUSAL_BYTES: usize = 6_000;
/// The note on added lines that may belong before the lines of the file, or replace them.
const HOLDS_MOST: &str = "Its added lines contain most of the file. If they replace the file, remove the old lines; if not, show the \
    lines that they go next to.";

/// Explains why `hunk` was refused; `places` are the lines of the file, from 0, that are in question.
pub(crate) fn explain(
    image: &Image<'_>,
    hunk: &Hunk<'_>,
    reason: Reason,
    places: &[usize],
) -> PatchMismatch {
    let mismatch = PatchMismatch::answer(reason);
    if reason == Reason::AmbiguousHunk {
        let candidates =
            places.iter().take(CANDIDATES).map(|start| candidate(image, *start)).collect();
        let only_adds = |reading: &Reading<'_>| !reading.body.iter().any(HunkLine::is_old);
        let note = hunk.readings.iter().any(only_adds).then(|| HOLDS_MOST.to_owned());
        return PatchMismatch { candidates, note, ..mismatch };
    }
    let is_about_text = [Reason::HunkNotFound, Reason::IndentMismatch, Reason::IndentStyleMismatch]
        .contains(&reason);
    let declared = hunk
        .numbers
        .map(|numbers| numbers.old.saturating_sub(1))
        .filter(|line| *line < image.lines.len());
    let reading = hunk.readings.last().filter(|_| is_about_text);
    let mismatch = PatchMismatch { note: false_marker(hunk), ..mismatch };
    let Some((reading, nearest)) = reading.and_then(|reading| {
        Some((reading, nearest(image, &reading.body, places.first().copied(), declared)?))
    }) else {
        return mismatch;
    };
    let said = reading.body.iter().find(|line| line.at == nearest.answer_line);
    let column = nearest.difference.as_ref().map_or(1, |difference| difference.column);
    PatchMismatch {
        expected: said.map(|line| difference::cut(&lossy_text(line.text), column)),
        found: (!nearest.is_past_end()).then(|| nearest.text.clone()),
        nearest: Some(nearest),
        ..mismatch
    }
}

/// Returns a note if a line begins with a character that only looks like a marker.
fn false_marker(hunk: &Hunk<'_>) -> Option<String> {
    let mut lines = hunk.readings.iter().flat_map(|reading| &reading.body);
    lines.find_map(|line| {
        let marker = difference::false_marker(&lossy_text(line.raw)).filter(|_| line.is_bare())?;
        Some(format!("Line {} of the diff begins with {marker}, which is not a marker.", line.at))
    })
}

/// Finds the place at `hint`, else the one with the most and rarest lines of `body`, else the declared one.
fn nearest(
    image: &Image<'_>,
    body: &[HunkLine<'_>],
    hint: Option<usize>,
    declared: Option<usize>,
) -> Option<Nearest> {
    let old: Vec<&HunkLine<'_>> = body.iter().filter(|line| line.is_old()).collect();
    let start = hint.or_else(|| vote(image, &old)).or(declared)?;
    let same = |(index, line): (usize, &&HunkLine<'_>)| is_at(image, line, start + index);
    let matched = old.iter().enumerate().filter(|(index, line)| same((*index, line))).count();
    let prefix = prefix(image, &old, start);
    let index = prefix.min(old.len().checked_sub(1)?);
    let (line, differs_at) = (old.get(index)?, start + index);
    let found = image.lines.get(differs_at).map(|line| lossy_text(line.text));
    let difference =
        found.as_ref().and_then(|found| LineDifference::between(&lossy_text(line.text), found));
    let text = found.unwrap_or_default();
    let column = difference.as_ref().map_or(1, |difference| difference.column);
    let from = differs_at.saturating_sub(AROUND);
    let excerpt = (from..).zip(image.lines.from(from)).take(2 * AROUND + 1);
    Some(Nearest {
        line: start + 1,
        text: difference::cut(&text, column),
        matched,
        of: old.len(),
        differs_at: differs_at + 1,
        answer_line: line.at,
        difference,
        excerpt: excerpt.map(|(at, line)| (at + 1, clip(&lossy_text(line.text)))).collect(),
    })
}

fn is_at(image: &Image<'_>, line: &HunkLine<'_>, at: usize) -> bool {
    image.lines.get(at).is_some_and(|file| file.text.trim_ascii_end() == line.text.trim_ascii_end())
}

/// Returns how many lines of `old` match the file from `start` on, up to the first that does not.
fn prefix(image: &Image<'_>, old: &[&HunkLine<'_>], start: usize) -> usize {
    old.iter().enumerate().take_while(|(index, line)| is_at(image, line, start + index)).count()
}

/// Lets every old line vote for the start at which it would match; rare lines count more.
fn vote(image: &Image<'_>, old: &[&HunkLine<'_>]) -> Option<usize> {
    let mut votes: BTreeMap<usize, f64> = BTreeMap::new();
    for (index, line) in old.iter().enumerate().filter(|(_, line)| !line.is_blank()) {
        let count = image.count(line.text);
        if count > COMMON {
            continue;
        }
        let weight = 1.0 / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        for start in image.like(line.text).filter_map(|place| place.checked_sub(index)) {
            *votes.entry(start).or_default() += weight;
        }
    }
    let pool = |start: usize| votes.range(start.saturating_sub(NEAR)..=start + NEAR);
    let strength = |start: usize| pool(start).map(|(_, weight)| weight).sum::<f64>();
    let best = votes
        .keys()
        .copied()
        .max_by(|a, b| strength(*a).total_cmp(&strength(*b)).then(b.cmp(a)))?;
    pool(best)
        .map(|(start, weight)| (*start, *weight))
        .max_by(|(a, heavy), (b, light)| {
            prefix(image, old, *a)
                .cmp(&prefix(image, old, *b))
                .then(heavy.total_cmp(light))
                .then(b.cmp(a))
        })
        .map(|(start, _)| start)
}

/// Describes a place by the nearest line before it that occurs only once.
fn candidate(image: &Image<'_>, start: usize) -> Candidate {
    let before = (0..start).rev().take(COMMON).filter_map(|at| image.lines.get(at));
    let distinctive = before
        .map(|line| line.text.trim_ascii_end())
        .find(|text| text.len() > 3 && image.count(text) == 1);
    Candidate { line: start + 1, after: distinctive.map(|text| clip(&lossy_text(text))) }
}

fn clip(text: &str) -> String {
    difference::cut(text, 1)
}

impl Refusal {
    /// Returns the text for a model: everything that is wrong, where, and what to do. At most about 6 KB.
    pub fn for_model(&self) -> String {
        let mut text = String::from("The diff was not applied; nothing was written.\n");
        let mut said = HashSet::new();
        for (index, mismatch) in self.mismatches.iter().enumerate() {
            let mut part = String::from("\n");
            mismatch.tell(&mut part, &mut said).unwrap_or_default();
            if let Some((end, _)) = part.char_indices().find(|(at, _)| *at >= MISMATCH_BYTES) {
                part.truncate(end);
                part.push_str("…\n");
            }
            let advice = mismatch.reason.advice();
            if said.insert(advice) {
                writeln!(part, "  {advice}").unwrap_or_default();
            }
            if text.len() + part.len() > REFUSAL_BYTES {
                let left = self.mismatches.len() - index;
                writeln!(text, "\n{left} more problems like these.").unwrap_or_default();
                break;
            }
            text.push_str(&part);
        }
        let is_right = |mismatch: &PatchMismatch| mismatch.reason == Reason::WriteFailed;
        if !self.mismatches.iter().all(is_right) {
            text.push_str("\nSend the whole diff again, including the parts that were correct.\n");
        }
        text
    }

    /// Returns the text for a person: everything that is wrong, and where.
    pub fn for_people(&self) -> String {
        let mut text = String::from("refused; nothing was written\n");
        let mut said = HashSet::new();
        for mismatch in &self.mismatches {
            text.push('\n');
            mismatch.tell(&mut text, &mut said).unwrap_or_default();
        }
        text
    }
}

impl PatchMismatch {
    /// Writes what is wrong, without a note that was said before.
    fn tell<'m>(&'m self, out: &mut String, said: &mut HashSet<&'m str>) -> fmt::Result {
        let file = self.file.as_deref().map(clip);
        let note = self.note.as_deref().filter(|note| said.insert(note)).map(str::to_owned);
        writeln!(out, "{}", PatchMismatch { file, note, ..self.clone() })?;
        if let Some(hunk) = &self.hunk {
            writeln!(out, "  {}", clip(&hunk.header))?;
        }
        if let Some(nearest) = &self.nearest {
            nearest.tell(self.expected.as_deref(), out)?;
        }
        for Candidate { line, after } in &self.candidates {
            match after {
                Some(after) => writeln!(out, "  matches at line {line}, after `{}`", after.trim())?,
                None => writeln!(out, "  matches at line {line}")?,
            }
        }
        Ok(())
    }
}

impl Nearest {
    /// Returns true if the file ends before the first difference.
    fn is_past_end(&self) -> bool {
        self.excerpt.last().is_some_and(|(last, _)| *last < self.differs_at)
    }

    /// Describes the place in a sentence, without line numbers of the answer: for an answer in another format, whose
    /// lines are numbered differently from those of its translation.
    pub(crate) fn in_words(&self, expected: &str) -> String {
        let Nearest { line, differs_at, text, .. } = self;
        let found = if self.is_past_end() {
            format!("the file ends before that, at line {}", differs_at - 1)
        } else {
            format!("line {differs_at} of the file is `{text}`")
        };
        format!(
            "The closest match begins at line {line} of the file: the answer has `{expected}` there, but {found}."
        )
    }

    fn tell(&self, expected: Option<&str>, out: &mut String) -> fmt::Result {
        let Nearest { line, text, matched, of, differs_at, answer_line, difference, excerpt } =
            self;
        writeln!(
            out,
            "  The closest match begins at line {line} of the file; {matched} of {of} old lines match."
        )?;
        writeln!(out, "  line {answer_line} of the diff is  `{}`", expected.unwrap_or_default())?;
        if self.is_past_end() {
            writeln!(out, "  the file ends before that, at line {}", differs_at - 1)?;
        } else {
            writeln!(out, "  line {differs_at} of the file is  `{text}`")?;
        }
        if let Some(LineDifference { column, expected, found }) = difference {
            writeln!(
                out,
                "  They differ at column {column}: {expected} in the diff, {found} in the file."
            )?;
        }
        writeln!(out, "  The file at that place:")?;
        excerpt.iter().try_for_each(|(number, line)| writeln!(out, "  {number:>6}| {line}"))
    }
}
