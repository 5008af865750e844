//! Three-way merge of a file: what was shown, what the file is now, and what the diff makes of what was shown.

use std::ops::Range;

use config::ApplyStrategy;
use similar::{Algorithm, DiffOp, MergeRegion, MergeResolution, TextMerge, capture_diff_slices};

use super::refuse::Reason;

/// The algorithms that pair lines. Equal lines can often be paired in several ways, and only some keep two changes
/// apart.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::Histogram, Algorithm::Myers];

/// Merges the changes that `current` and `theirs` each made to `base`, or returns why it cannot. Conflict markers are
/// never written.
///
/// [`ApplyStrategy::Auto`] also refuses changes that touch each other without a line between them.
pub fn merge(
    base: &[u8],
    current: &[u8],
    theirs: &[u8],
    strategy: ApplyStrategy,
) -> Result<Vec<u8>, Reason> {
    let paired_by =
        |algorithm| TextMerge::configure().algorithm(algorithm).merge_lines(base, current, theirs);
    // Changes that meet in the smallest difference of each side are a conflict, however else lines could be paired.
    if paired_by(Algorithm::Myers).is_conflicted() {
        return Err(Reason::MergeConflict);
    }
    let mut refused = Reason::MergeConflict;
    for algorithm in ALGORITHMS {
        let merge = paired_by(algorithm);
        if merge.is_conflicted() {
            continue;
        }
        if strategy == ApplyStrategy::Auto && touch(merge.regions()) {
            refused = Reason::StaleBase;
            continue;
        }
        if slides_into(base, current, theirs) || slides_into(base, theirs, current) {
            return Err(Reason::MergeConflict);
        }
        let mut merged = Vec::with_capacity(current.len().max(theirs.len()));
        merge.to_writer(&mut merged).map_err(|_| Reason::MergeConflict)?;
        return Ok(merged);
    }
    Err(refused)
}

/// Returns true if a block that one side removed could equally be an identical block that contains the other side's
/// change: in repetitive text, it is unknown which one was removed.
fn slides_into(base: &[u8], one: &[u8], other: &[u8]) -> bool {
    let [base, one, other] = [base, one, other]
        .map(|text| text.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>());
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
        let is_in_reach = |touched: &Range<usize>| *touched != block && is_in_reach(touched);
        touched.iter().any(is_in_reach)
    })
}

/// Returns by how many lines a block can be moved up and down without changing the rest.
fn slack(lines: &[&[u8]], block: Range<usize>) -> (usize, usize) {
    let same = |a: usize, b: usize| lines.get(a).is_some_and(|line| lines.get(b) == Some(line));
    let up = (1..=block.start).take_while(|by| same(block.start - by, block.end - by)).count();
    let down = (0..lines.len()).take_while(|by| same(block.start + by, block.end + by)).count();
    (up, down)
}

/// Returns true if a change of one side begins where one of the other side ends.
fn touch(regions: &[MergeRegion]) -> bool {
    let changed =
        |resolution| matches!(resolution, MergeResolution::Ours | MergeResolution::Theirs);
    regions.windows(2).any(|pair| match pair {
        [a, b] => {
            a.resolution() != b.resolution() && changed(a.resolution()) && changed(b.resolution())
        }
        _ => false,
    })
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
