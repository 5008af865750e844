//! Asks a question outside the edit loop: [`facts::model_choice`] decides which model is asked. The decision is recorded and
//! changes at most once.

use actors::calls::model_call::{CallError, Caller};
use actors::looks::look_effect::LookSources;
use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::talk::brief::Brief;
use actors::talk::dialogue::Dialogue;
use actors::talk::dialogues::introduction;
use actors::talk::prompts::Prompt;
use actors::talk::{AnswerError, Grammar, Talk};
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::model_choice::{Assessment, ChoiceReason, ModelChoice, Signals, assess};
use model::{AgentRole, ModelError};
use toolbox::{OwnTool, Tool};
use tree::FileHash;

use crate::session::turn::FinishedTurn;

/// What preceded the question.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Before {
    /// Number of failed turns directly before it.
    failures: usize,
    /// Number of checks that failed in the last turn.
    failing_checks: usize,
    /// Number of assumptions of the last turn's plan.
    assumptions: usize,
}

impl Before {
    /// Derives it from the earlier turns.
    pub(crate) fn of(turns: &[FinishedTurn]) -> Self {
        let failures = turns.iter().rev().take_while(|turn| !turn.is_done()).count();
        let failing_checks = turns.last().map_or(0, |turn| turn.failing.len());
        let last_plan = turns.last().and_then(|turn| turn.plan.as_ref());
        let assumptions = last_plan.map_or(0, |plan| plan.assumptions.len());
        Self { failures, failing_checks, assumptions }
    }
}

/// Creates the dialogue of a question. The model is offered tools if it can call them.
pub(crate) fn dialogue(run: &Run, (tools, own): (&[Tool], &[OwnTool])) -> Dialogue {
    let prompts = run.prompts();
    if calls_tools(run) {
        let dialogue = Dialogue::new(prompts.render(Prompt::Common, &[]), &run.redactor);
        return dialogue.offering(toolbox::offers(tools, own));
    }
    Dialogue::new(introduction(prompts), &run.redactor)
}

fn calls_tools(run: &Run) -> bool {
    run.config().llm.native_tools && may_look(run)
}

/// Returns true if a model may use tools before it answers.
pub(crate) fn may_look(run: &Run) -> bool {
    run.config().agent_loop.max_look_rounds > 0
}

/// Returns the instructions of a role that answers a question, including how to call tools.
pub(crate) fn analysis_instructions(
    run: &Run,
    (tools, own): (&[Tool], &[OwnTool]),
    instructions: String,
) -> String {
    let prompts = run.prompts();
    if !may_look(run) {
        return instructions;
    }
    let tools = if calls_tools(run) {
        prompts.render(Prompt::Tools, &[("tokens", &run.config().agent_loop.max_look_tokens)])
    } else {
        let line = |tool: &Tool| format!("- {} {}: {}", tool.name, tool.takes(), tool.description);
        let of_workspace =
            |tool: &OwnTool| format!("- {} {}: {}", tool.name(), tool.parameters, tool.description);
        let tools = tools.iter().map(line).chain(own.iter().map(of_workspace));
        let tools: Vec<String> = tools.collect();
        prompts.render(Prompt::ToolsInText, &[("tools", &tools.join("\n"))])
    };
    format!("{}\n\n{tools}", instructions.trim_end())
}

/// A question whose model has yet to be decided.
pub(crate) struct RoutedQuestion<'q> {
    pub(crate) run: &'q Run,
    /// Sources for what the model asks to see.
    pub(crate) sources: LookSources<'q>,
    pub(crate) brief: &'q Brief,
    pub(crate) before: Before,
    /// The messages, including the question.
    pub(crate) dialogue: Dialogue,
}

impl RoutedQuestion<'_> {
    /// Asks the question. If no answer is usable, asks the model that thinks longest, once.
    pub(crate) async fn ask<G: Grammar>(self, grammar: &G) -> Result<G::Answer, AnswerError> {
        let own = Caller::of(self.run, AgentRole::Analysis);
        let strongest =
            Caller { settings: self.run.config().llm.max_think_model.clone(), ..own.clone() };
        let may_change =
            self.run.config().router.auto_max_think && own.settings != strongest.settings;
        let chosen = self.decide(&own, &strongest, may_change).await?;
        if chosen == ModelChoice::MaxThink {
            return self.of(&strongest, grammar).await;
        }
        let why = match self.of(&own, grammar).await {
            Err(
                why @ (AnswerError::Unreadable(_)
                | AnswerError::Repeated { .. }
                | AnswerError::Call(CallError::Model(
                    ModelError::Empty { .. } | ModelError::Length { .. },
                ))),
            ) if may_change => why,
            heard => return heard,
        };
        let mut escalating = Escalating { from: &own, to: &strongest };
        if self.run.perform(&mut escalating).await? {
            self.of(&strongest, grammar).await
        } else {
            Err(why)
        }
    }

    async fn of<G: Grammar>(&self, caller: &Caller, grammar: &G) -> Result<G::Answer, AnswerError> {
        let bounds = &self.run.config().agent_loop;
        let talk = Talk {
            caller,
            sources: self.sources,
            repairs: bounds.architect_parse_retries,
            looks: bounds.max_look_rounds,
            since: None,
        };
        talk.ask(&mut self.dialogue.clone(), grammar).await
    }

    async fn decide(
        &self,
        own: &Caller,
        strongest: &Caller,
        may_change: bool,
    ) -> Result<ModelChoice, AnswerError> {
        let mut assessment = self.assessed(may_change);
        let mut decision = Deciding {
            id: 1,
            callers: (own, strongest),
            prompt_hash: self.prompt_hash(),
            tool_schema_hash: self.tool_schema_hash(),
            assessment: &assessment,
        };
        let Some(decided) = self.run.perform(&mut decision).await? else {
            return Ok(ModelChoice::Own);
        };
        if decided != ModelChoice::Uncertain {
            return Ok(decided);
        }
        let needs_thought = self.small_model().await;
        assessment.choice = if needs_thought { ModelChoice::MaxThink } else { ModelChoice::Own };
        assessment.reasons.extend(needs_thought.then_some(ChoiceReason::SmallModel));
        let mut decision = Deciding {
            id: 2,
            callers: (own, strongest),
            prompt_hash: self.prompt_hash(),
            tool_schema_hash: self.tool_schema_hash(),
            assessment: &assessment,
        };
        Ok(self.run.perform(&mut decision).await?.unwrap_or(assessment.choice))
    }

    fn assessed(&self, may_change: bool) -> Assessment {
        let Before { failures, failing_checks, assumptions } = self.before;
        let files = self.brief.evidence.lines().filter(|line| line.starts_with("### ")).count();
        let request = &self.brief.request;
        let signals = Signals { request, files, failures, failing_checks, assumptions };
        let mut assessment = assess(signals, &self.run.config().router);
        if !may_change {
            assessment.choice = ModelChoice::Own;
            assessment.reasons.push(ChoiceReason::Fixed);
        }
        assessment
    }

    fn prompt_hash(&self) -> String {
        let said = serde_json::to_vec(self.dialogue.messages()).unwrap_or_default();
        FileHash::of(&said).to_string()
    }

    fn tool_schema_hash(&self) -> Option<String> {
        let tools = self.dialogue.tools();
        (!tools.is_empty()).then(|| toolbox::schema_hash(tools))
    }

    /// Asks the small model whether long thought is needed. Without an answer, it is not.
    async fn small_model(&self) -> bool {
        let caller = Caller::of(self.run, AgentRole::Intent);
        let prompts = caller.prompts();
        let mut dialogue = Dialogue::new(prompts.render(Prompt::Intent, &[]), &self.run.redactor);
        let request = &self.brief.request;
        dialogue.say(&prompts.render(Prompt::RouterQuestion, &[("request", request)]));
        let reply = caller.ask(&mut dialogue).await;
        reply.is_ok_and(|reply| reply.content.trim().to_uppercase().starts_with("YES"))
    }
}

/// The effect of deciding on a model. Earlier versions recorded no decision.
struct Deciding<'d> {
    id: u32,
    /// The role's own model, and the model that thinks longest.
    callers: (&'d Caller, &'d Caller),
    prompt_hash: String,
    tool_schema_hash: Option<String>,
    assessment: &'d Assessment,
}

impl Effect for Deciding<'_> {
    type Outcome = Option<ModelChoice>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<ModelChoice>> {
        let Event::RouterDecision { decision_id, assessment, .. } = event else {
            return Trace::Foretold(None);
        };
        if *decision_id == self.id {
            Trace::Done(Some(assessment.choice))
        } else {
            Trace::Foretold(None)
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Option<ModelChoice>, JournalClosed> {
        let (own, strongest) = self.callers;
        let choice = self.assessment.choice;
        let chosen = if choice == ModelChoice::MaxThink { strongest } else { own };
        let decision = Event::RouterDecision {
            decision_id: self.id,
            role: chosen.role,
            selected_model: chosen.settings.model.clone(),
            thinking: chosen.settings.thinking,
            assessment: self.assessment.clone(),
            prompt_hash: self.prompt_hash.clone(),
            tool_schema_hash: self.tool_schema_hash.clone(),
            max_tokens: chosen.settings.max_output_tokens,
        };
        run.publish(decision).await?;
        Ok(Some(choice))
    }
}

/// The effect of asking another model because no answer was usable; true if it is asked. Earlier versions did not.
struct Escalating<'e> {
    from: &'e Caller,
    to: &'e Caller,
}

impl Effect for Escalating<'_> {
    type Outcome = bool;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<bool> {
        if matches!(event, Event::RouterEscalation { .. }) {
            Trace::Done(true)
        } else {
            Trace::Foretold(false)
        }
    }

    async fn act(&mut self, run: &Run) -> Result<bool, JournalClosed> {
        let (role, reason_codes) = (self.from.role, vec![ChoiceReason::NoUsableAnswer]);
        let (from, to) = (self.from.settings.model.clone(), self.to.settings.model.clone());
        run.publish(Event::RouterEscalation { role, reason_codes, from, to }).await?;
        Ok(true)
    }
}
