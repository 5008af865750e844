//! Finds a smallest set of lanes that makes the checks fail when merged, by asking for checks of other sets. Pure.
//!
//! It only asks and takes answers; building trees and running checks happens elsewhere. If failure is monotone (adding
//! lanes never fixes what fewer break), no lane of the result can be left out. The search ends whatever the answers
//! are.

use std::collections::{BTreeMap, BTreeSet};

use facts::lane_id::LaneId;

/// A set of lanes that are merged.
pub(super) type MergedSet = BTreeSet<LaneId>;

/// The result of the checks on a set of merged lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BisectVerdict {
    /// Nothing new fails.
    Green,
    /// Something fails that does not fail without lanes.
    Red,
}

/// The next step of the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BisectQuestion {
    /// Merge and check these. The set includes the lanes that its lanes need.
    Check(MergedSet),
    /// These lanes are the cause.
    Found(MergedSet),
}

/// A search in progress.
///
/// A lane is guilty if the prefix of the merge order that ends with it is red and the prefix before it is green. It is
/// part of all later questions, and the lanes after it are left out. The next guilty lane is searched for among those
/// before it, until the guilty lanes are red by themselves.
#[derive(Debug, Clone)]
pub(super) struct Bisect {
    all: MergedSet,
    needs: BTreeMap<LaneId, MergedSet>,
    /// All answers, including those known from the start. No set is asked about twice.
    known: BTreeMap<MergedSet, BisectVerdict>,
    /// The guilty lanes found so far, with the lanes they need.
    guilty: MergedSet,
    /// The lanes before the last guilty one, in merge order.
    suspects: Vec<LaneId>,
    /// Number of leading suspects that are green together with the guilty lanes.
    green: usize,
    /// Number of leading suspects that are red together with them.
    red: usize,
    next: BisectQuestion,
}

impl Bisect {
    /// Starts a search among `lanes`, in merge order. All together are known to be red, and none of them to be green.
    /// `needs` has the lanes that each one waited for; those not among `lanes` are ignored.
    pub(super) fn new(lanes: Vec<LaneId>, needs: BTreeMap<LaneId, MergedSet>) -> Self {
        let all: MergedSet = lanes.iter().copied().collect();
        let known = BTreeMap::from([
            (MergedSet::new(), BisectVerdict::Green),
            (all.clone(), BisectVerdict::Red),
        ]);
        let mut bisect = Self {
            needs,
            known,
            guilty: MergedSet::new(),
            green: 0,
            red: lanes.len(),
            suspects: lanes,
            next: BisectQuestion::Found(all.clone()),
            all,
        };
        bisect.advance();
        bisect
    }

    /// Returns the set to check, or the result.
    pub(super) const fn next(&self) -> &BisectQuestion {
        &self.next
    }

    /// Takes the result of the requested check. Ignored if none was requested.
    pub(super) fn answer(&mut self, verdict: BisectVerdict) {
        if let BisectQuestion::Check(lanes) = &self.next {
            self.known.insert(lanes.clone(), verdict);
            self.advance();
        }
    }

    /// Advances as far as the known answers lead.
    fn advance(&mut self) {
        self.next = loop {
            let alone = self.known.get(&self.guilty).copied();
            match alone {
                None => break BisectQuestion::Check(self.guilty.clone()),
                Some(BisectVerdict::Red) => break BisectQuestion::Found(self.guilty.clone()),
                Some(BisectVerdict::Green) => {}
            }
            if self.red > self.green + 1 {
                let middle = self.green.midpoint(self.red);
                let lanes = self.with_suspects(middle);
                match self.known.get(&lanes) {
                    None => break BisectQuestion::Check(lanes),
                    Some(BisectVerdict::Red) => self.red = middle,
                    Some(BisectVerdict::Green) => self.green = middle,
                }
            } else if !self.convict() {
                break BisectQuestion::Found(self.guilty.clone());
            }
        };
    }

    /// Convicts the first suspect whose prefix is red. Returns false if there are no suspects.
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

    /// Returns the guilty lanes and the first suspects, with the lanes they need.
    fn with_suspects(&self, first: usize) -> MergedSet {
        let suspects = self.suspects.iter().take(first);
        self.closed(&self.guilty.iter().chain(suspects).copied().collect())
    }

    /// Returns `lanes` with all lanes that they need, directly or indirectly.
    fn closed(&self, lanes: &MergedSet) -> MergedSet {
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

    fn lanes(numbers: &[u8]) -> MergedSet {
        numbers.iter().copied().map(id).collect()
    }

    /// Runs a search. Returns its result and the questions asked.
    fn search(
        mut bisect: Bisect,
        check: impl Fn(&MergedSet) -> BisectVerdict,
    ) -> (MergedSet, Vec<MergedSet>) {
        let mut asked = Vec::new();
        loop {
            match bisect.next().clone() {
                BisectQuestion::Found(found) => return (found, asked),
                BisectQuestion::Check(lanes) => {
                    bisect.answer(check(&lanes));
                    asked.push(lanes);
                }
            }
            assert!(asked.len() < 1000, "the search does not end");
        }
    }

    /// Returns a check that is red for sets that contain one of `causes`.
    fn red_with(causes: &[MergedSet]) -> impl Fn(&MergedSet) -> BisectVerdict {
        let causes = causes.to_vec();
        move |lanes| {
            let red = causes.iter().any(|cause| cause.is_subset(lanes));
            if red { BisectVerdict::Red } else { BisectVerdict::Green }
        }
    }

    /// Returns a search among four independent lanes.
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
    fn lanes_after_a_guilty_one_are_left_out() {
        let eight = Bisect::new((1..=8).map(id).collect(), BTreeMap::new());
        let (found, asked) = search(eight, red_with(&[lanes(&[3, 6])]));
        assert_eq!(found, lanes(&[3, 6]));
        let after: Vec<MergedSet> =
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
        assert_eq!(nothing.next(), &BisectQuestion::Found(MergedSet::new()));
    }

    #[test]
    fn an_answer_without_a_question_is_ignored() {
        let mut bisect = Bisect::new(vec![id(5)], BTreeMap::new());
        bisect.answer(BisectVerdict::Green);
        assert_eq!(bisect.next(), &BisectQuestion::Found(lanes(&[5])));
    }

    /// Up to nine lanes in order, which may need earlier ones.
    fn some_lanes() -> impl Strategy<Value = (u8, BTreeMap<LaneId, MergedSet>)> {
        (1u8..=9, proptest::collection::vec((1u8..=9, 1u8..=9), 0..6)).prop_map(|(count, pairs)| {
            let mut needs: BTreeMap<LaneId, MergedSet> = BTreeMap::new();
            for (one, other) in pairs.into_iter().filter(|(one, other)| one != other) {
                needs.entry(id(one.max(other))).or_default().insert(id(one.min(other)));
            }
            (count, needs)
        })
    }

    /// Maximum number of checks to find `found` of `count` lanes.
    fn most_checks(found: usize, count: u8) -> usize {
        found * (1 + usize::try_from(u32::from(count).next_power_of_two().ilog2()).unwrap())
    }

    fn check_questions(asked: &[MergedSet], count: u8, needs: &BTreeMap<LaneId, MergedSet>) {
        let all: MergedSet = (1..=count).map(id).collect();
        for (nth, lanes) in asked.iter().enumerate() {
            assert!(!asked[..nth].contains(lanes), "asked twice: {lanes:?}");
            assert!(!lanes.is_empty() && *lanes != all, "known from the start: {lanes:?}");
            assert!(lanes.is_subset(&all));
            for lane in lanes {
                let needed = needs.get(lane).into_iter().flatten();
                let mut present = needed.filter(|needed| all.contains(needed));
                assert!(present.all(|needed| lanes.contains(needed)), "{lane} without its needs");
            }
        }
    }

    /// Returns `lanes` without one of them and without those that need it.
    fn without(lanes: &MergedSet, lane: LaneId, needs: &BTreeMap<LaneId, MergedSet>) -> MergedSet {
        let mut gone = BTreeSet::from([lane]);
        // A lane comes after the lanes it needs.
        for later in lanes.iter().filter(|later| **later > lane) {
            if needs.get(later).is_some_and(|needed| !needed.is_disjoint(&gone)) {
                gone.insert(*later);
            }
        }
        lanes.difference(&gone).copied().collect()
    }

    proptest! {
        #[test]
        fn no_lane_of_the_result_can_be_left_out(
            (count, needs) in some_lanes(),
            causes in proptest::collection::vec(proptest::collection::btree_set(1u8..=9, 1..4), 1..4),
        ) {
            let inside = |cause: &BTreeSet<u8>| cause.iter().map(|n| id((n - 1) % count + 1)).collect();
            let causes: Vec<MergedSet> = causes.iter().map(inside).collect();
            let check = red_with(&causes);
            let bisect = Bisect::new((1..=count).map(id).collect(), needs.clone());
            let (found, asked) = search(bisect, &check);
            check_questions(&asked, count, &needs);
            prop_assert_eq!(check(&found), BisectVerdict::Red);
            for lane in &found {
                prop_assert_eq!(check(&without(&found, *lane, &needs)), BisectVerdict::Green);
            }
            prop_assert!(asked.len() <= most_checks(found.len(), count), "{:?}", asked);
        }

        /// Even if checks fail at random or lanes fix each other, the search ends within the usual number of checks.
        #[test]
        fn every_search_ends(
            (count, needs) in some_lanes(), answers in proptest::collection::vec(any::<bool>(), 50),
        ) {
            let mut bisect = Bisect::new((1..=count).map(id).collect(), needs.clone());
            let mut asked = Vec::new();
            for red in answers {
                let BisectQuestion::Check(lanes) = bisect.next().clone() else { break };
                asked.push(lanes);
                bisect.answer(if red { BisectVerdict::Red } else { BisectVerdict::Green });
            }
            check_questions(&asked, count, &needs);
            let BisectQuestion::Found(found) = bisect.next() else { panic!("no end: {asked:?}") };
            prop_assert!(!found.is_empty());
            prop_assert!(asked.len() <= most_checks(found.len(), count));
        }
    }
}
