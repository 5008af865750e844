//! Adapts the number of concurrent model calls to the provider's limits. Pure.

/// Whether the provider throttled a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The call was accepted.
    Kept,
    /// The call was rejected: too many at once.
    Throttled,
}

/// The number of concurrent calls: halved when the provider throttles, and raised by one after each full round without
/// throttling. Calls from before a change do not count towards the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    most: usize,
    /// Current maximum of calls in flight.
    pub(crate) now: usize,
    /// Calls since it last changed.
    calls: usize,
}

impl Width {
    /// Starts at the configured maximum.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, now: most, calls: most }
    }

    /// Returns the width after a call.
    pub(crate) fn after(self, pace: Pace) -> Self {
        let Self { most, now, calls } = self;
        match pace {
            Pace::Throttled if calls >= now => Self { most, now: (now / 2).max(1), calls: 0 },
            Pace::Kept if now < most && calls + 1 >= now => Self { most, now: now + 1, calls: 0 },
            Pace::Kept | Pace::Throttled => Self { most, now, calls: calls + 1 },
        }
    }

    /// Returns the maximum of calls in flight for parts of the run. One slot is kept for the run itself, if there is
    /// more than one; while the provider throttles, no slot is kept, and the run's own calls only go first.
    pub(crate) const fn for_parts(self) -> usize {
        if self.is_narrowed() || self.most < 2 { self.now } else { self.most - 1 }
    }

    /// Returns true if it is narrower than configured.
    pub(crate) const fn is_narrowed(self) -> bool {
        self.now < self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_halves_the_width_and_it_recovers_one_by_one() {
        let mut width = Width::new(8);
        let mut told = Vec::new();
        for pace in [Pace::Throttled; 10].into_iter().chain([Pace::Kept; 40]) {
            width = width.after(pace);
            if told.last() != Some(&width.now) {
                told.push(width.now);
            }
        }
        assert_eq!(told, [4, 2, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(width.after(Pace::Kept).now, 8, "never wider than configured");
    }

    #[test]
    fn one_slot_is_kept_for_the_run_itself_unless_there_are_too_few() {
        assert_eq!(Width::new(21).for_parts(), 20);
        assert_eq!(Width::new(2).for_parts(), 1);
        assert_eq!(Width::new(1).for_parts(), 1);
        assert_eq!(Width::new(8).after(Pace::Throttled).for_parts(), 4);
    }
}
