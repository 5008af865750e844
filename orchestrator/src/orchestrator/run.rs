//! The life of a request: begun, and given to whoever does it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actors::Unanswered;
use actors::call::Caller;
use actors::delivery::{Delivery, FailureKind, Verified};
use actors::event::{Blob, Event};
use actors::words::{IntentBy, Role, Side};
use config::{LaneMode, Mode};
use lanes::crew::{Crew, call_failed};
use lanes::cycle::Goal;
use lanes::trail::Trail;
use lanes::worth::worth_planning;
use ractor::{ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tools::clock::IdSource;
use tools::model::AgentRole;
use tools::model::retry::RetryPolicy;
use tools::policy::{Action, Verdict};
use tools::redact::redact;
use tools::search::{self, Evidence, EvidenceOptions};

use super::again::Beginning;
use super::end::{Ending, failed, journal_closed};
use super::{Active, Msg, News, Outcome, Said, State};
use crate::chat::{self, Intent};
use crate::earlier::Again;
use crate::request::{Request, Terms};
use crate::supervision;
use crate::team::TeamReport;

impl State {
    /// Takes a request in hand. There is one at a time: a second waits in the mailbox of whoever asks.
    pub(super) async fn begin(
        &mut self,
        myself: &ActorRef<Msg>,
        request: Request,
        again: Option<Again>,
        reply: RpcReplyPort<Outcome>,
    ) -> Result<(), ActorProcessingErr> {
        let Beginning { run: id, terms, ids, publisher, elapsed } = match again {
            None => Beginning::new(self),
            Some(again) => Beginning::again(self, again),
        };
        let fresh = supervision::LostBooks::default();
        let (router, seat) = supervision::hire_router(&terms, &publisher, fresh, myself).await?;
        let (stop, _) = watch::channel(false);
        self.active = Some(Active {
            id: id.clone(),
            request: request.clone(),
            reply,
            terms,
            ids,
            publisher: publisher.clone(),
            router,
            seat,
            crew: None,
            team: None,
            claim: None,
            said: Said::default(),
            permits: BTreeMap::new(),
            tasks: Vec::new(),
            trail: Trail::default(),
            stop,
            ending: None,
        });
        self.limit_wall_time(myself, elapsed);
        self.end_as_recorded(myself);
        let text = redact(&request.text).into_owned();
        let turn = Event::TurnAdded { speaker: Side::User, text, intent: request.intent };
        if publisher.publish(turn).await.is_err() {
            self.end(journal_closed()).await;
            return Ok(());
        }
        self.decide_intent(myself, &request);
        Ok(())
    }

    /// An explicit flag, then clear words, then one short question to a model.
    fn decide_intent(&mut self, myself: &ActorRef<Msg>, request: &Request) {
        let caller = self.caller(AgentRole::Intent, &self.terms().config.llm.flash_model);
        let request = request.clone();
        self.tell_in_run(myself, async move {
            if let Some(intent) = request.intent {
                return News::Intent(intent, IntentBy::Flag);
            }
            if let Some(intent) = chat::by_words(&request.text) {
                return News::Intent(intent, IntentBy::Words);
            }
            let asked = match caller {
                Some(caller) => chat::by_model(caller, &request.text).await,
                None => None,
            };
            asked.map_or(News::Intent(Intent::Answer, IntentBy::Default), |intent| {
                News::Intent(intent, IntentBy::Model)
            })
        });
    }

    /// Takes in what came of something that was started for this run.
    pub(super) async fn told(&mut self, myself: &ActorRef<Msg>, run: &str, news: News) {
        let over =
            self.active.as_ref().is_none_or(|active| active.id != run || active.ending.is_some());
        if over && !matches!(news, News::Committed(..)) {
            return;
        }
        match news {
            News::Intent(intent, reason) => self.intent_decided(myself, intent, reason).await,
            News::Evidence(intent, evidence) => {
                self.evidence_gathered(myself, intent, *evidence).await;
            }
            News::TeamDone(evidence, report) => self.team_done(myself, evidence, report).await,
            News::CrewDone(Ok(report)) => self.end(report.into()).await,
            News::CrewDone(Err(_)) => {
                self.end(failed(FailureKind::Internal, "the crew died")).await;
            }
            News::Answered(dialogue, result) => {
                self.analysis = dialogue;
                let ending = match result {
                    Ok(text) => Ending {
                        answer: Some(text),
                        ..Delivery::Delivered { verified: Verified::NotNeeded }.into()
                    },
                    Err(error) => call_failed(&error).into(),
                };
                self.end(ending).await;
            }
            News::Permitted(wanted, result) => self.permitted(wanted, &result),
            News::Approved(reply, result) => {
                if reply.send(result).is_err() {
                    tracing::debug!("the lane that wanted the patch is gone");
                }
            }
            // The tree comes home whatever became of the run.
            News::Committed(commit) => self.committed(myself, *commit).await,
        }
    }

    async fn intent_decided(&mut self, myself: &ActorRef<Msg>, intent: Intent, reason: IntentBy) {
        // In plan mode there is no way to an edit, whatever was asked for.
        let reads_only = self.terms().config.policy.mode == Mode::Plan;
        let intent = if intent == Intent::Edit && reads_only { Intent::Plan } else { intent };
        let Some(active) = &self.active else { return };
        let text = redact(&active.request.text).into_owned();
        let decision = Event::RouterDecision { intent, reason };
        let started = Event::RunStarted { intent, request: text.clone() };
        if active.publisher.publish(decision).await.is_err()
            || active.publisher.publish(started).await.is_err()
        {
            self.end(journal_closed()).await;
            return;
        }
        let publisher = active.publisher.clone();
        let (tree, outcomes) = (self.reader.clone(), self.outcomes.clone());
        let Terms { config, rules, .. } = self.terms().clone();
        let options = EvidenceOptions {
            tokens: config.agent_loop.evidence_tokens,
            max_files: config.limits.max_workspace_files,
            max_file_bytes: config.agent_loop.max_file_bytes,
        };
        self.tell_in_run(myself, async move {
            let recorded = publisher.recall(|event| {
                if let Event::EvidenceGathered { .. } = event { Some(event.clone()) } else { None }
            });
            if let Some(gathered) = recorded.await {
                return News::Evidence(intent, Box::new(gathered));
            }
            let gathered = tokio::task::spawn_blocking(move || {
                let may_read = |path: &tools::tree::RepoPath| {
                    rules.decide(Action::Read { path: path.as_str() }) == Verdict::Allow
                };
                search::gather(&text, &tree, &options, &may_read, &outcomes)
            });
            match gathered.await {
                Ok(evidence) => News::Evidence(intent, Box::new(gathered_event(&evidence))),
                Err(_) => News::CrewDone(Err(Unanswered::Stopped)),
            }
        });
    }

    async fn evidence_gathered(&mut self, myself: &ActorRef<Msg>, intent: Intent, gathered: Event) {
        let text = gathered
            .blobs()
            .first()
            .map_or_else(String::new, |text| String::from_utf8_lossy(&text.content).into_owned());
        let Some(active) = &self.active else { return };
        if active.publisher.publish(gathered).await.is_err() {
            self.end(journal_closed()).await;
            return;
        }
        match intent {
            Intent::Answer => self.start_answer(myself, &text),
            Intent::Edit if self.is_for_a_team() => self.start_team(myself, text).await,
            Intent::Edit => self.start_crew(myself, Goal::Deliver, text).await,
            Intent::Plan => self.start_crew(myself, Goal::PlanOnly, text).await,
        }
    }

    fn start_answer(&mut self, myself: &ActorRef<Msg>, evidence: &str) {
        let caller = self.caller(AgentRole::Analysis, &self.terms().config.llm.base_model);
        let (Some(caller), Some(active)) = (caller, &self.active) else { return };
        let mut dialogue = self.analysis.clone();
        dialogue
            .say(&format!("Evidence from the workspace:\n\n{evidence}\n\n{}", active.request.text));
        self.tell_in_run(myself, async move {
            let result = caller.ask(&mut dialogue).await.map(|reply| reply.content);
            News::Answered(dialogue, result)
        });
    }

    async fn start_crew(&mut self, myself: &ActorRef<Msg>, goal: Goal, evidence: String) {
        let Some(caller) =
            self.caller(AgentRole::Architect, &self.terms().config.llm.max_think_model)
        else {
            return;
        };
        let Some(active) = &mut self.active else { return };
        let work = supervision::Work {
            run: active.id.clone(),
            request: active.request.text.clone(),
            evidence,
            goal,
        };
        let reader = self.reader.clone();
        let hired =
            supervision::hire_crew(&self.setup, work, reader, caller, &active.terms, myself).await;
        let crew: Crew = match hired {
            Ok(crew) => crew,
            Err(error) => {
                self.end(failed(FailureKind::Internal, &error.to_string())).await;
                return;
            }
        };
        active.crew = Some(crew.clone());
        self.tell_in_run(myself, async move { News::CrewDone(crew.work().await) });
    }

    /// Whether the request in hand may be one for several lanes.
    fn is_for_a_team(&self) -> bool {
        let lanes = &self.terms().config.lanes;
        let Some(active) = &self.active else { return false };
        match lanes.mode {
            LaneMode::Off => false,
            LaneMode::On => true,
            LaneMode::Auto => worth_planning(&active.request.text, lanes.auto_threshold),
        }
    }

    async fn start_team(&mut self, myself: &ActorRef<Msg>, evidence: String) {
        let caller = self.caller(AgentRole::LanePlanner, &self.terms().config.llm.max_think_model);
        let (Some(caller), Some(active)) = (caller, &mut self.active) else { return };
        let work = supervision::Work {
            run: active.id.clone(),
            request: active.request.text.clone(),
            evidence: evidence.clone(),
            goal: Goal::Deliver,
        };
        let hired =
            supervision::hire_team(&self.setup, work, self.reader.clone(), caller, active, myself);
        let team = match hired.await {
            Ok(team) => team,
            Err(error) => {
                self.end(failed(FailureKind::Internal, &error)).await;
                return;
            }
        };
        active.team = Some(team.cell());
        self.tell_in_run(myself, async move { News::TeamDone(evidence, team.work().await) });
    }

    async fn team_done(
        &mut self,
        myself: &ActorRef<Msg>,
        evidence: String,
        report: Result<TeamReport, Unanswered>,
    ) {
        match report {
            Ok(TeamReport::Declined) => self.start_crew(myself, Goal::Deliver, evidence).await,
            Ok(TeamReport::Done { delivery, lanes, kept }) => {
                self.end(Ending { lanes, kept, ..delivery.into() }).await;
            }
            Err(_) => self.end(failed(FailureKind::Internal, "the team died")).await,
        }
    }

    /// A line to the models for the run in hand.
    fn caller(&self, role: AgentRole, hire: &config::ModelRole) -> Option<Caller> {
        let active = self.active.as_ref()?;
        let Terms { config, prices, .. } = &active.terms;
        Some(Caller {
            role,
            hire: hire.clone(),
            model: Arc::clone(&self.setup.model),
            router: active.router.clone(),
            publisher: active.publisher.clone(),
            retry: RetryPolicy::from(&config.llm),
            prices: Arc::clone(prices),
            window: config.llm.context_window_tokens,
            clock: Arc::clone(&self.setup.clock),
        })
    }

    /// Runs `work` beside the actor and tells it the news, marked with the run they belong to.
    pub(super) fn tell<F>(&self, myself: &ActorRef<Msg>, work: F) -> JoinHandle<()>
    where
        F: Future<Output = News> + Send + 'static,
    {
        let run = self.active.as_ref().map(|active| active.id.clone()).unwrap_or_default();
        let me = myself.clone();
        tokio::spawn(async move {
            let news = Box::new(work.await);
            if me.cast(Msg::Told { run, news }).is_err() {
                tracing::debug!("the orchestrator is gone; its news are dropped");
            }
        })
    }

    /// As [`Self::tell`], for work that is dropped when its run ends.
    fn tell_in_run<F>(&mut self, myself: &ActorRef<Msg>, work: F)
    where
        F: Future<Output = News> + Send + 'static,
    {
        let task = self.tell(myself, work);
        if let Some(active) = &mut self.active {
            active.tasks.push(task);
        }
    }

    /// What the run in hand keeps to, or what the next will.
    pub(super) fn terms(&self) -> &Terms {
        self.active.as_ref().map_or(&self.terms, |active| &active.terms)
    }

    /// Where the run in hand has its ids from, or the next will.
    pub(super) fn ids(&self) -> Arc<dyn IdSource> {
        Arc::clone(self.active.as_ref().map_or(&self.setup.ids, |active| &active.ids))
    }

    /// Stops the run when its time is over, of which some may have passed.
    fn limit_wall_time(&self, myself: &ActorRef<Msg>, elapsed: Duration) {
        let seconds = self.terms().config.budget.wall_seconds;
        let Some(active) = self.active.as_ref().filter(|_| seconds > 0) else { return };
        let (me, run, publisher) = (myself.clone(), active.id.clone(), active.publisher.clone());
        let mut stopped = active.stop.subscribe();
        tokio::spawn(async move {
            let out_of_time = async {
                // What is recorded takes no time: how it ended is recorded, too.
                publisher.live().await;
                tokio::time::sleep(Duration::from_secs(seconds).saturating_sub(elapsed)).await;
            };
            tokio::select! {
                () = out_of_time => {
                    let why = Delivery::out_of_time(seconds);
                    me.cast(Msg::Cancel { run: Some(run), why }).ok();
                }
                _ = stopped.changed() => {}
            }
        });
    }

    /// A child is gone: a Router is replaced, a crew is the end of its run.
    pub(super) async fn lost(
        &mut self,
        myself: &ActorRef<Msg>,
        who: &ActorCell,
    ) -> Result<(), ActorProcessingErr> {
        let Some(active) = &self.active else { return Ok(()) };
        if active.ending.is_some() {
            return Ok(());
        }
        if active.seat.cell().get_id() == who.get_id() {
            if active.publisher.publish(Event::RoleCrashed { role: Role::Router }).await.is_err() {
                self.end(journal_closed()).await;
                return Ok(());
            }
            let on_the_way = active.publisher.recording().map(|recording| recording.on_the_way());
            let (session, run) = (self.journal.dir().to_owned(), active.id.clone());
            let ledger =
                supervision::recover_ledger(session, run, on_the_way.unwrap_or_default()).await;
            let Active { seat, terms, publisher, .. } = active;
            supervision::refill_router(seat, terms, publisher, ledger, myself).await?;
        } else if active.crew.as_ref().is_some_and(|crew| crew.cell().get_id() == who.get_id()) {
            self.end(failed(FailureKind::Internal, "the crew died")).await;
        } else if active.team.as_ref().is_some_and(|team| team.get_id() == who.get_id()) {
            self.end(failed(FailureKind::Internal, "the team died")).await;
        }
        Ok(())
    }
}

/// The event of evidence that was gathered.
fn gathered_event(evidence: &Evidence) -> Event {
    let items = evidence.items.iter();
    Event::EvidenceGathered {
        items: items
            .map(|item| {
                format!("{}:{}-{} {}", item.path, item.first_line, item.last_line, item.hash)
            })
            .collect(),
        omitted: evidence.omitted.clone(),
        tokens: evidence.tokens,
        text: Blob::new(redact(&search::render(evidence)).into_owned()),
    }
}
