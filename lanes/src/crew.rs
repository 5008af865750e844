//! A crew works on one task in one tree: Architect, Editor, Applier and Verifier, rebuilt when one of them dies.
//!
//! It decides nothing: [`Cycle`] says what is next, the crew starts it, and is told what came of it. What it is told by a
//! crew that has been rebuilt meanwhile is dropped.

#[cfg(test)]
mod kill_tests;
mod news;
#[cfg(test)]
mod role_tests;
mod roles;
mod steps;

#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::sync::Arc;

use actors::Unanswered;
use actors::applier::{Applied, ApplyError};
use actors::architect::{ArchitectError, Planned};
use actors::brief::Brief;
use actors::call::CallError;
use actors::checks::{Check, Report};
use actors::closed::JournalClosed;
use actors::delivery::{Delivery, FailureKind, Target, Verified};
use actors::dialogue::Dialogue;
use actors::dialogues::Dialogues;
use actors::draft::{EditorAnswer, NeededFile};
use actors::editor::EditorError;
use actors::event::Event;
use actors::plan::{Plan, StepMark};
use actors::prompts::Prompts;
use actors::publisher::Publisher;
use actors::run::Run;
use actors::sight::Sight;
use actors::verifier::Checked;
use actors::words::Role;
use actors::workspace::Workspace;
use config::ModelRole;
use model::AgentRole;
use patch::BaseState;
use ractor::rpc::CallResult;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tokio::task::JoinSet;
use tree::{Change, RepoPath};

use self::roles::Roles;
use crate::cycle::{Bounds, Cycle, Goal, Input, Next, PlanReason};
use crate::trail::Trail;

/// What a crew is made with.
#[derive(Clone)]
pub struct CrewSetup {
    /// The task.
    pub brief: Brief,
    /// How far to go.
    pub goal: Goal,
    /// The tree, through its owner.
    pub workspace: Arc<dyn Workspace>,
    /// The run it is part of.
    pub run: Run,
}

/// What a crew leaves behind.
#[derive(Debug, Clone)]
pub struct CrewReport {
    /// How it ended.
    pub delivery: Delivery,
    /// The last plan.
    pub plan: Option<Plan>,
    /// The checks that failed when they were run last.
    pub failing: Vec<Check>,
    /// Ways back besides that to the start: where each leads, and the changes that lead there.
    pub ways_back: Vec<(Target, Vec<Change>)>,
}

enum Msg {
    Work {
        reply: RpcReplyPort<CrewReport>,
    },
    Told {
        epoch: u64,
        news: Box<News>,
    },
    /// A role died here when the run was driven before, and dies again.
    Die {
        role: Role,
    },
}

/// Files as they are, or were.
type Bases = BTreeMap<RepoPath, BaseState>;

/// What came of an effect.
enum News {
    Planned(Dialogue, Result<Planned, ArchitectError>, Vec<String>),
    Drafted(Dialogue, Bases, Result<EditorAnswer, EditorError>),
    Applied(Result<Applied, ApplyError>),
    /// With whether a check failed without the change.
    Verified(Checked, bool),
    BaselineKnown(Report),
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

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Works to the end. Every wait inside has its own deadline, so there is none here.
    pub async fn work(&self) -> Result<CrewReport, Unanswered> {
        match self.actor.call(|reply| Msg::Work { reply }, None).await {
            Ok(CallResult::Success(report)) => Ok(report),
            Ok(CallResult::Timeout) => Err(Unanswered::TimedOut),
            Ok(CallResult::SenderError) | Err(_) => Err(Unanswered::Stopped),
        }
    }
}

struct CrewActor;

/// The checks of the untouched tree.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Untouched {
    NotChecked,
    /// The Verifier is at it; when `apply_waits`, applying begins as soon as it is known.
    Running {
        apply_waits: bool,
    },
    Known(Report),
}

struct State {
    setup: CrewSetup,
    /// What runs beside the actor; it goes with it.
    work: JoinSet<()>,
    sight: Sight,
    roles: Roles,
    epoch: u64,
    cycle: Cycle,
    dialogues: Dialogues,
    plan: Option<Plan>,
    plan_version: u32,
    /// The plan whose steps were marked last.
    marked_version: u32,
    commands: Vec<String>,
    derived: bool,
    /// Version of the plan that the Editor has answered to.
    drafted_version: u32,
    diff: Option<String>,
    /// Files as they stand in the Editor's dialogue.
    shown: Bases,
    /// Declared files as they were when the diff in hand was asked for.
    bases: Bases,
    applier_died: bool,
    details: String,
    /// What the user left out of diffs, for the Architect.
    left_out: Vec<String>,
    /// The checks that failed when they were run last.
    failing: Vec<Check>,
    /// Files that the Editor said the plan lacks.
    needed: Vec<NeededFile>,
    baseline: Untouched,
    /// The commands that it is of.
    baseline_of: Vec<String>,
    baseline_told: bool,
    /// Who was told in a prompt what the checks said before any change.
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
        let sight = Sight::new(setup.workspace.reader().clone(), setup.run.clone());
        let cycle_bounds =
            Bounds { max_iterations: bounds.max_iterations, classifier: bounds.failure_classifier };
        Ok(State {
            roles: Roles::spawn(&setup, &sight, &myself.get_cell()).await?,
            work: JoinSet::new(),
            sight,
            epoch: 0,
            cycle: Cycle::new(setup.goal, cycle_bounds),
            dialogues: Dialogues::new(setup.run.redactor.clone()),
            plan: None,
            plan_version: 0,
            marked_version: 0,
            commands: Vec::new(),
            derived: false,
            drafted_version: 0,
            diff: None,
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
            Msg::Told { epoch, .. } if epoch != state.epoch => {}
            Msg::Told { news, .. } => state.told(&myself, *news).await?,
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
                    state.told(&myself, News::RoleDied(role)).await?;
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

    /// The model that is configured for a role.
    fn hire(&self, role: AgentRole) -> ModelRole {
        self.setup.run.caller(role).hire
    }

    /// Starts what the cycle says is next; the crew is told what came of it.
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

    /// Runs `work` beside the actor and tells it the news, marked with the epoch they belong to.
    fn tell<F>(&mut self, myself: &ActorRef<Msg>, work: F)
    where
        F: Future<Output = Result<News, JournalClosed>> + Send + 'static,
    {
        let (me, epoch) = (myself.clone(), self.epoch);
        while self.work.try_join_next().is_some() {}
        self.work.spawn(async move {
            let news = Box::new(work.await.unwrap_or(News::JournalClosed));
            if me.cast(Msg::Told { epoch, news }).is_err() {
                tracing::debug!("the crew is gone; its news are dropped");
            }
        });
    }

    /// Takes in what came of an effect, and starts the next.
    async fn told(&mut self, myself: &ActorRef<Msg>, news: News) -> Result<(), ActorProcessingErr> {
        // Before the work and after it nothing is decided: roles that are let go at the end have not crashed.
        if self.reply.is_none() {
            return Ok(());
        }
        let input = match news {
            News::Planned(dialogue, planned, derived) => {
                self.dialogues.keep(&self.hire(AgentRole::Architect), dialogue);
                self.planned(planned, derived).await
            }
            News::Drafted(dialogue, bases, drafted) => {
                self.dialogues.keep(&self.hire(AgentRole::Editor), dialogue);
                self.shown.extend(bases.clone());
                self.bases = bases;
                self.drafted(drafted).await
            }
            News::Applied(applied) => self.applied(applied).await,
            News::Verified(verified, proven) => self.verified(&verified, proven).await,
            News::BaselineKnown(report) => {
                let apply_waits = self.baseline == Untouched::Running { apply_waits: true };
                if self.baseline_of == self.commands {
                    self.baseline = Untouched::Known(report);
                } else {
                    // The plan has changed meanwhile, and the checks with it.
                    self.baseline = Untouched::NotChecked;
                    self.start_baseline(myself);
                    if apply_waits && self.baseline != Untouched::NotChecked {
                        self.baseline = Untouched::Running { apply_waits };
                        return Ok(());
                    }
                }
                return if apply_waits { self.start_apply(myself).await } else { Ok(()) };
            }
            News::RoleDied(role) => {
                self.applier_died = role == Role::Applier;
                self.rebuild(myself).await?;
                let crashed = Event::RoleCrashed { role };
                self.publisher().publish(crashed).await.map(|()| Input::Crashed)
            }
            News::JournalClosed => Err(JournalClosed),
        };
        let input = input
            .unwrap_or_else(|error| Input::Stopped(Delivery::failed(FailureKind::Journal, &error)));
        let mut next = self.cycle.step(input);
        if let Some(mark) = mark_before(&next)
            && let Err(error) = self.mark_steps(mark).await
        {
            next = Next::Finish(Delivery::failed(FailureKind::Journal, &error));
        }
        self.start(myself, next).await
    }

    /// Tells what became of the steps of the plan, once.
    async fn mark_steps(&mut self, mark: StepMark) -> Result<(), JournalClosed> {
        let plan = self.plan.as_ref().filter(|plan| plan.no_edit.is_none());
        let steps = plan.map_or(0, |plan| plan.steps.len());
        if std::mem::replace(&mut self.marked_version, self.plan_version) == self.plan_version {
            return Ok(());
        }
        for step in 1..=steps {
            let marked = Event::StepMarked { plan: self.plan_version, step, mark };
            self.publisher().publish(marked).await?;
        }
        Ok(())
    }

    /// Lets roles die where they died when the run was driven before.
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

    /// Kills what is left of the roles and hires new ones. Dialogues are the crew's, so nothing that was said is lost.
    async fn rebuild(&mut self, myself: &ActorRef<Msg>) -> Result<(), ActorProcessingErr> {
        self.epoch += 1;
        self.roles.kill();
        self.roles = Roles::spawn(&self.setup, &self.sight, &myself.get_cell()).await?;
        if matches!(self.baseline, Untouched::Running { .. }) {
            self.baseline = Untouched::NotChecked;
        }
        Ok(())
    }

    /// Hands the report to whoever asked for the work.
    fn finish(&mut self, delivery: Delivery) {
        let undone =
            !matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        let to_best = if undone { self.trail.to_best() } else { Vec::new() };
        let mut ways_back = vec![(Target::Best, to_best)];
        ways_back.retain(|(_, changes)| !changes.is_empty());
        let (plan, failing) = (self.plan.clone(), self.failing.clone());
        let report = CrewReport { delivery, plan, failing, ways_back };
        if let Some(reply) = self.reply.take()
            && reply.send(report).is_err()
        {
            tracing::debug!("whoever asked for the work is gone");
        }
        self.roles.kill();
    }
}

/// What becomes of the steps of the plan in hand, if that is decided by what is next.
fn mark_before(next: &Next) -> Option<StepMark> {
    match next {
        // A plan that was all that was wanted has steps that nobody took.
        Next::Finish(Delivery::Delivered { verified }) => {
            (*verified != Verified::NotNeeded).then_some(StepMark::Done)
        }
        Next::Plan(
            PlanReason::Failed(_)
            | PlanReason::Lacks
            | PlanReason::OldFailures
            | PlanReason::Objected,
        )
        | Next::Finish(_) => Some(StepMark::Failed),
        Next::Plan(PlanReason::First) | Next::Draft(_) | Next::Apply | Next::Verify => None,
    }
}

/// How a run ends when a call does.
pub fn call_failed(error: &CallError) -> Delivery {
    match error {
        CallError::Budget(refusal) => Delivery::unaffordable(refusal),
        CallError::Model(model) => Delivery::failed(FailureKind::Model(model.class()), model),
        CallError::Admission(admission) => Delivery::failed(FailureKind::Admission, admission),
        CallError::Journal(journal) => Delivery::failed(FailureKind::Journal, journal),
    }
}
