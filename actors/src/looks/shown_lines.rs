//! Selects the lines of a file that are shown to the role that will change it: all of them, or the relevant parts.
//! Pure.

use std::collections::BTreeSet;

use similar::{ChangeTag, TextDiff};

/// Lines shown before and after a relevant line.
const AROUND: usize = 15;
/// Lines shown before and after a range named by the plan, whose author knew the exact place.
const AROUND_NAMED: usize = 8;
/// Lines shown from the first import on, or from the start of the file.
const HEAD: usize = 20;
/// Prefixes of import lines in common languages.
const IMPORTS: [&str; 8] =
    ["use ", "pub use ", "extern crate ", "import ", "from ", "#include", "package ", "require"];
/// Lines shown before and after a change.
const AROUND_CHANGE: usize = 10;
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

/// Returns the parts of `text` to show on first sight; `None` for all of it, which is the case up to `max_lines` lines.
/// The parts have at most that many lines in total.
pub fn first_sight(text: &str, hints: &Hints, max_lines: usize) -> Option<Vec<ShownRange>> {
    let count = text.lines().count();
    if count <= max_lines {
        return None;
    }
    // A plan that names ranges was made after looking around, so earlier looks only count if it names none.
    let (told, around) =
        if hints.named.is_empty() { (&hints.looked, AROUND) } else { (&hints.named, AROUND_NAMED) };
    let mut told: Vec<ShownRange> =
        told.iter().map(|range| widened(*range, around, count)).collect();
    // Shortest first, so that a long range does not crowd out the others.
    told.sort_by_key(|(first, last)| last.saturating_sub(*first));
    // Words are only used if no range is known.
    let words = if told.is_empty() { hints.words.as_str() } else { "" };
    let found = lines_with(text, words).map(|line| widened((line, line), AROUND, count));
    // Imports matter wherever the file is changed.
    let head = head(text);
    let mut shown: Vec<ShownRange> = vec![(head, count.min(head + HEAD.min(max_lines) - 1))];
    let mut left = max_lines - HEAD.min(max_lines);
    for (first, last) in told.into_iter().chain(found) {
        let last = last.min((first + left).saturating_sub(1));
        let is_shown = shown.iter().any(|(from, to)| (*from..=*to).contains(&first) && *to >= last);
        if first <= last && !is_shown {
            left = left.saturating_sub(last + 1 - first);
            shown.push((first, last));
        }
    }
    Some(joined(shown))
}

/// Returns the number of the first import line outside a comment, or 1.
fn head(text: &str) -> usize {
    let mut closed_by = None;
    for (at, line) in (1..).zip(text.lines()) {
        let line = line.trim_end();
        if let Some(end) = closed_by {
            if line.ends_with(end) {
                closed_by = None;
            }
        } else if line.starts_with("/*") && !line.ends_with("*/") {
            closed_by = Some("*/");
        } else if let Some(rest) = line.strip_prefix("\"\"\"")
            && !rest.ends_with("\"\"\"")
        {
            closed_by = Some("\"\"\"");
        } else if IMPORTS.iter().any(|word| line.starts_with(word)) {
            return at;
        }
    }
    1
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
    let shown: usize = ranges.iter().map(|(first, last)| last + 1 - first).sum();
    (shown * 3 < count * 2).then_some(ranges)
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

/// Sorts ranges and merges those that touch.
fn joined(mut ranges: Vec<ShownRange>) -> Vec<ShownRange> {
    ranges.sort_unstable();
    let mut joined: Vec<ShownRange> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
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

    #[test]
    fn a_short_file_is_shown_whole() {
        assert_eq!(first_sight(&numbered(40), &Hints::default(), 40), None);
        assert_eq!(first_sight("", &Hints::default(), 40), None);
    }

    #[test]
    fn of_a_long_file_the_places_named_by_the_plan_are_shown() {
        let text = numbered(400).replace("line 200\n", "fn total_price() {\n");
        let words = "mend `total_price`, line 7".to_owned();
        let of = |named: &[ShownRange], looked: &[ShownRange]| Hints {
            named: named.to_vec(),
            looked: looked.to_vec(),
            words: words.clone(),
        };
        let vague = of(&[], &[]);
        assert_eq!(first_sight(&text, &vague, 100), Some(vec![(1, 20), (185, 215)]));
        assert_eq!(first_sight(&text, &Hints::default(), 50), Some(vec![(1, 20)]));
        let told = of(&[(100, 110)], &[(330, 390)]);
        assert_eq!(first_sight(&text, &told, 150), Some(vec![(1, 20), (92, 118)]));
        assert_eq!(first_sight(&text, &told, 40), Some(vec![(1, 20), (92, 111)]));
        let looked = of(&[], &[(100, 110)]);
        assert_eq!(first_sight(&text, &looked, 150), Some(vec![(1, 20), (85, 125)]));
    }

    #[test]
    fn a_long_range_leaves_room_for_the_short_ones() {
        let named = vec![(50, 260), (300, 300), (340, 350)];
        let hints = Hints { named, ..Hints::default() };
        let shown = first_sight(&numbered(400), &hints, 200);
        assert_eq!(shown, Some(vec![(1, 20), (42, 177), (292, 308), (332, 358)]));
    }

    #[test]
    fn a_file_is_shown_from_its_imports_on() {
        let rust = "/*!\nuse it so:\nuse a::b;\n*/\n\nuse std::fs;\n";
        assert_eq!(head(rust), 6);
        assert_eq!(head("\"\"\"Reads\nfrom a file.\n\"\"\"\nimport os\n"), 4);
        assert_eq!(head("\"\"\"Reads.\"\"\"\nfrom os import path\n"), 2);
        assert_eq!(head("/* one line */\n#include <a.h>\n"), 2);
        assert_eq!(head("line\nline\n"), 1);
        let text = format!("{}use a;\n{}", numbered(90), numbered(90));
        assert_eq!(first_sight(&text, &Hints::default(), 50), Some(vec![(91, 110)]));
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
            most in 1_usize..120,
        ) {
            let ranges = ranges.into_iter().map(|(first, more)| (first, first + more)).collect();
            let hints = Hints { named: ranges, looked: Vec::new(), words: "line 17 and 170".into() };
            let shown = first_sight(&numbered(count), &hints, most).unwrap_or_default();
            prop_assert!(shown.is_sorted());
            prop_assert!(shown.iter().all(|(first, last)| 1 <= *first && first <= last && *last <= count));
            let lines: usize = shown.iter().map(|(first, last)| last + 1 - first).sum();
            prop_assert!(lines <= most);
        }
    }
}
