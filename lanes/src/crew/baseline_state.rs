//! What the checks say about the unchanged tree, and who has been told. Pure.
//!
//! The tree is checked while the Editor works, and at the latest before anything is applied.

use checks::outcome::{Check, CheckOutcome, Report};
use config::ModelRole;

/// What is known of the tree before the change.
#[derive(Debug, Default)]
pub(super) struct BaselineState {
    untouched: Untouched,
    /// The models that have seen the results.
    told: Vec<ModelRole>,
    /// Checks that were named after the tree was changed and fail, as they ended on a copy of the old tree. Unlike the
    /// baseline they prove nothing, since the copy may lack what they need.
    late: Report,
}

/// The state of the checks of the unchanged tree.
#[derive(Debug, Default, PartialEq, Eq)]
enum Untouched {
    #[default]
    NotChecked,
    /// The Verifier is running these commands. If `apply_waits`, applying starts as soon as they have ended.
    Running { commands: Vec<String>, apply_waits: bool },
    /// The commands have ended with this report.
    Known { commands: Vec<String>, report: Report, is_recorded: bool },
}

impl BaselineState {
    /// Begins to check with `commands`, unless that is done or under way. Returns true if they are to be run.
    pub(super) fn begin(&mut self, commands: &[String]) -> bool {
        match &self.untouched {
            Untouched::Running { .. } => return false,
            Untouched::Known { commands: ran, .. } if ran == commands => return false,
            Untouched::NotChecked | Untouched::Known { .. } => {}
        }
        if commands.is_empty() {
            self.untouched = Untouched::NotChecked;
            return false;
        }
        self.untouched = Untouched::Running { commands: commands.to_vec(), apply_waits: false };
        true
    }

    /// Has applying wait until the checks have ended. Returns false if none are running.
    pub(super) const fn hold_apply(&mut self) -> bool {
        match &mut self.untouched {
            Untouched::Running { apply_waits, .. } => {
                *apply_waits = true;
                true
            }
            Untouched::NotChecked | Untouched::Known { .. } => false,
        }
    }

    /// Returns true if the checks are running.
    pub(super) const fn is_running(&self) -> bool {
        match &self.untouched {
            Untouched::Running { .. } => true,
            Untouched::NotChecked | Untouched::Known { .. } => false,
        }
    }

    /// Takes the results of the running checks, if they are those of `commands`. Returns true if applying waited for
    /// them.
    pub(super) fn ended(&mut self, report: Report, commands: &[String]) -> bool {
        match std::mem::take(&mut self.untouched) {
            Untouched::Running { commands: ran, apply_waits } => {
                if ran == commands {
                    self.untouched = Untouched::Known { commands: ran, report, is_recorded: false };
                }
                apply_waits
            }
            other @ (Untouched::NotChecked | Untouched::Known { .. }) => {
                self.untouched = other;
                false
            }
        }
    }

    /// Does without the results: nothing is known of the commands that are running.
    pub(super) fn skip(&mut self) {
        let commands = match std::mem::take(&mut self.untouched) {
            Untouched::NotChecked => Vec::new(),
            Untouched::Running { commands, .. } | Untouched::Known { commands, .. } => commands,
        };
        let report = Report::default();
        self.untouched = Untouched::Known { commands, report, is_recorded: false };
    }

    /// Forgets checks that are running, since the Verifier has died.
    pub(super) fn interrupted(&mut self) {
        match &self.untouched {
            Untouched::Running { .. } => self.untouched = Untouched::NotChecked,
            Untouched::NotChecked | Untouched::Known { .. } => {}
        }
    }

    /// Returns the results that are to be recorded now, once.
    pub(super) fn record(&mut self) -> Vec<Check> {
        match &mut self.untouched {
            Untouched::Known { report, is_recorded, .. } => {
                if std::mem::replace(is_recorded, true) {
                    return Vec::new();
                }
                report.checks.clone()
            }
            Untouched::NotChecked | Untouched::Running { .. } => Vec::new(),
        }
    }

    /// Adds checks that were tried since none of the others can run. Those of `others` are to be run from now on.
    pub(super) fn tried(&mut self, tried: Vec<Check>, others: &[String]) {
        match &mut self.untouched {
            Untouched::Known { commands, report, .. } => {
                if !others.is_empty() {
                    *commands = others.to_vec();
                }
                report.checks.extend(tried);
            }
            Untouched::NotChecked | Untouched::Running { .. } => {}
        }
    }

    /// Takes the results of late checks on a copy of the old tree.
    pub(super) fn tried_late(&mut self, late: Report) {
        self.late.replace(late);
    }

    /// Returns the results, once they are known.
    pub(super) const fn known(&self) -> Option<&Report> {
        match &self.untouched {
            Untouched::Known { report, .. } => Some(report),
            Untouched::NotChecked | Untouched::Running { .. } => None,
        }
    }

    /// Returns true if the code fails a check that is known, so that a change can be seen to repair it.
    pub(super) fn fails(&self) -> bool {
        self.known().is_some_and(|report| report.outcome() == CheckOutcome::CodeFailure)
    }

    /// Returns the results for a model that has not seen them. They are shown only once recorded: when they become known
    /// depends on timing, when they are recorded does not.
    pub(super) fn tell(&mut self, model: ModelRole) -> Option<&Report> {
        match &self.untouched {
            Untouched::Known { report, is_recorded: true, .. }
                if !report.checks.is_empty() && !self.told.contains(&model) =>
            {
                self.told.push(model);
                Some(report)
            }
            Untouched::NotChecked | Untouched::Running { .. } | Untouched::Known { .. } => None,
        }
    }

    /// Returns the results of the checks before the change, as far as they are known.
    pub(super) fn before(&self) -> Report {
        let mut before = self.known().cloned().unwrap_or_default();
        before.replace(self.late.clone());
        before
    }
}

#[cfg(test)]
mod tests {
    use config::Effort;

    use super::*;
    use crate::crew::cycle::tests::check;

    fn commands(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn failing(names: &[&str]) -> Report {
        let checks = names.iter().map(|name| check(name, CheckOutcome::CodeFailure, &["e"]));
        Report { checks: checks.collect() }
    }

    fn shown(report: &Report) -> Vec<&str> {
        report.checks.iter().map(|check| check.command.as_str()).collect()
    }

    /// Returns a state after these commands have ended.
    fn known(names: &[&str]) -> BaselineState {
        let mut state = BaselineState::default();
        assert!(state.begin(&commands(names)));
        assert!(!state.ended(failing(names), &commands(names)));
        state
    }

    #[test]
    fn the_same_commands_are_run_once() {
        let mut state = BaselineState::default();
        assert!(!state.begin(&[]), "there is nothing to run");
        assert!(state.begin(&commands(&["a"])));
        assert!(!state.begin(&commands(&["b"])), "something is running");
        assert!(!state.ended(failing(&["a"]), &commands(&["a"])));
        assert!(!state.begin(&commands(&["a"])));
        assert!(state.begin(&commands(&["b"])));
        assert_eq!(state.known(), None);
    }

    #[test]
    fn applying_waits_for_what_is_running() {
        let mut state = BaselineState::default();
        assert!(!state.hold_apply());
        state.begin(&commands(&["a"]));
        assert!(state.hold_apply());
        assert!(state.ended(failing(&["a"]), &commands(&["a"])));
        assert!(!state.hold_apply());
    }

    #[test]
    fn results_of_other_commands_are_dropped() {
        let mut state = BaselineState::default();
        state.begin(&commands(&["a"]));
        state.hold_apply();
        assert!(state.ended(failing(&["a"]), &commands(&["b"])), "applying goes on all the same");
        assert_eq!(state.untouched, Untouched::NotChecked);
    }

    #[test]
    fn results_are_recorded_once_and_then_told_once() {
        let model = ModelRole {
            model: "m".to_owned(),
            thinking: false,
            effort: Effort::High,
            max_output_tokens: 1,
        };
        let mut state = known(&["a"]);
        assert_eq!(state.tell(model.clone()), None, "they are not recorded");
        assert_eq!(state.record(), failing(&["a"]).checks);
        assert_eq!(state.record(), []);
        assert_eq!(state.tell(model.clone()), Some(&failing(&["a"])));
        assert_eq!(state.tell(model), None);
    }

    #[test]
    fn what_is_skipped_is_not_run_again() {
        let mut state = BaselineState::default();
        state.begin(&commands(&["a"]));
        state.skip();
        state.interrupted();
        assert_eq!(state.known(), Some(&Report::default()));
        assert!(!state.begin(&commands(&["a"])));
        assert!(state.begin(&commands(&["b"])));
    }

    #[test]
    fn what_a_death_interrupts_is_run_again() {
        let mut state = BaselineState::default();
        state.begin(&commands(&["a"]));
        state.interrupted();
        assert!(!state.is_running());
        assert!(state.begin(&commands(&["a"])));
        let mut state = known(&["a"]);
        state.interrupted();
        assert_eq!(state.known(), Some(&failing(&["a"])));
    }

    #[test]
    fn checks_that_were_tried_are_part_of_what_was_before() {
        let mut state = known(&["a"]);
        state.tried(failing(&["b"]).checks, &commands(&["b"]));
        assert!(!state.begin(&commands(&["b"])), "they have been run");
        state.tried_late(failing(&["c"]));
        assert_eq!(shown(&state.before()), ["a", "b", "c"]);
        assert_eq!(state.known().map(shown), Some(vec!["a", "b"]), "late results prove nothing");
    }
}
