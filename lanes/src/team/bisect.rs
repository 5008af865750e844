//! Which lanes together make the checks fail: the smallest set is searched for by asking about others. Pure.
//!
//! It asks, and is told; who builds a tree of the lanes in question and runs the checks is no business of this file. When
//! failure is monotone, so that more lanes never mend what fewer break, no lane of what is found can be left out. Whatever the
//! answers are, the search ends.

use std::collections::{BTreeMap, BTreeSet};

use actors::lane_id::LaneId;

/// Lanes whose changes are looked at together.
pub(super) type Lanes = BTreeSet<LaneId>;

/// What the checks say of some lanes, and nothing else, put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing new fails.
    Green,
    /// Something fails that does not without lanes.
    Red,
}

/// What is next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// Put these together and check them. With each lane they have those that it needs.
    Check(Lanes),
    /// It is these.
    Found(Lanes),
}

/// A search that is under way.
///
/// A lane is guilty when the prefix of the merge order that ends with it is red, and the one before is not. It is kept in
/// everything that is asked from then on, and what comes behind it is left out; the next guilty lane is searched for among
/// those before it, until the guilty ones are red alone.
#[derive(Debug, Clone)]
pub(super) struct Bisect {
    all: Lanes,
    needs: BTreeMap<LaneId, Lanes>,
    /// What was told, and what is known from the beginning. No set is asked about twice.
    known: BTreeMap<Lanes, Verdict>,
    /// Those found so far, with what they need.
    guilty: Lanes,
    /// Those before the last one found, in merge order.
    suspects: Vec<LaneId>,
    /// As many suspects with the guilty ones are green.
    green: usize,
    /// As many are red.
    red: usize,
    next: Question,
}

impl Bisect {
    /// A search among `lanes`, in merge order. All together are known to be red, and the tree without them is known not to be.
    /// `needs` has the lanes that each waited for; what is not among `lanes` is not there to be needed.
    pub(super) fn new(lanes: Vec<LaneId>, needs: BTreeMap<LaneId, Lanes>) -> Self {
        let all: Lanes = lanes.iter().copied().collect();
        let known = BTreeMap::from([(Lanes::new(), Verdict::Green), (all.clone(), Verdict::Red)]);
        let mut bisect = Self {
            needs,
            known,
            guilty: Lanes::new(),
            green: 0,
            red: lanes.len(),
            suspects: lanes,
            next: Question::Found(all.clone()),
            all,
        };
        bisect.advance();
        bisect
    }

    /// What is to be checked, or what was found.
    pub(super) const fn next(&self) -> &Question {
        &self.next
    }

    /// Takes in what came of the check that is asked for. Of nothing, when none is.
    pub(super) fn told(&mut self, verdict: Verdict) {
        if let Question::Check(lanes) = &self.next {
            self.known.insert(lanes.clone(), verdict);
            self.advance();
        }
    }

    /// Goes on as far as what is known leads.
    fn advance(&mut self) {
        self.next = loop {
            let alone = self.known.get(&self.guilty).copied();
            match alone {
                None => break Question::Check(self.guilty.clone()),
                Some(Verdict::Red) => break Question::Found(self.guilty.clone()),
                Some(Verdict::Green) => {}
            }
            if self.red > self.green + 1 {
                let middle = self.green.midpoint(self.red);
                let lanes = self.with_suspects(middle);
                match self.known.get(&lanes) {
                    None => break Question::Check(lanes),
                    Some(Verdict::Red) => self.red = middle,
                    Some(Verdict::Green) => self.green = middle,
                }
            } else if !self.convict() {
                break Question::Found(self.guilty.clone());
            }
        };
    }

    /// The first suspect whose prefix is red is guilty. False when there are no suspects.
    fn convict(&mut self) -> bool {
        let Some(lane) = self.suspects.get(self.green).copied() else { return false };
        self.suspects.truncate(self.green);
        self.guilty.insert(lane);
        self.guilty = self.closed(&self.guilty);
        self.suspects.retain(|suspect| !self.guilty.contains(suspect));
        self.green = 0;
        self.red = self.suspects.len();
        true
    }

    /// The guilty lanes and the first of the suspects.
    fn with_suspects(&self, first: usize) -> Lanes {
        let suspects = self.suspects.iter().take(first);
        self.closed(&self.guilty.iter().chain(suspects).copied().collect())
    }

    /// `lanes` with all that they need, directly or through others.
    fn closed(&self, lanes: &Lanes) -> Lanes {
        let mut closed = lanes.clone();
        let mut next: Vec<LaneId> = lanes.iter().copied().collect();
        while let Some(lane) = next.pop() {
            let needed = self.needs.get(&lane).into_iter().flatten().copied();
            next.extend(
                needed.filter(|needed| self.all.contains(needed) && closed.insert(*needed)),
            );
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(number: u8) -> LaneId {
        LaneId::new(number).unwrap()
    }

    fn lanes(numbers: &[u8]) -> Lanes {
        numbers.iter().copied().map(id).collect()
    }

    /// Asks until it is found: what was found, and what was asked.
    fn search(mut bisect: Bisect, check: impl Fn(&Lanes) -> Verdict) -> (Lanes, Vec<Lanes>) {
        let mut asked = Vec::new();
        loop {
            match bisect.next().clone() {
                Question::Found(found) => return (found, asked),
                Question::Check(lanes) => {
                    bisect.told(check(&lanes));
                    asked.push(lanes);
                }
            }
            assert!(asked.len() < 1000, "the search does not end");
        }
    }

    /// Red are those that hold all of one of `causes`.
    fn red_with(causes: &[Lanes]) -> impl Fn(&Lanes) -> Verdict {
        let causes = causes.to_vec();
        move |lanes| {
            let red = causes.iter().any(|cause| cause.is_subset(lanes));
            if red { Verdict::Red } else { Verdict::Green }
        }
    }

    /// Four lanes of which none needs another.
    fn four() -> Bisect {
        Bisect::new((1..=4).map(id).collect(), BTreeMap::new())
    }

    #[test]
    fn one_lane_breaks_it_alone() {
        let (found, asked) = search(four(), red_with(&[lanes(&[3])]));
        assert_eq!(found, lanes(&[3]));
        assert_eq!(asked, [lanes(&[1, 2]), lanes(&[1, 2, 3]), lanes(&[3])]);
    }

    #[test]
    fn two_lanes_break_it_together() {
        let (found, asked) = search(four(), red_with(&[lanes(&[2, 4])]));
        assert_eq!(found, lanes(&[2, 4]));
        assert_eq!(
            asked,
            [
                lanes(&[1, 2]),
                lanes(&[1, 2, 3]),
                lanes(&[4]),
                lanes(&[1, 4]),
                lanes(&[1, 2, 4]),
                lanes(&[2, 4])
            ]
        );
    }

    #[test]
    fn what_comes_behind_a_guilty_lane_is_left_out() {
        let eight = Bisect::new((1..=8).map(id).collect(), BTreeMap::new());
        let (found, asked) = search(eight, red_with(&[lanes(&[3, 6])]));
        assert_eq!(found, lanes(&[3, 6]));
        let after: Vec<Lanes> =
            asked.into_iter().skip_while(|asked| *asked != lanes(&[6])).skip(1).collect();
        assert_eq!(after, [lanes(&[1, 2, 6]), lanes(&[1, 2, 3, 6]), lanes(&[3, 6])]);
    }

    #[test]
    fn a_lane_comes_with_what_it_needs() {
        let needs = BTreeMap::from([(id(4), lanes(&[2, 7])), (id(2), lanes(&[1]))]);
        let bisect = Bisect::new((1..=4).map(id).collect(), needs);
        let (found, _) = search(bisect, red_with(&[lanes(&[4])]));
        assert_eq!(found, lanes(&[1, 2, 4]));
    }

    #[test]
    fn a_single_lane_is_not_asked_about() {
        let (found, asked) = search(Bisect::new(vec![id(5)], BTreeMap::new()), red_with(&[]));
        assert_eq!((found, asked), (lanes(&[5]), vec![]));
        let nothing = Bisect::new(Vec::new(), BTreeMap::new());
        assert_eq!(nothing.next(), &Question::Found(Lanes::new()));
    }

    #[test]
    fn being_told_unasked_changes_nothing() {
        let mut bisect = Bisect::new(vec![id(5)], BTreeMap::new());
        bisect.told(Verdict::Green);
        assert_eq!(bisect.next(), &Question::Found(lanes(&[5])));
    }

    /// Up to nine lanes, in order, each of which may need some before it.
    fn some_lanes() -> impl Strategy<Value = (u8, BTreeMap<LaneId, Lanes>)> {
        (1u8..=9, proptest::collection::vec((1u8..=9, 1u8..=9), 0..6)).prop_map(|(count, pairs)| {
            let mut needs: BTreeMap<LaneId, Lanes> = BTreeMap::new();
            for (one, other) in pairs.into_iter().filter(|(one, other)| one != other) {
                needs.entry(id(one.max(other))).or_default().insert(id(one.min(other)));
            }
            (count, needs)
        })
    }

    /// Most checks for what was found among so many lanes.
    fn most_checks(found: usize, count: u8) -> usize {
        found * (1 + usize::try_from(u32::from(count).next_power_of_two().ilog2()).unwrap())
    }

    fn check_questions(asked: &[Lanes], count: u8, needs: &BTreeMap<LaneId, Lanes>) {
        let all: Lanes = (1..=count).map(id).collect();
        for (nth, lanes) in asked.iter().enumerate() {
            assert!(!asked[..nth].contains(lanes), "asked twice: {lanes:?}");
            assert!(!lanes.is_empty() && *lanes != all, "known from the beginning: {lanes:?}");
            assert!(lanes.is_subset(&all));
            for lane in lanes {
                let needed = needs.get(lane).into_iter().flatten();
                let mut there = needed.filter(|needed| all.contains(needed));
                assert!(there.all(|needed| lanes.contains(needed)), "{lane} without its needs");
            }
        }
    }

    /// `lanes` without one of them, and without all that need it.
    fn without(lanes: &Lanes, lane: LaneId, needs: &BTreeMap<LaneId, Lanes>) -> Lanes {
        let mut gone = BTreeSet::from([lane]);
        // Who needs a lane comes behind it.
        for later in lanes.iter().filter(|later| **later > lane) {
            if needs.get(later).is_some_and(|needed| !needed.is_disjoint(&gone)) {
                gone.insert(*later);
            }
        }
        lanes.difference(&gone).copied().collect()
    }

    proptest! {
        #[test]
        fn no_lane_of_what_is_found_can_be_left_out(
            (count, needs) in some_lanes(),
            causes in proptest::collection::vec(proptest::collection::btree_set(1u8..=9, 1..4), 1..4),
        ) {
            let inside = |cause: &BTreeSet<u8>| cause.iter().map(|n| id((n - 1) % count + 1)).collect();
            let causes: Vec<Lanes> = causes.iter().map(inside).collect();
            let check = red_with(&causes);
            let bisect = Bisect::new((1..=count).map(id).collect(), needs.clone());
            let (found, asked) = search(bisect, &check);
            check_questions(&asked, count, &needs);
            prop_assert_eq!(check(&found), Verdict::Red);
            for lane in &found {
                prop_assert_eq!(check(&without(&found, *lane, &needs)), Verdict::Green);
            }
            prop_assert!(asked.len() <= most_checks(found.len(), count), "{:?}", asked);
        }

        /// Checks that fail by chance, or lanes that mend each other: it ends, and asks no more than it would else.
        #[test]
        fn every_search_ends(
            (count, needs) in some_lanes(), answers in proptest::collection::vec(any::<bool>(), 50),
        ) {
            let mut bisect = Bisect::new((1..=count).map(id).collect(), needs.clone());
            let mut asked = Vec::new();
            for red in answers {
                let Question::Check(lanes) = bisect.next().clone() else { break };
                asked.push(lanes);
                bisect.told(if red { Verdict::Red } else { Verdict::Green });
            }
            check_questions(&asked, count, &needs);
            let Question::Found(found) = bisect.next() else { panic!("no end: {asked:?}") };
            prop_assert!(!found.is_empty());
            prop_assert!(asked.len() <= most_checks(found.len(), count));
        }
    }
}
