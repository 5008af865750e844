//! The set.

use crate::range::DayRange;

/// A set of days. Its ranges are sorted, and there is at least one day between two of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DaySet {
    ranges: Vec<DayRange>,
}

impl DaySet {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn ranges(&self) -> &[DayRange] {
        &self.ranges
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many days are in the set.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.last() - range.first() + 1)).sum()
    }

    pub fn contains(&self, day: u32) -> bool {
        self.ranges.iter().any(|range| range.contains(day))
    }

    pub fn add(&mut self, added: DayRange) {
        for range in &mut self.ranges {
            if range.contains(added.first()) || range.contains(added.last()) {
                let first = range.first().min(added.first());
                let last = range.last().max(added.last());
                *range = DayRange::new(first, last).expect("the smaller end comes first");
                return;
            }
        }
        self.ranges.push(added);
        self.ranges.sort_by_key(|range| range.first());
    }

    pub fn remove(&mut self, removed: DayRange) {
        let Some(place) = self.ranges.iter().position(|range| range.contains(removed.first())) else {
            return;
        };
        let range = self.ranges.remove(place);
        let left = DayRange::new(range.first(), removed.first());
        let right = DayRange::new(removed.last(), range.last());
        self.ranges.splice(place..place, left.into_iter().chain(right));
    }

    /// The ranges of days that are missing between two days, both included.
    pub fn gaps(&self, from: u32, to: u32) -> Vec<DayRange> {
        let mut gaps = Vec::new();
        let mut next = from;
        for range in &self.ranges {
            if range.first() > next {
                gaps.extend(DayRange::new(next, range.first() - 1));
            }
            next = range.last() + 1;
        }
        gaps.extend(DayRange::new(next, to));
        gaps
    }
}

impl FromIterator<DayRange> for DaySet {
    fn from_iter<I: IntoIterator<Item = DayRange>>(ranges: I) -> Self {
        let mut set = DaySet::new();
        for range in ranges {
            set.add(range);
        }
        set
    }
}
