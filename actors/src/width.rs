//! How many model calls are made at once, by what the provider takes. Pure.

/// What a call felt of the provider's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// It was taken as it came.
    Kept,
    /// It was one too many at once.
    Throttled,
}

/// How many calls are made at once: halved where the provider throttles, and one more after each round that it does not. Calls
/// that were made before it was changed say nothing new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    most: usize,
    /// Calls in flight at most.
    pub(crate) now: usize,
    /// Calls since it changed.
    calls: usize,
}

impl Width {
    /// As wide as configured.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, now: most, calls: most }
    }

    /// The width after a call.
    pub(crate) fn after(self, pace: Pace) -> Self {
        let Self { most, now, calls } = self;
        match pace {
            Pace::Throttled if calls >= now => Self { most, now: (now / 2).max(1), calls: 0 },
            Pace::Kept if now < most && calls + 1 >= now => Self { most, now: now + 1, calls: 0 },
            Pace::Kept | Pace::Throttled => Self { most, now, calls: calls + 1 },
        }
    }

    /// Calls in flight at most that are not the run's own: one is kept for those, where there is more than one. While the
    /// provider throttles none is: they only come first.
    pub(crate) const fn for_parts(self) -> usize {
        if self.is_narrowed() || self.most < 2 { self.now } else { self.most - 1 }
    }

    /// Whether the provider has it narrower than configured.
    pub(crate) const fn is_narrowed(self) -> bool {
        self.now < self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_at_once_are_halved_by_a_throttle_and_come_back_one_by_one() {
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
    fn one_call_is_kept_for_the_run_itself_unless_there_are_too_few() {
        assert_eq!(Width::new(21).for_parts(), 20);
        assert_eq!(Width::new(2).for_parts(), 1);
        assert_eq!(Width::new(1).for_parts(), 1);
        assert_eq!(Width::new(8).after(Pace::Throttled).for_parts(), 4);
    }
}
