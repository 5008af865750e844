//! The dialogue with the researcher, the model that leads a mission, restarted when it grows long; and the check for
//! remaining time.

use std::time::Duration;

use actors::calls::model_call::{CallError, Caller};
use actors::looks::look_effect;
use actors::looks::server_tools::with_server_tools;
use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::talk::brief::BriefShare;
use actors::talk::dialogue::Dialogue;
use actors::talk::dialogues::introduction;
use actors::talk::prompts::{Prompt, Prompts};
use actors::talk::{AnswerError, Grammar, Talk};
use config::ModelRole;
use facts::closed::JournalClosed;
use facts::delivery::Limit;
use facts::event::Event;
use model::AgentRole;
use search::BYTES_PER_TOKEN;
use tools::clock::Timestamp;

use crate::research::finding::Observation;
use crate::research::researcher_grammars::{checks, findings_text};
use crate::research::{Cut, Research, Researched};

/// The dialogue with the researcher.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    /// The messages so far.
    dialogue: Dialogue,
    /// Text to put before the next request.
    pub(crate) untold: String,
    /// Number of findings told in this dialogue.
    pub(crate) told: usize,
}

impl Thread {
    pub(crate) fn new(run: &Run) -> Self {
        let dialogue = Dialogue::new(introduction(&run.terms), &run.redactor);
        Self { dialogue, untold: String::new(), told: 0 }
    }

    /// Returns true if nothing was said yet.
    pub(crate) fn is_new(&self) -> bool {
        self.dialogue.is_new()
    }
}

impl Research<'_> {
    /// Restarts the dialogue if it has grown long: everything worth keeping is in the findings.
    pub(crate) fn refresh(self, researched: &mut Researched) {
        // Messages can always be serialised.
        let said = serde_json::to_vec(researched.thread.dialogue.messages()).unwrap_or_default();
        if said.len() / BYTES_PER_TOKEN > self.run.config().missions.lead_tokens {
            let untold = std::mem::take(&mut researched.thread.untold);
            researched.thread = Thread { untold, ..Thread::new(self.run) };
        }
    }

    /// Asks the researcher if there is time; `None` if no answer was usable.
    pub(crate) async fn lead<G: Grammar>(
        self,
        thread: &mut Thread,
        request: &str,
        grammar: &G,
    ) -> Result<Option<G::Answer>, Cut> {
        let researcher = Caller::of(self.run, AgentRole::Researcher);
        self.lead_by(&researcher, thread, request, grammar).await
    }

    /// Has the model that judges claims judge those in `request`; `None` if that is the researcher's own, or if it gave no
    /// usable answer.
    pub(crate) async fn judge<G: Grammar>(
        self,
        request: &str,
        grammar: &G,
    ) -> Result<Option<G::Answer>, Cut> {
        let config = self.run.config();
        let (judge, own) = (&config.missions.verdict_model, &config.llm.max_think_model);
        if *judge == own.model {
            return Ok(None);
        }
        let settings = ModelRole { model: judge.clone(), ..own.clone() };
        let caller = Caller { settings, ..Caller::of(self.run, AgentRole::Researcher) };
        self.lead_by(&caller, &mut Thread::new(self.run), request, grammar).await
    }

    async fn lead_by<G: Grammar>(
        self,
        caller: &Caller,
        thread: &mut Thread,
        request: &str,
        grammar: &G,
    ) -> Result<Option<G::Answer>, Cut> {
        if !self.run.perform(&mut HasTime).await? {
            return Err(Cut::Budget(Limit::WallTime));
        }
        match self.asked(caller, thread, request, grammar).await {
            Ok(answer) => Ok(Some(answer)),
            Err(AnswerError::Call(CallError::Budget(refusal))) => {
                Err(Cut::Budget((&refusal).into()))
            }
            Err(AnswerError::Call(CallError::Journal(closed))) => Err(closed.into()),
            // The next question will show if the provider is gone for good.
            Err(
                AnswerError::Unreadable(_)
                | AnswerError::Repeated { .. }
                | AnswerError::CutAgain { .. }
                | AnswerError::Call(
                    CallError::Model(_) | CallError::Admission(_) | CallError::Breach(_),
                ),
            ) => Ok(None),
        }
    }

    /// Asks the researcher.
    pub(crate) async fn asked<G: Grammar>(
        self,
        caller: &Caller,
        Thread { dialogue, untold, .. }: &mut Thread,
        request: &str,
        grammar: &G,
    ) -> Result<G::Answer, AnswerError> {
        let (run, config) = (self.run, self.run.config());
        let prompts = run.prompts();
        let opening = self.brief.introduction(
            prompts,
            dialogue,
            AgentRole::Researcher,
            BriefShare::Everything,
            &with_server_tools(
                run,
                AgentRole::Researcher,
                prompts.render(Prompt::MissionLead, &[]),
            ),
        );
        dialogue.say(&(opening + &std::mem::take(untold) + request));
        let talk = Talk {
            caller,
            sources: look_effect::LookSources {
                commands: self.commands,
                index: Some(self.index),
                own: &[],
                programs: None,
            },
            repairs: config.agent_loop.architect_parse_retries,
            looks: config.agent_loop.max_look_rounds,
            since: None,
        };
        talk.ask(dialogue, grammar).await
    }
}

impl Researched {
    /// Renders all findings with the results of their checks; those the researcher already knows by number only.
    pub(crate) fn as_checked(&self, prompts: &Prompts) -> String {
        let known = self.findings.iter().take(self.thread.told);
        let known = known.map(|finding| {
            let checks = checks(finding);
            prompts.render(Prompt::MissionChecked, &[("number", &finding.id), ("checks", &checks)])
        });
        let known: Vec<String> = known.collect();
        [known.join("\n"), findings_text(prompts, self.untold())].join("\n").trim().to_owned()
    }

    /// Returns the findings not yet told in this dialogue.
    pub(crate) fn untold(&self) -> &[Observation] {
        self.findings.get(self.thread.told..).unwrap_or_default()
    }
}

/// Returns the latest end of research: some time is reserved for the card.
pub fn ends(run: &Run) -> Option<Timestamp> {
    let config = run.config();
    let whole = Duration::from_secs(config.budget.wall_seconds);
    let kept = whole.mul_f64(config.missions.kept_time.clamp(0.0, 1.0));
    run.until?.checked_sub(kept).ok()
}

/// The effect of checking whether there is time for another step.
pub(crate) struct HasTime;

impl Effect for HasTime {
    type Outcome = bool;
    type Stop = JournalClosed;
    // Recorded only if there is no time.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<bool> {
        let is_cut = matches!(event, Event::ResearchCut { .. });
        if is_cut { Trace::Done(false) } else { Trace::Foretold(true) }
    }

    async fn act(&mut self, run: &Run) -> Result<bool, JournalClosed> {
        if ends(run).is_none_or(|end| run.clock.now() < end) {
            return Ok(true);
        }
        run.record(Event::ResearchCut { limit: Limit::WallTime }).await?;
        Ok(false)
    }
}
