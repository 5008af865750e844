//! The plan that a crew carries out, and how far it has come. Pure.
//!
//! A plan that asks for nothing more is numbered like any other, but the one before it stands.

use actors::roles::editor::draft_with_plan::DraftWithPlan;
use checks::proves_nothing::proves_nothing;
use facts::delivery::{Delivery, Verified};
use facts::event::Event;
use facts::grammar::draft::NeededFile;
use facts::grammar::plan::{Plan, StepMark};
use patch::operations::FileOperation;
use tree::RepoPath;

use crate::crew::cycle::{Next, PlanReason};

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct PlanState {
    /// The number of plans so far.
    made: u32,
    current: Option<CurrentPlan>,
    /// True if the checks are derived from the project.
    derived: bool,
    /// Files that the Editor said the plan lacks.
    needed: Vec<NeededFile>,
}

/// The plan that is carried out.
#[derive(Debug)]
struct CurrentPlan {
    version: u32,
    plan: Plan,
    /// The diff that came with it, until there is a draft.
    draft: Option<DraftWithPlan>,
    /// True if the Editor has been given it.
    told: bool,
    /// True if there is an answer of the Editor to it, or the diff that came with it is used.
    drafted: bool,
    /// True if the outcome of its steps is known.
    marked: bool,
}

impl PlanState {
    /// Counts another plan, and returns its version.
    pub(super) const fn count(&mut self) -> u32 {
        self.made += 1;
        self.made
    }

    /// Makes the plan that was counted last the one to carry out.
    pub(super) fn carry_out(&mut self, plan: Plan, draft: Option<DraftWithPlan>) {
        let (version, told, drafted, marked) = (self.made, false, false, false);
        self.current = Some(CurrentPlan { version, plan, draft, told, drafted, marked });
    }

    /// Returns the plan that is carried out.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.current.as_ref().map(|current| &current.plan)
    }

    /// Returns true if the first plan of the run is carried out.
    pub(super) fn is_first(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.version == 1)
    }

    /// Returns true if there is a plan without a draft.
    pub(super) fn is_undrafted(&self) -> bool {
        self.current.as_ref().is_some_and(|current| !current.drafted)
    }

    /// Returns the plan if the Editor has not been given it yet.
    pub(super) fn untold(&self) -> Option<&Plan> {
        self.current.as_ref().filter(|current| !current.told).map(|current| &current.plan)
    }

    /// Notes that the Editor has answered the plan.
    pub(super) fn drafted(&mut self) {
        self.drafted_with_plan();
        if let Some(current) = &mut self.current {
            current.told = true;
        }
    }

    /// Notes that the diff that came with the plan is used.
    pub(super) fn drafted_with_plan(&mut self) {
        if let Some(current) = &mut self.current {
            current.drafted = true;
            current.draft = None;
        }
    }

    /// Returns the diff that came with the plan, until there is a draft.
    pub(super) fn draft(&self) -> Option<&DraftWithPlan> {
        self.current.as_ref()?.draft.as_ref()
    }

    /// Returns what the plan has done to files without a diff.
    pub(super) fn operations(&self) -> Vec<FileOperation> {
        self.plan().map(Plan::file_operations).unwrap_or_default()
    }

    /// Returns the files that a diff may change.
    pub(super) fn declared(&self) -> impl Iterator<Item = &RepoPath> {
        self.plan().into_iter().flat_map(|plan| &plan.files).map(|file| &file.path)
    }

    /// Returns the outcome of each step, once per plan, given what becomes of the plan and which files are changed.
    pub(super) fn mark(&mut self, fate: PlanFate, changed: &[&RepoPath]) -> Vec<Event> {
        let Some(current) = self.current.as_mut().filter(|current| !current.marked) else {
            return Vec::new();
        };
        current.marked = true;
        if current.plan.no_edit.is_some() {
            return Vec::new();
        }
        let marks = match fate {
            PlanFate::Stands => current.plan.marks(changed),
            PlanFate::Abandoned => vec![StepMark::Failed; current.plan.steps.len()],
        };
        let plan = current.version;
        let marked = |(mark, step)| Event::StepMarked { plan, step, mark };
        marks.into_iter().zip(1..).map(marked).collect()
    }

    /// Returns the checks of a new plan: those it names, or else those derived from the project. Checks that prove nothing
    /// are run only if there are no others.
    pub(super) fn choose_checks(
        &mut self,
        named: Vec<String>,
        derived: Vec<String>,
    ) -> Vec<String> {
        self.derived = named.is_empty() || nothing_checks(&named) && !derived.is_empty();
        if self.derived { derived } else { named }
    }

    /// Notes the checks that the Architect names when it wants nothing more.
    pub(super) const fn end_with(&mut self, named: &[String]) {
        self.derived &= named.is_empty();
    }

    /// Notes that derived checks take the place of the plan's.
    pub(super) const fn derive_checks(&mut self) {
        self.derived = true;
    }

    /// Returns true if the checks are derived from the project.
    pub(super) const fn is_derived(&self) -> bool {
        self.derived
    }

    /// Notes which files the plan lacks.
    pub(super) fn lacks(&mut self, needed: Vec<NeededFile>) {
        self.needed = needed;
    }

    /// Returns the files that the plan lacks, once.
    pub(super) fn take_needed(&mut self) -> Vec<NeededFile> {
        std::mem::take(&mut self.needed)
    }
}

/// Returns true if no command shows whether a change works.
pub(super) fn nothing_checks(commands: &[String]) -> bool {
    commands.iter().all(|command| proves_nothing(command).is_some())
}

/// What becomes of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanFate {
    /// Its change is delivered.
    Stands,
    /// It is given up, with its run or for another plan.
    Abandoned,
}

impl PlanFate {
    /// Returns what becomes of the current plan, if `next` decides it.
    pub(super) fn before(next: &Next) -> Option<Self> {
        match next {
            Next::Plan(PlanReason::NextPart) => Some(Self::Stands),
            // Nothing was done about the steps if only a plan was wanted.
            Next::Finish(Delivery::Delivered { verified }) => {
                (*verified != Verified::NotNeeded).then_some(Self::Stands)
            }
            Next::Plan(PlanReason::Failed(_) | PlanReason::Lacks | PlanReason::Objected)
            | Next::Finish(_) => Some(Self::Abandoned),
            // The plan may yet prove to be done.
            Next::Plan(
                PlanReason::First
                | PlanReason::OldFailures
                | PlanReason::StillFails
                | PlanReason::CannotRun,
            )
            | Next::Draft(_)
            | Next::Apply
            | Next::Verify
            | Next::HandOver
            | Next::Question => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(steps: &[&str]) -> Plan {
        Plan { steps: steps.iter().map(|&step| step.to_owned()).collect(), ..Plan::default() }
    }

    #[test]
    fn the_editor_owes_an_answer_to_each_plan_that_is_carried_out() {
        let mut state = PlanState::default();
        assert_eq!((state.untold(), state.is_undrafted()), (None, false), "there is no plan");
        state.count();
        state.carry_out(plan(&["a"]), None);
        assert_eq!((state.untold(), state.is_undrafted()), (Some(&plan(&["a"])), true));
        assert!(state.is_first());
        state.drafted();
        assert_eq!((state.untold(), state.is_undrafted()), (None, false));
        assert_eq!(state.plan(), Some(&plan(&["a"])));
        assert_eq!(state.count(), 2);
        assert!(state.is_first(), "the first plan stands");
        assert_eq!(state.count(), 3);
        state.carry_out(plan(&["b"]), None);
        assert_eq!((state.untold(), state.is_first()), (Some(&plan(&["b"])), false));
    }

    #[test]
    fn a_diff_that_came_with_the_plan_is_used_once_and_the_editor_knows_nothing_of_it() {
        let mut state = PlanState::default();
        let draft = DraftWithPlan { call: 3, text: "--- a/x".to_owned() };
        state.carry_out(plan(&["a"]), Some(draft.clone()));
        assert_eq!(state.draft(), Some(&draft));
        state.drafted_with_plan();
        assert_eq!(state.draft(), None);
        assert_eq!((state.untold(), state.is_undrafted()), (Some(&plan(&["a"])), false));
    }

    #[test]
    fn steps_are_marked_once_per_plan() {
        let mut state = PlanState::default();
        assert_eq!(state.mark(PlanFate::Abandoned, &[]), []);
        state.count();
        state.carry_out(plan(&["a", "b"]), None);
        let failed = |step| Event::StepMarked { plan: 1, step, mark: StepMark::Failed };
        assert_eq!(state.mark(PlanFate::Abandoned, &[]), [failed(1), failed(2)]);
        assert_eq!(state.mark(PlanFate::Stands, &[]), []);
        state.count();
        state.carry_out(Plan { no_edit: Some("it is done".to_owned()), ..plan(&["a"]) }, None);
        assert_eq!(state.mark(PlanFate::Stands, &[]), [], "nothing was to be done");
    }

    #[test]
    fn derived_checks_are_for_plans_that_name_none() {
        let mut state = PlanState::default();
        let commands = |name: &str| vec![name.to_owned()];
        assert_eq!(state.choose_checks(commands("make test"), Vec::new()), ["make test"]);
        assert!(!state.is_derived());
        assert_eq!(state.choose_checks(commands("true"), commands("make")), ["make"]);
        assert!(state.is_derived());
        state.end_with(&[]);
        assert!(state.is_derived());
        state.end_with(&commands("make test"));
        assert!(!state.is_derived());
        assert_eq!(state.choose_checks(commands("true"), Vec::new()), ["true"]);
        assert!(!state.is_derived());
        state.derive_checks();
        assert!(state.is_derived());
    }
}
