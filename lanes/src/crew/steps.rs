//! Starts the steps of the cycle. Each runs in the background and sends its result to the crew.

use std::collections::BTreeMap;
use std::sync::Arc;

use actors::looks::shown_lines::Hints;
use actors::roles::applier::{ApplyAsk, ApplyError};
use actors::roles::architect::{PlanAsk, PlanWhy, Planned};
use actors::roles::editor::{DraftAsk, usable_with_plan};
use actors::roles::verifier::{self, Checked, Subject};
use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::file_reader::FileReader;
use actors::run::publisher::Publisher;
use actors::run::workspace::{Extent, Purpose, Staged, Workspace};
use actors::talk::brief::paragraph;
use actors::talk::dialogue::Dialogue;
use actors::talk::dialogues::introduction;
use checks::baseline::cannot_run;
use checks::outcome::{Check, CheckOutcome, Report};
use checks::proof::{self, OldTree, ToProve};
use checks::proves_nothing::proves_nothing;
use checks::wording::Wording;
use config::Baseline;
use facts::closed::JournalClosed;
use facts::delivery::StagedFor;
use facts::event::Event;
use facts::grammar::draft::MayEnd;
use facts::grammar::look::Look;
use facts::grammar::plan::{FileIntent, Plan};
use facts::signal::Acceptance;
use facts::words::Role;
use model::AgentRole;
use patch::{BaseState, PatchScope};
use ractor::{ActorProcessingErr, ActorRef};
use sandbox::Network;
use shell::CommandLine;
use tree::{Change, Entry, RepoPath};

use super::draft_state::{Bases, Draft, unseen};
use super::plan_state::nothing_checks;
use super::{Msg, PlanInParts, State, StepResult};
use crate::crew::cycle::{DraftReason, PlanReason};
use crate::crew::feedback::{self, PartMade};

impl State {
    pub(super) fn start_plan(&mut self, myself: &ActorRef<Msg>, why: PlanReason) {
        let dialogue = self.dialogue_of(AgentRole::Architect);
        // A diff that is ready counts: its plan may stand.
        let may_end = if self.trail.is_empty() && why != PlanReason::CannotRun {
            MayEnd::NothingApplied
        } else {
            MayEnd::Applied
        };
        let baseline = self.baseline_for(AgentRole::Architect);
        // What fails as before is part of the report.
        let baseline = if why == PlanReason::OldFailures { String::new() } else { baseline };
        let why = match why {
            PlanReason::First => PlanWhy::First { may_be_question: self.setup.may_be_question },
            PlanReason::Failed(class) => PlanWhy::Failed { class, report: self.report(&dialogue) },
            PlanReason::OldFailures => PlanWhy::OldFailures { report: self.report(&dialogue) },
            PlanReason::StillFails => PlanWhy::StillFails { report: self.report(&dialogue) },
            PlanReason::CannotRun => PlanWhy::CannotRun { checks: self.what_cannot_run() },
            PlanReason::Objected => PlanWhy::Objected { report: self.report(&dialogue) },
            PlanReason::Lacks => PlanWhy::Lacks(self.plan.take_needed()),
            PlanReason::NextPart => PlanWhy::NextPart { report: self.part_report() },
        };
        let ask = PlanAsk { why, baseline, may_end };
        let architect = self.roles.architect.clone();
        let (publisher, iteration) = (self.publisher().clone(), self.cycle.iteration());
        let file_reader = self.file_reader.clone();
        self.spawn_step(myself, async move {
            publisher.publish(Event::ArchitectStarted { iteration }).await?;
            let Ok((dialogue, planned)) = architect.plan(dialogue, ask).await else {
                return Ok(StepResult::RoleDied(Role::Architect));
            };
            let completed = Event::ArchitectCompleted { iteration, planned: planned.is_ok() };
            publisher.publish(completed).await?;
            let derived = match &planned {
                Ok(planned) => derived_for(&file_reader, &planned.plan).await?,
                Err(_) => Vec::new(),
            };
            Ok(StepResult::Planned(dialogue, planned, derived))
        });
    }

    /// Continues with a plan that another crew made.
    pub(super) fn continue_with(&mut self, myself: &ActorRef<Msg>, begun: PlanInParts) {
        let PlanInParts { plan, draft, dialogue } = begun;
        let file_reader = self.file_reader.clone();
        self.spawn_step(myself, async move {
            let derived = derived_for(&file_reader, &plan).await?;
            let (tolerances, new) = (Vec::new(), Vec::new());
            let planned = Planned { plan, tolerances, new, draft };
            Ok(StepResult::Planned(dialogue, Ok(planned), derived))
        });
    }

    /// Returns the report about a part of the change that is made.
    fn part_report(&self) -> String {
        let changes = self.trail.changes();
        let made = PartMade {
            part: self.cycle.part() - 1,
            left: self.cycle.parts_left(),
            changed: changes.iter().map(|change| &change.path).collect(),
            failures: self.setbacks.details(),
            remains: self.plan.plan().and_then(|plan| plan.more.as_deref()).unwrap_or_default(),
        };
        feedback::part_made(self.prompts(), &made)
    }

    /// Returns the report about the last plan for the Architect, without what its dialogue already contains.
    fn report(&mut self, dialogue: &Dialogue) -> String {
        let details = self.setbacks.take_for_architect();
        let diff = self.draft.diff().filter(|diff| !dialogue.has_heard(diff));
        feedback::for_architect(self.prompts(), diff, &details)
    }

    /// Lists the checks that cannot run on the unchanged tree, with the reasons.
    fn what_cannot_run(&self) -> String {
        let known = self.baseline.known();
        known.map_or_else(String::new, |report| feedback::cannot_run(self.prompts(), report))
    }

    pub(super) fn start_draft(&mut self, myself: &ActorRef<Msg>, reason: DraftReason) {
        let is_first = reason == DraftReason::NewPlan && self.plan.is_first();
        let details = if is_first { "" } else { self.setbacks.details() };
        let class = self.cycle.last_class();
        let (editor, dialogue) = (self.roles.editor.clone(), self.dialogue_of(AgentRole::Editor));
        let feedback = feedback::for_editor(self.prompts(), reason, class, details);
        // A diff that came with the plan is not in the Editor's dialogue.
        let unheard = self.draft.diff().filter(|diff| !dialogue.has_heard(diff));
        let mut feedback =
            feedback.map(|said| feedback::about_diff(self.prompts(), unheard, &said));
        let plan = self.plan.untold().cloned();
        let (look, shown, hints) = (self.look(), self.draft.shown().clone(), self.hints());
        let with_plan = self.plan.draft().cloned();
        let author = self.dialogue_of(AgentRole::Architect);
        let run = self.setup.run.clone();
        let baseline = self.baseline_for(AgentRole::Editor);
        // What fails as before is part of the feedback.
        let is_fed_back = reason == DraftReason::OldFailures;
        let baseline = if is_fed_back { String::new() } else { baseline };
        let since = self.draft.news_at();
        let may_end = if self.trail.is_empty() { MayEnd::NothingApplied } else { MayEnd::Applied };
        let (publisher, iteration) = (self.publisher().clone(), self.cycle.iteration());
        let permits = self.permits_wanted();
        let workspace = Arc::clone(&self.setup.workspace);
        self.start_baseline(myself, Vec::new());
        self.spawn_step(myself, async move {
            // Permits are requested before the Editor works, so that the order of events does not depend on timing.
            permitted(workspace.as_ref(), permits).await;
            let bases = look.await?;
            if let Some(with_plan) = with_plan {
                let (call, files) = (with_plan.call, unseen(&bases, &Bases::new(), hints.clone()));
                let (redactor, prompts) = (run.redactor.clone(), Arc::clone(&run.terms.prompts));
                match usable_with_plan(with_plan, files, author, run).await {
                    Ok(diff) => {
                        let call = Some(call);
                        publisher.publish(Event::EditorStarted { iteration, call }).await?;
                        let drafted = true;
                        let completed = Event::EditorCompleted { iteration, drafted, call };
                        publisher.publish(completed).await?;
                        return Ok(StepResult::DraftedWithPlan(Draft { diff, bases }));
                    }
                    Err(why) => {
                        let why = Wording::of(&redactor.redact(&why.to_string()));
                        let passed_over = Event::DraftPassedOver { call, why: why.clone() };
                        publisher.publish(passed_over).await?;
                        feedback = feedback.or(Some(feedback::passed_over(&prompts, &why)));
                    }
                }
            }
            let files = unseen(&bases, &shown, hints);
            let declared = bases.keys().cloned().collect();
            let ask = DraftAsk { plan, files, feedback, baseline, may_end, declared, since };
            let call = None;
            publisher.publish(Event::EditorStarted { iteration, call }).await?;
            let Ok((dialogue, drafted)) = editor.draft(dialogue, ask).await else {
                return Ok(StepResult::RoleDied(Role::Editor));
            };
            let completed = Event::EditorCompleted { iteration, drafted: drafted.is_ok(), call };
            publisher.publish(completed).await?;
            Ok(StepResult::Drafted(dialogue, bases, drafted))
        });
    }

    /// Returns the dialogue that a role continues.
    pub(super) fn dialogue_of(&self, role: AgentRole) -> Dialogue {
        self.dialogues.with(&self.model_of(role), || introduction(&self.setup.run.terms))
    }

    /// Returns the results of the checks before any change, for a role that has not seen them.
    fn baseline_for(&mut self, role: AgentRole) -> String {
        let model = self.model_of(role);
        let prompts = self.setup.run.prompts();
        let news = self.baseline.tell(model);
        news.map_or_else(String::new, |report| paragraph(feedback::baseline(prompts, report)))
    }

    /// Returns where the declared files will be changed, as far as the plan and what led to it show.
    fn hints(&self) -> BTreeMap<RepoPath, Hints> {
        let Some(plan) = self.plan.plan() else { return BTreeMap::new() };
        let architect = self.dialogue_of(AgentRole::Architect);
        let symbols = architect.looks().iter().filter_map(|look| {
            if let Look::Symbol { name } = look { Some(name.as_str()) } else { None }
        });
        let said: Vec<&str> = plan.steps.iter().map(String::as_str).chain(symbols).collect();
        let hints = |file: &FileIntent| {
            let lines_in = |look: &Look| {
                let Look::Context { path, lines } = look else { return None };
                lines.filter(|_| *path == file.path)
            };
            let named = file.lines.iter().copied().chain(plan.show.iter().filter_map(lines_in));
            let (named, looked) =
                (named.collect(), architect.looks().iter().filter_map(lines_in).collect());
            let words = format!("{}\n{}", file.intent, said.join("\n"));
            (file.path.clone(), Hints { named, looked, words })
        };
        plan.files.iter().map(hints).collect()
    }

    /// Returns the commands whose permits can be requested now, while nothing runs.
    pub(super) fn permits_wanted(&self) -> Vec<CommandLine> {
        if !self.plan.is_undrafted() {
            return Vec::new();
        }
        let checks = self.cycle.checks();
        checks.iter().filter_map(|command| CommandLine::parse(command).ok()).collect()
    }

    /// Re-reads and re-hashes the declared files, on a blocking thread.
    fn look(&self) -> impl Future<Output = Result<Bases, JournalClosed>> + Send + use<> {
        let most = self.setup.run.config().agent_loop.max_file_bytes;
        let file_reader = self.file_reader.clone();
        let paths: Vec<RepoPath> = self.plan.declared().cloned().collect();
        let operations = self.plan.operations();
        let base = |entry| match entry {
            Ok(Entry::File(state)) => BaseState::of(state.bytes),
            Ok(_) | Err(_) => BaseState::Missing,
        };
        async move {
            let entries = file_reader.entries_after(operations, paths.clone(), most).await?;
            Ok(paths.into_iter().zip(entries.into_iter().map(base)).collect())
        }
    }

    /// Starts checking the unchanged tree while the Editor works, unless that is done. Requests `permits` first.
    pub(super) fn start_baseline(&mut self, myself: &ActorRef<Msg>, permits: Vec<CommandLine>) {
        let commands = self.cycle.checks();
        let is_wanted = self.setup.run.config().agent_loop.baseline != Baseline::Off;
        if !is_wanted || !self.trail.is_empty() || !self.baseline.begin(&commands) {
            return;
        }
        let verifier = self.roles.verifier.clone();
        let workspace = Arc::clone(&self.setup.workspace);
        self.spawn_step(myself, async move {
            permitted(workspace.as_ref(), permits).await;
            match verifier.verify(commands, Subject::Untouched).await {
                Ok(verified) => Ok(StepResult::BaselineKnown(verified?.report)),
                Err(_) => Ok(StepResult::RoleDied(Role::Verifier)),
            }
        });
    }

    /// Applies the diff, once nothing uses the unchanged tree any more.
    pub(super) async fn start_apply(
        &mut self,
        myself: &ActorRef<Msg>,
    ) -> Result<(), ActorProcessingErr> {
        if self.plan.is_undrafted() {
            // The diff is that of an earlier plan, and only the checks are new.
            let permits = self.permits_wanted();
            self.start_baseline(myself, permits);
        }
        let iteration = self.cycle.iteration();
        let is_late = self.baseline.is_running()
            && self.setup.run.config().agent_loop.baseline != Baseline::Wait;
        let skipped = self.setup.run.perform(&mut SkipBaseline { iteration, is_late }).await?;
        if skipped {
            // Not ready in time: the Verifier is replaced, and its result is dropped.
            self.baseline.skip();
            self.rebuild(myself).await?;
        } else if self.baseline.hold_apply() {
            return Ok(());
        }
        let fresh = self.baseline.record();
        // If the workspace itself is gone, applying says so, and no other check would help.
        let is_here = self.publisher().follows() || self.setup.workspace.reader().is_in_place();
        if self.trail.is_empty() && is_here && none_can_run(&fresh) {
            self.try_derived(myself, fresh);
            return Ok(());
        }
        let applier = self.roles.applier.clone();
        let declared = Some(self.plan.declared().cloned().collect());
        let reread = self.draft.take_reread().then(|| self.look());
        let Draft { diff, bases } = self.draft.to_apply();
        let shown_by_check = self.baseline.fails();
        let operations = self.plan.operations();
        let publisher = self.publisher().clone();
        self.spawn_step(myself, async move {
            publish_baseline(&publisher, &fresh).await?;
            let bases = match reread {
                Some(look) => look.await?,
                None => bases,
            };
            let scope = PatchScope { declared, bases };
            let title = format!("iteration {iteration}");
            let ask = ApplyAsk { title, operations, diff, scope, shown_by_check };
            publisher.publish(Event::ApplyStarted { iteration }).await?;
            let applied = applier.apply(ask).await;
            if matches!(applied, Err(ApplyError::Unanswered(_))) {
                return Ok(StepResult::RoleDied(Role::Applier));
            }
            let completed = Event::ApplyCompleted { iteration, applied: applied.is_ok() };
            publisher.publish(completed).await?;
            Ok(StepResult::Applied(applied))
        });
        Ok(())
    }

    /// Publishes that none of the checks can run, and tries those on the unchanged tree that can be derived.
    fn try_derived(&mut self, myself: &ActorRef<Msg>, fresh: Vec<Check>) {
        let (publisher, file_reader) = (self.publisher().clone(), self.file_reader.clone());
        let (workspace, verifier) =
            (Arc::clone(&self.setup.workspace), self.roles.verifier.clone());
        self.spawn_step(myself, async move {
            publish_baseline(&publisher, &fresh).await?;
            let is_new = |command: &String| fresh.iter().all(|check| check.command != *command);
            let derived = file_reader.startable_checks().await?.into_iter().filter(is_new);
            let lines = derived.filter_map(|command| CommandLine::parse(&command).ok()).collect();
            let others = permitted(workspace.as_ref(), lines).await;
            let tried = match verifier.verify(others, Subject::Untouched).await {
                Ok(verified) => verified?.report.checks,
                Err(_) => return Ok(StepResult::RoleDied(Role::Verifier)),
            };
            publish_baseline(&publisher, &tried).await?;
            Ok(StepResult::NothingRuns(tried))
        });
    }

    pub(super) fn start_verify(&mut self, myself: &ActorRef<Msg>) {
        let (verifier, commands) = (self.roles.verifier.clone(), self.cycle.checks());
        let (publisher, iteration) = (self.publisher().clone(), self.cycle.iteration());
        let mut before = self.baseline.before();
        let derived = self.plan.is_derived();
        let changes = self.trail.changes();
        let test_data = self.plan.plan().map(Plan::test_data).unwrap_or_default();
        // A part need not be proven.
        let is_part = self.cycle.goes_on();
        let may_ask_again = self.setup.run.config().agent_loop.baseline != Baseline::Off;
        let workspace = Arc::clone(&self.setup.workspace);
        self.spawn_step(myself, async move {
            let started = Event::VerifyStarted { iteration, commands: commands.clone(), derived };
            // Recorded on disk before a command runs, together with everything that led to it.
            publisher.record(started).await?;
            let subject = Subject::Changed(changes.clone());
            let Ok(verified) = verifier.verify(commands, subject).await else {
                return Ok(StepResult::RoleDied(Role::Verifier));
            };
            let Checked { report: checked, denied, moved, locks } = verified?;
            let (mut report, mut late) = (checked.clone().against(&before), Report::default());
            let doubted = proof::doubted(&report, &before);
            if may_ask_again && !changes.is_empty() && !doubted.is_empty() {
                let Ok(again) = verifier.verify_before(doubted, changes.clone()).await else {
                    return Ok(StepResult::RoleDied(Role::Verifier));
                };
                late = again?.report;
                before.replace(late.clone());
                report = checked.against(&before);
            }
            let proven = match provable(&report, &before) {
                _ if is_part => false,
                Provable::Already => true,
                Provable::By(checks) => {
                    let to_prove = ToProve { changes, test_data };
                    match verifier.try_before(checks, to_prove).await {
                        Ok(outcome) => outcome? == OldTree::Fails,
                        Err(_) => return Ok(StepResult::RoleDied(Role::Verifier)),
                    }
                }
            };
            let outcome = report.outcome();
            publisher.publish(Event::VerifyCompleted { iteration, outcome }).await?;
            let passed = matches!(outcome, CheckOutcome::Passed | CheckOutcome::Flaky);
            let locks = if passed { offered(&*workspace, locks).await } else { Vec::new() };
            let verified = Checked { report, denied, moved, locks };
            Ok(StepResult::Verified { verified, proven, late })
        });
    }
}

/// Returns the checks that are derived from the project for a plan that names none.
async fn derived_for(file_reader: &FileReader, plan: &Plan) -> Result<Vec<String>, JournalClosed> {
    if nothing_checks(&plan.verify) { file_reader.checks().await } else { Ok(Vec::new()) }
}

/// Offers lock files that checks updated as part of the change. Returns those that were accepted.
async fn offered(workspace: &dyn Workspace, locks: Vec<Change>) -> Vec<Change> {
    let changes: Arc<[Change]> =
        locks.into_iter().filter(|lock| workspace.owner(&lock.path).is_none()).collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let staged = Staged {
        id: None,
        purpose: StagedFor::Change,
        title: "lock files that the checks updated".into(),
        changes: Arc::clone(&changes),
        repairs: Vec::new(),
        put_aside: Vec::new(),
        taken: Acceptance::RestStays,
    };
    match workspace.commit_patch_set(staged).await {
        Ok(Extent::Whole) => changes.to_vec(),
        Ok(Extent::Part(left_out)) => left_out.rest(&changes).to_vec(),
        Err(error) => {
            tracing::debug!(%error, "updated lock files are not part of the change");
            Vec::new()
        }
    }
}

/// Requests permits for checks, and returns those that may run. A denial is reported when the check is due.
async fn permitted(workspace: &dyn Workspace, commands: Vec<CommandLine>) -> Vec<String> {
    let mut permitted = Vec::new();
    for command in commands {
        if workspace.permit(&command, Purpose::Check(Network::Own)).await.is_ok() {
            permitted.push(command.text().to_owned());
        } else {
            tracing::debug!(command = command.text(), "a verification command was denied early");
        }
    }
    permitted
}

/// Publishes the results of checks of the unchanged tree.
async fn publish_baseline(publisher: &Publisher, checks: &[Check]) -> Result<(), JournalClosed> {
    for check in checks {
        publisher.publish(verifier::run_event(check, true, 0, check.excerpt.clone())).await?;
    }
    Ok(())
}

/// Returns true if there are checks of the unchanged tree, and none of them can run here.
fn none_can_run(checks: &[Check]) -> bool {
    let mut telling =
        checks.iter().filter(|check| proves_nothing(&check.command).is_none()).peekable();
    telling.peek().is_some() && telling.all(cannot_run)
}

/// How to show that checks would fail without the change.
enum Provable {
    /// A check did fail without it.
    Already,
    /// By running these checks, with the new tests, on the old tree.
    By(Vec<Check>),
}

fn provable(report: &Report, baseline: &Report) -> Provable {
    if proof::repaired(baseline, report).next().is_some() {
        return Provable::Already;
    }
    Provable::By(proof::passed(report))
}

/// The effect of not waiting for the checks of the unchanged tree, which depends on timing.
struct SkipBaseline {
    iteration: u32,
    /// True if the checks have not ended and need not be waited for.
    is_late: bool,
}

impl Effect for SkipBaseline {
    type Outcome = bool;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<bool> {
        let is_skipped = matches!(event, Event::BaselineSkipped { .. });
        if is_skipped { Trace::Done(true) } else { Trace::Foretold(false) }
    }

    async fn act(&mut self, run: &Run) -> Result<bool, JournalClosed> {
        if self.is_late {
            run.publish(Event::BaselineSkipped { iteration: self.iteration }).await?;
        }
        Ok(self.is_late)
    }
}
