//! A crew works on one task in one tree: Architect, Editor, Applier and Verifier, rebuilt when one of them dies.
//! What only a part of a split task needs belongs to [`crate::lane`].
//!
//! It decides nothing: [`Cycle`] says what is next, and the crew starts it and takes its result. Results that arrive
//! after the crew was rebuilt are dropped.

pub mod cycle;
pub mod feedback;
#[cfg(test)]
mod kill_tests;
mod results;
#[cfg(test)]
mod role_tests;
mod roles;
mod steps;
#[cfg(test)]
mod testing;
pub mod undo_patch;

use std::collections::BTreeMap;
use std::sync::Arc;

use actors::calls::model_call::{CallError, Caller};
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
use actors::{Unanswered, answered};
use checks::outcome::{Check, Report};
use config::ModelRole;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, UndoTarget, Verified};
use facts::event::Event;
use facts::grammar::draft::{EditorAnswer, NeededFile};
use facts::grammar::plan::{Plan, StepMark};
use facts::words::Role;
use model::AgentRole;
use patch::BaseState;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tokio::task::JoinSet;
use tree::{Change, RepoPath};

use self::roles::Roles;
use crate::crew::cycle::{Bounds, Cycle, Goal, Input, Next, PlanReason};
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
}

/// The result of a crew's work.
#[derive(Debug, Clone)]
pub struct CrewReport {
    /// How it ended.
    pub delivery: Delivery,
    /// The last plan.
    pub plan: Option<Plan>,
    /// The checks that failed in the last verification.
    pub failing: Vec<Check>,
    /// Undo patches other than the one to the start: the target of each, and its changes.
    pub ways_back: Vec<(UndoTarget, Vec<Change>)>,
}

enum Msg {
    Work {
        reply: RpcReplyPort<CrewReport>,
    },
    Done {
        epoch: u64,
        result: Box<StepResult>,
    },
    /// A role crashed at this point of the recorded run, so it is killed here as well.
    Die {
        role: Role,
    },
}

/// Files with their content at some time.
type Bases = BTreeMap<RepoPath, BaseState>;

/// The result of a step.
enum StepResult {
    Planned(Dialogue, Result<Planned, ArchitectError>, Vec<String>),
    Drafted(Dialogue, Bases, Result<EditorAnswer, EditorError>),
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
    actor: ActorRef<Msg>,
}

impl Crew {
    /// Starts a crew under `supervisor`.
    pub async fn spawn(setup: CrewSetup, supervisor: ActorCell) -> Result<Self, ractor::SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, CrewActor, setup, supervisor).await?;
        Ok(Self { actor })
    }

    /// Returns the actor, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Works until the run ends. There is no deadline here because every wait inside has its own.
    pub async fn work(&self) -> Result<CrewReport, Unanswered> {
        answered(self.actor.call(|reply| Msg::Work { reply }, None).await)
    }
}

struct CrewActor;

/// The state of the checks of the unchanged tree.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Untouched {
    NotChecked,
    /// The Verifier is running them. If `apply_waits`, applying starts as soon as they have ended.
    Running {
        apply_waits: bool,
    },
    Known(Report),
}

struct State {
    setup: CrewSetup,
    /// Tasks running next to the actor; they end with it.
    work: JoinSet<()>,
    file_reader: FileReader,
    roles: Roles,
    epoch: u64,
    cycle: Cycle,
    dialogues: DialoguesByModel,
    /// The number of plans so far.
    plans: u32,
    /// The plan that is carried out, and its number.
    plan: Option<Plan>,
    plan_version: u32,
    /// The last plan whose steps were marked.
    marked_version: u32,
    /// True if the checks are derived from the project.
    derived: bool,
    /// Version of the plan that the Editor last answered.
    drafted_version: u32,
    diff: Option<String>,
    /// The first message of the Editor's dialogue since it has had something new to work on.
    news_at: usize,
    /// Files as the Editor's dialogue shows them.
    shown: Bases,
    /// Declared files as they were when the current diff was requested.
    bases: Bases,
    applier_died: bool,
    details: String,
    /// What the user left out of diffs, to report to the Architect.
    left_out: Vec<String>,
    /// The checks that failed in the last verification.
    failing: Vec<Check>,
    /// Files that the Editor said the plan lacks.
    needed: Vec<NeededFile>,
    baseline: Untouched,
    /// The commands that the baseline was made with.
    baseline_of: Vec<String>,
    baseline_told: bool,
    /// Checks that were named after the tree was changed and fail, as they ended on a copy of the old tree. Unlike the
    /// baseline they prove nothing, since the copy may lack what they need.
    late: Report,
    /// The models that have seen the results of the checks before any change.
    told_baseline: Vec<ModelRole>,
    trail: Trail,
    reply: Option<RpcReplyPort<CrewReport>>,
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
        let cycle_bounds =
            Bounds { max_iterations: bounds.max_iterations, classifier: bounds.failure_classifier };
        Ok(State {
            roles: Roles::spawn(&setup, &file_reader, &myself.get_cell()).await?,
            work: JoinSet::new(),
            file_reader,
            epoch: 0,
            cycle: Cycle::new(setup.goal, cycle_bounds),
            dialogues: DialoguesByModel::new(setup.run.redactor.clone()),
            plans: 0,
            plan: None,
            plan_version: 0,
            marked_version: 0,
            derived: false,
            drafted_version: 0,
            diff: None,
            news_at: 0,
            shown: Bases::new(),
            bases: Bases::new(),
            applier_died: false,
            details: String::new(),
            left_out: Vec::new(),
            failing: Vec::new(),
            needed: Vec::new(),
            baseline: Untouched::NotChecked,
            baseline_of: Vec::new(),
            baseline_told: false,
            late: Report::default(),
            told_baseline: Vec::new(),
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
                state.die_as_recorded(&myself);
                let first = state.cycle.doing().clone();
                state.start(&myself, first).await?;
            }
            Msg::Done { epoch, .. } if epoch != state.epoch => {}
            Msg::Done { result, .. } => state.step_done(&myself, *result).await?,
            Msg::Die { role } => state.roles.kill_one(role),
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
            Next::Finish(delivery) => self.finish(delivery),
        }
        Ok(())
    }

    /// Runs `work` in the background and sends its result to the actor, tagged with the current epoch.
    fn spawn_step<F>(&mut self, myself: &ActorRef<Msg>, work: F)
    where
        F: Future<Output = Result<StepResult, JournalClosed>> + Send + 'static,
    {
        let (me, epoch) = (myself.clone(), self.epoch);
        while self.work.try_join_next().is_some() {}
        self.work.spawn(async move {
            let result = Box::new(work.await.unwrap_or(StepResult::JournalClosed));
            if me.cast(Msg::Done { epoch, result }).is_err() {
                tracing::debug!("the crew has stopped; a result is dropped");
            }
        });
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
                self.shown.extend(bases.clone());
                self.bases = bases;
                self.drafted(drafted).await
            }
            StepResult::Applied(applied) => self.applied(applied).await,
            StepResult::Verified { verified, proven, late } => {
                self.late.replace(late);
                self.verified(&verified, proven).await
            }
            StepResult::NothingRuns(tried) => Ok(self.nothing_runs(tried)),
            StepResult::BaselineKnown(report) => {
                let apply_waits = self.baseline == Untouched::Running { apply_waits: true };
                if self.baseline_of == self.cycle.checks() {
                    self.baseline = Untouched::Known(report);
                } else {
                    // The plan has changed since, and its checks with it.
                    self.baseline = Untouched::NotChecked;
                    self.start_baseline(myself, Vec::new());
                    if apply_waits && self.baseline != Untouched::NotChecked {
                        self.baseline = Untouched::Running { apply_waits };
                        return Ok(());
                    }
                }
                return if apply_waits { self.start_apply(myself).await } else { Ok(()) };
            }
            StepResult::RoleDied(role) => {
                self.applier_died = role == Role::Applier;
                self.rebuild(myself).await?;
                let crashed = Event::RoleCrashed { role };
                self.publisher().publish(crashed).await.map(|()| Input::Crashed)
            }
            StepResult::JournalClosed => Err(JournalClosed),
        };
        let input = input
            .unwrap_or_else(|error| Input::Stopped(Delivery::failed(FailureKind::Journal, &error)));
        let mut next = self.cycle.step(input);
        if let Some(fate) = fate_before(&next)
            && let Err(error) = self.mark_steps(fate).await
        {
            next = Next::Finish(Delivery::failed(FailureKind::Journal, &error));
        }
        self.start(myself, next).await
    }

    /// Publishes the outcome of each of the plan's steps, once per plan.
    async fn mark_steps(&mut self, fate: Fate) -> Result<(), JournalClosed> {
        let changes = self.trail.changes();
        let changed: Vec<_> = changes.iter().flat_map(Change::paths).collect();
        let marks = self.plan.as_ref().filter(|plan| plan.no_edit.is_none()).map_or_else(
            Vec::new,
            |plan| match fate {
                Fate::Stands => plan.marks(&changed),
                Fate::Abandoned => vec![StepMark::Failed; plan.steps.len()],
            },
        );
        if std::mem::replace(&mut self.marked_version, self.plan_version) == self.plan_version {
            return Ok(());
        }
        for (mark, step) in marks.into_iter().zip(1..) {
            let marked = Event::StepMarked { plan: self.plan_version, step, mark };
            self.publisher().publish(marked).await?;
        }
        Ok(())
    }

    /// Kills roles where they died in the recorded run.
    fn die_as_recorded(&mut self, myself: &ActorRef<Msg>) {
        let Some(recording) = self.publisher().recording().cloned() else { return };
        let me = myself.clone();
        self.work.spawn(async move {
            let mut from = 0;
            loop {
                let role;
                (from, role) = tokio::select! {
                    crash = recording.crash(from) => crash,
                    () = recording.over() => return,
                };
                if me.cast(Msg::Die { role }).is_err() {
                    return;
                }
            }
        });
    }

    /// Kills the remaining roles and starts new ones. The crew owns the dialogues, so nothing said is lost.
    async fn rebuild(&mut self, myself: &ActorRef<Msg>) -> Result<(), ActorProcessingErr> {
        self.epoch += 1;
        self.roles.kill();
        self.roles = Roles::spawn(&self.setup, &self.file_reader, &myself.get_cell()).await?;
        if matches!(self.baseline, Untouched::Running { .. }) {
            self.baseline = Untouched::NotChecked;
        }
        Ok(())
    }

    /// Sends the report to the requester.
    fn finish(&mut self, delivery: Delivery) {
        let undone =
            !matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        let to_best = if undone { self.trail.to_best() } else { Vec::new() };
        let mut ways_back = vec![(UndoTarget::Best, to_best)];
        ways_back.retain(|(_, changes)| !changes.is_empty());
        let (plan, failing) = (self.plan.clone(), self.failing.clone());
        let report = CrewReport { delivery, plan, failing, ways_back };
        if let Some(reply) = self.reply.take()
            && reply.send(report).is_err()
        {
            tracing::debug!("the requester of the work is gone");
        }
        self.roles.kill();
    }
}

/// What becomes of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its change is delivered.
    Stands,
    /// It is given up, with its run or for another plan.
    Abandoned,
}

/// Returns what becomes of the current plan, if `next` decides it.
fn fate_before(next: &Next) -> Option<Fate> {
    match next {
        // Nothing was done about the steps if only a plan was wanted.
        Next::Finish(Delivery::Delivered { verified }) => {
            (*verified != Verified::NotNeeded).then_some(Fate::Stands)
        }
        Next::Plan(PlanReason::Failed(_) | PlanReason::Lacks | PlanReason::Objected)
        | Next::Finish(_) => Some(Fate::Abandoned),
        // The plan may yet prove to be done.
        Next::Plan(
            PlanReason::First
            | PlanReason::OldFailures
            | PlanReason::StillFails
            | PlanReason::CannotRun,
        )
        | Next::Draft(_)
        | Next::Apply
        | Next::Verify => None,
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
