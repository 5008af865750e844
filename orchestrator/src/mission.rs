//! The life of a mission: research, the card, its approval, and carrying it out. Changes go through lanes and the gate as
//! always.

mod card;

use std::collections::BTreeMap;
use std::sync::Arc;

use actors::Unanswered;
use actors::run::Run;
use actors::run::command_runner::CommandRunner;
use actors::talk::AnswerError;
use actors::talk::brief::Brief;
use config::Config;
use facts::amounts::{Allowance, Amount, Spending};
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, FailureKind, NeedsWork, Verified};
use facts::event::{Blob, Event};
use facts::scope::{Scope, Segment};
use facts::words::{AnsweredCard, CardAnswer, MissionPhase};
use index::Index;
use lanes::crew::call_failed;
use lanes::team::TeamReport;
use missions::card::card_text::MissionReport;
use missions::card::changes::card_changes;
use missions::card::grant::Grant;
use missions::card::phases::{self, Approved, MissionStep};
use missions::card::{Card, SealedCard};
use missions::children::Children;
use missions::execution::Execution;
use missions::research::compared::Comparing;
use missions::research::planning;
use missions::research::{self, Research, Researched};
use ractor::ActorRef;
use tools::count::counted;
use tree::RepoPath;

use self::card::{Answering, RecordedCard, Taking, not_carried_out};
use crate::request::Request;
use crate::root::active::{LanesEnd, MissionAtWork, MissionLanes, MissionStage, Work};
use crate::root::ending::{Ending, failed_request, journal_closed};
use crate::root::{Msg, News, State, TeamFor};

/// One part of the budget in this many is reserved for the card and the report.
const KEPT_PARTS: u64 = 10;

/// The result of a stage of a mission.
pub(crate) enum MissionNews {
    /// Its card is approved. What the mission had spent until then.
    Approved(Box<Execution>, Spending),
    /// The tasks that only read and were ready are done.
    Read(Box<Execution>),
    /// The tasks that write are over.
    Written(Box<Execution>, Result<TeamReport, Unanswered>),
    /// Its card awaits approval.
    Waits(Box<SealedCard>),
    /// It is over.
    Ended(Box<Ending>),
}

impl From<Ending> for MissionNews {
    fn from(ending: Ending) -> Self {
        Self::Ended(Box::new(ending))
    }
}

impl From<JournalClosed> for MissionNews {
    fn from(_: JournalClosed) -> Self {
        journal_closed().into()
    }
}

/// What a mission's card is drafted with.
struct Drafting {
    run: Run,
    children: Children,
    brief: Brief,
    index: Index,
    commands: CommandRunner,
    /// The user's answer to an earlier card, and that card, if this session knows it.
    step: Option<(AnsweredCard, Option<SealedCard>)>,
    /// What the mission had spent before this run.
    earlier: Amount,
}

impl State {
    /// Begins a mission, or continues one at its card.
    pub(crate) async fn start_mission(&mut self, myself: &ActorRef<Msg>, brief: Brief) {
        let Some(children) = self.spawn_children(myself).await else { return };
        let Some(active) = self.active_mut() else { return };
        let run = active.run.clone();
        active.work = Work::Mission(Box::new(MissionAtWork {
            brief: brief.clone(),
            children: children.clone(),
            stage: MissionStage::Card,
        }));
        let step = active.request.card.clone();
        let step = step.map(|step| {
            // Any answer ends its wait.
            let known = self.cards.remove(&step.hash);
            (step, known)
        });
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let commands = CommandRunner { workspace, run: run.clone() };
        let index = self.index.clone();
        let children = children.until(research::ends(&run));
        let earlier = Amount::default();
        let drafting = Drafting { run, children, brief, index, commands, step, earlier };
        self.start_work(myself, async move { News::Mission(drafting.conduct().await) });
    }

    /// Returns the configuration for a request that continues a mission: the current one, narrowed to the mission's card.
    pub(crate) fn narrowed(&self, request: &Request) -> Option<Arc<Config>> {
        let card = self.cards.get(&request.card.as_ref()?.hash)?;
        let mut config = self.idle.config().clone();
        card.card().narrow(&mut config);
        Some(Arc::new(config))
    }

    /// Starts the pool for child questions of the current request; `None` if that fails, which ends the request.
    pub(crate) async fn spawn_children(&mut self, myself: &ActorRef<Msg>) -> Option<Children> {
        let run = self.active()?.run.clone();
        match Children::spawn(run, myself.get_cell()).await {
            Ok(children) => Some(children),
            Err(error) => {
                self.end(myself, failed_request(FailureKind::Internal, &error.to_string()));
                None
            }
        }
    }

    /// Continues a mission after one of its stages.
    pub(crate) fn mission_news(&mut self, myself: &ActorRef<Msg>, news: MissionNews) {
        match news {
            MissionNews::Approved(execution, spent_before) => {
                if let Some(mission) = self.mission_mut() {
                    mission.stage = MissionStage::Execution {
                        card: Box::new(execution.approved.sealed().clone()),
                        grant: Arc::new(Grant::from(&execution.approved)),
                        spent_before,
                        lanes: MissionLanes::NotBegun,
                    };
                }
                self.read_for(myself, execution);
            }
            MissionNews::Read(execution) => {
                let Some(plan) = execution.lanes(self.run().prompts()) else {
                    self.report(myself, *execution);
                    return;
                };
                let Some(active) = self.active() else { return };
                let request = active.request.text.clone();
                let Some(mission) = self.mission_mut() else { return };
                let brief = Brief { request, ..mission.brief.clone() };
                self.claim(myself, brief, TeamFor::Mission(plan, execution));
            }
            MissionNews::Written(mut execution, report) => {
                execution.written = true;
                match report {
                    Ok(TeamReport::Done { delivery, lanes, kept }) => {
                        let done = matches!(
                            delivery,
                            Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. }
                        );
                        if let Some(mission) = self.mission_mut() {
                            mission.end_lanes((delivery, lanes, kept));
                        }
                        if done {
                            self.read_for(myself, execution);
                        } else {
                            self.report(myself, *execution);
                        }
                    }
                    Ok(TeamReport::Declined) => {
                        let why = "the lanes of the mission could not begin";
                        self.end(myself, failed_request(FailureKind::Internal, why));
                    }
                    Err(_) => {
                        self.end(myself, failed_request(FailureKind::Internal, "the team died"));
                    }
                }
            }
            MissionNews::Waits(card) => {
                self.cards.insert(card.hash(), SealedCard::clone(&card));
                self.end(myself, not_carried_out::waits(*card));
            }
            MissionNews::Ended(ending) => self.end(myself, *ending),
        }
    }

    /// Returns the mission, if the current request is one.
    fn mission_mut(&mut self) -> Option<&mut MissionAtWork> {
        self.active_mut()?.work.mission_mut()
    }

    /// Starts the tasks that only read and are ready.
    fn read_for(&mut self, myself: &ActorRef<Msg>, mut execution: Box<Execution>) {
        let Some(mission) = self.mission_mut() else { return };
        let children = mission.children.clone();
        let (run, index) = (self.run().clone(), self.index.clone());
        self.start_work(myself, async move {
            News::Mission(match execution.read(&run, &children, &index).await {
                Ok(()) => MissionNews::Read(execution),
                Err(closed) => closed.into(),
            })
        });
    }

    /// Ends a mission with its report, including actual and estimated cost.
    fn report(&mut self, myself: &ActorRef<Msg>, execution: Execution) {
        let run = self.run().clone();
        let Some(mission) = self.mission_mut() else { return };
        let (spent_before, end) = mission.take_end();
        self.start_work(myself, async move {
            let reported = report(&run, execution, spent_before, end).await;
            News::Mission(reported.unwrap_or_else(|ending| ending).into())
        });
    }
}

/// Records what a mission came to. `end` is how its lanes ended.
async fn report(
    run: &Run,
    execution: Execution,
    spent_before: Spending,
    end: Option<LanesEnd>,
) -> Result<Ending, Ending> {
    let total = run.admission.spent().await.unwrap_or_default();
    let Spending { known: spent, unknown } = total.minus(spent_before);
    let card = execution.approved.sealed().clone();
    let hash = Some(card.hash());
    let stale = execution.compared.stale.clone();
    let reported = Event::MissionReported { hash, spent, stale: stale.clone() };
    run.publish(reported).await.map_err(|_| journal_closed())?;
    advance(run, MissionPhase::Executing, MissionStep::End).await?;
    let unanswered = execution.answers.values().filter(|answer| answer.is_none()).count();
    let answers = execution.answers.into_iter().collect();
    let answer =
        MissionReport { card: card.card(), answers, stale: &stale, spent, unknown }.to_string();
    let (delivery, lanes, kept) = end.unwrap_or_else(|| {
        let delivery = if unanswered == 0 {
            Delivery::Delivered { verified: Verified::NotNeeded }
        } else {
            let detail =
                format!("{} without an answer", counted(unanswered, "read-only task")).into();
            Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail }
        };
        (delivery, Vec::new(), Vec::new())
    });
    let (answer, card) = (Some(answer), Some(Box::new(card)));
    Ok(Ending { answer, card, lanes, kept, ..delivery.into() })
}

impl Drafting {
    /// Takes a mission to an approved card, or to its end.
    async fn conduct(mut self) -> MissionNews {
        let drafted = match self.step.take() {
            None => self.draft().await,
            Some((step, known)) => self.take_up(step, known).await,
        };
        drafted.unwrap_or_else(MissionNews::from)
    }

    fn research(&self) -> Research<'_> {
        let Self { run, children, brief, index, commands, .. } = self;
        Research { run, children, brief, index, commands }
    }

    /// Runs a mission from its goal.
    async fn draft(&self) -> Result<MissionNews, Ending> {
        if !self.run.only_compares() {
            self.children.drop_old_answers().await;
        }
        let phase = advance(&self.run, MissionPhase::Drafting, MissionStep::Research).await?;
        let kept = self.run.scope().within(Segment::Report);
        self.run.admission.share(vec![kept.clone()], KEPT_PARTS).await;
        let researched = self.research().conduct().await.map_err(|_| journal_closed())?;
        self.show(phase, researched, None).await
    }

    /// Continues a mission whose card was made before.
    async fn take_up(
        &mut self,
        step: AnsweredCard,
        known: Option<SealedCard>,
    ) -> Result<MissionNews, Ending> {
        let taking = &mut Taking { hash: step.hash, known };
        let card = self.run.perform(taking).await.map_err(|_| journal_closed())?;
        let Some(card) = card else { return Err(not_carried_out::unknown(step.hash)) };
        self.earlier = card.card().spent;
        charge_earlier(&self.run, card.card());
        let said = Event::CardAnswered { hash: step.hash, answer: step.answer.clone() };
        self.run.record(said).await.map_err(|_| journal_closed())?;
        self.answered(MissionPhase::AwaitingApproval, card, step, None).await
    }

    /// Makes a card, shows it, and asks the user.
    async fn show(
        &self,
        phase: MissionPhase,
        mut researched: Researched,
        revised: Option<(Card, String)>,
    ) -> Result<MissionNews, Ending> {
        // Nothing else is paid for now, so the card may use all that is left.
        let run = self.run.at(&self.run.scope().within(Segment::Report));
        run.give_back();
        self.run.admission.share(vec![run.scope().clone()], 1).await;
        let research = Research { run: &run, ..self.research() };
        let (before, wanted) = revised.unzip();
        self.compare(&mut researched).await.map_err(|_| journal_closed())?;
        let planned = research.plan(&mut researched, wanted.as_deref()).await;
        run.give_back();
        // Planning takes time, in which files may change.
        self.compare(&mut researched).await.map_err(|_| journal_closed())?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(AnswerError::Unreadable(error)) => {
                let detail =
                    format!("the model did not answer in the format of a mission plan: {error}")
                        .into();
                let delivery = Delivery::NeedsWork { why: NeedsWork::NoPlan, detail };
                return Err(without_card(delivery, &researched));
            }
            Err(end @ (AnswerError::Repeated { .. } | AnswerError::CutAgain { .. })) => {
                let detail = end.to_string().into();
                let delivery = Delivery::NeedsWork { why: NeedsWork::NoPlan, detail };
                return Err(without_card(delivery, &researched));
            }
            Err(AnswerError::Call(error)) => {
                return Err(without_card(call_failed(&error), &researched));
            }
        };
        let version = before.as_ref().map_or(1, |card| card.version + 1);
        let mut card = planning::card(&self.run, &self.brief.request, &researched, plan, version);
        card.changes = before.map(|before| card_changes(&before, &card)).unwrap_or_default();
        let card = self.seal(card).await.map_err(|_| journal_closed())?;
        let hash = card.hash();
        let shown = Event::CardMade { version, hash, card: Blob::new(card.json().to_vec()) };
        self.run.record(shown).await.map_err(|_| journal_closed())?;
        let phase = advance(&self.run, phase, MissionStep::Show).await?;
        let asking = &mut Answering { hash, shown: card.to_string() };
        let answer = self.run.perform(asking).await.map_err(|_| journal_closed())?;
        self.answered(phase, card, AnsweredCard { hash, answer }, Some(researched)).await
    }

    /// Compares the lines of all findings with the files.
    async fn compare(&self, researched: &mut Researched) -> Result<(), JournalClosed> {
        let (findings, files) = (&researched.findings, &BTreeMap::new());
        let comparing = &mut Comparing { findings, files, index: &self.index };
        let compared = self.run.perform(comparing).await?;
        compared.note(&mut researched.findings);
        Ok(())
    }

    /// Completes a card with what the mission has spent. What a recorded run had spent then is in its card; the card of an
    /// earlier version of the program is taken as it is.
    async fn seal(&self, card: Card) -> Result<SealedCard, JournalClosed> {
        let recorded = self.run.perform(&mut RecordedCard).await?;
        let spent = match recorded {
            Some(recorded) if self.run.publisher.takes_requests() => return Ok(recorded),
            Some(recorded) => recorded.card().spent,
            None => {
                let spent = self.run.admission.spent().await.unwrap_or_default();
                self.earlier.plus(spent.at_most())
            }
        };
        Ok(SealedCard::new(Card { spent, ..card }))
    }

    /// Compares the files that an approved card rests on. If some have changed, returns them with the user's answer, asked
    /// anew.
    async fn asked_anew(
        &self,
        card: &SealedCard,
    ) -> Result<Option<(Vec<RepoPath>, CardAnswer)>, JournalClosed> {
        let Card { findings, files, .. } = card.card();
        let comparing = &mut Comparing { findings, files, index: &self.index };
        let changed = self.run.perform(comparing).await?.changed;
        if changed.is_empty() {
            return Ok(None);
        }
        let names = not_carried_out::names(&changed);
        let shown = format!("{card}\n\nFiles that changed since the card was made: {names}");
        let answer = self.run.perform(&mut Answering { hash: card.hash(), shown }).await?;
        Ok(Some((changed, answer)))
    }

    /// Follows the user's answer.
    async fn answered(
        &self,
        phase: MissionPhase,
        card: SealedCard,
        AnsweredCard { hash, answer }: AnsweredCard,
        researched: Option<Researched>,
    ) -> Result<MissionNews, Ending> {
        match answer {
            CardAnswer::Approved => {
                let anew = self.asked_anew(&card).await.map_err(|_| journal_closed())?;
                match anew {
                    None | Some((_, CardAnswer::Approved)) => {}
                    Some((changed, CardAnswer::NoOne)) => {
                        return Err(not_carried_out::outdated(card, &changed));
                    }
                    Some((_, answer @ (CardAnswer::Rejected | CardAnswer::Modify(_)))) => {
                        let step = AnsweredCard { hash, answer };
                        return Box::pin(self.answered(phase, card, step, researched)).await;
                    }
                }
                let approved = Approved::new(phase, card, hash).map_err(|refused| {
                    failed_request(FailureKind::Internal, &refused.to_string())
                })?;
                advance(&self.run, phase, MissionStep::Execute).await?;
                let spent = self.run.admission.spent().await.unwrap_or_default();
                Ok(MissionNews::Approved(Box::new(Execution::new(approved)), spent))
            }
            CardAnswer::NoOne => Ok(MissionNews::Waits(Box::new(card))),
            CardAnswer::Rejected => {
                advance(&self.run, phase, MissionStep::End).await?;
                Err(not_carried_out::rejected(card))
            }
            CardAnswer::Modify(words) => {
                let most = self.run.config().missions.max_versions;
                if card.card().version >= most {
                    return Err(not_carried_out::too_many(card, most));
                }
                let phase = advance(&self.run, phase, MissionStep::Revise).await?;
                let card = card.into_card();
                let researched = match researched {
                    Some(researched) => researched,
                    None => {
                        self.research().known(card.clone()).await.map_err(|_| journal_closed())?
                    }
                };
                // A card may be revised as often as is allowed.
                Box::pin(self.show(phase, researched, Some((card, words)))).await
            }
        }
    }
}

/// Counts what a mission had spent before this run against the limits of its card.
pub(crate) fn charge_earlier(run: &Run, card: &Card) {
    let (_, spent) = card.ledger(Allowance::from(&run.config().budget));
    run.admission.set_aside(Scope::of_run(&card.mission_id), spent);
}

/// Moves a mission to its next phase, if the step is allowed.
async fn advance(
    run: &Run,
    phase: MissionPhase,
    step: MissionStep,
) -> Result<MissionPhase, Ending> {
    let to = phases::phase_after(phase, step)
        .map_err(|refused| failed_request(FailureKind::Internal, &refused.to_string()))?;
    let changed = Event::MissionPhaseChanged { from: phase, to };
    run.publish(changed).await.map_err(|_| journal_closed())?;
    Ok(to)
}

/// Ends a mission that has no card; its findings are reported all the same.
fn without_card(delivery: Delivery, researched: &Researched) -> Ending {
    let found: Vec<String> = researched
        .findings
        .iter()
        .map(|finding| format!("- {} [{}]", finding.claim, finding.evidence))
        .collect();
    let answer =
        (!found.is_empty()).then(|| format!("What was found so far:\n\n{}", found.join("\n")));
    Ending { answer, ..delivery.into() }
}
