//! The actor that carries a course out: it starts requests beside its mailbox and is told how they ended. It awaits nothing but
//! the journal's queue.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::mailbox::Mailbox;
use actors::run::publisher::Publisher;
use actors::talk::prompts::Prompts;
use actors::workers::Workers;
use actors::{Unanswered, answer};
use config::Config;
use facts::autopilot::AutopilotEnd;
use facts::delivery::Delivery;
use facts::event::{Blob, Event};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr};
use shell::{CommandLine, RunOptions};
use tokio::sync::{mpsc, oneshot};
use tools::clock::{Clock, Timestamp};
use tools::redact::Redactor;

use super::course::{Course, CourseInput, Interrupted, NextMove, StepEnd};
use super::past_course::undo_patch;
use super::pilot_state::PilotState;
use super::undoing::undo;
use super::{Autopilot, CourseBroken, CourseNews, CourseSetup, FinishedCourse, Msg, ToldNews};
use crate::request::{PilotPart, Request};
use crate::root::{self, KeepToError, Orchestrator, RequestOutcome, State};
use crate::session::past_requests::InterruptedRun;

struct AutopilotActor;

struct RunningCourse {
    course: Course,
    config: Arc<Config>,
    goal: Option<(CommandLine, RunOptions)>,
    interrupted: Option<InterruptedRun>,
    news: mpsc::Sender<ToldNews>,
    orchestrator: Orchestrator,
    publisher: Publisher,
    prompts: Arc<Prompts>,
    clock: Arc<dyn Clock>,
    redactor: Redactor,
    /// The directory of the session.
    session: PathBuf,
    /// When it began in this process, and how long it had worked before.
    begun: (Timestamp, Duration),
    workers: Workers,
    /// What begins once it may.
    prepared: Option<Prepared>,
    reply: Option<RpcReplyPort<FinishedCourse>>,
}

/// A request about to begin.
enum Prepared {
    Question(Request),
    Step(String, Request),
    Interrupted(Interrupted, InterruptedRun),
}

impl State {
    /// Starts an autopilot, supervised by the orchestrator.
    pub(crate) async fn start_autopilot(
        &self,
        myself: &ActorRef<root::Msg>,
        setup: CourseSetup,
        reply: RpcReplyPort<Result<Autopilot, SpawnErr>>,
    ) {
        let CourseSetup { course, config, goal, interrupted, news } = setup;
        let waits = self.idle.waits("autopilot");
        let above = Mailbox::new(myself.clone(), self.idle.waits("orchestrator"));
        let (clock, worked) = (Arc::clone(&self.idle.clock), course.work.worked);
        let running = RunningCourse {
            course,
            config,
            goal,
            interrupted,
            news,
            orchestrator: Orchestrator::of(above, Arc::clone(&self.journal)),
            publisher: self.idle.publisher.clone(),
            prompts: Arc::clone(&self.idle.terms.prompts),
            begun: (clock.now(), worked),
            clock,
            redactor: self.idle.redactor.clone(),
            session: self.journal.dir().to_owned(),
            workers: Workers::new(waits.clone()),
            prepared: None,
            reply: None,
        };
        let supervisor: ActorCell = myself.get_cell();
        let spawned = Actor::spawn_linked(None, AutopilotActor, running, supervisor).await;
        answer(reply, spawned.map(|(actor, _)| Autopilot { mailbox: Mailbox::new(actor, waits) }));
    }
}

impl Actor for AutopilotActor {
    type Msg = Msg;
    type State = RunningCourse;
    type Arguments = RunningCourse;

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        running: RunningCourse,
    ) -> Result<RunningCourse, ActorProcessingErr> {
        Ok(running)
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        msg: Msg,
        running: &mut RunningCourse,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Work { reply } => running.begin(&myself, reply),
            Msg::Wish(wish) => running.take_in(&myself, CourseInput::Wish(wish)).await,
            Msg::Ready(ready) => match running.workers.admit(ready) {
                None => {}
                Some(Ok(Ok(()))) => running.start_prepared(&myself),
                Some(Ok(Err(broken))) => running.break_off(broken),
                Some(Err(_)) => running.break_off(Unanswered::Stopped.into()),
            },
            Msg::Happened(happened) => match running.workers.admit(happened) {
                None => {}
                Some(Ok(Ok(input))) => running.take_in(&myself, input).await,
                Some(Ok(Err(broken))) => running.break_off(broken),
                Some(Err(_)) => running.break_off(Unanswered::Stopped.into()),
            },
            Msg::Ended(ended) => match running.workers.admit(ended) {
                None => {}
                Some(Ok(ended)) => running.finish(ended.map_err(CourseBroken::from)),
                Some(Err(_)) => running.break_off(Unanswered::Stopped.into()),
            },
        }
        Ok(())
    }
}

impl RunningCourse {
    fn begin(&mut self, myself: &ActorRef<Msg>, reply: RpcReplyPort<FinishedCourse>) {
        self.reply = Some(reply);
        let PilotState { task, until, bounds, .. } = self.course.work.clone();
        let config = Blob::new(config::to_record(&self.config));
        self.course.work.end = None;
        let masked = |text: &str| self.redactor.redact(text).into_owned();
        let (task, until) = (masked(&task), until.as_deref().map(masked));
        let began = Event::AutopilotBegan { task, until, bounds, config };
        let (publisher, interrupted) =
            (self.publisher.clone(), self.interrupted.as_ref().map(kind));
        let begun = async move {
            publisher.record(began).await?;
            Ok(CourseInput::Begin(interrupted))
        };
        self.workers.start("begin", myself, begun, Msg::Happened);
    }

    async fn take_in(&mut self, myself: &ActorRef<Msg>, input: CourseInput) {
        self.note_time();
        let (events, next) = self.course.step(input);
        for event in events {
            if let Err(closed) = self.publisher.publish(event).await {
                self.break_off(closed.into());
                return;
            }
        }
        self.carry_out(myself, next);
    }

    fn carry_out(&mut self, myself: &ActorRef<Msg>, next: NextMove) {
        match next {
            NextMove::Wait => {}
            NextMove::TakeUp => self.take_up(myself),
            NextMove::Check => self.check(myself),
            NextMove::Ask => {
                let question = self.course.question(&self.prompts);
                self.prepare(myself, Prepared::Question(question), CourseNews::Choosing);
            }
            NextMove::Take(step) => {
                let request = self.course.request(&step, &self.prompts);
                let number = self.course.work.rounds.len() + 1;
                let news = CourseNews::Working { number, step: step.clone() };
                self.prepare(myself, Prepared::Step(step, request), news);
            }
            NextMove::Undo(patch) => {
                let (orchestrator, session) = (self.orchestrator.clone(), self.session.clone());
                let undone = async move { undo(&orchestrator, session, patch).await };
                self.workers.start("undo", myself, undone, Msg::Happened);
            }
            NextMove::Rest => {
                let news = self.news.clone();
                let shown = async move {
                    tell(&news, CourseNews::Paused).await;
                    Ok(())
                };
                self.workers.start("news", myself, shown, Msg::Ready);
            }
            NextMove::Cancel if self.prepared.is_some() => {
                self.end(myself, AutopilotEnd::Stopped);
            }
            NextMove::Cancel => self.orchestrator.cancel(),
            NextMove::End(end) => self.end(myself, end),
        }
    }

    fn check(&mut self, myself: &ActorRef<Msg>) {
        let goal = self.goal.clone();
        let checked = async move {
            let Some((command, options)) = goal else {
                return Ok(CourseInput::Checked { passes: false, output: String::new() });
            };
            let outcome = shell::run(&command, &options).await;
            let (passes, output) = (outcome.succeeded(), outcome.output.text());
            Ok(CourseInput::Checked { passes, output })
        };
        self.workers.start("check", myself, checked, Msg::Happened);
    }

    /// Makes the orchestrator keep to what is left of the limits, and has the news shown. Then the request begins.
    fn prepare(&mut self, myself: &ActorRef<Msg>, prepared: Prepared, what: CourseNews) {
        self.prepared = Some(prepared);
        let budget = self.course.narrowed(&self.config.budget);
        let config = Arc::new(Config { budget, ..self.config.as_ref().clone() });
        let (orchestrator, news) = (self.orchestrator.clone(), self.news.clone());
        let ready = async move {
            tell(&news, what).await;
            orchestrator.keep_to(config).await.map_err(|error| match error {
                KeepToError::Terms(error) => CourseBroken::Config(error),
                KeepToError::Unanswered(gone) => CourseBroken::Died(gone),
            })
        };
        // The news that it rested may still be on their way.
        self.workers.next_round();
        self.workers.start("prepare", myself, ready, Msg::Ready);
    }

    fn take_up(&mut self, myself: &ActorRef<Msg>) {
        let Some(run) = self.interrupted.take() else {
            self.break_off(Unanswered::Stopped.into());
            return;
        };
        let kind = kind(&run);
        let step = match &kind {
            Interrupted::Step(step) => Some(step.clone()),
            Interrupted::Question | Interrupted::Other => None,
        };
        self.prepared = Some(Prepared::Interrupted(kind, run));
        let news = self.news.clone();
        let ready = async move {
            tell(&news, CourseNews::TakenUp(step)).await;
            Ok(())
        };
        self.workers.start("prepare", myself, ready, Msg::Ready);
    }

    /// Begins the prepared request. It is sent to the orchestrator here, so that a later cancellation finds it.
    fn start_prepared(&mut self, myself: &ActorRef<Msg>) {
        let (orchestrator, news) = (self.orchestrator.clone(), self.news.clone());
        let reviews = self.config.qa.enabled;
        match self.prepared.take() {
            None => {}
            Some(Prepared::Question(request)) => {
                let outcome = self.orchestrator.run(request);
                let heard = async move { Ok(heard(unpaused(outcome.await?)?)) };
                self.workers.start("question", myself, heard, Msg::Happened);
            }
            Some(Prepared::Step(step, request)) => {
                let outcome = self.orchestrator.run(request);
                let taken = async move {
                    let mut outcome = unpaused(outcome.await?)?;
                    if reviews {
                        outcome = orchestrator.reviewed(outcome).await;
                    }
                    let worked = worked(&step, &outcome);
                    tell(&news, CourseNews::Taken(Box::new(outcome))).await;
                    Ok(worked)
                };
                self.workers.start("step", myself, taken, Msg::Happened);
            }
            Some(Prepared::Interrupted(kind, run)) => {
                let outcome = self.orchestrator.take_up(run);
                let taken = async move {
                    let outcome = unpaused(outcome.await?)?;
                    Ok(match kind {
                        Interrupted::Question => heard(outcome),
                        Interrupted::Step(step) => worked(&step, &outcome),
                        Interrupted::Other => CourseInput::Aside(outcome.spent),
                    })
                };
                self.workers.start("step", myself, taken, Msg::Happened);
            }
        }
    }

    fn note_time(&mut self) {
        let (begun, before) = self.begun;
        let here = Duration::try_from(self.clock.now().duration_since(begun)).unwrap_or_default();
        self.course.has_worked(before + here);
    }

    /// Records the end. Whatever is under way is dropped.
    fn end(&mut self, myself: &ActorRef<Msg>, end: AutopilotEnd) {
        drop(self.workers.retire());
        let ended = Event::AutopilotEnded { end: end.clone(), worked_ms: self.course.worked_ms() };
        let publisher = self.publisher.clone();
        self.course.work.end = Some(end.clone());
        let recorded = async move { publisher.record(ended).await.map(|_| end) };
        self.workers.start("end", myself, recorded, Msg::Ended);
    }

    fn break_off(&mut self, why: CourseBroken) {
        drop(self.workers.retire());
        self.finish(Err(why));
    }

    fn finish(&mut self, end: Result<AutopilotEnd, CourseBroken>) {
        if let Some(reply) = self.reply.take() {
            answer(reply, FinishedCourse { work: self.course.work.clone(), end });
        }
    }
}

/// Returns what an interrupted request is in the course.
fn kind(run: &InterruptedRun) -> Interrupted {
    match &run.request.pilot {
        Some(PilotPart::Question(_)) => Interrupted::Question,
        Some(PilotPart::Step { .. }) => Interrupted::Step(run.request.text.clone()),
        None => Interrupted::Other,
    }
}

/// Has news shown. Whoever is gone is not waited for.
async fn tell(to: &mpsc::Sender<ToldNews>, news: CourseNews) {
    let (shown, is_shown) = oneshot::channel();
    if to.send(ToldNews { news, shown }).await.is_ok() {
        is_shown.await.ok();
    }
}

/// Breaks the course off if a request paused: it is taken up when the course is resumed.
fn unpaused(outcome: RequestOutcome) -> Result<RequestOutcome, CourseBroken> {
    if let Delivery::Paused { why } = outcome.delivery {
        return Err(CourseBroken::Paused(why));
    }
    Ok(outcome)
}

fn heard(outcome: RequestOutcome) -> CourseInput {
    let RequestOutcome { delivery, answer, spent, .. } = outcome;
    CourseInput::Answered { delivery, answer, spent }
}

fn worked(step: &str, outcome: &RequestOutcome) -> CourseInput {
    let RequestOutcome { delivery, changes, spent, rollbacks, .. } = outcome;
    let end = StepEnd::new(step, delivery.clone(), changes, *spent);
    CourseInput::Worked(Box::new(StepEnd { undo: undo_patch(rollbacks), ..end }))
}
