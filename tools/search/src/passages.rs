//! Divides the space for passages among some files, in turns. Pure.

use std::rc::Rc;

use index::FileKind;
use tree::RepoPath;

use super::excerpt::{ShownSpan, uncovered};
use super::reader::Text;

/// The turns in which files get space: first the best lines of each, then more of the first ones.
const TURNS: [PackingTurn; 3] = [
    PackingTurn { from: 0, to: MOST_FILES, nth: 0, part: 6 },
    PackingTurn { from: 0, to: 3, nth: 1, part: 6 },
    PackingTurn { from: 0, to: MOST_FILES, nth: 2, part: 6 },
];
/// Maximum number of files that get any lines.
pub(super) const MOST_FILES: usize = 6;
/// Minimum number of lines for an item, and minimum number of bytes to hold one.
const MIN_LINES: usize = 3;
const MIN_BYTES: usize = 80;
/// Lines that the user named may take this many times the usual space.
const NAMED_SHARE: usize = 4;
/// Maximum number of spans per file that get a turn.
pub(super) const MOST_SPANS: usize = 5;

/// A turn, in which some files get one span each.
struct PackingTurn {
    /// Index of the first file, and of the one after the last.
    from: usize,
    to: usize,
    /// Which span each file gets: 0 for its best, 1 for its second best, and so on.
    nth: usize,
    /// Each file gets at most one part in `part` of the space.
    part: usize,
}

/// The lines chosen from a file.
pub(super) struct Pick {
    pub(super) path: RepoPath,
    pub(super) kind: FileKind,
    pub(super) text: Rc<Text>,
    /// Upper bound of the bytes around the lines of an item.
    pub(super) overhead: usize,
    /// Spans worth showing, best first.
    pub(super) worth: Vec<ShownSpan>,
    /// The lines next to what the request is about, best first, for where nothing larger fits.
    pub(super) near: Vec<ShownSpan>,
    /// How many of them the user named; these come first and are shown as completely as possible.
    pub(super) named: usize,
    /// Spans that are already shown.
    pub(super) shown: Vec<ShownSpan>,
    /// Spans that are chosen.
    pub(super) chosen: Vec<ShownSpan>,
}

/// Chooses spans of at most [`MOST_FILES`] files, best first, in at most `room` bytes. `pick` returns what there is to
/// choose from in a file; it is called only for files that get a turn.
pub(super) fn choose(room: usize, mut pick: impl FnMut(usize) -> Option<Pick>) -> Vec<Pick> {
    let mut left = room;
    let mut picks: Vec<Option<Pick>> = Vec::new();
    for &PackingTurn { from, to, nth, part } in &TURNS {
        for file in from..to {
            if left < MIN_BYTES {
                break;
            }
            while picks.len() <= file {
                picks.push(pick(picks.len()));
            }
            if let Some(Some(pick)) = picks.get_mut(file) {
                pick.add(nth, room / part, &mut left);
            }
        }
    }
    picks.into_iter().flatten().collect()
}

impl Pick {
    /// Chooses span number `nth`, in at most `left` bytes and no more than `fair`. A file that fits completely is
    /// chosen whole.
    pub(super) fn add(&mut self, nth: usize, fair: usize, left: &mut usize) {
        let lines = &self.text.lines;
        let fair = if nth < self.named { fair.saturating_mul(NAMED_SHARE) } else { fair };
        let Some(most) = fair.min(*left).checked_sub(self.overhead) else { return };
        let is_new = self.chosen.is_empty() && self.shown.is_empty();
        if nth == 0 && is_new && lines.count() > 0 && lines.cost(lines.all()) <= most {
            *left = left.saturating_sub(lines.cost(lines.all()) + self.overhead);
            self.chosen.push(lines.all());
            return;
        }
        let Some(best) = self.worth.get(nth) else { return };
        for span in uncovered(*best, &[self.shown.as_slice(), &self.chosen].concat()) {
            let Some(most) = fair.min(*left).checked_sub(self.overhead) else { return };
            let middle = usize::midpoint(span.first, span.last);
            let fits = lines.cost(span) <= most;
            let span = if fits { Some(span) } else { lines.around(middle, most) };
            let span = span.and_then(|span| {
                let outside = uncovered(span, &self.chosen);
                outside.into_iter().find(|span| span.last - span.first + 1 >= MIN_LINES)
            });
            if let Some(span) = span {
                *left = left.saturating_sub(lines.cost(span) + self.overhead);
                self.chosen.push(span);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::excerpt::merge_spans;

    fn pick(lines: usize, worth: &[(usize, usize)], shown: &[(usize, usize)]) -> Pick {
        let text = "a line of text\n".repeat(lines);
        let spans = |all: &[(usize, usize)]| {
            all.iter().map(|(first, last)| ShownSpan { first: *first, last: *last }).collect()
        };
        Pick {
            path: RepoPath::parse("a.rs").unwrap(),
            kind: FileKind::Source,
            text: Rc::new(Text::new(&text)),
            overhead: 20,
            worth: spans(worth),
            near: Vec::new(),
            named: 0,
            shown: spans(shown),
            chosen: Vec::new(),
        }
    }

    /// Returns the spans chosen from each file that got a turn.
    fn chosen(room: usize, picks: Vec<Pick>) -> Vec<Vec<(usize, usize)>> {
        let mut picks = picks.into_iter();
        let of = |pick: &Pick| {
            merge_spans(pick.chosen.clone()).iter().map(|span| (span.first, span.last)).collect()
        };
        choose(room, |_| picks.next()).iter().map(of).collect()
    }

    #[test]
    fn small_files_are_shown_whole_and_others_get_their_best_lines_in_turns() {
        let picks = vec![
            pick(5, &[(2, 3)], &[]),
            pick(900, &[(100, 110), (300, 310)], &[]),
            pick(900, &[(200, 210)], &[]),
        ];
        let expected = [vec![(1, 5)], vec![(100, 110), (300, 310)], vec![(200, 210)]];
        assert_eq!(chosen(8000, picks), expected);
        let picks = vec![pick(900, &[(100, 110)], &[]), pick(900, &[(200, 210)], &[])];
        assert!(chosen(300, picks).iter().all(Vec::is_empty), "not enough space for any file");
    }

    #[test]
    fn named_lines_get_more_space() {
        let lines = |named: usize| {
            let named = Pick { named, ..pick(900, &[(100, 160)], &[]) };
            let chosen = chosen(4000, vec![named, pick(900, &[(200, 210)], &[])]);
            chosen[0].iter().map(|(first, last)| last - first + 1).sum::<usize>()
        };
        assert!(lines(0) < 40, "{}", lines(0));
        assert_eq!(lines(1), 61);
    }

    #[test]
    fn shown_lines_are_not_chosen_again() {
        let picks = vec![pick(900, &[(100, 110), (105, 120)], &[(90, 104)])];
        assert_eq!(chosen(16_000, picks), [[(105, 120)]]);
    }

    #[test]
    fn a_file_without_a_turn_is_not_read() {
        choose(MIN_BYTES - 1, |_| panic!("there is no space"));
        choose(0, |_| panic!("there is no space"));
    }

    proptest::proptest! {
        #[test]
        fn the_available_space_is_never_exceeded(room in 0usize..20_000, files in 1usize..50) {
            let picks = choose(room, |n| {
                (n < files).then(|| pick(30 * n, &[(n, n + 30), (n + 10, n + 60)], &[]))
            });
            let cost = |pick: &Pick| {
                let spans = merge_spans(pick.chosen.clone());
                spans.iter().map(|span| pick.text.lines.cost(*span) + pick.overhead).sum::<usize>()
            };
            let cost: usize = picks.iter().map(cost).sum();
            proptest::prop_assert!(cost <= room, "{cost} of {room}");
        }
    }
}
