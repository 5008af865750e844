//! What went wrong, kept for whoever works next. Pure.
//!
//! The words come from [`super::feedback`].

use checks::outcome::{Check, Report};

/// What went wrong, and what the user did not want.
#[derive(Debug, Default)]
pub(super) struct Setbacks {
    /// The last of them, in words for a model.
    details: String,
    /// What the user left out of diffs, to report to the Architect.
    left_out: Vec<String>,
    /// The checks that failed in the last verification.
    failing: Vec<Check>,
}

impl Setbacks {
    /// Takes the words for what went wrong last.
    pub(super) fn note(&mut self, details: String) {
        self.details = details;
    }

    /// Takes the words for what the user left out of a diff.
    pub(super) fn note_left_out(&mut self, details: String) {
        self.left_out.push(details.clone());
        self.details = details;
    }

    /// Takes the result of a verification, and the words for it.
    pub(super) fn note_checked(&mut self, details: String, report: &Report) {
        self.details = details;
        self.failing = report.failing().cloned().collect();
    }

    /// Returns the words for what went wrong last.
    pub(super) fn details(&self) -> &str {
        &self.details
    }

    /// Forgets the words for what went wrong: it belongs to a part of the change that is made.
    pub(super) fn begin_part(&mut self) {
        self.details.clear();
    }

    /// Returns what the Architect has not been told, once, with what went wrong last.
    pub(super) fn take_for_architect(&mut self) -> String {
        let mut details = std::mem::take(&mut self.left_out);
        details.push(self.details.clone());
        details.join("\n\n")
    }

    /// Returns the checks that failed in the last verification.
    pub(super) fn failing(&self) -> &[Check] {
        &self.failing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_reported_once_and_the_last_setback_always() {
        let mut setbacks = Setbacks::default();
        setbacks.note_left_out("without a".to_owned());
        setbacks.note("it fails".to_owned());
        assert_eq!(setbacks.take_for_architect(), "without a\n\nit fails");
        assert_eq!(setbacks.take_for_architect(), "it fails");
        assert_eq!(setbacks.details(), "it fails");
    }
}
