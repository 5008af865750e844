//! A correct diff as values, and the ways in which models damage it. The outcome is not known here.

use std::ops::Range;

use similar::{ChangeTag, DiffOp, TextDiff};

/// A kind of damage to a diff. Numbers select a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    /// Wrong counts in the headers.
    Counts(u8),
    /// Wrong line numbers in the headers.
    Numbers(u8),
    /// No numbers in the headers.
    NoNumbers,
    /// Blank context lines lose their marker.
    Blank,
    /// Blank context lines at the very end are lost, with the last newline.
    Cut,
    /// White space at the ends of old lines is added or lost.
    Trailing(u8),
    /// Context lines of words lose their marker.
    Marker,
    /// Tabs and spaces at the start of context are swapped.
    Space,
    /// Quotes, dashes and dots of context become typographic ones.
    Punctuation,
    /// Every hunk is given twice.
    Twice,
    /// The last hunk comes first.
    Reversed,
    /// Everything is indented.
    Indented,
    /// Prose and a fence around it.
    Fenced,
    /// The lines of the answer end in CRLF.
    CrLf,
    /// The lines of the answer end in LF, those of the file in CRLF.
    Lf,
    /// Lines are prefixed with their numbers: old lines, or new lines too by the old or the new file, or with wrong
    /// ones.
    Copied(u8),
}

impl Damage {
    /// Returns the damage that a letter stands for.
    pub(super) fn of(letter: u8, number: u8) -> Option<Damage> {
        Some(match letter {
            b'c' => Damage::Counts(number),
            b'n' => Damage::Numbers(number),
            b'o' => Damage::NoNumbers,
            b'b' => Damage::Blank,
            b'x' => Damage::Cut,
            b't' => Damage::Trailing(number),
            b'm' => Damage::Marker,
            b's' => Damage::Space,
            b'p' => Damage::Punctuation,
            b'd' => Damage::Twice,
            b'r' => Damage::Reversed,
            b'i' => Damage::Indented,
            b'f' => Damage::Fenced,
            b'w' => Damage::CrLf,
            b'l' => Damage::Lf,
            b'g' => Damage::Copied(number),
            _ => return None,
        })
    }
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) tag: ChangeTag,
    pub(super) has_marker: bool,
    /// The text without its `\n`, but with a CR before it.
    pub(super) text: String,
    /// True if the line has a `\n`; only the last line of a file may lack it.
    pub(super) ended: bool,
}

impl Line {
    pub(super) fn is_old(&self) -> bool {
        self.tag != ChangeTag::Insert
    }

    pub(super) fn is_new(&self) -> bool {
        self.tag != ChangeTag::Delete
    }

    /// Returns true if the line is read correctly with or without its marker.
    pub(super) fn is_clear(&self) -> bool {
        self.has_marker || self.text.is_empty()
    }

    fn is_context(&self) -> bool {
        self.tag == ChangeTag::Equal
    }

    /// Returns true if a reader may take the line for the end of the answer rather than for a line of the hunk.
    fn is_loose(&self) -> bool {
        self.is_context() && !self.has_marker
    }
}

/// A hunk, with numbers as in its header: line and count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: (usize, usize),
    pub(super) new: (usize, usize),
    pub(super) has_numbers: bool,
    /// The index of the hunk in the correct diff.
    pub(super) index: usize,
    /// The line of the file, from 0, where the hunk belongs.
    pub(super) truth: usize,
    pub(super) lines: Vec<Line>,
}

impl Hunk {
    /// Returns the shortest body that a reader may see: without loose lines at its end.
    pub(super) fn core(&self) -> &[Line] {
        let loose = self.lines.iter().rev().take_while(|line| line.is_loose()).count();
        self.lines.split_at(self.lines.len() - loose).0
    }
}

/// Returns the hunks of the correct diff.
pub(super) fn hunks(diff: &TextDiff<'_, '_, str>, context: usize) -> Vec<Hunk> {
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(context).iter_hunks();
    hunks
        .enumerate()
        .map(|(index, hunk)| {
            let whole = |range: fn(&DiffOp) -> Range<usize>| {
                let start = hunk.ops().first().map_or(0, |op| range(op).start);
                start..hunk.ops().last().map_or(start, |op| range(op).end)
            };
            let (old, new) = (whole(DiffOp::old_range), whole(DiffOp::new_range));
            // A range without lines is named by the line before it.
            let shown =
                |range: &Range<usize>| (range.start + usize::from(!range.is_empty()), range.len());
            let lines = hunk.iter_changes().map(|change| Line {
                tag: change.tag(),
                has_marker: true,
                text: change.value().trim_end_matches('\n').to_owned(),
                ended: change.value().ends_with('\n'),
            });
            Hunk {
                old: shown(&old),
                new: shown(&new),
                has_numbers: true,
                index,
                truth: old.start,
                lines: lines.collect(),
            }
        })
        .collect()
}

/// Damages hunks, if `damage` concerns hunks.
pub(super) fn damage(hunks: &mut Vec<Hunk>, damage: Damage) {
    match damage {
        Damage::Counts(number) => hunks.iter_mut().for_each(|hunk| miscount(hunk, number)),
        Damage::Numbers(number) => hunks.iter_mut().for_each(|hunk| misplace(hunk, number)),
        Damage::NoNumbers => hunks.iter_mut().for_each(|hunk| hunk.has_numbers = false),
        Damage::Blank => {
            let blank = |line: &Line| line.is_context() && line.text.is_empty() && line.ended;
            each_line(hunks, |line| line.has_marker &= !blank(line));
        }
        Damage::Cut => cut(hunks.last_mut()),
        Damage::Trailing(number) => {
            let old = hunks
                .iter_mut()
                .flat_map(|hunk| &mut hunk.lines)
                .filter(|line| line.is_old() && line.has_marker);
            old.step_by(usize::from(number / 2) + 1)
                .for_each(|line| retrail(&mut line.text, number % 2 == 0));
        }
        Damage::Marker => hunks.iter_mut().for_each(lose_markers),
        Damage::Space => each_line(hunks, |line| {
            if line.is_context() && line.has_marker {
                line.text = retab(&line.text);
            }
        }),
        Damage::Punctuation => each_line(hunks, |line| {
            if line.is_context() {
                line.text = line
                    .text
                    .replace('"', "\u{201d}")
                    .replace(" - ", " \u{2013} ")
                    .replace("...", "\u{2026}");
            }
        }),
        Damage::Twice => {
            *hunks = hunks.iter().flat_map(|hunk| [hunk.clone(), hunk.clone()]).collect();
        }
        Damage::Reversed => hunks.reverse(),
        Damage::Copied(number) => hunks.iter_mut().for_each(|hunk| copy_numbers(hunk, number)),
        Damage::Lf => {
            each_line(hunks, |line| line.text.truncate(line.text.trim_end_matches('\r').len()));
        }
        Damage::Indented | Damage::Fenced | Damage::CrLf => {}
    }
}

fn each_line(hunks: &mut [Hunk], change: impl FnMut(&mut Line)) {
    hunks.iter_mut().flat_map(|hunk| &mut hunk.lines).for_each(change);
}

/// Changes one count, the other, or both, by up to 2 in either direction.
fn miscount(hunk: &mut Hunk, number: u8) {
    let off = |count: usize| (count + usize::from(number / 2)).saturating_sub(2);
    let (old, new) = (off(hunk.old.1), off(hunk.new.1));
    match number % 3 {
        0 => hunk.old.1 = old,
        1 => hunk.new.1 = new,
        _ => (hunk.old.1, hunk.new.1) = (old, new),
    }
}

fn misplace(hunk: &mut Hunk, number: u8) {
    let line = hunk.old.0 + usize::from(number);
    match number {
        // As if the hunk had been written against the result of the earlier hunks.
        0 => hunk.old.0 = hunk.new.0,
        9 => (hunk.old.0, hunk.new.0) = (1, 1),
        _ => (hunk.old.0, hunk.new.0) = (line.saturating_sub(4), line.saturating_sub(4)),
    }
}

/// Prefixes every old line with its number; depending on the variant (0, 1, 2) also added lines, or with wrong numbers
/// (3 and more).
fn copy_numbers(hunk: &mut Hunk, number: u8) {
    let Some(first) = hunk.lines.iter().any(Line::is_old).then_some(hunk.truth + 1) else { return };
    let (mut old, mut new, mut replaced) = (first, hunk.new.0, first);
    for line in &mut hunk.lines {
        let shown = match (line.tag, number) {
            (ChangeTag::Insert, 0) => None,
            (ChangeTag::Insert, 1) => Some(replaced),
            (ChangeTag::Insert, _) => Some(new),
            (ChangeTag::Equal | ChangeTag::Delete, 0..=2) => Some(old),
            (ChangeTag::Equal | ChangeTag::Delete, wrong) => Some(old + usize::from(wrong) - 2),
        };
        (old, new) = (old + usize::from(line.is_old()), new + usize::from(line.is_new()));
        match line.tag {
            ChangeTag::Insert => replaced += 1,
            ChangeTag::Equal => replaced = old,
            ChangeTag::Delete => {}
        }
        if let Some(shown) = shown {
            let space = if line.text.is_empty() { "" } else { " " };
            line.text = format!("{shown:>4}|{space}{}", line.text);
        }
    }
}

fn cut(hunk: Option<&mut Hunk>) {
    let Some(hunk) = hunk else { return };
    while hunk
        .lines
        .last()
        .is_some_and(|line| line.is_context() && line.text.is_empty() && line.ended)
    {
        hunk.lines.pop();
    }
}

fn retrail(text: &mut String, add: bool) {
    let carriage_return = if text.ends_with('\r') { "\r" } else { "" };
    text.truncate(text.len() - carriage_return.len());
    if add {
        text.push_str("  ");
    } else {
        text.truncate(text.trim_end_matches(' ').len());
    }
    text.push_str(carriage_return);
}

/// Removes markers, but not after the last change, where a line without a marker may be prose, and only from words,
/// which look like nothing else.
fn lose_markers(hunk: &mut Hunk) {
    let last = hunk.lines.iter().rposition(|line| !line.is_context()).unwrap_or_default();
    for line in hunk.lines.iter_mut().take(last) {
        let is_word =
            !line.text.is_empty() && line.text.bytes().all(|byte| byte.is_ascii_alphabetic());
        line.has_marker &= !(line.is_context() && is_word);
    }
}

fn retab(text: &str) -> String {
    match text.strip_prefix('\t') {
        Some(rest) => format!("    {rest}"),
        None => {
            text.strip_prefix("    ").map_or_else(|| text.to_owned(), |rest| format!("\t{rest}"))
        }
    }
}

/// Renders the diff as an answer, with the `damages` that concern the whole of it.
pub(super) fn render(hunks: &[Hunk], damages: &[Damage]) -> String {
    let mut text = String::from("--- a/f\n+++ b/f\n");
    for hunk in hunks {
        let range =
            |(line, count)| if count == 1 { format!("{line}") } else { format!("{line},{count}") };
        text += &if hunk.has_numbers {
            format!("@@ -{} +{} @@\n", range(hunk.old), range(hunk.new))
        } else {
            String::from("@@ ... @@\n")
        };
        for line in &hunk.lines {
            let marker = if line.has_marker { line.tag.to_string() } else { String::new() };
            text += &[marker.as_str(), &line.text, "\n"].concat();
            if !line.ended {
                text += "\\ No newline at end of file\n";
            }
        }
    }
    if damages.contains(&Damage::Cut) {
        text.pop();
    }
    if damages.contains(&Damage::Indented) {
        text = format!("  {}\n", text.strip_suffix('\n').unwrap_or(&text).replace('\n', "\n  "));
    }
    if damages.contains(&Damage::Fenced) {
        text = format!(
            "Here it is:\n\n```diff\n{}\n```\nDone.\n",
            text.strip_suffix('\n').unwrap_or(&text)
        );
    }
    if damages.contains(&Damage::CrLf) {
        text = text.replace('\n', "\r\n");
    }
    text
}
