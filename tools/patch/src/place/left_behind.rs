//! Finds hunks that were placed elsewhere than they say, and whose old lines are there once the other hunks are applied.

use crate::diff::hunk_lines::new_lines;
use crate::diff::sections::Hunk;
use crate::place::edits::Edit;
use crate::place::locate::{Image, is_left_behind, is_made_again};
use crate::refusal::reasons::{PatchMismatch, Reason};

/// Returns those of the `moved` hunks, each with its line from 1, for which the result of the others matches at their
/// stated line.
pub(crate) fn left_behind(
    bytes: &[u8],
    hunks: &[&Hunk<'_>],
    moved: &[(usize, usize)],
    edits: &[Edit<'_>],
    name: &str,
) -> Vec<PatchMismatch> {
    if hunks.len() < 2 || moved.is_empty() {
        return Vec::new();
    }
    let image = Image::of(bytes);
    let growth = Growth::of(edits);
    let hunks_left =
        moved.iter().filter_map(|(index, line)| Some((*index, *line, hunks.get(*index)?)));
    hunks_left
        .filter(|(index, line, hunk)| {
            let start = growth.moved(line.saturating_sub(1));
            let body = hunk.readings.first().map_or(&[][..], |reading| &reading.body);
            let own = start..start + new_lines(body);
            let made_before = || {
                let before = edits.iter().filter(|edit| edit.hunk + 1 == *index);
                before
                    .map(|edit| {
                        let at = growth.moved(edit.start);
                        at..at + edit.insert.len()
                    })
                    .collect::<Vec<_>>()
            };
            is_left_behind(&image, hunk, own.clone())
                || hunk.numbers.is_none() && is_made_again(&image, hunk, own, &made_before())
        })
        .map(|(index, _, hunk)| {
            let mismatch = PatchMismatch::file(Reason::AmbiguousHunk, name);
            let hunk = Some(hunk.reference(index, hunks.len()));
            PatchMismatch { hunk, ..mismatch }
                .note("Once the other hunks are applied, its old lines are also in another place, which may be the intended one.")
        })
        .collect()
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
