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
        self.ranges.iter().map(|range| u64::from(range.last() - range.first()) + 1).sum()
    }

    pub fn contains(&self, day: u32) -> bool {
        self.ranges.iter().any(|range| range.contains(day))
    }

    pub fn add(&mut self, added: DayRange) {
        let (mut first, mut last) = (added.first(), added.last());
        // The ranges that overlap the new one or touch it are next to each other.
        let start = self.ranges.partition_point(|range| range.last() < first && range.last() + 1 < first);
        let end = self.ranges.partition_point(|range| range.first() <= last.saturating_add(1));
        for range in &self.ranges[start..end] {
            first = first.min(range.first());
            last = last.max(range.last());
        }
        self.ranges.splice(start..end, DayRange::new(first, last));
    }

    pub fn remove(&mut self, removed: DayRange) {
        let mut kept = Vec::with_capacity(self.ranges.len() + 1);
        for range in &self.ranges {
            if range.last() < removed.first() || removed.last() < range.first() {
                kept.push(*range);
                continue;
            }
            if range.first() < removed.first() {
                kept.extend(DayRange::new(range.first(), removed.first() - 1));
            }
            if removed.last() < range.last() {
                kept.extend(DayRange::new(removed.last() + 1, range.last()));
            }
        }
        self.ranges = kept;
    }

    /// The ranges of days that are missing between two days, both included.
    pub fn gaps(&self, from: u32, to: u32) -> Vec<DayRange> {
        let mut missing: DaySet = DayRange::new(from, to).into_iter().collect();
        for range in &self.ranges {
            missing.remove(*range);
        }
        missing.ranges
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
