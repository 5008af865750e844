//! Parses an answer in one pass that assigns a use to every line. Neither files nor policy are known here.

use crate::answer::fence::Fence;
use crate::answer::foreign_marks;
use crate::answer::regions::{self, Use};
use crate::diff::headers::{self, Name, Numbers};
use crate::diff::hunk_lines::{self, Body, HunkLine};
use crate::diff::sections::{Hunk, Reading, Section};
use crate::plan::tolerance::Tolerance;

/// Says whether the counts of hunk headers determine where bodies end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    Trusted,
    Ignored,
}

/// Why parsing stopped.
pub(crate) enum Stop {
    CountsFail,
    /// This line, from 0, belongs to another format.
    Foreign(usize),
}

/// A pass through the lines of an answer.
pub(crate) struct Parser<'l, 'a> {
    lines: &'l [&'a [u8]],
    /// The use of each line.
    pub(crate) uses: Vec<Use>,
    complete: bool,
    counts: Counts,
    /// The open fence; at the end of the answer, the one that was never closed.
    pub(crate) fence: Option<Fence>,
    /// The indentation of the open fence, in a list item.
    fence_indent: usize,
    next: usize,
}

impl<'l, 'a> Parser<'l, 'a> {
    pub(crate) fn new(lines: &'l [&'a [u8]], complete: bool, counts: Counts) -> Parser<'l, 'a> {
        let unread =
            |line: &&[u8]| if line.trim_ascii().is_empty() { Use::Blank } else { Use::Prose };
        let uses = lines.iter().map(unread).collect();
        Parser { lines, uses, complete, counts, fence: None, fence_indent: 0, next: 0 }
    }

    /// Assigns `what` to the lines from `start` up to the next one.
    fn take(&mut self, start: usize, what: Use) {
        self.uses.get_mut(start..self.next).unwrap_or_default().fill(what);
    }

    fn line(&self, index: usize) -> &'a [u8] {
        self.lines.get(index).copied().unwrap_or_default()
    }

    /// Parses all lines.
    pub(crate) fn run(&mut self) -> Result<Vec<Section<'a>>, Stop> {
        let mut sections: Vec<Section<'a>> = Vec::new();
        // True while hunks may still join the last section.
        let mut open = false;
        while self.next < self.lines.len() {
            let (line, start) = (self.line(self.next), self.next);
            let current = sections.last().filter(|_| open);
            let git = line.strip_prefix(b"diff --git ");
            let names = self.is_names(start).then(|| self.read_names());
            let renames = self.begins_a_rename(start);
            let is_bare = current.is_some_and(|section| section.hunks.is_empty());
            let is_extended = renames || is_bare && regions::is_extended(line);
            let is_foreign = foreign_marks::is_foreign(line);
            let is_hunk = line.starts_with(b"@@") && !is_foreign;
            if git.is_none() && names.is_none() && !is_extended && !is_hunk {
                if is_foreign {
                    return Err(Stop::Foreign(start));
                }
                open &= !self.pass(line);
                continue;
            }
            let joins = match &names {
                Some(names) => current.is_some_and(|section| section.awaits(names)),
                None => current.is_some() && git.is_none() && !renames,
            };
            if !joins {
                sections.push(Section { git, span: start..start, ..Section::default() });
                open = true;
            }
            let Some(section) = sections.last_mut() else { break };
            if names.is_none() {
                self.next += usize::from(git.is_some() || is_hunk);
            }
            if git.is_some() || is_extended {
                self.read_extended(section);
            }
            self.take(start, Use::Header);
            if let Some(names) = names {
                (section.old, section.new) = names;
                if self.has_body_without_header() {
                    section.hunks.extend(self.read_hunk(b"")?);
                }
            } else if is_hunk && self.line(self.next) != line {
                section.hunks.extend(self.read_hunk(line)?);
            }
            section.span.end = self.next;
        }
        Ok(sections)
    }

    /// Skips a line outside of all sections; returns true if it closed a fence.
    fn pass(&mut self, line: &[u8]) -> bool {
        let start = self.next;
        self.next += 1;
        if self.is_signature(start) || self.is_separator(start) {
            self.next += usize::from(self.is_signature(start));
            self.take(start, Use::Header);
        } else if self.closes_fence(line) {
            self.fence = None;
            self.take(start, Use::Closes);
            return true;
        } else if let Some(fence) = Fence::opening(line) {
            // A fence with a language opens another block: the one before was never closed.
            if self.fence.is_none() || !Fence::info(line).is_empty() {
                self.fence = Some(fence);
                self.fence_indent = line.len() - line.trim_ascii_start().len();
                self.take(start, Use::Opens);
            }
        }
        false
    }

    /// Returns true if names begin at `index`: `--- old` and `+++ new`, in either order, or `+++ new` alone directly
    /// before a hunk.
    fn is_names(&self, index: usize) -> bool {
        self.is_pair(index)
            || self.line(index).starts_with(b"+++ ")
                && self.line(index + 1 + usize::from(self.is_swapped(index))).starts_with(b"@@")
    }

    fn is_swapped(&self, index: usize) -> bool {
        self.line(index).starts_with(b"+++ ") && self.line(index + 1).starts_with(b"--- ")
    }

    fn is_pair(&self, index: usize) -> bool {
        self.line(index).starts_with(b"--- ") && self.line(index + 1).starts_with(b"+++ ")
    }

    /// Returns true if the names at `index` are those of a new or deleted file. As lines of a hunk, both would be about
    /// `/dev/null`.
    fn is_whole_file(&self, index: usize) -> bool {
        let names = |at: usize| self.line(at).get(4..).map(headers::name);
        self.is_pair(index) && [index, index + 1].map(names).contains(&Some(Name::Null))
    }

    /// Returns true if the line at `index` can only belong to a body: names directly before it, in a body, are then
    /// content as well.
    fn is_body(&self, index: usize) -> bool {
        let line = self.line(index);
        line.first().is_some_and(|byte| b" +-\\".contains(byte)) && !line.starts_with(b"--- ")
    }

    /// Returns true if a body follows the names without a hunk header.
    fn has_body_without_header(&self) -> bool {
        let line = self.line(self.next);
        line.first().is_some_and(|byte| b" +-".contains(byte))
            && !line.trim_ascii().is_empty()
            && !self.is_structural(self.next)
    }

    fn read_names(&mut self) -> (Option<Name>, Option<Name>) {
        if self.is_swapped(self.next) {
            let [new, old] = [self.next, self.next + 1]
                .map(|at| headers::name(self.line(at).get(4..).unwrap_or_default()));
            self.next += 2;
            return (Some(old), Some(new));
        }
        let old = self.line(self.next).strip_prefix(b"--- ").map(headers::name);
        self.next += usize::from(old.is_some());
        let new = self.line(self.next).strip_prefix(b"+++ ").map(headers::name);
        self.next += 1;
        (old, new)
    }

    /// Returns true if the headers of a rename are at `index`.
    fn begins_a_rename(&self, index: usize) -> bool {
        self.line(index).starts_with(b"rename from ")
            && self.line(index + 1).starts_with(b"rename to ")
    }

    /// Reads the headers after `diff --git`; stops at an unknown line.
    fn read_extended(&mut self, section: &mut Section<'a>) {
        while let Some(line) = self.lines.get(self.next) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(rest) = line.strip_prefix(b"rename from ") {
                section.rename_from = Some(headers::name(rest));
            } else if let Some(rest) = line.strip_prefix(b"rename to ") {
                section.rename_to = Some(headers::name(rest));
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
                section.index = Some(rest);
            } else if !line.starts_with(b"similarity index ")
                && !line.starts_with(b"dissimilarity index ")
            {
                return;
            }
            self.next += 1;
        }
    }

    /// Reads the body below `header`; `None` if it is empty.
    fn read_hunk(&mut self, header: &'a [u8]) -> Result<Option<Hunk<'a>>, Stop> {
        let (at, start) = (self.next, self.next);
        let numbers = headers::numbers(header);
        let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
        if numbers.is_some_and(|numbers| (numbers.old_count, numbers.new_count) == (0, 0))
            && self.to_structure(start).is_some_and(|lines| lines.iter().all(is_blank))
        {
            return Ok(None);
        }
        let first = headers::first_line(header);
        let readings = match self.counts {
            Counts::Trusted if first.is_none() => self.read_trusted(numbers)?,
            Counts::Trusted | Counts::Ignored => self.read_to_structure(numbers),
        };
        self.take(start, Use::Body);
        let header = header.strip_suffix(b"\r").unwrap_or(header);
        // A header without counts says nothing of them that could be wrong.
        let numbers = numbers.or_else(|| {
            let (old, new) = (first?, first?);
            let (old_count, new_count) = hunk_lines::counts(&readings.first()?.body);
            Some(Numbers { old, old_count, new, new_count })
        });
        Ok(Some(Hunk { header, at, numbers, readings }))
    }

    fn read_trusted(&mut self, numbers: Option<Numbers>) -> Result<Vec<Reading<'a>>, Stop> {
        let counted = numbers
            .and_then(|numbers| {
                hunk_lines::read_counted(
                    self.lines,
                    self.next,
                    numbers,
                    !self.complete && self.fence.is_none(),
                )
            })
            .ok_or(Stop::CountsFail)?;
        self.next += counted.taken;
        if self.continues() || self.ends_in_names(&counted.body) {
            return Err(Stop::CountsFail);
        }
        let body = counted.body;
        Ok(match counted.supplied {
            // Without other old lines, the counts alone say that blank lines are context.
            0 => with_shorter(body)
                .filter(|reading| {
                    reading.tolerates.is_none() || reading.body.iter().any(HunkLine::is_old)
                })
                .collect(),
            // Supplied lines must be in the file; otherwise the answer was cut in the middle.
            _ => vec![Reading { body, tolerates: Some(Tolerance::CutBlank) }],
        })
    }

    /// Returns true if the names of the next file were counted as the last lines of `body`: a change directly before
    /// another hunk of the same file is followed by context, if the diff has context at all.
    fn ends_in_names(&self, body: &[HunkLine<'_>]) -> bool {
        self.line(self.next).starts_with(b"@@")
            && self.next.checked_sub(2).is_some_and(|at| self.is_pair(at))
            && body.iter().any(|line| line.kind == hunk_lines::Kind::Context)
    }

    /// Returns true if the lines after a counted body look like more of it.
    fn continues(&self) -> bool {
        let mut index = self.next;
        while index < self.lines.len() && self.line(index).is_empty() {
            index += 1;
        }
        let line = self.line(index);
        let is_marked = line.first().is_some_and(|byte| b" +-".contains(byte));
        // After a blank line outside of a fence, this may be a rule or an item of a list.
        let is_rule = line.len() > 2 && line.iter().all(|byte| *byte == b'-');
        let is_item = matches!(line, [b'+' | b'-', b' ', next, ..] if !next.is_ascii_whitespace());
        if index > self.next && self.fence.is_none() && (is_rule || is_item) {
            return false;
        }
        line.starts_with(b"\\") && index == self.next || is_marked && !self.is_structural(index)
    }

    /// Returns true if no body can continue at `index`.
    fn is_structural(&self, index: usize) -> bool {
        let line = self.line(index);
        line.starts_with(b"@@")
            || line.starts_with(b"diff --git ")
            || self.is_names(index)
                && !(self.is_pair(index) && self.is_body(index + 2) && !self.is_whole_file(index))
            || self.is_signature(index)
            || self.is_separator(index)
            || self.closes_fence(line)
            || self.fence.is_none() && Fence::opening(line).is_some() && !line.starts_with(b" ")
            || foreign_marks::is_block_mark(line)
    }

    /// Returns true for lines that other programs print before names.
    fn is_separator(&self, index: usize) -> bool {
        const MARKS: [&[u8]; 4] = [b"Index: ", b"=====", b"diff -", b"# HG "];
        let line = self.line(index);
        MARKS.iter().any(|mark| line.starts_with(mark))
            && (index + 1..=index + 2).any(|below| self.is_pair(below))
    }

    /// Returns true for the `-- ` above the git version of a mailed patch.
    fn is_signature(&self, index: usize) -> bool {
        let version = self.line(index + 1);
        self.line(index).trim_ascii_end() == b"--"
            && version.first().is_some_and(u8::is_ascii_digit)
            && version.contains(&b'.')
    }

    /// Returns the lines from `start` up to where no body can continue.
    fn to_structure(&self, start: usize) -> Option<&'l [&'a [u8]]> {
        let end = (start..self.lines.len()).find(|at| self.is_structural(*at));
        self.lines.get(start..end.unwrap_or(self.lines.len()))
    }

    fn read_to_structure(&mut self, numbers: Option<Numbers>) -> Vec<Reading<'a>> {
        let start = self.next;
        // There is no line after the last newline of the answer.
        let lines = self.to_structure(start).unwrap_or_default();
        self.next += lines.len();
        let whole = hunk_lines::read_all(lines, start + 1);
        let blank = whole.iter().take_while(|line| line.raw.is_empty()).count();
        let rest = whole.get(blank..).unwrap_or_default();
        if blank > 0 && hunk_lines::holds(rest, numbers) {
            let rest = Reading { body: rest.to_vec(), tolerates: Some(Tolerance::Tail) };
            return vec![Reading { body: whole, tolerates: None }, rest];
        }
        let tail = hunk_lines::without_tail(&whole).and_then(|len| whole.get(len..));
        // There is no prose inside a fence.
        if self.fence.is_some() && tail.is_some_and(|tail| tail.iter().any(HunkLine::is_bare)) {
            return vec![Reading { body: whole, tolerates: None }];
        }
        with_shorter(whole).collect()
    }

    /// Returns true if the last line opens a fence with a language.
    pub(crate) fn ends_in_an_opening(&self) -> bool {
        let at = self.lines.iter().rposition(|line| !line.trim_ascii().is_empty());
        let last = at.and_then(|at| Some((self.lines.get(at)?, self.uses.get(at)?)));
        last.is_some_and(|(line, what)| *what == Use::Opens && !Fence::info(line).is_empty())
    }

    /// Returns true if `line` closes the open fence. If counts determine where hunks end, it may have the indentation
    /// of the opening one.
    fn closes_fence(&self, line: &[u8]) -> bool {
        let blank = line.len() - line.trim_ascii_start().len();
        let may_be_in = self.counts == Counts::Trusted && blank > 0 && blank == self.fence_indent;
        let line = if may_be_in { line.trim_ascii_start() } else { line };
        self.fence.is_some_and(|fence| fence.is_closed_by(line))
    }

    /// Returns true if an answer without a last newline stops inside a header.
    pub(crate) fn ends_in_a_header(&self, sections: &[Section<'_>]) -> bool {
        let last = self.lines.last().copied().unwrap_or_default();
        let cut = !last.is_empty() && b"diff --git ".starts_with(last) || last.starts_with(b"--- ");
        let creates_nothing = sections.last().is_some_and(|section| {
            let creates = section.new_file_mode.is_some() || section.old == Some(Name::Null);
            creates && section.hunks.is_empty()
        });
        cut || creates_nothing
    }

    /// Returns true if the last hunk, at the end of an answer that was cut off, has fewer lines than its header says.
    pub(crate) fn lacks_lines(&self, sections: &[Section<'_>]) -> bool {
        if self.complete && self.fence.is_none() {
            return false;
        }
        let last = sections.last().and_then(|section| section.hunks.last());
        let Some((hunk, numbers)) = last.and_then(|hunk| Some((hunk, hunk.numbers?))) else {
            return false;
        };
        let (old, new) = hunk_lines::counts(hunk.longest());
        let ends_here = self.uses.last() == Some(&Use::Body);
        let is_whole = hunk_lines::is_complete(hunk.longest(), hunk.numbers);
        ends_here && !is_whole && (old < numbers.old_count || new < numbers.new_count)
    }
}

/// Yields the whole body, then the body without lines that may not belong to it.
fn with_shorter(body: Body<'_>) -> impl Iterator<Item = Reading<'_>> {
    let shorter =
        hunk_lines::without_tail(&body).and_then(|len| body.get(..len)).map(<[_]>::to_vec);
    let shorter = shorter.map(|body| Reading { body, tolerates: Some(Tolerance::Tail) });
    std::iter::once(Reading { body, tolerates: None }).chain(shorter)
}
