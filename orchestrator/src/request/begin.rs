//! The life of a request: how it begins, and what is gathered for it. Who carries it out is decided in
//! [`super::dispatch`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actors::calls::model_call::Caller;
use actors::calls::steering::Steering;
use actors::looks::server_tools;
use actors::run::Run;
use actors::run::command_runner::CommandRunner;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::offline::Offline;
use actors::talk::brief::Brief;
use actors::workers::Finished;
use checks::wording::Wording;
use config::Mode;
use facts::closed::JournalClosed;
use facts::delivery::Delivery;
use facts::event::Event;
use facts::words::IntentBy;
use lanes::crew::call_failed;
use lanes::crew::undo_patch::Trail;
use model::AgentRole;
use ractor::{ActorProcessingErr, ActorRef};
use tokio::sync::watch;

use crate::gate::memory::GateMemory;
use crate::request::PilotPart;
use crate::request::deadline::{Deadline, time_left};
use crate::request::gathering::{self, Gathering, Recall, begins_with};
use crate::request::images::{self, ReadingImages};
use crate::request::intent::{self, RequestIntent};
use crate::request::question_form::is_question;
use crate::root::active::{Active, Work};
use crate::root::ending::journal_closed;
use crate::root::supervision;
use crate::root::{Asked, CurrentRequest, Msg, News, NotSteered, State};
use crate::session::compacting::Compacting;
use crate::session::memory;
use crate::session::revisiting::Revisiting;
use crate::session::run_beginning::RunBeginning;
use crate::session::turn;

impl State {
    /// Reads what must be masked in a request, so that it can begin. There is only one at a time: while one is running,
    /// another is refused by dropping it.
    pub(crate) fn accept(&mut self, myself: &ActorRef<Msg>, asked: Box<Asked>) {
        if !matches!(self.current, CurrentRequest::Idle) {
            tracing::error!("refused a request, because another one is running");
            return;
        }
        self.current = CurrentRequest::Beginning(Vec::new());
        self.last_brief.forget_images();
        let recorded = asked.recorded.as_ref();
        let rules = recorded.map_or(&self.idle.terms.rules, |recorded| &recorded.terms.rules);
        let masked = gathering::secrets_in(self.dir.clone(), Arc::clone(rules));
        self.workers.start("masking", myself, masked, |masked| Msg::Begin(asked, masked));
    }

    /// Begins a request in which this must be masked.
    pub(crate) async fn begin(
        &mut self,
        myself: &ActorRef<Msg>,
        Asked { request, recorded, reply }: Asked,
        masked: Finished<BTreeSet<String>>,
    ) -> Result<(), ActorProcessingErr> {
        let secrets = masked.result()?;
        let own = Arc::clone(&self.idle.terms.config);
        // A mission keeps to its card. The configuration is recorded for its replay.
        let narrowed = self.narrowed(&request).filter(|_| recorded.is_none());
        let is_narrowed = narrowed.is_some();
        if let Some(config) = narrowed {
            self.keep_to(config).await?;
        }
        let RunBeginning { id, mut terms, current_rules, publisher, redactor, elapsed } =
            match recorded {
                None => RunBeginning::new(self),
                Some(recorded) => RunBeginning::recorded(self, recorded),
            };
        let (fresh, log) = (supervision::LostAccounts::default(), &self.idle.wait_log);
        let (admission, slot) =
            supervision::start_admission(&terms, &publisher, fresh, log, myself.get_cell()).await?;
        let (stop, stopped) = watch::channel(false);
        terms.prompts = Arc::new(terms.prompts.for_request(&request.text));
        let idle = self.idle.clone();
        let left = time_left(&terms, elapsed);
        let run = Run {
            terms,
            steering: Steering::left_of(publisher.recording()),
            publisher,
            admission,
            redactor: redactor.knowing(secrets),
            until: left.and_then(|left| idle.clock.now().checked_add(left).ok()),
            user_said: Arc::default(),
            offline: Offline::new(request.is_long()),
            server_tools: idle.server_tools.for_request(),
            stop: stopped,
            ..idle
        };
        tracing::debug!(run = id, "a run begins");
        let active = Active {
            run: run.clone(),
            request: request.clone(),
            reply,
            current_rules,
            slot,
            work: Work::Preparing,
            gate: GateMemory::default(),
            trail: Trail::default(),
            put_aside: Vec::new(),
            stop,
        };
        let waiting =
            std::mem::replace(&mut self.current, CurrentRequest::Active(Box::new(active)));
        self.limit_wall_time(myself, left);
        self.end_as_recorded(myself);
        self.pause_offline(myself);
        if run.publish(request.first_event(&run.redactor)).await.is_err() {
            self.end(myself, journal_closed());
            return Ok(());
        }
        if is_narrowed {
            self.keep_to(own).await?;
        }
        self.prepare(myself, request.intent);
        if let CurrentRequest::Beginning(waiting) = waiting {
            for msg in waiting {
                myself.cast(msg)?;
            }
        }
        Ok(())
    }

    /// Decides the intent of a request, and gathers its brief.
    fn prepare(&mut self, myself: &ActorRef<Msg>, flag: Option<RequestIntent>) {
        let Some(active) = self.active() else { return };
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
        let (index, memory, dir) = (self.index.clone(), self.recall(), self.dir.clone());
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let commands = CommandRunner { workspace, run: run.clone() };
        self.start_work(myself, async move {
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
            match server_tools::find_server_tools(&run).await {
                Ok(required) if required.is_empty() => {}
                Ok(required) => return News::Prepared(Err(lacks_servers(&required))),
                Err(closed) => return News::Prepared(Err(closed.into())),
            }
            let goes_on = matches!(&pilot, Some(PilotPart::Question(asked)) if !asked.opens);
            if intent == RequestIntent::Review || goes_on {
                let brief = Brief { earlier, request: text, ..Brief::default() };
                return News::Prepared(Ok((intent, brief)));
            }
            // The step of an autopilot is a model's: what it names, the user has not.
            let named = match pilot {
                None => run.perform(&mut ReadingImages::of(&text, dir, intent)).await,
                Some(_) => Ok(Vec::new()),
            };
            let named = match named {
                Ok(named) => named,
                Err(closed) => return News::Prepared(Err(closed.into())),
            };
            if let Some(end) = images::nothing_to_see(&text, &named) {
                return News::Prepared(Err(end));
            }
            let options = begins_with(&run, intent);
            let (images, unread_images) = images::shown(&run.config().llm.images, &named);
            let (request, about) = (text.clone(), text);
            let mut gathering =
                Gathering { request, about, index, options, earlier, memory, images: named };
            // Concurrently, so that the first command need not wait for it.
            let (gathered, ()) = tokio::join!(run.perform(&mut gathering), async {
                if intent != RequestIntent::Answer && !run.only_compares() {
                    run.publisher.tell_confined(run.confinement().await).await;
                    commands.prepare().await;
                }
            });
            let images_with_plan = !images::sees(&run, AgentRole::Architect);
            let with_images = |brief| Brief { images, unread_images, images_with_plan, ..brief };
            News::Prepared(gathered.map(|brief| (intent, with_images(brief))))
        });
    }

    /// Returns where the memory of the workspace is.
    pub(crate) fn recall(&self) -> Recall {
        Recall { file: memory::file_of(&self.places), session: self.session.clone() }
    }

    /// Queues a message of the user for the next model call. It is recorded, so it survives a crash.
    pub(crate) async fn steer(&self, words: String) -> Result<(), NotSteered> {
        let active = self.active().ok_or(NotSteered::NothingAtWork)?;
        if let Some(deaf) = active.work.deaf() {
            return Err(deaf);
        }
        let words = active.run.redactor.redact(&words).into_owned();
        let said = Event::UserSaid { words: words.clone() };
        active.run.publisher.note(said).await.map_err(|_| NotSteered::Gone)?;
        active.run.steering.say(words);
        Ok(())
    }

    /// Starts work of the current request. It is aborted when the request ends.
    pub(crate) fn start_work(
        &mut self,
        myself: &ActorRef<Msg>,
        work: impl Future<Output = News> + Send + 'static,
    ) {
        self.workers.start("request", myself, async move { Box::new(work.await) }, Msg::Worked);
    }

    /// Returns the current request, if there is one.
    pub(crate) fn active(&self) -> Option<&Active> {
        match &self.current {
            CurrentRequest::Active(active) => Some(active),
            CurrentRequest::Idle | CurrentRequest::Beginning(_) | CurrentRequest::Closing => None,
        }
    }

    /// As [`Self::active`], to change it.
    pub(crate) fn active_mut(&mut self) -> Option<&mut Active> {
        match &mut self.current {
            CurrentRequest::Active(active) => Some(active),
            CurrentRequest::Idle | CurrentRequest::Beginning(_) | CurrentRequest::Closing => None,
        }
    }

    /// Returns the current request, unless its end is decided.
    pub(crate) fn at_work(&self) -> Option<&Active> {
        self.active().filter(|active| !active.work.is_stopping())
    }

    /// Returns the current run, or the one that the next is derived from.
    pub(crate) fn run(&self) -> &Run {
        self.active().map_or(&self.idle, |active| &active.run)
    }

    /// Pauses the run when it has waited for a network for too long.
    fn pause_offline(&mut self, myself: &ActorRef<Msg>) {
        let Some(active) = self.active() else { return };
        let offline = active.run.offline.clone();
        let paused = async move {
            let why = Wording::of(&offline.given_up().await);
            Box::new(News::Stop(Delivery::Paused { why }))
        };
        self.workers.expect(myself, paused, Msg::Worked);
    }

    /// Stops the run when its time is over.
    fn limit_wall_time(&mut self, myself: &ActorRef<Msg>, left: Option<Duration>) {
        let (Some(active), Some(left)) = (self.active(), left) else { return };
        let run = active.run.clone();
        let why = Delivery::out_of_time(run.config().budget.wall_seconds);
        let over = async move {
            // A stopped run has no deadline.
            if run.perform(&mut Deadline { left }).await.is_err() {
                std::future::pending::<()>().await;
            }
            Box::new(News::Stop(why))
        };
        self.workers.expect(myself, over, Msg::Worked);
    }
}

/// Decides and records the intent of a request, from a flag or its form, and records the start of its run. Whatever does
/// not look like a question is taken for an edit, and the Architect may still find that it is a question.
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
    } else if run.perform(&mut AskedModel).await? {
        match intent::by_model(Caller::of(run, AgentRole::Intent), before, text).await {
            Ok(Some(intent)) => (intent, IntentBy::Model),
            Ok(None) => (RequestIntent::Answer, IntentBy::Default),
            Err(error) => {
                let Some(said) = intent::by_user(run, &error).await? else {
                    let intent = RequestIntent::Answer;
                    run.publish(Event::RunStarted { intent, request }).await?;
                    return Err(call_failed(&error).because(intent::UNDECIDED));
                };
                (said, IntentBy::User)
            }
        }
    } else if is_question(text, &run.config().router.words.questions) {
        (RequestIntent::Answer, IntentBy::Words)
    } else {
        (RequestIntent::Edit, IntentBy::Default)
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

/// The first versions decided by other words; this reads their recorded decision.
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

/// Earlier versions asked a small model; this finds such a recorded call, which is replayed. It is not made any more.
struct AskedModel;

impl Effect for AskedModel {
    type Outcome = bool;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<bool> {
        let is_asked = matches!(event, Event::ModelRequest { role: AgentRole::Intent, .. });
        if is_asked { Trace::Foretold(true) } else { Trace::Absent }
    }

    async fn act(&mut self, _: &Run) -> Result<bool, JournalClosed> {
        Ok(false)
    }
}

/// Returns the end of a request that has to have servers and has not.
fn lacks_servers(required: &[Wording]) -> Delivery {
    let whys: Vec<String> = required.iter().map(ToString::to_string).collect();
    let hint = "or say `required = false` for the server".into();
    Delivery::denied(Wording::from(whys.join("; ")), hint)
}
