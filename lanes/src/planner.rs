//! The lane planner asks a model how a task splits. It keeps nothing: the dialogue ends with the plan.

use actors::call::CallError;
use actors::contract::{Leniency, PlanError};
use actors::dialogue::Dialogue;
use actors::event::Event;
use actors::prompts::Prompt;
use actors::run::Run;
use actors::wording::Wording;
use model::{AgentRole, ModelError};
use thiserror::Error;
use tools::redact::redact;

use crate::team_plan::{TeamLimits, TeamPlan, instructions};

/// A plan, with how it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamPlanned {
    /// The plan.
    pub plan: TeamPlan,
    /// Where it was read tolerantly.
    pub tolerances: Vec<Leniency>,
}

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum PlanningError {
    /// The answers broke the contract, repair turns included.
    #[error(transparent)]
    Unreadable(PlanError),
    /// There was no answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Asks how `request` splits over at most `lanes.max_lanes` lanes.
pub async fn plan(run: &Run, request: &str, evidence: &str) -> Result<TeamPlanned, PlanningError> {
    let (caller, config) = (run.caller(AgentRole::LanePlanner), run.config());
    let limits = TeamLimits { max_lanes: config.lanes.max_lanes };
    let prompts = caller.prompts();
    let mut dialogue = Dialogue::new(instructions(prompts, limits));
    dialogue.say(
        &prompts.render(Prompt::SplitRequest, &[("evidence", &evidence), ("request", &request)]),
    );
    let mut repairs = 0;
    loop {
        let error = match caller.ask(&mut dialogue).await {
            Ok(reply) => match TeamPlan::parse(&reply.content, limits) {
                Ok((plan, tolerances)) => return Ok(TeamPlanned { plan, tolerances }),
                Err(error) => error,
            },
            Err(CallError::Model(ModelError::Length { max_tokens, .. })) => {
                PlanError::cut(max_tokens)
            }
            Err(error) => return Err(error.into()),
        };
        let refused = Event::PlanRefused { error: Wording::of(&redact(&error.to_string())) };
        run.publish(refused).await.map_err(CallError::from)?;
        if repairs == config.agent_loop.architect_parse_retries {
            return Err(PlanningError::Unreadable(error));
        }
        repairs += 1;
        dialogue.say(&error.for_model(prompts));
    }
}
