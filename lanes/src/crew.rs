//! A crew works on one task in one tree: Architect, Editor, Applier and Verifier, rebuilt when one of them dies.
//! What only a part of a split task needs belongs to [`crate::lane`].
//!
//! It decides nothing: [`Cycle`] says what is next, and the crew starts it and takes its result. Results that arrive
//! after the crew was rebuilt are dropped.

mod baseline_state;
pub mod cycle;
mod draft_state;
pub mod feedback;
#[cfg(test)]
mod kill_tests;
mod plan_state;
mod results;
#[cfg(test)]
mod role_tests;
mod roles;
mod setbacks;
mod steps;
#[cfg(test)]
mod testing;
pub mod undo_patch;

use std::sync::Arc;

use actors::calls::model_call::{CallError, Caller};
use actors::mailbox::Mailbox;
use actors::roles::applier::{Applied, ApplyError};
use actors::roles::architect::{ArchitectError, Planned};
use actors::roles::editor::EditorError;
use actors::roles::verifier::Checked;
use actors::run::Run;
use actors::run::file_reader::FileReader;
use actors::run::publisher::Publisher;
use actors::run::workspace::Workspace;
use actors::talk::brief::Brief;
use actors::talk::dialogue::Dialogue;
use actors::talk::dialogues::DialoguesByModel;
use actors::talk::prompts::Prompts;
use actors::workers::{Finished, Workers};
use actors::{Unanswered, answer};
use checks::outcome::{Check, Report};
use config::ModelRole;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, UndoTarget};
use facts::event::Event;
use facts::grammar::draft::EditorAnswer;
use facts::grammar::plan::Plan;
use facts::words::Role;
use model::AgentRole;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tree::Change;

use self::baseline_state::BaselineState;
use self::draft_state::{Bases, Draft, DraftState};
use self::plan_state::{PlanFate, PlanState};
use self::roles::Roles;
use self::setbacks::Setbacks;
use crate::crew::cycle::{Bounds, Cycle, Goal, Input, Next};
use crate::crew::undo_patch::Trail;

/// What a crew needs to start.
#[derive(Clone)]
pub struct CrewSetup {
    /// The task.
    pub brief: Brief,
    /// How far to go.
    pub goal: Goal,
    /// The tree it works on.
    pub workspace: Arc<dyn Workspace>,
    /// The run that the crew belongs to.
    pub run: Run,
    /// True if the request may be a question.
    pub may_be_question: bool,
    /// The plan to continue with, if another crew made it.
    pub begun: Option<Box<PlanInParts>>,
}

/// The first plan of a change that is made in parts.
#[derive(Debug, Clone)]
pub struct PlanInParts {
    /// The plan.
    pub plan: Plan,
    /// The diff that came with it, if one did.
    pub draft: Option<String>,
    /// The Architect's dialogue, which continues with the next part.
    pub dialogue: Dialogue,
}

/// How the work of a crew ends.
#[derive(Debug, Clone)]
pub enum CrewEnd {
    /// The task has ended.
    Done(Box<CrewReport>),
    /// The change is to be made in parts, for which a crew needs a worktree.
    InParts(Box<PlanInParts>),
    /// The request is a question, which is left to others, with the Architect's dialogue.
    Question(Box<Dialogue>),
}

impl CrewSetup {
    /// Returns true if the Architect may write a small diff with its plan.
    fn may_draft(&self) -> bool {
        self.goal == Goal::Deliver && self.run.config().agent_loop.draft_with_plan
    }
}

/// The result of a crew's work.
#[derive(Debug, Clone)]
pub struct CrewReport {
    /// How it ended.
    pub delivery: Delivery,
    /// The last plan.
    pub plan: Option<Plan>,
    /// The checks of what was planned.
    pub checks: Vec<String>,
    /// The checks that failed in the last verification.
    pub failing: Vec<Check>,
    /// Undo patches other than the one to the start: the target of each, and its changes.
    pub ways_back: Vec<(UndoTarget, Vec<Change>)>,
}

enum Msg {
    Work {
        reply: RpcReplyPort<CrewEnd>,
    },
    /// A step has ended.
    Done(Finished<Box<StepResult>>),
    /// A role crashed at this point of the recorded run, so it is killed here as well. The position is where to look for
    /// the next crash; `None` if there is none.
    Die(Finished<Option<(usize, Role)>>),
}

/// The result of a step.
enum StepResult {
    Planned(Dialogue, Result<Planned, ArchitectError>, Vec<String>),
    Drafted(Dialogue, Bases, Result<EditorAnswer, EditorError>),
    /// The diff that came with the plan is used.
    DraftedWithPlan(Draft),
    Applied(Result<Applied, ApplyError>),
    Verified {
        verified: Checked,
        /// True if a check failed without the change.
        proven: bool,
        /// What was run on the old tree after the change.
        late: Report,
    },
    BaselineKnown(Report),
    /// None of the checks can run here. These were derived and tried on the unchanged tree as well.
    NothingRuns(Vec<Check>),
    RoleDied(Role),
    JournalClosed,
}

/// A handle to a running crew.
#[derive(Clone)]
pub struct Crew {
    mailbox: Mailbox<Msg>,
}

impl Crew {
    /// Starts a crew under `supervisor`.
    pub async fn spawn(setup: CrewSetup, supervisor: ActorCell) -> Result<Self, ractor::SpawnErr> {
        let waits = setup.run.waits("crew");
        let (actor, _) = Actor::spawn_linked(None, CrewActor, setup, supervisor).await?;
        Ok(Self { mailbox: Mailbox::new(actor, waits) })
    }

    /// Returns the actor, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.mailbox.cell()
    }

    /// Works until the run ends. There is no deadline here because every wait inside has its own.
    pub async fn work(&self) -> Result<CrewEnd, Unanswered> {
        self.mailbox.call("work", |reply| Msg::Work { reply }, None).await
    }
}

struct CrewActor;

struct State {
    setup: CrewSetup,
    /// The steps that are running. Each rebuilding of the roles begins a round.
    workers: Workers,
    file_reader: FileReader,
    roles: Roles,
    cycle: Cycle,
    dialogues: DialoguesByModel,
    plan: PlanState,
    draft: DraftState,
    baseline: BaselineState,
    setbacks: Setbacks,
    trail: Trail,
    reply: Option<RpcReplyPort<CrewEnd>>,
}

impl Actor for CrewActor {
    type Msg = Msg;
    type State = State;
    type Arguments = CrewSetup;

    async fn pre_start(
        &self,
        myself: ActorRef<Msg>,
        setup: CrewSetup,
    ) -> Result<State, ActorProcessingErr> {
        let bounds = &setup.run.config().agent_loop;
        let file_reader = FileReader::new(setup.workspace.reader().clone(), setup.run.clone());
        let cycle_bounds = Bounds {
            max_iterations: bounds.max_iterations,
            classifier: bounds.failure_classifier,
            max_parts: bounds.max_parts,
            in_worktree: setup.workspace.in_place_of().is_some(),
        };
        Ok(State {
            roles: Roles::spawn(&setup, &file_reader, &myself.get_cell()).await?,
            workers: Workers::new(setup.run.waits("crew")),
            file_reader,
            cycle: Cycle::new(setup.goal, cycle_bounds),
            dialogues: DialoguesByModel::new(setup.run.redactor.clone()),
            plan: PlanState::default(),
            draft: DraftState::default(),
            baseline: BaselineState::default(),
            setbacks: Setbacks::default(),
            trail: Trail::default(),
            reply: None,
            setup,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Work { reply } => {
                state.reply = Some(reply);
                state.die_as_recorded(&myself, 0);
                if let Some(begun) = state.setup.begun.take() {
                    state.continue_with(&myself, *begun);
                } else {
                    let first = state.cycle.doing().clone();
                    state.start(&myself, first).await?;
                }
            }
            Msg::Done(finished) => {
                if let Some(result) = state.workers.admit(finished) {
                    state.step_done(&myself, *result?).await?;
                }
            }
            Msg::Die(finished) => {
                if let Some((next, role)) = finished.result()? {
                    state.roles.kill_one(role);
                    state.die_as_recorded(&myself, next);
                }
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, _) | SupervisionEvent::ActorTerminated(who, ..) => {
                if let Some(role) = state.roles.role_of(&who) {
                    state.step_done(&myself, StepResult::RoleDied(role)).await?;
                }
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl State {
    fn publisher(&self) -> &Publisher {
        &self.setup.run.publisher
    }

    fn prompts(&self) -> &Prompts {
        self.setup.run.prompts()
    }

    /// Returns the model configured for a role.
    fn model_of(&self, role: AgentRole) -> ModelRole {
        Caller::of(&self.setup.run, role).settings
    }

    /// Starts the next step. Its result arrives as a message.
    async fn start(
        &mut self,
        myself: &ActorRef<Msg>,
        effect: Next,
    ) -> Result<(), ActorProcessingErr> {
        match effect {
            Next::Plan(why) => self.start_plan(myself, why),
            Next::Draft(reason) => self.start_draft(myself, reason),
            Next::Apply => self.start_apply(myself).await?,
            Next::Verify => self.start_verify(myself),
            Next::HandOver => self.hand_over(),
            Next::Question => {
                let dialogue = self.dialogue_of(AgentRole::Architect);
                self.end(CrewEnd::Question(Box::new(dialogue)));
            }
            Next::Finish(delivery) => self.finish(delivery),
        }
        Ok(())
    }

    /// Runs `work` in the background. Its result is a message, which does not count if the crew is rebuilt before.
    fn spawn_step<F>(&mut self, myself: &ActorRef<Msg>, work: F)
    where
        F: Future<Output = Result<StepResult, JournalClosed>> + Send + 'static,
    {
        let step = async move { Box::new(work.await.unwrap_or(StepResult::JournalClosed)) };
        self.workers.start("step", myself, step, Msg::Done);
    }

    /// Takes the result of a step and starts the next one.
    async fn step_done(
        &mut self,
        myself: &ActorRef<Msg>,
        result: StepResult,
    ) -> Result<(), ActorProcessingErr> {
        // Nothing is decided before the work starts or after it ends: roles stopped at the end have not crashed.
        if self.reply.is_none() {
            return Ok(());
        }
        let input = match result {
            StepResult::Planned(dialogue, planned, derived) => {
                self.dialogues.keep(&self.model_of(AgentRole::Architect), dialogue);
                self.planned(planned, derived).await
            }
            StepResult::Drafted(dialogue, bases, drafted) => {
                self.dialogues.keep(&self.model_of(AgentRole::Editor), dialogue);
                self.drafted(bases, drafted).await
            }
            StepResult::DraftedWithPlan(draft) => Ok(self.drafted_with_plan(draft)),
            StepResult::Applied(applied) => self.applied(applied).await,
            StepResult::Verified { verified, proven, late } => {
                self.baseline.tried_late(late);
                self.verified(&verified, proven).await
            }
            StepResult::NothingRuns(tried) => Ok(self.nothing_runs(tried)),
            StepResult::BaselineKnown(report) => {
                let apply_waits = self.baseline.ended(report, &self.cycle.checks());
                // If the plan has changed since, so have its checks.
                self.start_baseline(myself, Vec::new());
                if apply_waits && !self.baseline.hold_apply() {
                    self.start_apply(myself).await?;
                }
                return Ok(());
            }
            StepResult::RoleDied(role) => {
                self.draft.role_died(role == Role::Applier);
                self.rebuild(myself).await?;
                let crashed = Event::RoleCrashed { role };
                self.publisher().publish(crashed).await.map(|()| Input::Crashed)
            }
            StepResult::JournalClosed => Err(JournalClosed),
        };
        let input = input
            .unwrap_or_else(|error| Input::Stopped(Delivery::failed(FailureKind::Journal, &error)));
        let mut next = self.cycle.step(input);
        if let Some(fate) = PlanFate::before(&next)
            && let Err(error) = self.mark_steps(fate).await
        {
            next = Next::Finish(Delivery::failed(FailureKind::Journal, &error));
        }
        self.start(myself, next).await
    }

    /// Publishes the outcome of each of the plan's steps, once per plan.
    async fn mark_steps(&mut self, fate: PlanFate) -> Result<(), JournalClosed> {
        let changes = self.trail.changes();
        let changed: Vec<_> = changes.iter().flat_map(Change::paths).collect();
        for marked in self.plan.mark(fate, &changed) {
            self.publisher().publish(marked).await?;
        }
        Ok(())
    }

    /// Kills a role where it died next in the recorded run, looking from this position on.
    fn die_as_recorded(&mut self, myself: &ActorRef<Msg>, from: usize) {
        let Some(recording) = self.publisher().recording().cloned() else { return };
        let death = async move {
            tokio::select! {
                crash = recording.crash(from) => Some(crash),
                () = recording.over() => None,
            }
        };
        self.workers.expect(myself, death, Msg::Die);
    }

    /// Kills the remaining roles and starts new ones. The crew owns the dialogues, so nothing said is lost.
    async fn rebuild(&mut self, myself: &ActorRef<Msg>) -> Result<(), ActorProcessingErr> {
        self.workers.next_round();
        self.roles.kill();
        self.roles = Roles::spawn(&self.setup, &self.file_reader, &myself.get_cell()).await?;
        self.baseline.interrupted();
        Ok(())
    }

    /// Sends the report to the requester.
    fn finish(&mut self, delivery: Delivery) {
        let undone =
            !matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        let to_best = if undone { self.trail.to_best() } else { Vec::new() };
        let mut ways_back = vec![(UndoTarget::Best, to_best)];
        ways_back.retain(|(_, changes)| !changes.is_empty());
        let (plan, failing) = (self.plan.plan().cloned(), self.setbacks.failing().to_vec());
        let checks = self.cycle.checks();
        let report = CrewReport { delivery, plan, checks, failing, ways_back };
        self.end(CrewEnd::Done(Box::new(report)));
    }

    /// Sends the plan to the requester, who has it carried out in a worktree.
    fn hand_over(&mut self) {
        let dialogue = self.dialogue_of(AgentRole::Architect);
        let plan = self.plan.plan().cloned().unwrap_or_default();
        let draft = self.plan.draft().map(|draft| draft.text.clone());
        self.end(CrewEnd::InParts(Box::new(PlanInParts { plan, draft, dialogue })));
    }

    fn end(&mut self, end: CrewEnd) {
        if let Some(reply) = self.reply.take() {
            answer(reply, end);
        }
        self.workers.next_round();
        self.roles.kill();
    }
}

/// Returns how a run ends when a call fails.
pub fn call_failed(error: &CallError) -> Delivery {
    match error {
        CallError::Budget(refusal) => Delivery::unaffordable(refusal),
        CallError::Model(model) => Delivery::failed(FailureKind::Model(model.class()), model),
        CallError::Admission(admission) => Delivery::failed(FailureKind::Admission, admission),
        CallError::Breach(breach) => Delivery::failed(FailureKind::Internal, breach),
        CallError::Journal(journal) => Delivery::failed(FailureKind::Journal, journal),
    }
}
