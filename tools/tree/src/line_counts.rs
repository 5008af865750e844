//! Counts the added and removed lines between two texts, in time roughly linear in their size. Pure.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Two pieces are compared by a full diff if they have at most this many pairs of lines.
const PAIRS: usize = 1_000_000;
/// How many lines ahead two large pieces without a unique common line are searched for the next common lines.
const AHEAD: usize = 64;
/// How many common lines in a row are required there.
const SHARED: usize = 3;
/// Bytes compared at a time. Comparing single bytes would take longer than all the rest.
const PIECE: usize = 256;

/// Returns the number of added and removed lines.
pub(super) fn line_counts(before: &[u8], after: &[u8]) -> (usize, usize) {
    let (prefix, suffix) = common_bytes(before, after);
    let [old, new] =
        [before, after].map(|text| text.get(prefix..text.len() - suffix).unwrap_or_default());
    // Capacity for the lines of one of them: most are in both.
    let mut numbers = HashMap::with_capacity(memchr::memchr_iter(b'\n', old).count() + 1);
    let [old, new] = [old, new].map(|text| numbered(text, &mut numbers));
    count(&old, &new)
}

/// Returns the lines of a text as numbers. Equal lines have equal numbers.
fn numbered<'t>(text: &'t [u8], numbers: &mut HashMap<&'t [u8], u32>) -> Vec<u32> {
    let number = |line| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(line).or_insert(next)
    };
    let ends = memchr::memchr_iter(b'\n', text).map(|at| at + 1).chain([text.len()]);
    let lines = ends.scan(0, |from, end| text.get(std::mem::replace(from, end)..end));
    lines.filter(|line| !line.is_empty()).map(number).collect()
}

/// Returns how many bytes of whole lines two texts share at their start, and how many of the rest at their end.
fn common_bytes(a: &[u8], b: &[u8]) -> (usize, usize) {
    let pieces = a.chunks_exact(PIECE).zip(b.chunks_exact(PIECE));
    let same = PIECE * pieces.take_while(|(a, b)| a == b).count();
    let [a_rest, b_rest] = [a, b].map(|text| text.get(same..).unwrap_or_default());
    let same = same + a_rest.iter().zip(b_rest).take_while(|(a, b)| a == b).count();
    let prefix = if same == a.len() && same == b.len() {
        same
    } else {
        a.get(..same).and_then(|same| memchr::memrchr(b'\n', same)).map_or(0, |at| at + 1)
    };
    let [a_rest, b_rest] = [a, b].map(|text| text.get(prefix..).unwrap_or_default());
    let pieces = a_rest.rchunks_exact(PIECE).zip(b_rest.rchunks_exact(PIECE));
    let same = PIECE * pieces.take_while(|(a, b)| a == b).count();
    let [a_rest, b_rest] =
        [a_rest, b_rest].map(|text| text.get(..text.len() - same).unwrap_or_default());
    let rest = a_rest.iter().rev().zip(b_rest.iter().rev());
    let same = same + rest.take_while(|(a, b)| a == b).count();
    let end = a.get(a.len() - same..).unwrap_or_default();
    // A line that starts before the shared bytes is not shared.
    let starts = |text: &[u8]| {
        let at = text.len() - same;
        at == prefix || text.get(at - 1) == Some(&b'\n')
    };
    let suffix = if starts(a) && starts(b) {
        same
    } else {
        memchr::memchr(b'\n', end).map_or(0, |at| same - at - 1)
    };
    (prefix, suffix)
}

/// Returns the number of added and removed lines.
fn count(old: &[u32], new: &[u32]) -> (usize, usize) {
    if old.len().saturating_mul(new.len()) <= PAIRS {
        return compared(old, new);
    }
    let anchors = anchors(old, new);
    let (mut from, mut counts) = ((0, 0), (0, 0));
    for (a, b) in anchors.iter().copied().chain([(old.len(), new.len())]) {
        let old = old.get(from.0..a).unwrap_or_default();
        let new = new.get(from.1..b).unwrap_or_default();
        let is_small = old.len().saturating_mul(new.len()) <= PAIRS;
        let (added, removed) = if is_small { compared(old, new) } else { walked(old, new) };
        counts = (counts.0 + added, counts.1 + removed);
        from = (a + 1, b + 1);
    }
    counts
}

/// Counts by a full diff.
fn compared(old: &[u32], new: &[u32]) -> (usize, usize) {
    if old.is_empty() || new.is_empty() {
        return (new.len(), old.len());
    }
    let counts = |(added, removed), op: &DiffOp| match *op {
        DiffOp::Equal { .. } => (added, removed),
        DiffOp::Insert { new_len, .. } => (added + new_len, removed),
        DiffOp::Delete { old_len, .. } => (added, removed + old_len),
        DiffOp::Replace { old_len, new_len, .. } => (added + new_len, removed + old_len),
    };
    capture_diff_slices(Algorithm::Histogram, old, new).iter().fold((0, 0), counts)
}

/// How often a line occurs in a text, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    Never,
    Once(usize),
    Often,
}

/// Returns the longest sequence of lines that occur exactly once in both texts and in the same order.
fn anchors(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let numbers = old.iter().chain(new).max().map_or(0, |most| *most as usize + 1);
    let once = |lines: &[u32]| {
        let mut at = vec![Times::Never; numbers];
        for (index, line) in lines.iter().enumerate() {
            if let Some(at) = at.get_mut(*line as usize) {
                *at = if *at == Times::Never { Times::Once(index) } else { Times::Often };
            }
        }
        at
    };
    let (in_old, in_new) = (once(old), once(new));
    let at = |lines: &[Times], line: u32| match lines.get(line as usize) {
        Some(Times::Once(at)) => Some(*at),
        Some(Times::Never | Times::Often) | None => None,
    };
    let pairs = old.iter().filter_map(|line| Some((at(&in_old, *line)?, at(&in_new, *line)?)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    // The longest increasing subsequence: the ends of the runs so far, and the predecessor of each.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let at = |index: usize| pairs.get(index).map_or(0, |(_, new)| *new);
    for (index, (_, new)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| at(*end) < *new);
        before.push(length.checked_sub(1).and_then(|last| ends.get(last).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let run = std::iter::successors(ends.last().copied(), |index| before.get(*index).copied()?);
    let mut run: Vec<(usize, usize)> = run.filter_map(|index| pairs.get(index).copied()).collect();
    run.reverse();
    run
}

/// Counts line by line with a short lookahead: a valid count, though perhaps not the smallest.
fn walked(old: &[u32], new: &[u32]) -> (usize, usize) {
    let (mut a, mut b) = (0, 0);
    let (mut added, mut removed) = (0, 0);
    let agree = |a: usize, b: usize| {
        let [old, new] = [old.get(a..), new.get(b..)].map(Option::unwrap_or_default);
        let same = old.iter().zip(new).take(SHARED).take_while(|(old, new)| old == new).count();
        same == SHARED || same > 0 && (same == old.len() || same == new.len())
    };
    while a < old.len() && b < new.len() {
        if old.get(a) == new.get(b) {
            (a, b) = (a + 1, b + 1);
            continue;
        }
        let apart = (1..=AHEAD).flat_map(|apart| (0..=apart).map(move |more| (more, apart - more)));
        let (gone, come) = apart.into_iter().find(|(x, y)| agree(a + x, b + y)).unwrap_or((1, 1));
        (a, b) = (a + gone, b + come);
        (added, removed) = (added + come, removed + gone);
    }
    (added + new.len().saturating_sub(b), removed + old.len().saturating_sub(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &[u32]) -> Vec<u8> {
        text.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
    }

    #[test]
    fn small_texts_are_compared_by_a_full_diff() {
        for (before, after, counts) in [
            ("", "", (0, 0)),
            ("1\n2\n3\n", "1\n3\n4\n5", (2, 1)),
            ("a\n", "a", (1, 1)),
            ("a\na\n", "a\n", (0, 1)),
            ("ab\n", "b\n", (1, 1)),
            ("x\nb\n", "b\n", (0, 1)),
            ("a\nb", "a\nb\n", (1, 1)),
        ] {
            assert_eq!(
                line_counts(before.as_bytes(), after.as_bytes()),
                counts,
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn shared_lines_are_found_across_pieces() {
        let text: Vec<u8> = lines(&(0..400).collect::<Vec<_>>());
        for at in 0..400 {
            let changed: Vec<u32> =
                (0..400).map(|line| if line == at { 999 } else { line }).collect();
            let more = [&changed[..], &[7]].concat();
            assert_eq!(line_counts(&text, &lines(&changed)), (1, 1), "{at}");
            assert_eq!(line_counts(&lines(&more), &text), (1, 2), "{at}");
        }
        assert_eq!(line_counts(&text, &text.repeat(2)), (400, 0));
    }

    #[test]
    fn large_texts_are_counted_by_their_common_lines() {
        let before: Vec<u32> = (0..20_000).map(|at| if at % 3 == 0 { 0 } else { at }).collect();
        let mut after = before.clone();
        for at in (7..19_000).step_by(40) {
            after[at] = 1_000_000;
        }
        after.splice(500..500, 2_000_000..2_003_000);
        let changed = (7..19_000).step_by(40).count();
        assert_eq!(line_counts(&lines(&before), &lines(&after)), (changed + 3_000, changed));
        let equal = vec![0; 20_000];
        let mut after = equal.clone();
        (0..20_000).step_by(100).for_each(|at| after[at] = 1);
        assert_eq!(line_counts(&lines(&equal), &lines(&after)), (200, 200));
    }

    proptest! {
        #[test]
        fn counts_lead_from_one_text_to_the_other(
            before in proptest::collection::vec(0..9_u32, 0..60),
            after in proptest::collection::vec(0..9_u32, 0..60),
        ) {
            let [old, new] = [&before, &after].map(|text| lines(text).repeat(30));
            let counts = line_counts(&old, &new);
            prop_assert_eq!(30 * before.len() - counts.1, 30 * after.len() - counts.0);
            for (added, removed) in [walked(&before, &after), line_counts(&lines(&before), &lines(&after))] {
                prop_assert_eq!(before.len() - removed, after.len() - added);
            }
        }
    }
}
