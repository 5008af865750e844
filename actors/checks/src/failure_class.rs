//! The class of a failed attempt, by the failures before it: whether it repeats, and whether a new plan helped. Pure.

use config::FailureClassifier;
use serde::{Deserialize, Serialize};

use crate::error_lines::ErrorSet;

/// The class of a failed attempt; determines which role acts next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The diff could not be applied.
    PatchMismatch,
    /// The checks failed because of the change.
    MechanicalVerifyFailure,
    /// The same failure occurred again under the same plan.
    RepeatedVerifyFailure,
    /// A new plan left about the same failures.
    DesignMismatch,
}

impl FailureClass {
    /// Returns the name used in prompts and shown to users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PatchMismatch => "PatchMismatch",
            Self::MechanicalVerifyFailure => "MechanicalVerifyFailure",
            Self::RepeatedVerifyFailure => "RepeatedVerifyFailure",
            Self::DesignMismatch => "DesignMismatch",
        }
    }
}

/// Returns the similarity of two sets: size of intersection over size of union; 1 if both are empty.
pub fn similarity(a: &ErrorSet, b: &ErrorSet) -> f64 {
    let all = a.union(b).count();
    if all == 0 {
        return 1.0;
    }
    // Counts of diagnostics are far below 2^52.
    #[expect(clippy::cast_precision_loss, reason = "both are small counts")]
    let ratio = a.intersection(b).count() as f64 / all as f64;
    ratio
}

/// Returns true if `new` is better than `old`: fewer failures, or mostly different ones.
pub fn materially_reduced(new: &ErrorSet, old: &ErrorSet, rules: &FailureClassifier) -> bool {
    new.len() < old.len() || similarity(new, old) < rules.similarity_threshold
}

/// The failures so far, as far as they determine the class of the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureHistory {
    /// The errors of each failure under the current plan, in order.
    this_plan: Vec<ErrorSet>,
    /// The last failure under the previous plan.
    previous_plan: Option<ErrorSet>,
}

impl FailureHistory {
    /// Adds a failure and returns its class. Repetition is judged by the first diagnostics, reduction by all of them.
    pub fn classify(&mut self, errors: &ErrorSet, rules: &FailureClassifier) -> FailureClass {
        let first = self.this_plan.is_empty();
        self.this_plan.push(errors.clone());
        let first_ones =
            |set: &ErrorSet| set.iter().take(rules.fingerprint_lines).cloned().collect();
        let fingerprint: ErrorSet = first_ones(errors);
        let is_same = |earlier: &&ErrorSet| first_ones(earlier) == fingerprint;
        let seen = self.this_plan.iter().filter(is_same).count();
        let unreduced = |old: &ErrorSet| !materially_reduced(errors, old, rules);
        if first && self.previous_plan.as_ref().is_some_and(unreduced) {
            FailureClass::DesignMismatch
        } else if u32::try_from(seen).unwrap_or(u32::MAX) >= rules.repeat_threshold {
            FailureClass::RepeatedVerifyFailure
        } else {
            FailureClass::MechanicalVerifyFailure
        }
    }

    /// Starts a new plan.
    pub fn replanned(&mut self) {
        if let Some(last) = self.this_plan.pop() {
            self.previous_plan = Some(last);
        }
        self.this_plan.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_lines::diagnostic;

    const RULES: FailureClassifier =
        FailureClassifier { repeat_threshold: 2, similarity_threshold: 0.8, fingerprint_lines: 40 };

    fn set(names: &[&str]) -> ErrorSet {
        names.iter().map(|name| diagnostic(name, "f", "m")).collect()
    }

    #[test]
    fn every_class_is_reachable_and_distinct() {
        let mut history = FailureHistory::default();
        assert_eq!(
            history.classify(&set(&["a", "b"]), &RULES),
            FailureClass::MechanicalVerifyFailure
        );
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::MechanicalVerifyFailure);
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::RepeatedVerifyFailure);
        history.replanned();
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::DesignMismatch);
        history.replanned();
        assert_eq!(history.classify(&set(&["c"]), &RULES), FailureClass::MechanicalVerifyFailure);
        history.replanned();
        // One failure fewer than under the previous plan is progress, even if the rest is the same.
        let mut history =
            FailureHistory { previous_plan: Some(set(&["a", "b"])), ..FailureHistory::default() };
        assert_eq!(history.classify(&set(&["a"]), &RULES), FailureClass::MechanicalVerifyFailure);
    }
}
