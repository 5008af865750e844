//! Asks a question outside the edit loop: the router decides which model is asked. The decision is recorded and changes at
//! most once.

use std::sync::Arc;

use actors::calls::model_call::{CallError, Caller};
use actors::looks::look_effect::LookSources;
use actors::looks::server_tools::{self, OfferedTools};
use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::talk::brief::Brief;
use actors::talk::dialogue::Dialogue;
use actors::talk::dialogues::introduction;
use actors::talk::prompts::Prompt;
use actors::talk::{AnswerError, Grammar, Talk};
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::model_choice::{Assessment, ChoiceReason, ModelChoice, own_words};
use model::{AgentRole, ModelError};
use toolbox::{OwnTool, Tool};
use tree::FileHash;

use crate::request::router::{ModelRouter, RouteAsk};

/// Creates the dialogue of a question. The model is offered tools if it can call them.
pub(crate) fn dialogue(run: &Run, (tools, own): (&[Tool], &[OwnTool])) -> Dialogue {
    let prompts = run.prompts();
    if calls_tools(run) {
        let dialogue = Dialogue::new(prompts.render(Prompt::Common, &[]), &run.redactor);
        return dialogue_with_tools(run, (tools, own), dialogue);
    }
    Dialogue::new(introduction(&run.terms), &run.redactor)
}

/// Offers the tools of a question in a dialogue, if the model can call them.
pub(crate) fn dialogue_with_tools(
    run: &Run,
    (tools, own): (&[Tool], &[OwnTool]),
    dialogue: Dialogue,
) -> Dialogue {
    if !calls_tools(run) {
        return dialogue;
    }
    let OfferedTools { defined, catalogue } = server_tools::offered(run, AgentRole::Analysis);
    let mut offers = toolbox::offers(tools, own, &defined);
    if !catalogue.is_empty() {
        offers.extend(toolbox::offers(toolbox::finding_tools(), &[], &[]));
    }
    dialogue.offering(offers)
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
    let instructions = instructions.trim_end();
    if !calls_tools(run) {
        let tools = tools_in_text(run, tools.iter(), own);
        let instructions = format!("{instructions}\n\n{tools}");
        return server_tools::with_server_tools(run, AgentRole::Analysis, instructions);
    }
    let tokens = &run.config().agent_loop.max_look_tokens;
    let tools = prompts.render(Prompt::Tools, &[("tokens", tokens)]);
    let catalogue = server_tools::offered(run, AgentRole::Analysis).catalogue;
    [instructions, &tools, &catalogue]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Returns how tools are called by lines of text.
fn tools_in_text<'t>(run: &Run, tools: impl Iterator<Item = &'t Tool>, own: &[OwnTool]) -> String {
    let line = |tool: &Tool| format!("- {} {}: {}", tool.name, tool.takes(), tool.description);
    let of_workspace =
        |tool: &OwnTool| format!("- {} {}: {}", tool.name(), tool.parameters, tool.description);
    let tools: Vec<String> = tools.map(line).chain(own.iter().map(of_workspace)).collect();
    run.prompts().render(Prompt::ToolsInText, &[("tools", &tools.join("\n"))])
}

/// A question whose model has yet to be decided.
pub(crate) struct RoutedQuestion<'q> {
    pub(crate) run: &'q Run,
    /// Sources for what the model asks to see.
    pub(crate) sources: LookSources<'q>,
    pub(crate) brief: &'q Brief,
    /// Decides which model is asked.
    pub(crate) router: ModelRouter,
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
        let chosen = self.decide((&own, &strongest), may_change).await?;
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
        if !caller.lacks_tools() {
            let heard = talk.ask(&mut self.dialogue.clone(), grammar).await;
            let is_refused = matches!(
                heard,
                Err(AnswerError::Call(CallError::Model(ModelError::InvalidRequest { .. })))
            );
            if !is_refused || self.dialogue.tools().is_empty() || !caller.lacks_tools() {
                return heard;
            }
        }
        talk.ask(&mut self.with_tools_in_text(), grammar).await
    }

    /// Returns the dialogue for a server without tool calls: the question also says how tools are called by lines of text.
    fn with_tools_in_text(&self) -> Dialogue {
        let offered = self.dialogue.tools();
        if offered.is_empty() {
            return self.dialogue.clone();
        }
        let is_offered = |tool: &&Tool| offered.iter().any(|it| it.name == tool.wire_name());
        let tools = toolbox::tools().iter().filter(is_offered);
        let how = tools_in_text(self.run, tools, self.sources.own);
        let mut dialogue = self.dialogue.clone().offering(Vec::new());
        dialogue.say(&how);
        dialogue
    }

    async fn decide(
        &self,
        callers: (&Caller, &Caller),
        may_change: bool,
    ) -> Result<ModelChoice, AnswerError> {
        let mut decision = Deciding { question: self, callers, may_change, after: None };
        let Some(mut assessment) = self.run.perform(&mut decision).await? else {
            return Ok(ModelChoice::Own);
        };
        if assessment.choice != ModelChoice::Uncertain {
            return Ok(assessment.choice);
        }
        let needs_thought = self.small_model().await;
        let choice = if needs_thought { ModelChoice::MaxThink } else { ModelChoice::Own };
        assessment.choice = choice;
        assessment.reasons.extend(needs_thought.then_some(ChoiceReason::SmallModel));
        decision.after = Some(assessment);
        let decided = self.run.perform(&mut decision).await?;
        Ok(decided.map_or(choice, |assessment| assessment.choice))
    }

    /// Has the router assess the question; `None` if there is no router.
    async fn assessed(&self, may_change: bool) -> Option<Assessment> {
        let ask = RouteAsk {
            scope: self.run.scope().clone(),
            request: self.brief.request.clone(),
            files: shown_files(&self.brief.evidence),
            attendance: self.run.attendance,
            config: Arc::clone(&self.run.terms.config),
        };
        let mut assessment = self.router.route(ask).await?;
        if !may_change {
            assessment.choice = ModelChoice::Own;
            assessment.reasons.push(ChoiceReason::Fixed);
        }
        Some(assessment)
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
        let request = own_words(&self.brief.request, self.run.config().router.pasted_rows);
        dialogue.say(&prompts.render(Prompt::RouterQuestion, &[("request", &request)]));
        let reply = caller.ask(&mut dialogue).await;
        reply.is_ok_and(|reply| reply.content.trim().to_uppercase().starts_with("YES"))
    }
}

/// Returns the number of files in the evidence. What is written in them does not count.
fn shown_files(evidence: &str) -> usize {
    let (mut fence, mut files) = (None, 0);
    for line in evidence.lines() {
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if line.starts_with("```") => fence = Some(line),
            None => files += usize::from(line.starts_with("### ")),
        }
    }
    files
}

/// The effect of deciding on a model: once, or twice if a small model is asked in between. Earlier versions recorded no
/// decision.
struct Deciding<'d> {
    question: &'d RoutedQuestion<'d>,
    /// The role's own model, and the model that thinks longest.
    callers: (&'d Caller, &'d Caller),
    may_change: bool,
    /// The assessment after the small model was asked.
    after: Option<Assessment>,
}

impl Deciding<'_> {
    fn id(&self) -> u32 {
        if self.after.is_none() { 1 } else { 2 }
    }
}

impl Effect for Deciding<'_> {
    type Outcome = Option<Assessment>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<Assessment>> {
        let Event::RouterDecision { decision_id, assessment, .. } = event else {
            return Trace::Foretold(None);
        };
        if *decision_id == self.id() {
            Trace::Done(Some(assessment.clone()))
        } else {
            Trace::Foretold(None)
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Option<Assessment>, JournalClosed> {
        let (own, strongest) = self.callers;
        let assessment = match &self.after {
            Some(assessment) => assessment.clone(),
            None => match self.question.assessed(self.may_change).await {
                Some(assessment) => assessment,
                None => return Ok(None),
            },
        };
        let chosen = if assessment.choice == ModelChoice::MaxThink { strongest } else { own };
        let decision = Event::RouterDecision {
            decision_id: self.id(),
            role: chosen.role,
            selected_model: chosen.settings.model.clone(),
            thinking: chosen.settings.thinking,
            assessment: assessment.clone(),
            prompt_hash: self.question.prompt_hash(),
            tool_schema_hash: self.question.tool_schema_hash(),
            max_tokens: chosen.settings.max_output_tokens,
        };
        run.publish(decision).await?;
        Ok(Some(assessment))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_in_a_file_are_not_files() {
        let evidence = "### a.md:1-9 of 20 e3b0c442\n````\n### b\n```\n### c\n```\n````\n### d.md:1-1 0\n```\nd\n```\n";
        assert_eq!(shown_files(evidence), 2);
    }
}
