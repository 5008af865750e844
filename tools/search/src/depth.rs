//! Divides the space for passages among a few files: depth first, whole definitions or none. Pure.

use index::FileKind;

use super::excerpt::{ShownSpan, uncovered};
use super::passages::Pick;

/// Number of files that are shown.
pub(super) const SHOWN_FILES: usize = 5;
/// The parts of the space, in percent: of the best file that is not a test, and of the tests.
const BEST_PERCENT: usize = 60;
const TESTS_PERCENT: usize = 25;

/// Chooses what to show of the first files, best first, in at most `room` bytes. What the best file leaves of its share is
/// there for the tests, what these leave for the others, and what remains for more of all.
pub(super) fn choose_deep(room: usize, picks: &mut [Pick]) {
    let mut left = room;
    let best = room * BEST_PERCENT / 100;
    let mut tests_left = room * TESTS_PERCENT / 100;
    let mut others: Vec<&mut Pick> = Vec::new();
    let first = picks.iter().position(|pick| pick.kind != FileKind::Test).unwrap_or(0);
    if let Some(pick) = picks.get_mut(first) {
        let used = pick.add_whole(best);
        tests_left += best - used;
        left -= used;
    }
    for (at, pick) in picks.iter_mut().enumerate() {
        if at == first {
            continue;
        }
        if pick.kind == FileKind::Test {
            let used = pick.add_whole(tests_left);
            tests_left -= used;
            left -= used;
        } else {
            others.push(pick);
        }
    }
    let count = others.len();
    for (at, pick) in others.into_iter().enumerate() {
        left -= pick.add_whole(left / (count - at));
    }
    for pick in &mut *picks {
        left -= pick.add_whole(left);
    }
    for pick in picks {
        left -= pick.add_near(left);
    }
}

impl Pick {
    /// Chooses the file if it fits into `most` bytes, or else of its definitions those that fit; if none does, the lines
    /// next to the best place. Returns the bytes used.
    fn add_whole(&mut self, most: usize) -> usize {
        let is_new = self.chosen.is_empty() && self.shown.is_empty();
        let is_text = self.text.lines.count() > 0;
        let mut left = most;
        if is_new && is_text && self.take(self.text.lines.all(), &mut left) {
            return most - left;
        }
        for span in self.worth.clone() {
            self.take(span, &mut left);
        }
        if let (true, Some(near)) = (self.chosen.is_empty(), self.near.first()) {
            self.take(*near, &mut left);
        }
        most - left
    }

    /// Chooses the lines next to places of which nothing is shown, as far as they fit into `most` bytes. Returns the bytes
    /// used.
    fn add_near(&mut self, most: usize) -> usize {
        let mut left = most;
        for span in self.near.clone() {
            if uncovered(span, &[self.shown.as_slice(), &self.chosen].concat()) == [span] {
                self.take(span, &mut left);
            }
        }
        most - left
    }

    /// Chooses what is not shown yet of a span if all of that fits.
    fn take(&mut self, span: ShownSpan, left: &mut usize) -> bool {
        let new = uncovered(span, &[self.shown.as_slice(), &self.chosen].concat());
        let cost: usize = new.iter().map(|span| self.text.lines.cost(*span) + self.overhead).sum();
        let fits = cost <= *left;
        if fits {
            *left -= cost;
            self.chosen.extend(new);
        }
        fits
    }
}
