//! Selects the lines of a file that are shown to the role that will change it: the places that the plan names, or all of
//! it. Pure.

use std::collections::BTreeSet;

use similar::{ChangeTag, TextDiff};

/// Lines shown before and after a line that may be relevant.
const AROUND: usize = 15;
/// Lines shown before and after a place named by the plan, the widest first: the next width is used if that does not fit.
const AROUND_NAMED: [usize; 3] = [5, 3, 0];
/// A longer definition is not shown whole for the sake of a place inside it.
const MAX_DEFINITION_LINES: usize = 100;
/// Lines shown of a long file if nothing is known about where it will be changed.
const HEAD: usize = 20;
/// Lines shown before and after a change.
const AROUND_CHANGE: usize = 10;
/// Parts with at most this many lines between them are shown as one.
const GAP: usize = 5;
/// A word on more lines than this does not help to find the place.
const COMMON: usize = 6;
/// Shorter words do not help either.
const SHORTEST_WORD: usize = 4;

/// A range of lines, one-based and inclusive.
pub type ShownRange = (usize, usize);

/// What is known about where a file will be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Ranges that the plan names.
    pub named: Vec<ShownRange>,
    /// Ranges that were looked at before planning.
    pub looked: Vec<ShownRange>,
    /// The text of the plan; names in it that occur on few lines of the file mark likely places.
    pub words: String,
}

/// What is shown of a file on first sight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstSight {
    /// All of it.
    Whole,
    /// Some parts of it, in order.
    Parts {
        /// The lines shown.
        shown: Vec<ShownRange>,
        /// The ranges that the plan names and that did not fit.
        unshown: Vec<ShownRange>,
    },
}

/// Returns what to show of `text` on first sight: the places that the plan names, widened to the whole definitions around
/// them, however short the file is. If the plan names none, a file of up to `max_lines` lines is shown whole. The parts
/// have at most that many lines in total.
pub fn first_sight(
    text: &str,
    definitions: &[ShownRange],
    hints: &Hints,
    max_lines: usize,
) -> FirstSight {
    let count = text.lines().count();
    if hints.named.is_empty() {
        return if count <= max_lines {
            FirstSight::Whole
        } else {
            FirstSight::Parts { shown: likely(text, hints, max_lines), unshown: Vec::new() }
        };
    }
    let named = || hints.named.iter().map(|(first, last)| (*first.min(&count), *last.min(&count)));
    let whole = || named().map(|range| with_definitions(range, definitions));
    let [widest, narrower @ ..] = AROUND_NAMED;
    let around = |range, by| widened(range, by, count);
    let first = joined(named().zip(whole()).map(|(near, whole)| {
        let near = around(near, widest);
        (near.0.min(whole.0), near.1.max(whole.1))
    }));
    let others = narrower.iter().map(|by| joined(named().map(|range| around(range, *by))));
    let fitting = std::iter::once(first).chain(others).find(|shown| lines(shown) <= max_lines);
    match fitting {
        Some(shown) if count <= max_lines && is_most(&shown, count) => FirstSight::Whole,
        Some(shown) => FirstSight::Parts { shown, unshown: Vec::new() },
        None => some_of(named().collect(), max_lines),
    }
}

/// Returns the ranges that fit, shortest first so that a long range does not crowd out the others, and the rest.
fn some_of(mut named: Vec<ShownRange>, max_lines: usize) -> FirstSight {
    named.sort_by_key(|(first, last)| last.saturating_sub(*first));
    let (mut shown, mut unshown) = (Vec::new(), Vec::new());
    let mut left = max_lines;
    for (first, last) in named {
        for (first, last) in outside((first, last), &shown) {
            let end = last.min((first + left).saturating_sub(1));
            if first <= end {
                left -= end + 1 - first;
                shown.push((first, end));
            }
            if end < last {
                unshown.push((first.max(end + 1), last));
            }
        }
    }
    shown.sort_unstable();
    unshown.sort_unstable();
    FirstSight::Parts { shown, unshown }
}

/// Returns the likely places of a long file: where the planner looked, or else lines with names that the plan uses.
fn likely(text: &str, hints: &Hints, max_lines: usize) -> Vec<ShownRange> {
    let count = text.lines().count();
    let mut told = hints.looked.clone();
    told.sort_by_key(|(first, last)| last.saturating_sub(*first));
    let words = if told.is_empty() { hints.words.as_str() } else { "" };
    let found = lines_with(text, words).map(|line| (line, line));
    let (mut shown, mut left) = (Vec::new(), max_lines);
    for range in told.into_iter().chain(found) {
        let (first, last) = widened(range, AROUND, count);
        let last = last.min((first + left).saturating_sub(1));
        for (first, last) in outside((first, last), &shown) {
            left = left.saturating_sub(last + 1 - first);
            shown.push((first, last));
        }
    }
    if shown.is_empty() {
        shown.push((1, HEAD.min(max_lines)));
    }
    joined_if_adjacent(shown)
}

/// Widens a range to the smallest definitions around its first and its last line, unless they are long.
fn with_definitions((first, last): ShownRange, definitions: &[ShownRange]) -> ShownRange {
    let around = |line: usize| {
        let around = definitions.iter().filter(|(from, to)| (*from..=*to).contains(&line));
        let short = around.filter(|(from, to)| to - from < MAX_DEFINITION_LINES);
        short.min_by_key(|(from, to)| to - from)
    };
    (around(first).map_or(first, |it| it.0), around(last).map_or(last, |it| it.1))
}

fn lines(ranges: &[ShownRange]) -> usize {
    ranges.iter().map(|(first, last)| last + 1 - first).sum()
}

/// Returns true if the ranges make up most of a file.
fn is_most(ranges: &[ShownRange], count: usize) -> bool {
    lines(ranges) * 3 >= count * 2
}

/// Returns the parts of `new` that differ from `old`, with context; `None` if they make up most of it.
pub fn changed_parts(old: &str, new: &str) -> Option<Vec<ShownRange>> {
    let count = new.lines().count();
    let diff = TextDiff::from_lines(old, new);
    let mut at = 1;
    let mut ranges = Vec::new();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => at += 1,
            ChangeTag::Insert => {
                ranges.push(widened((at, at), AROUND_CHANGE, count));
                at += 1;
            }
            ChangeTag::Delete => ranges.push(widened((at, at), AROUND_CHANGE, count)),
        }
    }
    let ranges = joined(ranges);
    (!is_most(&ranges, count)).then_some(ranges)
}

/// Returns the lines of a range, including line endings.
pub fn lines_of(text: &str, (first, last): ShownRange) -> String {
    text.split_inclusive('\n').skip(first.saturating_sub(1)).take(last + 1 - first).collect()
}

fn widened((first, last): ShownRange, by: usize, count: usize) -> ShownRange {
    (first.saturating_sub(by).max(1), last.saturating_add(by).min(count.max(1)))
}

/// Returns the parts of `range` that are in none of `seen`.
pub(crate) fn outside(range: ShownRange, seen: &[ShownRange]) -> Vec<ShownRange> {
    let cut = |left: Vec<ShownRange>, (from, to): &ShownRange| {
        let around = |(first, last): ShownRange| {
            [(first, last.min(from.saturating_sub(1))), (first.max(to + 1), last)]
        };
        let parts = left.into_iter().flat_map(around);
        parts.filter(|(first, last)| first <= last).collect()
    };
    seen.iter().fold(vec![range], cut)
}

/// Sorts ranges and merges those with few lines between them.
fn joined(ranges: impl IntoIterator<Item = ShownRange>) -> Vec<ShownRange> {
    joined_across(ranges, GAP)
}

/// Sorts ranges and merges those that touch.
fn joined_if_adjacent(ranges: impl IntoIterator<Item = ShownRange>) -> Vec<ShownRange> {
    joined_across(ranges, 0)
}

fn joined_across(ranges: impl IntoIterator<Item = ShownRange>, gap: usize) -> Vec<ShownRange> {
    let mut ranges: Vec<ShownRange> = ranges.into_iter().collect();
    ranges.sort_unstable();
    let mut joined: Vec<ShownRange> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if first <= *end + gap + 1 => *end = last.max(*end),
            Some(_) | None => joined.push((first, last)),
        }
    }
    joined
}

/// Returns the lines with a name of `words` that few lines have, in the order of the names.
fn lines_with<'t>(text: &'t str, words: &str) -> impl Iterator<Item = usize> + 't {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut seen = BTreeSet::new();
    let wanted: Vec<String> = words
        .split(|c| !is_word(c))
        .filter(|it| it.len() >= SHORTEST_WORD && seen.insert(*it))
        .map(str::to_owned)
        .collect();
    wanted.into_iter().flat_map(move |word| {
        let has = |line: &str| line.split(|c| !is_word(c)).any(|it| it == word);
        let lines: Vec<usize> =
            (1..).zip(text.lines()).filter(|(_, line)| has(line)).map(|(at, _)| at).collect();
        if lines.len() > COMMON { Vec::new() } else { lines }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).flat_map(|at| ["line ".to_owned(), at.to_string(), "\n".to_owned()]).collect()
    }

    #[test]
    fn ranges_that_were_seen_are_left_out() {
        assert_eq!(outside((1, 9), &[(3, 4), (8, 20)]), [(1, 2), (5, 7)]);
        assert_eq!(outside((3, 4), &[(1, 9)]), []);
        assert_eq!(outside((3, 4), &[]), [(3, 4)]);
    }

    fn parts(shown: &[ShownRange]) -> FirstSight {
        FirstSight::Parts { shown: shown.to_vec(), unshown: Vec::new() }
    }

    fn named(named: &[ShownRange]) -> Hints {
        Hints { named: named.to_vec(), ..Hints::default() }
    }

    #[test]
    fn a_short_file_without_places_is_shown_whole() {
        assert_eq!(first_sight(&numbered(40), &[], &Hints::default(), 40), FirstSight::Whole);
        assert_eq!(first_sight("", &[], &Hints::default(), 40), FirstSight::Whole);
        assert_eq!(first_sight("", &[], &named(&[(3, 9)]), 40), FirstSight::Whole);
    }

    #[test]
    fn the_places_named_by_the_plan_are_shown_however_short_the_file_is() {
        let of =
            |ranges: &[ShownRange], count| first_sight(&numbered(count), &[], &named(ranges), 400);
        assert_eq!(of(&[(50, 52)], 100), parts(&[(45, 57)]));
        assert_eq!(of(&[(50, 52)], 4000), parts(&[(45, 57)]));
        assert_eq!(of(&[(50, 52), (68, 68)], 100), parts(&[(45, 73)]));
        assert_eq!(of(&[(120, 130)], 100), parts(&[(95, 100)]));
        // The lines between would cost as much as a heading.
        assert_eq!(of(&[(10, 60)], 80), FirstSight::Whole);
    }

    #[test]
    fn a_place_is_widened_to_the_whole_definitions_around_it() {
        let definitions = [(1, 300), (20, 60), (30, 35), (70, 75), (80, 200)];
        let of =
            |ranges: &[ShownRange]| first_sight(&numbered(300), &definitions, &named(ranges), 400);
        assert_eq!(of(&[(40, 41)]), parts(&[(20, 60)]));
        assert_eq!(of(&[(33, 33)]), parts(&[(28, 38)]));
        assert_eq!(of(&[(40, 72)]), parts(&[(20, 77)]));
        assert_eq!(of(&[(100, 101)]), parts(&[(95, 106)]));
    }

    #[test]
    fn many_places_are_shown_with_less_around_them_and_those_that_do_not_fit_are_named() {
        let text = numbered(2000);
        let places: Vec<ShownRange> = (1..=60).map(|at| (at * 30, at * 30)).collect();
        let of = |max_lines| first_sight(&text, &[], &named(&places), max_lines);
        let lines_of = |sight: FirstSight| match sight {
            FirstSight::Parts { shown, unshown } => (lines(&shown), unshown),
            FirstSight::Whole => unreachable!(),
        };
        assert_eq!(lines_of(of(700)), (660, vec![]));
        assert_eq!(lines_of(of(500)), (420, vec![]));
        assert_eq!(lines_of(of(60)), (60, vec![]));
        assert_eq!(lines_of(of(58)), (58, vec![(1770, 1770), (1800, 1800)]));
        let long = first_sight(&text, &[], &named(&[(50, 260), (300, 300), (255, 270)]), 100);
        let shown = vec![(50, 132), (255, 270), (300, 300)];
        assert_eq!(long, FirstSight::Parts { shown, unshown: vec![(133, 254)] });
    }

    #[test]
    fn of_a_long_file_without_places_the_likely_ones_are_shown() {
        let text = numbered(400).replace("line 200\n", "fn total_price() {\n");
        let words = "mend `total_price`, line 7".to_owned();
        let of = |looked: &[ShownRange]| {
            let hints = Hints { looked: looked.to_vec(), words: words.clone(), ..Hints::default() };
            first_sight(&text, &[], &hints, 100)
        };
        assert_eq!(of(&[]), parts(&[(185, 215)]));
        assert_eq!(of(&[(100, 110)]), parts(&[(85, 125)]));
        assert_eq!(of(&[(1, 300), (350, 350)]), parts(&[(1, 69), (335, 365)]));
        assert_eq!(first_sight(&text, &[], &Hints::default(), 50), parts(&[(1, 20)]));
    }

    #[test]
    fn changes_are_shown_with_context() {
        let old = numbered(300);
        let new = old.replace("line 50\n", "line 50\nnew\n").replace("line 200\n", "");
        assert_eq!(changed_parts(&old, &new), Some(vec![(41, 61), (191, 211)]));
        assert_eq!(changed_parts(&old, &old), Some(vec![]));
        assert_eq!(changed_parts("a\n", "b\n"), None);
        assert_eq!(lines_of(&new, (50, 52)), "line 50\nnew\nline 51\n");
    }

    proptest! {
        #[test]
        fn parts_are_in_order_inside_and_bounded(
            count in 0_usize..300,
            ranges in proptest::collection::vec((1_usize..400, 0_usize..60), 0..6),
            definitions in proptest::collection::vec((1_usize..300, 0_usize..200), 0..6),
            most in 1_usize..120,
        ) {
            let range = |(first, more)| (first, first + more);
            let definitions: Vec<ShownRange> =
                definitions.into_iter().map(range).filter(|(_, last)| *last <= count).collect();
            let named = ranges.into_iter().map(range).collect::<Vec<_>>();
            let hints = Hints { named, looked: Vec::new(), words: "line 17 and 170".into() };
            let sight = first_sight(&numbered(count), &definitions, &hints, most);
            let (shown, unshown) = match sight {
                FirstSight::Whole => (vec![(1, count)], Vec::new()),
                FirstSight::Parts { shown, unshown } => (shown, unshown),
            };
            prop_assert!(lines(&shown) <= most || count == 0);
            prop_assert!(shown.is_sorted());
            prop_assert!(count == 0 || shown.iter().all(|(first, last)| 1 <= *first && first <= last && *last <= count));
            // Every line that the plan names is shown, or named as not shown.
            for line in hints.named.iter().flat_map(|(first, last)| *first..=*last) {
                let has = |ranges: &[ShownRange]| ranges.iter().any(|(first, last)| (*first..=*last).contains(&line));
                prop_assert!(line > count || has(&shown) || has(&unshown));
            }
        }
    }
}
