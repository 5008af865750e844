//! A change that is planned and made in parts: what counts from part to part, and when the next one is planned. Pure.

use checks::failure_class::FailureHistory;
use facts::delivery::NeedsWork;

use super::{Cycle, Next, PlanReason, needs_work};

/// The parts of a change that are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    made: u32,
    /// Attempts spent on them.
    attempts: u32,
    /// The checks of their plans, which are run once more after the last part.
    checks: Vec<String>,
    /// True if something of the part that is being made is in the tree.
    pub(super) begun: bool,
}

impl Parts {
    /// Returns the number of the part that is being made.
    pub(super) const fn current(&self) -> u32 {
        self.made + 1
    }

    /// Returns how many of these attempts were spent on the part that is being made.
    pub(super) const fn attempts_of(&self, iteration: u32) -> u32 {
        iteration - self.attempts
    }

    /// Returns these checks, after those of the parts before that they lack.
    pub(super) fn with(&self, checks: &[String]) -> Vec<String> {
        let before = self.checks.iter().filter(|check| !checks.contains(check));
        before.chain(checks).cloned().collect()
    }

    /// Returns true if a plan follows what is applied of the same part.
    pub(super) const fn is_same_part(&self) -> bool {
        self.made == 0 || self.begun
    }
}

impl Cycle {
    /// Returns the number of the part that is being made.
    pub const fn part(&self) -> u32 {
        self.parts.current()
    }

    /// Returns true if more is to be planned after this plan.
    pub const fn goes_on(&self) -> bool {
        self.plan.more
    }

    /// Returns how many parts may follow the one that is being made.
    pub const fn parts_left(&self) -> u32 {
        self.bounds.max_parts.saturating_sub(self.parts.current())
    }

    /// Hands a plan in parts to a crew in a worktree, unless this is one; `None` if it goes on here.
    pub(super) fn in_parts(&self) -> Option<Next> {
        if !self.plan.more {
            return None;
        }
        if self.parts_left() == 0 {
            let most = self.bounds.max_parts;
            let detail =
                format!("the change needs more than {most} parts (`agent_loop.max_parts`)");
            return Some(needs_work(NeedsWork::NoPlan, detail));
        }
        (!self.bounds.in_worktree).then_some(Next::HandOver)
    }

    /// Has the next part planned. What the checks said of this one is told, and decides nothing.
    pub(super) fn part_made(&mut self) -> Next {
        let checks = self.parts.with(&self.plan.checks);
        let (made, attempts) = (self.parts.current(), self.iteration);
        self.parts = Parts { made, attempts, checks, begun: false };
        self.iteration += 1;
        self.start_plan();
        self.history = FailureHistory::default();
        (self.fewest, self.at_best) = (None, false);
        Next::Plan(PlanReason::NextPart)
    }

    /// Ends a run in which a part changes nothing, although more remains.
    pub(super) fn part_is_empty(&self, reason: &str) -> Next {
        let part = self.parts.current();
        let detail = format!("part {part} of the change has nothing to change: {reason}");
        needs_work(NeedsWork::NoDraft, detail)
    }
}
