//! The life of a request: how it begins, and which actors carry it out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use actors::Unanswered;
use actors::calls::model_call::Caller;
use actors::calls::steering::Steering;
use actors::looks::look_effect::LookSources;
use actors::looks::own_tools;
use actors::run::Run;
use actors::run::command_runner::Runner;
use actors::run::effect::{Effect, Position, Trace};
use actors::talk::AnswerError;
use actors::talk::brief::{Brief, BriefShare};
use actors::talk::prompts::Prompt;
use config::{LaneMode, Mode};
use facts::amounts::Spending;
use facts::closed::JournalClosed;
use facts::delivery::Delivery;
use facts::delivery::FailureKind;
use facts::delivery::NeedsWork;
use facts::delivery::Verified;
use facts::event::Event;
use facts::scope::Scope;
use facts::words::IntentBy;
use facts::words::Role;
use lanes::crew::cycle::Goal;
use lanes::crew::undo_patch::Trail;
use lanes::crew::{Crew, CrewSetup, call_failed};
use lanes::lane::worktrees;
use lanes::team::setup::TeamSetup;
use lanes::team::split::team_plan::TeamPlan;
use lanes::team::split::worth_splitting::worth_planning;
use lanes::team::{Team, TeamReport};
use missions::rlm::Rlm;
use model::AgentRole;
use policy::{PolicyRules, Verdict};
use ractor::{ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tools::blocking::on_a_thread;
use tools::redact::values_in;

use crate::mission::charge_earlier;
use crate::request::deadline::{Deadline, time_left};
use crate::request::gathering::{Gathering, Recall, begins_with};
use crate::request::intent::{self, Prose, RequestIntent};
use crate::request::routing::{self, Before, RoutedQuestion};
use crate::request::{PilotPart, Request};
use crate::root::NotSteered;
use crate::root::ending::{Ending, failed_request, journal_closed};
use crate::root::supervision;
use crate::root::{Active, Msg, News, RequestOutcome, Said, State};
use crate::session::compacting::Compacting;
use crate::session::memory;
use crate::session::past_requests::RecordedRun;
use crate::session::revisiting::Revisiting;
use crate::session::run_beginning::RunBeginning;
use crate::session::turn;
use crate::workspace::copy::Copies;
use crate::workspace::main_workspace::MainWorkspace;
use crate::workspace::places::snapshots;

impl State {
    /// Begins a request. There is only one at a time: while one is running, another is refused by dropping `reply`.
    pub(crate) async fn begin(
        &mut self,
        myself: &ActorRef<Msg>,
        request: Request,
        recorded: Option<RecordedRun>,
        reply: RpcReplyPort<RequestOutcome>,
    ) -> Result<(), ActorProcessingErr> {
        if self.active.is_some() {
            tracing::error!("refused a request, because another one is running");
            return Ok(());
        }
        let own = Arc::clone(&self.idle.terms.config);
        // A mission keeps to its card. The configuration is recorded for its replay.
        let narrowed = self.narrowed(&request).filter(|_| recorded.is_none());
        let is_narrowed = narrowed.is_some();
        if let Some(config) = narrowed {
            self.keep_to(config).await?;
        }
        let RunBeginning { id, terms, current_rules, publisher, redactor, elapsed } = match recorded
        {
            None => RunBeginning::new(self),
            Some(recorded) => RunBeginning::recorded(self, recorded),
        };
        let fresh = supervision::LostAccounts::default();
        let (admission, slot) =
            supervision::start_admission(&terms, &publisher, fresh, myself.get_cell()).await?;
        let (stop, stopped) = watch::channel(false);
        let redactor = redactor.knowing(self.secrets(&terms.rules).await);
        let mut terms = terms;
        terms.prompts = Arc::new(terms.prompts.for_request(&request.text));
        let idle = self.idle.clone();
        let left = time_left(&terms, elapsed);
        let run = Run {
            terms,
            steering: Steering::left_of(publisher.recording()),
            publisher,
            admission,
            redactor,
            until: left.and_then(|left| idle.clock.now().checked_add(left).ok()),
            user_said: Arc::default(),
            stop: stopped,
            ..idle
        };
        tracing::debug!(run = id, "a run begins");
        self.active = Some(Active {
            run: run.clone(),
            request: request.clone(),
            reply,
            current_rules,
            slot,
            crew: None,
            team: None,
            children: None,
            approved: None,
            mission: None,
            grant: None,
            written_end: None,
            spent_before: Spending::default(),
            claim: None,
            said: Said::default(),
            written: BTreeMap::new(),
            permits: BTreeMap::new(),
            tasks: Vec::new(),
            trail: Trail::default(),
            put_aside: Vec::new(),
            stop,
            ending: None,
        });
        self.limit_wall_time(myself, left);
        self.end_as_recorded(myself);
        if run.publish(request.first_event(&run.redactor)).await.is_err() {
            self.end(journal_closed()).await;
            return Ok(());
        }
        if is_narrowed {
            self.keep_to(own).await?;
        }
        self.prepare(myself, request.intent);
        Ok(())
    }

    /// Returns the values in secret files of the workspace.
    async fn secrets(&self, rules: &Arc<PolicyRules>) -> BTreeSet<String> {
        let (dir, rules) = (self.dir.clone(), Arc::clone(rules));
        on_a_thread(move || {
            let is_secret = |path: &str| matches!(rules.may_read(path), Verdict::Deny { .. });
            let texts = tree::secret_texts(&dir, &is_secret);
            texts.iter().flat_map(|text| values_in(text)).collect()
        })
        .await
    }

    /// Decides the intent of a request, and gathers its brief.
    fn prepare(&mut self, myself: &ActorRef<Msg>, flag: Option<RequestIntent>) {
        let Some(active) = &self.active else { return };
        let (run, text) = (active.run.clone(), active.request.text.clone());
        // A request of an autopilot brings along what it is told of earlier ones.
        let pilot = active.request.pilot.clone();
        let turns = if pilot.is_some() { Vec::new() } else { self.turns.clone() };
        let mut revisiting = Revisiting {
            turns: turns.iter().map(|turn| (turn.run.clone(), turn.changes.clone())).collect(),
            dir: self.dir.clone(),
            places: self.places.clone(),
            session: self.sessions.join(&self.session),
            reader: self.reader.clone(),
        };
        let mut compacting =
            if pilot.is_some() { Compacting::nothing() } else { self.compacting() };
        let (index, memory) = (self.index.clone(), self.recall());
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let commands = Runner { workspace, run: run.clone() };
        self.tell_in_run(myself, async move {
            let fates = match turns.as_slice() {
                [] => Vec::new(),
                _ => match run.perform(&mut revisiting).await {
                    Ok(fates) => fates,
                    Err(closed) => return News::Prepared(Err(closed.into())),
                },
            };
            let compacted = match run.perform(&mut compacting).await {
                Ok(compacted) => compacted,
                Err(closed) => return News::Prepared(Err(closed.into())),
            };
            let before = turn::last(run.prompts(), &turns, &fates);
            let most = run.config().agent_loop.conversation_tokens;
            let earlier = match &pilot {
                Some(PilotPart::Step { course }) => course.clone(),
                Some(PilotPart::Question(_)) | None => {
                    turn::conversation(run.prompts(), &turns, compacted, &fates, most)
                }
            };
            let intent = match decided(&run, flag, before.as_deref(), &text).await {
                Ok(intent) => intent,
                Err(undecided) => return News::Prepared(Err(undecided)),
            };
            let goes_on = matches!(&pilot, Some(PilotPart::Question(asked)) if !asked.opens);
            if intent == RequestIntent::Review || goes_on {
                let brief = Brief { earlier, request: text, ..Brief::default() };
                return News::Prepared(Ok((intent, brief)));
            }
            let options = begins_with(&run, intent);
            let mut gathering =
                Gathering { request: text.clone(), about: text, index, options, earlier, memory };
            // Concurrently, so that the first command need not wait for it.
            let (gathered, ()) = tokio::join!(run.perform(&mut gathering), async {
                if intent != RequestIntent::Answer && !run.only_compares() {
                    run.publisher.tell_confined(run.confinement().await).await;
                    commands.prepare().await;
                }
            });
            News::Prepared(gathered.map(|brief| (intent, brief)))
        });
    }

    /// Handles the result of work that was started for a run.
    pub(crate) async fn handle_news(&mut self, myself: &ActorRef<Msg>, run: &str, news: News) {
        let over = self
            .active
            .as_ref()
            .is_none_or(|active| active.run.id() != run || active.ending.is_some());
        if over && !matches!(news, News::Committed(..)) {
            return;
        }
        match news {
            News::Prepared(Err(why)) => self.end(why.into()).await,
            News::Prepared(Ok((intent, brief))) => {
                self.last_brief.clone_from(&brief);
                match intent {
                    RequestIntent::Answer => match self.steering_question() {
                        Some(question) => self.start_steering(myself, brief, question).await,
                        None => self.start_answer(myself, brief).await,
                    },
                    RequestIntent::Review => self.start_review(myself, brief.earlier),
                    RequestIntent::Edit if self.is_for_a_team() => {
                        self.start_team(myself, brief).await;
                    }
                    RequestIntent::Edit => self.start_crew(myself, Goal::Deliver, brief).await,
                    RequestIntent::Plan => self.start_crew(myself, Goal::PlanOnly, brief).await,
                    RequestIntent::Mission => self.start_mission(myself, brief).await,
                }
            }
            News::TeamDone(brief, report) => self.team_done(myself, brief, report).await,
            News::CrewDone(Ok(report)) => self.end(report.into()).await,
            News::CrewDone(Err(_)) => {
                self.end(failed_request(FailureKind::Internal, "the crew died")).await;
            }
            News::Steered(heard) => {
                let answer = heard.map(|exchange| self.steered(exchange));
                self.end(answer_ending(answer)).await;
            }
            News::Answered(result) => self.end(answer_ending(result)).await,
            News::Reviewed(ending) => self.end(*ending).await,
            News::Mission(news) => self.mission_news(myself, news).await,
            News::Permitted(wanted, result) => self.permitted(wanted, &result),
            News::Approved(reply, result) => {
                if reply.send(result).is_err() {
                    tracing::debug!("the lane that requested the patch is gone");
                }
            }
            // The tree always comes back, however the run ended.
            News::Committed(commit) => self.committed(myself, *commit).await,
        }
    }

    /// Returns where the memory of the workspace is.
    pub(crate) fn recall(&self) -> Recall {
        Recall { file: memory::file_of(&self.places), session: self.session.clone() }
    }

    async fn start_answer(&mut self, myself: &ActorRef<Msg>, brief: Brief) {
        let Some(children) = self.spawn_children(myself).await else { return };
        let Some(active) = &self.active else { return };
        let (run, before) = (active.run.clone(), Before::of(&self.turns));
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let (commands, index) = (Runner { workspace, run: run.clone() }, self.index.clone());
        self.tell_in_run(myself, async move {
            let Ok(own) = own_tools::find_own_tools(&commands).await else {
                return News::Answered(Err(JournalClosed.into()));
            };
            let tools = (toolbox::tools(), &own[..]);
            let mut dialogue = routing::dialogue(&run, tools);
            let question = brief.introduction(
                run.prompts(),
                &mut dialogue,
                AgentRole::Analysis,
                BriefShare::Everything,
                &routing::analysis_instructions(
                    &run,
                    tools,
                    run.prompts().render(Prompt::Analysis, &[]),
                ),
            );
            dialogue.say(question.trim_end());
            let rlm = Rlm { run: run.clone(), children, index: index.clone() };
            let sources = LookSources {
                commands: &commands,
                index: Some(&index),
                own: &own,
                programs: Some(&rlm),
            };
            let question = RoutedQuestion { run: &run, sources, brief: &brief, before, dialogue };
            News::Answered(question.ask(&Prose).await)
        });
    }

    async fn start_crew(&mut self, myself: &ActorRef<Msg>, goal: Goal, brief: Brief) {
        let Some(active) = &self.active else { return };
        let run = active.run.clone();
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let setup = CrewSetup { brief, goal, workspace, run };
        let spawned = Crew::spawn(setup, myself.get_cell()).await;
        let crew: Crew = match spawned {
            Ok(crew) => crew,
            Err(error) => {
                self.end(failed_request(FailureKind::Internal, &error.to_string())).await;
                return;
            }
        };
        if let Some(active) = &mut self.active {
            active.crew = Some(crew.clone());
        }
        self.tell_in_run(myself, async move { News::CrewDone(crew.work().await) });
    }

    /// Returns true if the current request may be split into lanes.
    fn is_for_a_team(&self) -> bool {
        let lanes = &self.run().config().lanes;
        let Some(active) = &self.active else { return false };
        match lanes.mode {
            LaneMode::Off => false,
            LaneMode::On => true,
            LaneMode::Auto => worth_planning(&active.request.text, lanes.auto_threshold),
        }
    }

    async fn start_team(&mut self, myself: &ActorRef<Msg>, brief: Brief) {
        let Some(team) = self.spawn_team(myself, brief.clone(), None).await else { return };
        self.tell_in_run(myself, async move { News::TeamDone(brief, team.work().await) });
    }

    /// Starts a team, with lanes planned already or not; `None` if that fails, which ends the request.
    pub(crate) async fn spawn_team(
        &mut self,
        myself: &ActorRef<Msg>,
        brief: Brief,
        plan: Option<TeamPlan>,
    ) -> Option<Team> {
        let run = self.active.as_ref()?.run.clone();
        let claimed = worktrees::claim_for(&self.places.lanes, &self.session, &run).await;
        let claim = match claimed {
            Ok(claim) => claim,
            Err(error) => {
                let why = format!("cannot create worktrees: {error}");
                self.end(failed_request(FailureKind::Worktree, &why)).await;
                return None;
            }
        };
        let setup = TeamSetup {
            brief,
            plan,
            snapshots: snapshots(&self.places, &self.dir, run.config()),
            worktrees: claim.dir.clone(),
            workspaces: Arc::new(self.workspace(run.scope(), myself)),
            run,
        };
        let team = match Team::spawn(setup, myself.get_cell()).await {
            Ok(team) => team,
            Err(error) => {
                self.end(failed_request(FailureKind::Internal, &error.to_string())).await;
                return None;
            }
        };
        if let Some(active) = &mut self.active {
            (active.team, active.claim) = (Some(team.clone()), Some(claim));
        }
        Some(team)
    }

    /// Queues a message of the user for the next model call. It is recorded, so it survives a crash.
    pub(crate) async fn steer(&self, words: String) -> Result<(), NotSteered> {
        let active = self.active.as_ref().filter(|active| active.ending.is_none());
        let active = active.ok_or(NotSteered::NothingAtWork)?;
        if active.mission.is_some() {
            return Err(NotSteered::Mission);
        }
        if active.team.is_some() {
            return Err(NotSteered::Lanes);
        }
        let words = active.run.redactor.redact(&words).into_owned();
        let said = Event::UserSaid { words: words.clone() };
        active.run.publisher.note(said).await.map_err(|_| NotSteered::Gone)?;
        active.run.steering.say(words);
        Ok(())
    }

    /// Returns the workspace as seen by a part of the run.
    pub(crate) fn workspace(&self, scope: &Scope, myself: &ActorRef<Msg>) -> MainWorkspace {
        let (reader, actor) = (self.reader.clone(), myself.clone());
        let run = self.run().clone();
        let copies = Copies {
            snapshots: snapshots(&self.places, &self.dir, run.config()),
            lanes: self.places.lanes.clone(),
            session: self.session.clone(),
            run,
        };
        let grant = self.active.as_ref().and_then(|active| active.grant.clone());
        MainWorkspace { scope: scope.clone(), reader, actor, copies, grant }
    }

    async fn team_done(
        &mut self,
        myself: &ActorRef<Msg>,
        brief: Brief,
        report: Result<TeamReport, Unanswered>,
    ) {
        match report {
            Ok(TeamReport::Declined) => self.start_crew(myself, Goal::Deliver, brief).await,
            Ok(TeamReport::Done { delivery, lanes, kept }) => {
                self.end(Ending { lanes, kept, ..delivery.into() }).await;
            }
            Err(_) => self.end(failed_request(FailureKind::Internal, "the team died")).await,
        }
    }

    /// Spawns `work` and sends its result to the actor, tagged with the current run.
    pub(crate) fn tell<F>(&self, myself: &ActorRef<Msg>, work: F) -> JoinHandle<()>
    where
        F: Future<Output = News> + Send + 'static,
    {
        let run = self.run().id().to_owned();
        let me = myself.clone();
        tokio::spawn(async move {
            let news = Box::new(work.await);
            if me.cast(Msg::Told { run, news }).is_err() {
                tracing::debug!("the orchestrator is gone; a result is dropped");
            }
        })
    }

    /// As [`Self::tell`], for work that is aborted when its run ends.
    pub(crate) fn tell_in_run<F>(&mut self, myself: &ActorRef<Msg>, work: F)
    where
        F: Future<Output = News> + Send + 'static,
    {
        let task = self.tell(myself, work);
        if let Some(active) = &mut self.active {
            active.tasks.push(task);
        }
    }

    /// Returns the current run, or the one that the next is derived from.
    pub(crate) fn run(&self) -> &Run {
        self.active.as_ref().map_or(&self.idle, |active| &active.run)
    }

    /// Stops the run when its time is over.
    fn limit_wall_time(&self, myself: &ActorRef<Msg>, left: Option<Duration>) {
        let seconds = self.run().config().budget.wall_seconds;
        let (Some(active), Some(left)) = (&self.active, left) else { return };
        let (me, run) = (myself.clone(), active.run.clone());
        tokio::spawn(async move {
            // A stopped run has no deadline.
            if run.perform(&mut Deadline { left }).await.is_ok() {
                let why = Delivery::out_of_time(seconds);
                me.cast(Msg::Cancel { run: Some(run.id().to_owned()), why }).ok();
            }
        });
    }

    /// Handles the loss of a child: Admission is replaced; the loss of a crew or team ends the run.
    pub(crate) async fn child_lost(
        &mut self,
        myself: &ActorRef<Msg>,
        who: &ActorCell,
    ) -> Result<(), ActorProcessingErr> {
        let Some(active) = &self.active else { return Ok(()) };
        if active.ending.is_some() {
            return Ok(());
        }
        let is_admission = |admission: ActorCell| admission.get_id() == who.get_id();
        if active.slot.cell().is_some_and(is_admission) {
            if active.run.publish(Event::RoleCrashed { role: Role::Admission }).await.is_err() {
                self.end(journal_closed()).await;
                return Ok(());
            }
            let (session, scope) = (self.journal.dir().to_owned(), active.run.scope().clone());
            let recording = active.run.publisher.recording();
            let on_the_way = recording.map(|recording| recording.on_the_way(&scope));
            let ledger =
                supervision::recover_ledger(session, scope, on_the_way.unwrap_or_default()).await;
            let Active { slot, run, approved, request, .. } = active;
            supervision::restart_admission(
                slot,
                &run.terms,
                &run.publisher,
                ledger,
                myself.get_cell(),
            )
            .await?;
            if let Some(card) = approved.as_ref().filter(|_| request.card.is_some()) {
                charge_earlier(run, card.card());
            }
        } else if active.crew.as_ref().is_some_and(|crew| crew.cell().get_id() == who.get_id()) {
            self.end(failed_request(FailureKind::Internal, "the crew died")).await;
        } else if active.team.as_ref().is_some_and(|team| team.cell().get_id() == who.get_id()) {
            self.end(failed_request(FailureKind::Internal, "the team died")).await;
        }
        Ok(())
    }
}

/// Returns how a question ends with its answer.
fn answer_ending(result: Result<String, AnswerError>) -> Ending {
    match result {
        Ok(text) => Ending {
            answer: Some(text),
            ..Delivery::Delivered { verified: Verified::NotNeeded }.into()
        },
        Err(AnswerError::Call(error)) => call_failed(&error).into(),
        Err(AnswerError::Unreadable(error)) => {
            let detail = format!("there was no usable answer: {error}").into();
            Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail }.into()
        }
        Err(repeated @ AnswerError::Repeated { .. }) => {
            let detail = repeated.to_string().into();
            Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail }.into()
        }
    }
}

/// Decides and records the intent of a request, from a flag or a short question to a model, and records the start of its
/// run. A request about which no model could be asked ends: it may be an edit.
async fn decided(
    run: &Run,
    flag: Option<RequestIntent>,
    before: Option<&str>,
    text: &str,
) -> Result<RequestIntent, Delivery> {
    let request = run.redactor.redact(text).into_owned();
    let (intent, reason) = if let Some(intent) = flag {
        (intent, IntentBy::Flag)
    } else if text.trim().is_empty() {
        (RequestIntent::Answer, IntentBy::Default)
    } else if let Ok(Some(intent)) = run.perform(&mut ClearWords).await {
        (intent, IntentBy::Words)
    } else {
        match intent::by_model(Caller::of(run, AgentRole::Intent), before, text).await {
            Ok(Some(intent)) => (intent, IntentBy::Model),
            Ok(None) => (RequestIntent::Answer, IntentBy::Default),
            Err(error) => {
                run.publish(Event::RunStarted { intent: RequestIntent::Answer, request }).await?;
                let undecided = "it could not be asked whether this is an edit or a question";
                return Err(call_failed(&error).because(undecided));
            }
        }
    };
    // In plan mode nothing leads to an edit, whatever was requested.
    let intent = match (run.config().policy.mode, intent) {
        (Mode::Plan, RequestIntent::Edit | RequestIntent::Mission) => RequestIntent::Plan,
        (Mode::Hetun, RequestIntent::Edit) => RequestIntent::Mission,
        (Mode::Plan | Mode::Agent | Mode::Yolo | Mode::Hetun, intent) => intent,
    };
    run.publish(Event::IntentDecided { intent, reason }).await?;
    run.publish(Event::RunStarted { intent, request }).await?;
    Ok(intent)
}

/// Early versions decided by a list of words; this reads their recorded decision. It is not done any more.
struct ClearWords;

impl Effect for ClearWords {
    type Outcome = Option<RequestIntent>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<RequestIntent>> {
        let Event::IntentDecided { intent, reason: IntentBy::Words } = event else {
            return Trace::Absent;
        };
        Trace::Foretold(Some(*intent))
    }

    async fn act(&mut self, _: &Run) -> Result<Option<RequestIntent>, JournalClosed> {
        Ok(None)
    }
}
