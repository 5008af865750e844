//! How files share the room for what a request is about: breadth first. Pure.

use std::rc::Rc;

use tree::RepoPath;

use super::excerpt::{Span, uncovered};
use super::reader::Text;

/// What files get, one turn after the other: the best lines of many, then more of the first, then of others.
pub(super) const MANY_FILES: [Turn; 9] = [
    Turn { from: 0, to: 10, nth: 0, part: 16, most: BREADTH_BYTES },
    Turn { from: 10, to: 26, nth: 0, part: 48, most: BREADTH_BYTES },
    Turn { from: 0, to: 5, nth: 1, part: 16, most: usize::MAX },
    Turn { from: 26, to: MOST_FILES, nth: 0, part: 48, most: BREADTH_BYTES },
    Turn { from: 0, to: 5, nth: 2, part: 16, most: usize::MAX },
    Turn { from: 0, to: 5, nth: 3, part: 16, most: usize::MAX },
    Turn { from: 0, to: 5, nth: 4, part: 16, most: usize::MAX },
    Turn { from: 5, to: 10, nth: 1, part: 16, most: usize::MAX },
    Turn { from: 0, to: MOST_FILES, nth: 1, part: 16, most: usize::MAX },
];
/// The same where fewer files get more each.
pub(super) const FEW_FILES: [Turn; 3] = [
    Turn { from: 0, to: 6, nth: 0, part: 6, most: usize::MAX },
    Turn { from: 0, to: 3, nth: 1, part: 6, most: usize::MAX },
    Turn { from: 0, to: 6, nth: 2, part: 6, most: usize::MAX },
];
/// The room that breadth counts on; what there is beyond it shows more of the first files.
const BREADTH_BYTES: usize = 20_000;
/// Files that get lines at all.
pub(super) const MOST_FILES: usize = 40;
/// Fewer lines are not worth an item, and fewer bytes hold none.
const MIN_LINES: usize = 3;
const MIN_BYTES: usize = 80;
/// How many times as much what the user named may take.
const NAMED_SHARE: usize = 4;
/// How many of a file's best lines get a turn.
pub(super) const MOST_SPANS: usize = 5;

/// A turn: some of the files get some of their lines.
pub(super) struct Turn {
    /// The first of the files, and the one after the last.
    from: usize,
    to: usize,
    /// Their best lines, their second best, and so on.
    nth: usize,
    /// Each gets at most this part of the room, and of this much.
    part: usize,
    most: usize,
}

/// What is chosen of a file.
pub(super) struct Pick {
    pub(super) path: RepoPath,
    pub(super) text: Rc<Text>,
    /// Bytes around the lines of an item, at most.
    pub(super) overhead: usize,
    /// Lines worth showing, best first.
    pub(super) worth: Vec<Span>,
    /// How many of them the user named: these are shown as whole as can be.
    pub(super) named: usize,
    /// Lines that are shown already.
    pub(super) shown: Vec<Span>,
    /// Lines that are chosen.
    pub(super) chosen: Vec<Span>,
}

/// Chooses lines of at most [`MOST_FILES`] files, best first, that take at most `room` bytes. `pick` says what there is to
/// choose from of each; it is asked for those only that get one of the turns.
pub(super) fn choose(
    turns: &[Turn],
    room: usize,
    mut pick: impl FnMut(usize) -> Option<Pick>,
) -> Vec<Pick> {
    let mut left = room;
    let mut picks: Vec<Option<Pick>> = Vec::new();
    for &Turn { from, to, nth, part, most } in turns {
        for file in from..to {
            if left < MIN_BYTES {
                break;
            }
            while picks.len() <= file {
                picks.push(pick(picks.len()));
            }
            if let Some(Some(pick)) = picks.get_mut(file) {
                pick.add(nth, room.min(most) / part, &mut left);
            }
        }
    }
    picks.into_iter().flatten().collect()
}

impl Pick {
    /// Chooses the lines that are the best after `nth` others, in at most `left` bytes and no more than is `fair`. A file
    /// that is no larger than that is chosen whole.
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
    use crate::excerpt::merge;

    fn pick(lines: usize, worth: &[(usize, usize)], shown: &[(usize, usize)]) -> Pick {
        let text = "a line of text\n".repeat(lines);
        let spans = |all: &[(usize, usize)]| {
            all.iter().map(|(first, last)| Span { first: *first, last: *last }).collect()
        };
        Pick {
            path: RepoPath::parse("a.rs").unwrap(),
            text: Rc::new(Text::new(&text)),
            overhead: 20,
            worth: spans(worth),
            named: 0,
            shown: spans(shown),
            chosen: Vec::new(),
        }
    }

    /// What is chosen of each file that was asked for.
    fn chosen(room: usize, picks: Vec<Pick>) -> Vec<Vec<(usize, usize)>> {
        let mut picks = picks.into_iter();
        let of = |pick: &Pick| {
            merge(pick.chosen.clone()).iter().map(|span| (span.first, span.last)).collect()
        };
        choose(&MANY_FILES, room, |_| picks.next()).iter().map(of).collect()
    }

    #[test]
    fn small_files_come_whole_and_others_with_their_best_lines_in_turn() {
        let picks = vec![
            pick(5, &[(2, 3)], &[]),
            pick(900, &[(100, 110), (300, 310)], &[]),
            pick(900, &[(200, 210)], &[]),
        ];
        let expected = [vec![(1, 5)], vec![(100, 110), (300, 310)], vec![(200, 210)]];
        assert_eq!(chosen(8000, picks), expected);
        let picks = vec![pick(900, &[(100, 110)], &[]), pick(900, &[(200, 210)], &[])];
        assert!(chosen(600, picks).iter().all(Vec::is_empty), "too little for anybody");
    }

    #[test]
    fn what_is_named_gets_more_room() {
        let lines = |named: usize| {
            let named = Pick { named, ..pick(900, &[(100, 160)], &[]) };
            let chosen = chosen(8000, vec![named, pick(900, &[(200, 210)], &[])]);
            chosen[0].iter().map(|(first, last)| last - first + 1).sum::<usize>()
        };
        assert!(lines(0) < 40, "{}", lines(0));
        assert_eq!(lines(1), 61);
    }

    #[test]
    fn what_is_shown_is_not_chosen_again() {
        let picks = vec![pick(900, &[(100, 110), (105, 120)], &[(90, 104)])];
        assert_eq!(chosen(16_000, picks), [[(105, 120)]]);
    }

    #[test]
    fn a_file_without_a_turn_is_not_asked_for() {
        let mut asked = 0;
        choose(&MANY_FILES, 4000, |_| {
            asked += 1;
            Some(pick(900, &[(1, 20)], &[]))
        });
        assert!(asked < MOST_FILES, "{asked}");
        choose(&MANY_FILES, 0, |_| panic!("there is no room"));
    }

    proptest::proptest! {
        #[test]
        fn the_room_is_never_exceeded(room in 0usize..20_000, files in 1usize..50) {
            let picks = choose(&MANY_FILES, room, |n| {
                (n < files).then(|| pick(30 * n, &[(n, n + 30), (n + 10, n + 60)], &[]))
            });
            let cost = |pick: &Pick| {
                let spans = merge(pick.chosen.clone());
                spans.iter().map(|span| pick.text.lines.cost(*span) + pick.overhead).sum::<usize>()
            };
            let cost: usize = picks.iter().map(cost).sum();
            proptest::prop_assert!(cost <= room, "{cost} of {room}");
        }
    }
}
