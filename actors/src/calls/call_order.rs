//! Decides whose model call is next when more are wanted than may be in flight. Pure.
//!
//! The run's own calls, those of each lane and those of its child questions wait in separate queues, first come first
//! served. The run's own go first, since the user is waiting for them. The other queues take turns, so that a thousand
//! questions delay a lane by only one call.

use std::collections::VecDeque;
use std::fmt;

use facts::lane_id::LaneId;
use facts::scope::{Scope, Segment};

/// The party that wants a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Party {
    /// The run itself.
    Own,
    /// A lane, including all parts of the lane.
    Lane(LaneId),
    /// All child questions of the run together.
    Questions,
}

impl Party {
    /// Returns the party of an account inside `run`.
    pub(crate) fn of(account: &Scope, run: &Scope) -> Self {
        match account.segments().get(run.segments().len()) {
            Some(Segment::Lane(lane)) => Self::Lane(*lane),
            Some(Segment::Child(_)) => Self::Questions,
            Some(Segment::Run(_) | Segment::Report) | None => Self::Own,
        }
    }

    /// Returns true for a part of the run that works concurrently with others.
    pub(crate) fn is_part(self) -> bool {
        self != Self::Own
    }
}

/// A place in the queue, from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePlace(pub usize);

impl fmt::Display for QueuePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match (self.0 % 10, self.0 % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        write!(f, "{}{ending}", self.0)
    }
}

/// The waiting callers.
#[derive(Debug)]
pub(crate) struct Turns<T> {
    own: VecDeque<T>,
    /// A queue for each waiting part, the next one first. No queue is empty.
    parts: VecDeque<(Party, VecDeque<T>)>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { own: VecDeque::new(), parts: VecDeque::new() }
    }
}

impl<T> Turns<T> {
    /// Adds a caller to the queue of `party`.
    pub(crate) fn join(&mut self, party: Party, who: T) {
        if party == Party::Own {
            self.own.push_back(who);
        } else if let Some((_, line)) = self.parts.iter_mut().find(|(other, _)| *other == party) {
            line.push_back(who);
        } else {
            self.parts.push_back((party, VecDeque::from([who])));
        }
    }

    /// Returns the waiting callers in the order in which they will be called if no other joins.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (QueuePlace, &T)> {
        let rounds = self.parts.iter().map(|(_, line)| line.len()).max().unwrap_or_default();
        let of_parts = (0..rounds)
            .flat_map(|round| self.parts.iter().filter_map(move |(_, line)| line.get(round)));
        (1..).map(QueuePlace).zip(self.own.iter().chain(of_parts))
    }

    /// Returns the next of the run's own callers.
    pub(crate) fn next_own(&mut self) -> Option<T> {
        self.own.pop_front()
    }

    /// Returns the next caller of the parts, which take turns.
    pub(crate) fn next_of_parts(&mut self) -> Option<T> {
        let (party, mut line) = self.parts.pop_front()?;
        let next = line.pop_front();
        if !line.is_empty() {
            self.parts.push_back((party, line));
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn lane(number: u32) -> Party {
        Party::Lane(format!("{number:02}").parse().unwrap())
    }

    /// Returns everyone in the order in which they are called.
    fn called<T>(turns: &mut Turns<T>) -> Vec<T> {
        std::iter::from_fn(|| turns.next_own().or_else(|| turns.next_of_parts())).collect()
    }

    #[test]
    fn a_thousand_questions_hold_up_a_lane_by_one_call() {
        let mut turns = Turns::default();
        for question in 1..=1000 {
            turns.join(Party::Questions, format!("question {question}"));
        }
        turns.join(lane(1), "lane 01".to_owned());
        turns.join(lane(1), "lane 01 again".to_owned());
        turns.join(lane(2), "lane 02".to_owned());
        turns.join(Party::Own, "the run".to_owned());
        let called = called(&mut turns);
        let first = ["the run", "question 1", "lane 01", "lane 02", "question 2", "lane 01 again"];
        assert_eq!(called[..6], first);
        assert_eq!(called.len(), 1004);
        assert_eq!(called.last().unwrap(), "question 1000", "and all are called");
    }

    #[test]
    fn places_are_shown_as_ordinals() {
        let told =
            [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111, 112].map(|at| QueuePlace(at).to_string());
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th",
            "112th",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn all_parts_of_a_lane_share_its_queue() {
        let run = Scope::of_run("r");
        let of = |segments: &[Segment]| {
            Party::of(&segments.iter().cloned().fold(run.clone(), |it, next| it.within(next)), &run)
        };
        let (first, question) = (Segment::Lane("01".parse().unwrap()), Segment::Child(7));
        assert_eq!(of(&[]), Party::Own);
        assert_eq!(of(&[Segment::Report]), Party::Own);
        assert_eq!(of(std::slice::from_ref(&first)), lane(1));
        assert_eq!(of(&[first, question.clone()]), lane(1));
        assert_eq!(of(std::slice::from_ref(&question)), Party::Questions);
        assert_eq!(of(&[question.clone(), question]), Party::Questions);
    }

    /// A caller joins, or the next one is called.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Comes(Party),
        Called,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let party = prop_oneof![
            1 => Just(Party::Own),
            4 => (1..5_u32).prop_map(lane),
            8 => Just(Party::Questions),
        ];
        let step = prop_oneof![3 => party.prop_map(Step::Comes), 2 => Just(Step::Called)];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn each_caller_is_called_once_in_queue_order_and_no_party_twice_before_another(
            steps in steps(),
        ) {
            let mut turns = Turns::default();
            let (mut waiting, mut came) = (Vec::<(Party, usize)>::new(), 0);
            // Pairs of a waiting party and a party that was called since.
            let mut passed_by: BTreeSet<(Party, Party)> = BTreeSet::new();
            let finish = std::iter::repeat_n(Step::Called, steps.len());
            for step in steps.iter().copied().chain(finish) {
                match step {
                    Step::Comes(party) => {
                        came += 1;
                        turns.join(party, (party, came));
                        waiting.push((party, came));
                    }
                    Step::Called => {
                        let next = turns.next_own().or_else(|| turns.next_of_parts());
                        let Some((party, number)) = next else {
                            prop_assert!(waiting.is_empty());
                            continue;
                        };
                        let of_line = waiting.iter().position(|(other, _)| *other == party);
                        prop_assert_eq!(waiting.remove(of_line.unwrap()), (party, number));
                        passed_by.retain(|(waits, _)| *waits != party);
                        let mut passed_by_now = BTreeSet::new();
                        if party.is_part() {
                            for (other, _) in &waiting {
                                let passes = (*other, party);
                                if *other == party || !other.is_part() {
                                    continue;
                                }
                                prop_assert!(!passed_by.contains(&passes), "twice before {other:?}");
                                passed_by_now.insert(passes);
                            }
                            passed_by.append(&mut passed_by_now);
                        }
                    }
                }
            }
            prop_assert!(waiting.is_empty(), "all are called in the end");
        }

        #[test]
        fn a_place_is_the_number_of_calls_until_then(steps in steps()) {
            let mut turns = Turns::default();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Comes(party) => turns.join(party, number),
                    Step::Called => drop(turns.next_own().or_else(|| turns.next_of_parts())),
                }
            }
            let told: Vec<(QueuePlace, usize)> = turns.in_order().map(|(at, who)| (at, *who)).collect();
            let called: Vec<(QueuePlace, usize)> =
                (1..).map(QueuePlace).zip(called(&mut turns)).collect();
            prop_assert_eq!(told, called);
        }
    }
}
