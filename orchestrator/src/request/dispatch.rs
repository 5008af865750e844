//! Hands a prepared request to the actors that carry it out, and takes what comes of it.

use std::io;
use std::sync::Arc;

use actors::looks::look_effect::LookSources;
use actors::looks::own_tools;
use actors::mailbox::Mailbox;
use actors::run::command_runner::CommandRunner;
use actors::talk::AnswerError;
use actors::talk::brief::{Brief, BriefShare};
use actors::talk::dialogue::Dialogue;
use actors::talk::prompts::Prompt;
use actors::{Unanswered, answer};
use config::LaneMode;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, NeedsWork, Verified};
use facts::event::Event;
use facts::scope::Scope;
use facts::words::{IntentBy, Role};
use lanes::crew::cycle::Goal;
use lanes::crew::{Crew, CrewEnd, CrewSetup, PlanInParts, call_failed};
use lanes::lane::worktrees::{self, Claim};
use lanes::team::setup::{Division, TeamSetup};
use lanes::team::split::worth_splitting::worth_planning;
use lanes::team::{Team, TeamReport};
use missions::rlm::Rlm;
use model::AgentRole;
use ractor::{ActorCell, ActorProcessingErr, ActorRef, SpawnErr};

use crate::gate::writer::{Writer, WriterSetup};
use crate::mission::{MissionNews, charge_earlier};
use crate::request::intent::{Prose, RequestIntent};
use crate::request::routing::{self, RoutedQuestion};
use crate::root::active::{Active, MissionStage, TeamAtWork, Work};
use crate::root::ending::{Ending, failed_request, journal_closed};
use crate::root::supervision::{self, LostAccounts};
use crate::root::{Msg, News, State, TeamFor};
use crate::workspace::copy::Copies;
use crate::workspace::main_workspace::MainWorkspace;
use crate::workspace::places::snapshots;

impl State {
    /// Takes the result of work for the current request.
    pub(crate) async fn handle_news(
        &mut self,
        myself: &ActorRef<Msg>,
        news: News,
    ) -> Result<(), ActorProcessingErr> {
        match news {
            News::Prepared(Err(why)) => self.end(myself, why.into()),
            News::Prepared(Ok((intent, brief))) => {
                self.last_brief.clone_from(&brief);
                if let (RequestIntent::Mission, Some(active)) = (intent, self.active_mut()) {
                    active.run.offline.waits = true;
                }
                match intent {
                    RequestIntent::Answer => match self.steering_question() {
                        Some(question) => self.start_steering(myself, brief, question).await,
                        None => self.start_answer(myself, brief, None).await,
                    },
                    RequestIntent::Review => self.start_review(myself, brief.earlier),
                    RequestIntent::Edit if self.is_for_a_team() => {
                        if let Some(active) = self.active_mut() {
                            active.work = Work::Claiming;
                        }
                        self.claim(myself, brief, TeamFor::Request);
                    }
                    RequestIntent::Edit => {
                        self.start_crew(myself, Goal::Deliver, brief).await;
                    }
                    RequestIntent::Plan => {
                        self.start_crew(myself, Goal::PlanOnly, brief).await;
                    }
                    RequestIntent::Mission => self.start_mission(myself, brief).await,
                }
            }
            News::Claimed(claimed, brief, of) => {
                self.start_team(myself, claimed, brief, of).await;
            }
            News::TeamDone(brief, report) => self.team_done(myself, brief, report).await,
            News::CrewDone(Ok(CrewEnd::Done(report))) => self.end(myself, (*report).into()),
            News::CrewDone(Ok(CrewEnd::InParts(plan))) => self.start_parts(myself, plan).await,
            News::CrewDone(Ok(CrewEnd::Question(dialogue))) => {
                self.answer_question(myself, dialogue).await;
            }
            News::CrewDone(Err(_)) => {
                self.end(myself, failed_request(FailureKind::Internal, "the crew died"));
            }
            News::Answered(result) => self.end(myself, answer_ending(result)),
            News::Steered(heard) => {
                let answer = heard.map(|exchange| self.steered(exchange));
                self.end(myself, answer_ending(answer));
            }
            News::Reviewed(ending) => self.end(myself, *ending),
            News::Mission(news) => self.mission_news(myself, news),
            News::Permitted(wanted, result) => self.permitted(wanted, &result),
            News::Approved(reply, result) => answer(reply, result),
            News::LedgerRecovered(lost) => self.replace_admission(myself, lost).await?,
            News::Stop(why) => self.stop(myself, why),
        }
        Ok(())
    }

    /// Answers a request that an Architect found to be a question.
    async fn answer_question(&mut self, myself: &ActorRef<Msg>, dialogue: Box<Dialogue>) {
        let Some(active) = self.active() else { return };
        // Otherwise the request is being stopped.
        let Work::Crew(crew, _) = &active.work else { return };
        crew.cell().stop(None);
        let (intent, reason) = (RequestIntent::Answer, IntentBy::Model);
        if active.run.publish(Event::IntentDecided { intent, reason }).await.is_err() {
            self.end(myself, journal_closed());
            return;
        }
        let brief = self.last_brief.clone();
        self.start_answer(myself, brief, Some(dialogue)).await;
    }

    /// Answers a question, in a dialogue that has heard of it if there is one.
    async fn start_answer(
        &mut self,
        myself: &ActorRef<Msg>,
        brief: Brief,
        begun: Option<Box<Dialogue>>,
    ) {
        let Some(children) = self.spawn_children(myself).await else { return };
        let Some(active) = self.active_mut() else { return };
        active.work = Work::Answering(Box::new(children.clone()));
        let (run, router) = (active.run.clone(), self.router.handle());
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let (commands, index) = (CommandRunner { workspace, run: run.clone() }, self.index.clone());
        self.start_work(myself, async move {
            let Ok(own) = own_tools::find_own_tools(&commands).await else {
                return News::Answered(Err(JournalClosed.into()));
            };
            let tools = (toolbox::tools(), &own[..]);
            let mut dialogue = match begun {
                Some(begun) => routing::dialogue_with_tools(&run, tools, *begun),
                None => routing::dialogue(&run, tools),
            };
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
            let question = RoutedQuestion { run: &run, sources, brief: &brief, router, dialogue };
            News::Answered(question.ask(&Prose).await)
        });
    }

    async fn start_crew(&mut self, myself: &ActorRef<Msg>, goal: Goal, brief: Brief) {
        let Some(active) = self.active() else { return };
        let run = active.run.clone();
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        // Without a flag, only its form has been looked at.
        let may_be_question = active.request.intent.is_none();
        let setup = CrewSetup { brief, goal, workspace, run, may_be_question, begun: None };
        let spawned = Crew::spawn(setup, myself.get_cell()).await;
        let crew: Crew = match spawned {
            Ok(crew) => crew,
            Err(error) => {
                self.end(myself, failed_request(FailureKind::Internal, &error.to_string()));
                return;
            }
        };
        if let Some(active) = self.active_mut() {
            active.work =
                std::mem::replace(&mut active.work, Work::Preparing).by_crew(crew.clone());
        }
        self.start_work(myself, async move { News::CrewDone(crew.work().await) });
    }

    /// Has a change made in parts, by a lane in a worktree.
    async fn start_parts(&mut self, myself: &ActorRef<Msg>, plan: Box<PlanInParts>) {
        let brief = self.last_brief.clone();
        let Some(active) = self.active_mut() else { return };
        // Otherwise the request is being stopped.
        let Work::Crew(crew, claim) = &mut active.work else { return };
        crew.cell().stop(None);
        let claim = claim.take();
        active.work = Work::Claiming;
        match claim {
            Some(claim) => self.start_team(myself, Ok(claim), brief, TeamFor::Parts(plan)).await,
            None => self.claim(myself, brief, TeamFor::Parts(plan)),
        }
    }

    /// Returns true if the current request may be split into lanes.
    fn is_for_a_team(&self) -> bool {
        let lanes = &self.run().config().lanes;
        let Some(active) = self.active() else { return false };
        match lanes.mode {
            LaneMode::Off => false,
            LaneMode::On => true,
            LaneMode::Auto => worth_planning(&active.request.text, lanes.auto_threshold),
        }
    }

    /// Claims worktrees for a team.
    pub(crate) fn claim(&mut self, myself: &ActorRef<Msg>, brief: Brief, of: TeamFor) {
        let (run, lanes) = (self.run().clone(), self.places.lanes.clone());
        let session = self.session.clone();
        self.start_work(myself, async move {
            let claimed = worktrees::claim_for(&lanes, &session, &run).await;
            News::Claimed(claimed, brief, of)
        });
    }

    /// Starts a team in claimed worktrees.
    async fn start_team(
        &mut self,
        myself: &ActorRef<Msg>,
        claimed: io::Result<Claim>,
        brief: Brief,
        of: TeamFor,
    ) {
        let Some(active) = self.active() else { return };
        let run = active.run.clone();
        let claim = match claimed {
            Ok(claim) => claim,
            Err(error) => {
                let why = format!("cannot create worktrees: {error}");
                self.end(myself, failed_request(FailureKind::Worktree, &why));
                return;
            }
        };
        let division = match &of {
            TeamFor::Request => Division::ToPlan,
            TeamFor::Parts(plan) => Division::Parts(plan.clone()),
            TeamFor::Mission(plan, _) => Division::Lanes(plan.clone()),
        };
        let setup = TeamSetup {
            brief: brief.clone(),
            division,
            snapshots: snapshots(&self.places, &self.dir, run.config()),
            worktrees: claim.dir.clone(),
            workspaces: Arc::new(self.workspace(run.scope(), myself)),
            run,
        };
        let team = match Team::spawn(setup, myself.get_cell()).await {
            Ok(team) => team,
            Err(error) => {
                self.end(myself, failed_request(FailureKind::Internal, &error.to_string()));
                return;
            }
        };
        let at_work = TeamAtWork { team: team.clone(), claim };
        let Some(active) = self.active_mut() else { return };
        match of {
            TeamFor::Request | TeamFor::Parts(_) => {
                active.work = Work::Team(at_work);
                self.start_work(myself, async move { News::TeamDone(brief, team.work().await) });
            }
            TeamFor::Mission(_, execution) => {
                if let Some(mission) = active.work.mission_mut() {
                    mission.begin_lanes(at_work);
                }
                self.start_work(myself, async move {
                    News::Mission(MissionNews::Written(execution, team.work().await))
                });
            }
        }
    }

    /// Returns the workspace as seen by a part of the run.
    pub(crate) fn workspace(&self, scope: &Scope, myself: &ActorRef<Msg>) -> MainWorkspace {
        let (reader, run) = (self.reader.clone(), self.run().clone());
        let waits = run.wait_log.of("orchestrator", scope);
        let mailbox = Mailbox::new(myself.clone(), waits);
        let copies = Copies {
            snapshots: snapshots(&self.places, &self.dir, run.config()),
            lanes: self.places.lanes.clone(),
            session: self.session.clone(),
            run,
        };
        let grant = self.active().and_then(|active| active.grant().cloned());
        MainWorkspace { scope: scope.clone(), reader, mailbox, copies, grant }
    }

    async fn team_done(
        &mut self,
        myself: &ActorRef<Msg>,
        brief: Brief,
        report: Result<TeamReport, Unanswered>,
    ) {
        match report {
            Ok(TeamReport::Declined) => {
                self.start_crew(myself, Goal::Deliver, brief).await;
            }
            Ok(TeamReport::Done { delivery, lanes, kept }) => {
                self.end(myself, Ending { lanes, kept, ..delivery.into() });
            }
            Err(_) => self.end(myself, failed_request(FailureKind::Internal, "the team died")),
        }
    }

    /// Handles the loss of a child: the Router, Admission and the Writer are replaced; the loss of the Writer, a crew or a team
    /// ends the run.
    pub(crate) async fn child_lost(
        &mut self,
        myself: &ActorRef<Msg>,
        who: &ActorCell,
    ) -> Result<(), ActorProcessingErr> {
        if self.router.holds(who) {
            return Ok(self.router.refill(&self.idle.publisher, myself.get_cell()).await?);
        }
        if self.writer.cell().get_id() == who.get_id() {
            self.replace_writer(myself)?;
            self.end(myself, failed_request(FailureKind::Internal, "the writer died"));
            return Ok(());
        }
        let Some(active) = self.at_work() else { return Ok(()) };
        let is_admission = |admission: ActorCell| admission.get_id() == who.get_id();
        if active.slot.cell().is_some_and(is_admission) {
            let run = active.run.clone();
            if run.publish(Event::RoleCrashed { role: Role::Admission }).await.is_err() {
                self.end(myself, journal_closed());
                return Ok(());
            }
            let (session, scope) = (self.journal.dir().to_owned(), run.scope().clone());
            let recording = run.publisher.recording();
            let on_the_way = recording.map(|recording| recording.on_the_way(&scope));
            let lost = supervision::recover_ledger(session, scope, on_the_way.unwrap_or_default());
            self.start_work(myself, async move { News::LedgerRecovered(lost.await) });
        } else if let Some(why) = active.work.loss(who) {
            self.end(myself, failed_request(FailureKind::Internal, why));
        }
        Ok(())
    }

    /// Puts a new Admission actor in place of one that died.
    async fn replace_admission(
        &self,
        myself: &ActorRef<Msg>,
        lost: LostAccounts,
    ) -> Result<(), ActorProcessingErr> {
        let Some(Active { slot, run, work, request, .. }) = self.active() else { return Ok(()) };
        let (terms, publisher) = (&run.terms, &run.publisher);
        let (log, orchestrator) = (&run.wait_log, myself.get_cell());
        supervision::restart_admission(slot, terms, publisher, lost, log, orchestrator).await?;
        if let (Some(MissionStage::Execution { card, .. }), Some(_)) =
            (work.mission_stage(), &request.card)
        {
            charge_earlier(run, card.card());
        }
        Ok(())
    }

    /// Puts a new Writer in place of one that died. It settles at once what that one left half done.
    fn replace_writer(&mut self, myself: &ActorRef<Msg>) -> Result<(), SpawnErr> {
        let setup = WriterSetup {
            dir: self.dir.clone(),
            places: self.places.clone(),
            config: Arc::clone(&self.idle.terms.config),
            tree: None,
            above: myself.get_derived(),
            waits: self.idle.waits("writer"),
        };
        self.writer = Writer::spawn(setup, myself.get_cell())?;
        let (reply, _) = ractor::concurrency::oneshot();
        self.writer.settle(self.idle.publisher.clone(), reply.into());
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
        Err(end @ (AnswerError::Repeated { .. } | AnswerError::CutAgain { .. })) => {
            let detail = end.to_string().into();
            Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail }.into()
        }
    }
}
