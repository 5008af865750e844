//! Processes the result of a step: keeps it, publishes it, and turns it into the input of the next step.

use actors::roles::applier::{Applied, ApplyError};
use actors::roles::architect::unapprovable::unapprovable;
use actors::roles::architect::{ArchitectError, Planned};
use actors::roles::editor::EditorError;
use actors::roles::editor::draft_with_plan::DraftWithPlan;
use actors::roles::verifier::Checked;
use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::workspace::Denied;
use actors::talk::AnswerError;
use actors::talk::prompts::Prompt;
use checks::baseline::can_check;
use checks::failure_class::FailureClass;
use checks::outcome::{Check, CheckOutcome, Report};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, NeedsWork};
use facts::event::Event;
use facts::grammar::draft::{EditorAnswer, NeededFile};
use facts::grammar::plan::Plan;
use facts::signal::Attendance;
use facts::write_failure::WriteFailure;
use model::AgentRole;
use patch::PatchMismatch;
use tree::RepoPath;

use super::draft_state::{Bases, Draft};
use super::plan_state::PlanFate;
use super::{State, call_failed};
use crate::crew::cycle::{Goal, Input, Judgement, Next, PlanReason, PlanTerms};
use crate::crew::feedback;

impl State {
    pub(super) async fn planned(
        &mut self,
        planned: Result<Planned, ArchitectError>,
        derived: Vec<String>,
    ) -> Result<Input, JournalClosed> {
        let Planned { plan, tolerances, new, draft } = match planned {
            Ok(planned) => planned,
            Err(ArchitectError::AnswerError(AnswerError::Unreadable(error))) => {
                let detail =
                    format!("the model did not answer in the format of a plan: {error}").into();
                return Ok(Input::Stopped(Delivery::NeedsWork { why: NeedsWork::NoPlan, detail }));
            }
            Err(ArchitectError::AnswerError(
                end @ (AnswerError::Repeated { .. } | AnswerError::CutAgain { .. }),
            )) => {
                let detail = end.to_string().into();
                return Ok(Input::Stopped(Delivery::NeedsWork { why: NeedsWork::NoPlan, detail }));
            }
            Err(ArchitectError::AnswerError(AnswerError::Call(error))) => {
                return Ok(Input::Stopped(call_failed(&error)));
            }
            Err(ArchitectError::Uneditable(file)) => {
                let detail = Wording::of(&file);
                let why = NeedsWork::Uneditable;
                return Ok(Input::Stopped(Delivery::NeedsWork { why, detail }));
            }
            Err(ArchitectError::Question) => return Ok(Input::Question),
            Err(ArchitectError::Unanswered(_)) => return Ok(Input::Crashed),
        };
        // The plan that is carried out stands if nothing more is wanted.
        let stands = plan.no_edit.is_some()
            && (!self.trail.is_empty() || *self.cycle.doing() == Next::Plan(PlanReason::CannotRun));
        if !stands {
            self.mark_steps(PlanFate::Abandoned).await?;
        }
        let version = self.plan.count();
        let event = if version == 1 {
            Event::PlanCreated { version, plan: plan.clone(), tolerances }
        } else {
            Event::PlanRevised { version, plan: plan.clone(), tolerances }
        };
        self.publisher().publish(event).await?;
        if plan.no_edit.is_none() {
            self.tell_unapprovable(&plan, &new).await;
        }
        let (reason, named) = (plan.no_edit.clone(), plan.verify.clone());
        let (files, operations) = (plan.files.clone(), plan.operations.clone());
        let more = plan.more.is_some();
        if !stands {
            let draft = self.with_plan(draft).await?;
            self.plan.carry_out(plan, draft);
            if *self.cycle.doing() == Next::Plan(PlanReason::NextPart) {
                self.setbacks.begin_part();
            }
            // The last diff belongs to another plan.
            if files.is_empty() {
                self.draft.keep(Draft::default());
            }
            self.give_editor_news();
        }
        if let Some(reason) = reason {
            self.plan.end_with(&named);
            return Ok(Input::NothingToDo { reason, checks: named });
        }
        let checks = self.plan.choose_checks(named, derived);
        Ok(Input::Planned(PlanTerms { files, operations, checks, more }))
    }

    /// Returns the diff that came with a plan, if the plan may bring one.
    async fn with_plan(
        &self,
        draft: Option<String>,
    ) -> Result<Option<DraftWithPlan>, JournalClosed> {
        let Some(text) = draft else { return Ok(None) };
        let call = self.dialogue_of(AgentRole::Architect).last_call();
        let refused = Next::Plan(PlanReason::Failed(FailureClass::PatchMismatch));
        let why = if !self.setup.may_draft() {
            "a plan may not bring one here"
        } else if *self.cycle.doing() == refused {
            "a diff for this request was refused before"
        } else {
            return Ok(Some(DraftWithPlan { call, text }));
        };
        self.publisher().publish(Event::DraftPassedOver { call, why: why.into() }).await?;
        Ok(None)
    }

    /// Takes the diff that came with the plan as the Editor's.
    pub(super) fn drafted_with_plan(&mut self, draft: Draft) -> Input {
        self.plan.drafted_with_plan();
        self.draft.keep(draft);
        Input::DraftedWithPlan
    }

    /// Notes that the Editor's dialogue goes on with something new to work on.
    fn give_editor_news(&mut self) {
        self.draft.has_news(self.dialogue_of(AgentRole::Editor).messages().len());
    }

    /// Says before anything is drafted that a plan needs approval which nobody can give; what is drafted is staged then.
    async fn tell_unapprovable(&self, plan: &Plan, new: &[RepoPath]) {
        let run = &self.setup.run;
        let is_asked = self.cycle.goal() == Goal::Deliver && !self.setup.workspace.is_approved();
        if !is_asked || run.attendance == Attendance::Attended || run.publisher.follows() {
            return;
        }
        if let Some(what) = unapprovable(&run.terms.rules, plan, new) {
            run.publisher.tell_unapprovable(what).await;
        }
    }

    /// Adds the derived checks that were tried on the unchanged tree, since none of the plan's can run.
    pub(super) fn nothing_runs(&mut self, tried: Vec<Check>) -> Input {
        let others = tried.iter().filter(|check| can_check(check));
        let others: Vec<String> = others.map(|check| check.command.clone()).collect();
        if !others.is_empty() {
            self.plan.derive_checks();
        }
        self.baseline.tried(tried, &others);
        Input::NothingRuns { others }
    }

    pub(super) async fn drafted(
        &mut self,
        bases: Bases,
        drafted: Result<EditorAnswer, EditorError>,
    ) -> Result<Input, JournalClosed> {
        self.plan.drafted();
        self.draft.show(&bases);
        Ok(match drafted {
            Ok(EditorAnswer::Diff(diff)) => {
                self.draft.keep(Draft { diff, bases });
                Input::Drafted
            }
            Ok(EditorAnswer::NeedFiles(files)) => self.lacks(files).await?,
            Ok(EditorAnswer::Done { reason }) => {
                let reason = self.setup.run.redactor.redact(&reason).into_owned();
                let done = Event::EditorDone { reason: Wording::of(&reason) };
                self.publisher().publish(done).await?;
                Input::NothingMore { reason }
            }
            Err(EditorError::AnswerError(AnswerError::Repeated { answer })) => {
                self.setbacks.note(feedback::repeated(self.prompts(), &answer));
                self.mismatch(1).await?;
                Input::Repeating
            }
            Err(EditorError::AnswerError(AnswerError::CutAgain { most })) => {
                let too_long = self.prompts().render(Prompt::DraftTooLong, &[("most", &most)]);
                self.setbacks.note(too_long);
                self.mismatch(1).await?;
                Input::DraftTooLong
            }
            Err(EditorError::AnswerError(AnswerError::Unreadable(error))) => {
                self.setbacks.note(error.to_string());
                self.mismatch(1).await?;
                Input::DraftUnreadable
            }
            Err(EditorError::AnswerError(AnswerError::Call(error))) => {
                Input::Stopped(call_failed(&error))
            }
            Err(EditorError::Unanswered(_)) => Input::Crashed,
        })
    }

    /// Handles an answer that asks for files that the plan does not declare.
    async fn lacks(&mut self, files: Vec<NeededFile>) -> Result<Input, JournalClosed> {
        self.plan.lacks(files.clone());
        let paths = files.iter().map(|file| file.path.clone()).collect();
        self.publisher().publish(Event::FilesNeeded { files }).await?;
        Ok(Input::PlanLacks(paths))
    }

    pub(super) async fn applied(
        &mut self,
        applied: Result<Applied, ApplyError>,
    ) -> Result<Input, JournalClosed> {
        match applied {
            Ok(Applied { changes, left_out }) => {
                self.trail.follow(&changes);
                self.give_editor_news();
                let Some(left_out) = left_out else { return Ok(Input::Applied) };
                let details = feedback::left_out(self.prompts(), &changes, &left_out);
                self.setbacks.note_left_out(details);
                Ok(Input::AppliedInPart)
            }
            Err(ApplyError::Mismatch(refusal)) => {
                let redactor = &self.setup.run.redactor;
                let details = redactor.redact(&refusal.for_model()).into_owned();
                let reason = |it: &PatchMismatch| Wording::of(&redactor.redact(&it.to_string()));
                let reasons = refusal.mismatches.iter().map(reason).collect();
                self.refused(details, reasons).await?;
                let undeclared = refusal.undeclared();
                if undeclared.is_empty() {
                    return Ok(Input::Refused);
                }
                let why = self.prompts().render(Prompt::NeededByDiff, &[]);
                let needed = |path| NeededFile { path, why: why.clone() };
                self.lacks(undeclared.into_iter().map(needed).collect()).await
            }
            Err(ApplyError::NotApplied(WriteFailure::Stale { path })) => {
                let details = self.prompts().render(Prompt::FileChanged, &[("path", &path)]);
                let reason = format!("{path}: changed since it was read").into();
                self.refused(details, vec![reason]).await?;
                Ok(Input::Refused)
            }
            Err(ApplyError::Denied(denied)) => Ok(self.denied(&denied)),
            Err(ApplyError::NotApplied(error @ WriteFailure::NotWritten { .. })) => {
                Ok(Input::Stopped(Delivery::failed(FailureKind::Write, &error)))
            }
            Err(ApplyError::Unanswered(_)) => Ok(Input::Crashed),
        }
    }

    /// Keeps and records why a diff was not applied.
    async fn refused(
        &mut self,
        details: String,
        reasons: Vec<Wording>,
    ) -> Result<(), JournalClosed> {
        let (errors, feedback) = (reasons.len(), Wording::of(&details));
        self.setbacks.note(details);
        self.publisher().publish(Event::PatchRefused { reasons, feedback }).await?;
        self.mismatch(errors).await
    }

    /// Records the class of a failed draft.
    async fn mismatch(&self, errors: usize) -> Result<(), JournalClosed> {
        self.setup.run.perform(&mut Mismatch { errors }).await
    }

    /// Ends the run when the user refuses, unless the user said what is wrong.
    fn denied(&mut self, denied: &Denied) -> Input {
        let Some(words) = &denied.said else { return Input::Stopped(denied.delivery()) };
        let what = denied.what.to_string();
        let details = self.prompts().render(Prompt::Objected, &[("what", &what), ("words", words)]);
        self.setbacks.note(details);
        Input::Objected
    }

    pub(super) async fn verified(
        &mut self,
        verified: &Checked,
        proven: bool,
    ) -> Result<Input, JournalClosed> {
        let report = &verified.report;
        self.trail.follow(&verified.locks);
        if let Some(denied) = &verified.denied
            && denied.said.is_some()
        {
            return Ok(self.denied(denied));
        }
        self.setbacks.note_checked(feedback::failures(self.prompts(), report), report);
        let old_unchanged = report.exact() == failing_again(&self.baseline.before(), report);
        let outcome = report.outcome();
        let judgement = Judgement {
            report: report.clone(),
            old_unchanged,
            denied: verified.denied.clone(),
            proven,
            moved: !verified.moved.is_empty(),
        };
        let failed = matches!(outcome, CheckOutcome::CodeFailure | CheckOutcome::PreExisting);
        let input = Input::Verified(judgement);
        if failed {
            // Uses a copy: the class and the best tree are known only after the step.
            let mut after = self.cycle.clone();
            after.step(input.clone());
            if after.is_best() {
                self.trail.mark_best();
            }
            if outcome == CheckOutcome::CodeFailure
                && let Some(class) = after.classified()
            {
                let errors = report.errors().len();
                self.publisher().publish(Event::FailureClassified { class, errors }).await?;
            }
        }
        Ok(input)
    }
}

/// Returns the errors that the commands failing now had before the change.
fn failing_again(baseline: &Report, report: &Report) -> checks::error_lines::ErrorSet {
    let fails_now = |command: &str| report.failing().any(|check| check.command == command);
    let before = baseline.checks.iter().filter(|check| fails_now(&check.command));
    before.flat_map(|check| check.exact.iter().cloned()).collect()
}

/// The effect of recording that a draft is not a diff or does not apply. Older versions recorded only the refusal.
struct Mismatch {
    /// Number of reasons.
    errors: usize,
}

impl Effect for Mismatch {
    type Outcome = ();
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<()> {
        if let Event::FailureClassified { class: FailureClass::PatchMismatch, .. } = event {
            return Trace::Done(());
        }
        Trace::Foretold(())
    }

    async fn act(&mut self, run: &Run) -> Result<(), JournalClosed> {
        let class = FailureClass::PatchMismatch;
        run.publish(Event::FailureClassified { class, errors: self.errors }).await
    }
}
