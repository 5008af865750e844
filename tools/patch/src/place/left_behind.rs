//! Finds hunks that were placed elsewhere than they say, and whose old lines are there once the other hunks are applied.

use std::ops::Range;

use crate::diff::hunk_lines;
use crate::diff::sections::Hunk;
use crate::place::edits::Edit;
use crate::place::locate::{Image, is_left_behind, is_made_again};

/// Returns those of the `moved` hunks, each with its line, all from 0, for which the result of the others matches at
/// their stated line.
pub(crate) fn left_behind(
    bytes: &[u8],
    hunks: &[&Hunk<'_>],
    moved: &[(usize, usize)],
    edits: &[Edit<'_>],
) -> Vec<usize> {
    if hunks.len() < 2 || moved.is_empty() {
        return Vec::new();
    }
    let (image, growth) = (Image::of(bytes), Growth::of(edits));
    let made_before = |index: usize| -> Vec<Range<usize>> {
        let made = edits.iter().filter(|edit| edit.hunk + 1 == index);
        let lines = made.map(|edit| (growth.moved(edit.start), edit.insert.len()));
        lines.map(|(start, len)| start..start + len).collect()
    };
    let is_left = |&&(index, line): &&(usize, usize)| {
        let Some(hunk) = hunks.get(index) else { return false };
        let start = growth.moved(line);
        let own = start..start + hunk_lines::counts(hunk.longest()).1;
        is_left_behind(&image, hunk, own.clone())
            || hunk.numbers.is_none() && is_made_again(&image, hunk, own, &made_before(index))
    };
    moved.iter().filter(is_left).map(|(index, _)| *index).collect()
}

/// How far edits move the lines of a file.
struct Growth(Vec<(usize, isize)>);

impl Growth {
    /// Computes it from sorted edits.
    fn of(edits: &[Edit<'_>]) -> Growth {
        let mut sum = 0;
        let sums = edits.iter().map(|edit| {
            sum += edit.insert.len().cast_signed() - (edit.end - edit.start).cast_signed();
            (edit.start, sum)
        });
        Growth(sums.collect())
    }

    /// Returns the new position of line `at`; lines inserted directly before it count as below it.
    fn moved(&self, at: usize) -> usize {
        let before = self.0.partition_point(|(start, _)| *start < at);
        let sum =
            before.checked_sub(1).and_then(|last| self.0.get(last)).map_or(0, |(_, sum)| *sum);
        at.saturating_add_signed(sum)
    }
}
