//! Three-way merge of a file: what was shown, what the file is now, and what the diff makes of what was shown.

use std::ops::Range;

use config::ApplyStrategy;
use similar::{Algorithm, DiffOp, TextMerge, capture_diff_slices};

use crate::refusal::reasons::Reason;

/// Merges the changes that `current` and `theirs` each made to `base`, or returns why it cannot. Conflict markers are
/// never written.
///
/// Changes that touch each other without a line between them are a conflict, as in git; with
/// [`ApplyStrategy::ThreeWay`] they are merged if both replace or remove whole lines, since their order is certain.
pub fn merge(
    base: &[u8],
    current: &[u8],
    theirs: &[u8],
    strategy: ApplyStrategy,
) -> Result<Vec<u8>, Reason> {
    if slides_into(base, current, theirs) || slides_into(base, theirs, current) {
        return Err(Reason::MergeConflict);
    }
    // Changes that meet in the smallest difference of each side are a conflict, however else lines could be paired.
    let merge =
        TextMerge::configure().algorithm(Algorithm::Myers).merge_lines(base, current, theirs);
    if merge.is_conflicted() {
        let is_allowed = strategy == ApplyStrategy::ThreeWay;
        let beside = is_allowed.then(|| merge_side_by_side(base, current, theirs)).flatten();
        return beside.ok_or(Reason::MergeConflict);
    }
    let mut merged = Vec::with_capacity(current.len().max(theirs.len()));
    merge.to_writer(&mut merged).map_err(|_| Reason::MergeConflict)?;
    Ok(merged)
}

/// Merges changes of different lines of `base`, however close they are; `None` if both sides change a line, or where a
/// side inserts next to a change of the other, so that their order is open.
fn merge_side_by_side(base: &[u8], current: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let [base, current, theirs] = [base, current, theirs].map(lines_of);
    let changes = |to: &[&[u8]]| {
        let ops = capture_diff_slices(Algorithm::Myers, &base, to);
        ops.into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. })).collect::<Vec<_>>()
    };
    let mut both: Vec<(DiffOp, &[&[u8]])> = [&current[..], &theirs[..]]
        .into_iter()
        .flat_map(|side| changes(side).into_iter().map(move |op| (op, side)))
        .collect();
    both.sort_by_key(|(op, _)| (op.old_range().start, op.old_range().end));
    let meets = |pair: &[(DiffOp, &[&[u8]])]| {
        let [(a, _), (b, _)] = pair else { return false };
        let (a, b) = (a.old_range(), b.old_range());
        a.end > b.start || a.end == b.start && (a.is_empty() || b.is_empty())
    };
    if both.windows(2).any(meets) {
        return None;
    }
    let (mut merged, mut at) = (Vec::<&[u8]>::new(), 0);
    for (op, side) in both {
        merged.extend(base.get(at..op.old_range().start)?);
        merged.extend(side.get(op.new_range())?);
        at = op.old_range().end;
    }
    merged.extend(base.get(at..)?);
    Some(merged.concat())
}

fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns true if a block that one side removed could equally be an identical block that contains the other side's
/// change: in repetitive text, it is unknown which one was removed.
fn slides_into(base: &[u8], one: &[u8], other: &[u8]) -> bool {
    let [base, one, other] = [base, one, other].map(lines_of);
    let changes = |to: &[&[u8]]| capture_diff_slices(Algorithm::Histogram, &base, to);
    let touched: Vec<_> = changes(&other)
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(DiffOp::old_range)
        .collect();
    let gone = changes(&one);
    let gone = gone.iter().filter(|op| matches!(op, DiffOp::Delete { .. })).map(DiffOp::old_range);
    gone.into_iter().any(|block| {
        let (up, down) = slack(&base, block.clone());
        let reach = block.start.saturating_sub(up)..block.end + down;
        // What is inserted at the end of the reach touches the block once that has slid there.
        let is_inserted_at = |touched: &Range<usize>, line: usize| *touched == (line..line);
        let is_in_reach = |touched: &Range<usize>| {
            touched.start < reach.end && reach.start < touched.end
                || down > 0 && is_inserted_at(touched, reach.end)
                || up > 0 && is_inserted_at(touched, reach.start)
        };
        // Both sides may have removed the same block.
        touched.iter().any(|touched| *touched != block && is_in_reach(touched))
    })
}

/// Returns by how many lines a block can be moved up and down without changing the rest.
fn slack(lines: &[&[u8]], block: Range<usize>) -> (usize, usize) {
    let same = |a: usize, b: usize| lines.get(a).is_some_and(|line| lines.get(b) == Some(line));
    let up = (1..=block.start).take_while(|by| same(block.start - by, block.end - by)).count();
    let down = (0..lines.len()).take_while(|by| same(block.start + by, block.end + by)).count();
    (up, down)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_only_one_pairing_keeps_apart_conflict() {
        let merge = |base: &str, current: &str, theirs: &str| {
            merge(base.as_bytes(), current.as_bytes(), theirs.as_bytes(), ApplyStrategy::Auto)
        };
        // Either `c` and `b` moved up, or `a` moved down and another `b` was added.
        assert_eq!(
            merge("a\nc\nb\nd\n", "a\nc\nb\nD\n", "c\nb\na\nb\nd\n"),
            Err(Reason::MergeConflict)
        );
    }

    #[test]
    fn a_removed_block_that_could_be_another_one_is_a_conflict() {
        let block = |name: &str| format!("- name: {name}\n  groups:\n    deps:\n      all\n");
        let base = block("a") + &block("b");
        let theirs = block("a") + &block("b").replace("deps", "x");
        let merge = |current: &str| {
            merge(base.as_bytes(), current.as_bytes(), theirs.as_bytes(), ApplyStrategy::Auto)
        };
        assert_eq!(merge(&block("a")), Err(Reason::MergeConflict));
        let current = base.replace("name: a", "name: A");
        let merged = merge(&current).unwrap();
        assert_eq!(merged, theirs.replace("name: a", "name: A").into_bytes());
    }
}
