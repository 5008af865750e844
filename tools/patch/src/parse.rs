//! An answer as file sections and hunks. It knows the grammar of diffs, and neither files nor policy.

use std::ops::Range;

use super::body::{self, Body, HunkLine};
use super::envelope::Opened;
use super::header::{self, Name, Numbers};
use super::lines::show;
use super::refuse::{HunkRef, PatchMismatch, Reason, Refusal};
use super::tolerance::{Tolerance, Tolerances};

/// One file of a diff, as its headers tell it.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    /// What follows `diff --git `.
    pub(super) git: Option<&'a [u8]>,
    pub(super) old: Option<Name>,
    pub(super) new: Option<Name>,
    pub(super) rename_from: Option<Name>,
    pub(super) rename_to: Option<Name>,
    pub(super) new_file_mode: Option<&'a [u8]>,
    pub(super) deleted_file_mode: Option<&'a [u8]>,
    /// The mode at the end of an `index` line.
    pub(super) index_mode: Option<&'a [u8]>,
    pub(super) changes_mode: bool,
    pub(super) copies: bool,
    pub(super) is_binary: bool,
    pub(super) hunks: Vec<Hunk<'a>>,
    /// Its lines in the answer, from 0.
    pub(super) span: Range<usize>,
}

/// One hunk, with the ways to read its body, longest first.
#[derive(Debug)]
pub(super) struct Hunk<'a> {
    pub(super) header: &'a [u8],
    /// Line of the answer the header is on, from 1.
    pub(super) at: usize,
    pub(super) numbers: Option<Numbers>,
    pub(super) readings: Vec<Reading<'a>>,
}

/// A way to read a body, and what it forgives.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) body: Body<'a>,
    pub(super) forgives: Option<Tolerance>,
}

/// A parsed answer.
#[derive(Debug, Default)]
pub(super) struct PatchSet<'a> {
    pub(super) sections: Vec<Section<'a>>,
    /// Whether bodies had to be read without trusting any count.
    pub(super) counts_ignored: bool,
}

impl Hunk<'_> {
    /// The hunk as a mismatch names it; `index` counts from 0.
    pub(super) fn reference(&self, index: usize, of: usize) -> HunkRef {
        HunkRef { index: index + 1, of, line: self.at, header: show(self.header) }
    }
}

/// Parses an answer. Counts are believed if they hold for every hunk; else no count is.
pub(super) fn parse<'a>(answer: &Opened<'a>, allowed: Tolerances) -> Result<PatchSet<'a>, Refusal> {
    let lines = &answer.lines;
    let mut parser = Parser::new(lines, answer.complete, Counts::Trusted);
    let sections = match parser.run() {
        Ok(sections) => sections,
        Err(Stop::CountsFail) if allowed.allow(Tolerance::Counts) => {
            parser = Parser::new(lines, answer.complete, Counts::Ignored);
            parser.run().map_err(Stop::refusal)?
        }
        Err(stop) => return Err(stop.refusal()),
    };
    if sections.is_empty() {
        let reason = if looks_escaped(lines) { Reason::UnsupportedFormat } else { Reason::NoDiff };
        return Err(PatchMismatch::answer(reason).into());
    }
    if !answer.complete && parser.ends_in_a_header(&sections) || parser.lacks_lines(&sections) {
        return Err(PatchMismatch::answer(Reason::TruncatedDiff).into());
    }
    Ok(PatchSet { sections, counts_ignored: parser.counts == Counts::Ignored })
}

/// A diff inside a JSON string has no lines of its own.
fn looks_escaped(lines: &[&[u8]]) -> bool {
    lines.iter().any(|line| line.windows(4).any(|window| window == b"\\n@@"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Trusted,
    Ignored,
}

/// Why parsing stopped.
enum Stop {
    CountsFail,
    Unsupported,
}

impl Stop {
    fn refusal(self) -> Refusal {
        let reason = match self {
            Stop::CountsFail => Reason::TruncatedDiff,
            Stop::Unsupported => Reason::UnsupportedFormat,
        };
        PatchMismatch::answer(reason).into()
    }
}

struct Parser<'l, 'a> {
    lines: &'l [&'a [u8]],
    complete: bool,
    counts: Counts,
    /// The fence that is open: its character and length.
    fence: Option<(u8, usize)>,
    next: usize,
}

impl<'l, 'a> Parser<'l, 'a> {
    fn new(lines: &'l [&'a [u8]], complete: bool, counts: Counts) -> Parser<'l, 'a> {
        Parser { lines, complete, counts, fence: None, next: 0 }
    }

    fn line(&self, index: usize) -> &'a [u8] {
        self.lines.get(index).copied().unwrap_or_default()
    }

    fn run(&mut self) -> Result<Vec<Section<'a>>, Stop> {
        let mut sections: Vec<Section<'a>> = Vec::new();
        // Whether hunks may still join the last section.
        let mut open = false;
        while self.next < self.lines.len() {
            let (line, start) = (self.line(self.next), self.next);
            let known = sections.len();
            let mut belongs = true;
            if let Some(rest) = line.strip_prefix(b"diff --git ") {
                sections.push(Section { git: Some(rest), ..Section::default() });
                open = true;
                self.next += 1;
                self.read_extended(sections.last_mut());
            } else if self.is_names(self.next) {
                let names = self.read_names();
                match sections.last_mut() {
                    Some(last)
                        if open
                            && last.old.is_none()
                            && last.new.is_none()
                            && last.hunks.is_empty() =>
                    {
                        (last.old, last.new) = names;
                    }
                    _ => {
                        sections.push(Section { old: names.0, new: names.1, ..Section::default() });
                    }
                }
                open = true;
            } else if is_unsupported(line) {
                return Err(Stop::Unsupported);
            } else if line.starts_with(b"@@") {
                if !open {
                    sections.push(Section::default());
                    open = true;
                }
                let hunk = self.read_hunk()?;
                if let Some(section) = sections.last_mut() {
                    section.hunks.push(hunk);
                }
            } else {
                open &= !self.step_over_fence(line);
                self.next += 1;
                belongs = false;
            }
            let is_new = sections.len() > known;
            if let Some(section) = sections.last_mut().filter(|_| belongs) {
                section.span = if is_new { start } else { section.span.start }..self.next;
            }
        }
        Ok(sections)
    }

    /// Whether names begin at `index`: `--- old` and `+++ new`, or `+++ new` right before a hunk.
    fn is_names(&self, index: usize) -> bool {
        self.is_pair(index)
            || self.line(index).starts_with(b"+++ ") && self.line(index + 1).starts_with(b"@@")
    }

    fn is_pair(&self, index: usize) -> bool {
        self.line(index).starts_with(b"--- ") && self.line(index + 1).starts_with(b"+++ ")
    }

    /// Whether the line at `index` can only belong to a body: then names right before it, in a body, are content too.
    fn is_body(&self, index: usize) -> bool {
        let line = self.line(index);
        line.first().is_some_and(|byte| b" +-\\".contains(byte)) && !line.starts_with(b"--- ")
    }

    fn read_names(&mut self) -> (Option<Name>, Option<Name>) {
        let old = self.line(self.next).strip_prefix(b"--- ").map(header::name);
        self.next += usize::from(old.is_some());
        let new = self.line(self.next).strip_prefix(b"+++ ").map(header::name);
        self.next += 1;
        (old, new)
    }

    /// Reads the headers after `diff --git`; unknown ones are left to be skipped.
    fn read_extended(&mut self, section: Option<&mut Section<'a>>) {
        let Some(section) = section else { return };
        while let Some(line) = self.lines.get(self.next) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(rest) = line.strip_prefix(b"rename from ") {
                section.rename_from = Some(header::name(rest));
            } else if let Some(rest) = line.strip_prefix(b"rename to ") {
                section.rename_to = Some(header::name(rest));
            } else if let Some(rest) = line.strip_prefix(b"new file mode ") {
                section.new_file_mode = Some(rest);
            } else if let Some(rest) = line.strip_prefix(b"deleted file mode ") {
                section.deleted_file_mode = Some(rest);
            } else if line.starts_with(b"old mode ") || line.starts_with(b"new mode ") {
                section.changes_mode = true;
            } else if line.starts_with(b"copy from ") || line.starts_with(b"copy to ") {
                section.copies = true;
            } else if line.starts_with(b"Binary files ") || line.starts_with(b"GIT binary patch") {
                section.is_binary = true;
            } else if let Some(rest) = line.strip_prefix(b"index ") {
                section.index_mode = rest.split(|byte| *byte == b' ').nth(1);
            } else if !line.starts_with(b"similarity index ")
                && !line.starts_with(b"dissimilarity index ")
            {
                return;
            }
            self.next += 1;
        }
    }

    fn read_hunk(&mut self) -> Result<Hunk<'a>, Stop> {
        let header = self.line(self.next);
        let at = self.next + 1;
        self.next += 1;
        let numbers = header::numbers(header);
        let readings = match self.counts {
            Counts::Trusted => self.read_trusted(numbers)?,
            Counts::Ignored => self.read_to_structure(),
        };
        Ok(Hunk { header: header.strip_suffix(b"\r").unwrap_or(header), at, numbers, readings })
    }

    fn read_trusted(&mut self, numbers: Option<Numbers>) -> Result<Vec<Reading<'a>>, Stop> {
        let counted = numbers
            .and_then(|numbers| {
                body::read_counted(
                    self.lines,
                    self.next,
                    numbers,
                    !self.complete && self.fence.is_none(),
                )
            })
            .ok_or(Stop::CountsFail)?;
        self.next += counted.taken;
        if self.goes_on() {
            return Err(Stop::CountsFail);
        }
        Ok(match counted.supplied {
            // Where there are no other old lines, the counts say that blank ones are context.
            0 => with_shorter(counted.body)
                .into_iter()
                .filter(|reading| {
                    reading.forgives.is_none() || reading.body.iter().any(HunkLine::is_old)
                })
                .collect(),
            // What was supplied must be there: else the answer was cut in the middle.
            _ => vec![Reading { body: counted.body, forgives: Some(Tolerance::CutBlank) }],
        })
    }

    /// Whether what follows a counted body looks like more of it.
    fn goes_on(&self) -> bool {
        let mut index = self.next;
        while index < self.lines.len() && self.line(index).is_empty() {
            index += 1;
        }
        let line = self.line(index);
        line.starts_with(b"\\") && index == self.next
            || line.first().is_some_and(|byte| b" +-".contains(byte)) && !self.is_structural(index)
    }

    /// Whether no body can go on at `index`.
    fn is_structural(&self, index: usize) -> bool {
        let line = self.line(index);
        line.starts_with(b"@@")
            || line.starts_with(b"diff --git ")
            || self.is_names(index) && !(self.is_pair(index) && self.is_body(index + 2))
            || self.is_signature(index)
            || self.closes_fence(line)
    }

    /// The `-- ` above the version of git at the end of a mailed patch.
    fn is_signature(&self, index: usize) -> bool {
        let version = self.line(index + 1);
        self.line(index).trim_ascii_end() == b"--"
            && version.first().is_some_and(u8::is_ascii_digit)
            && version.contains(&b'.')
    }

    fn read_to_structure(&mut self) -> Vec<Reading<'a>> {
        let start = self.next;
        while self.next < self.lines.len() && !self.is_structural(self.next) {
            self.next += 1;
        }
        // What follows the last newline of the answer is not a line.
        let lines = self.lines.get(start..self.next).unwrap_or_default();
        let body = body::read_all(lines, start + 1);
        with_shorter(body)
    }

    /// Opens or closes a fence, if `line` is one; true if it closed one.
    fn step_over_fence(&mut self, line: &[u8]) -> bool {
        if self.closes_fence(line) {
            self.fence = None;
            return true;
        }
        if self.fence.is_none() {
            self.fence = fence(line.trim_ascii_start());
        }
        false
    }

    fn closes_fence(&self, line: &[u8]) -> bool {
        let Some((open, length)) = self.fence else { return false };
        let line = line.trim_ascii_end();
        fence(line).is_some_and(|(byte, run)| byte == open && run >= length && run == line.len())
    }

    /// Whether an answer without a last newline stops inside a header.
    fn ends_in_a_header(&self, sections: &[Section<'_>]) -> bool {
        let last = self.lines.last().copied().unwrap_or_default();
        let cut = !last.is_empty() && b"diff --git ".starts_with(last) || last.starts_with(b"--- ");
        let creates_nothing = sections
            .last()
            .is_some_and(|section| section.new_file_mode.is_some() && section.hunks.is_empty());
        cut || creates_nothing
    }

    /// Whether the last hunk, at the end of an answer that is cut off, has fewer lines than its header says.
    fn lacks_lines(&self, sections: &[Section<'_>]) -> bool {
        if self.complete && self.fence.is_none() {
            return false;
        }
        let last = sections.last().and_then(|section| section.hunks.last());
        let Some((hunk, numbers)) = last.and_then(|hunk| Some((hunk, hunk.numbers?))) else {
            return false;
        };
        let Some(reading) = hunk.readings.first() else { return false };
        let (old, new) = body::counts(&reading.body);
        let ends_here = reading.body.last().is_none_or(|line| line.at >= self.lines.len());
        ends_here && (old < numbers.old_count || new < numbers.new_count)
    }
}

/// A body as it is, then without what may not belong to it.
fn with_shorter(body: Body<'_>) -> Vec<Reading<'_>> {
    let shorter = body::without_tail(&body).and_then(|len| body.get(..len)).map(<[_]>::to_vec);
    let shorter = shorter.map(|body| Reading { body, forgives: Some(Tolerance::Tail) });
    std::iter::once(Reading { body, forgives: None }).chain(shorter).collect()
}

/// The character and length of a run of fence characters at the start of `line`.
fn fence(line: &[u8]) -> Option<(u8, usize)> {
    let first = *line.first().filter(|byte| b"`~".contains(byte))?;
    let run = line.iter().take_while(|byte| **byte == first).count();
    (run >= 3).then_some((first, run))
}

/// Other ways to write changes, which must not be mistaken for prose.
fn is_unsupported(line: &[u8]) -> bool {
    const MARKS: [&[u8]; 9] = [
        b"*** Begin Patch",
        b"*** Update File:",
        b"*** Add File:",
        b"*** Delete File:",
        b"<<<<<<< ",
        b"diff --cc ",
        b"diff --combined ",
        b"@@@ ",
        b"***************",
    ];
    MARKS.iter().any(|mark| line.starts_with(mark))
}
