//! The lane planner asks a model how to split a task. It keeps no state: the dialogue ends with the plan.

use actors::calls::model_call::Caller;
use actors::looks::look_effect::LookSources;
use actors::looks::server_tools::with_server_tools;
use actors::run::command_runner::CommandRunner;
use actors::talk::brief::{Brief, BriefShare};
use actors::talk::dialogue::Dialogue;
use actors::talk::dialogues::introduction;
use actors::talk::prompts::{Prompt, Prompts};
use actors::talk::{AnswerError, Grammar, Talk, refused_plan};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::contract::{ContractError, Leniency};
use model::AgentRole;

use crate::team::split::team_plan::{TeamLimits, TeamPlan, planner_instructions};

/// A plan, and where the answer deviated from the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamPlanned {
    /// The plan.
    pub plan: TeamPlan,
    /// The deviations, which were accepted.
    pub tolerances: Vec<Leniency>,
}

/// Asks how to split the task of `brief` into at most `lanes.max_lanes` lanes. The model may look at the tree and try
/// commands.
pub async fn plan_split(
    commands: &CommandRunner,
    brief: &Brief,
) -> Result<TeamPlanned, AnswerError> {
    let run = &commands.run;
    let (caller, config) = (Caller::of(run, AgentRole::LanePlanner), run.config());
    let limits = TeamLimits { max_lanes: config.lanes.max_lanes };
    let prompts = caller.prompts();
    let mut dialogue = Dialogue::new(introduction(&run.terms), &run.redactor);
    let introduction = brief.introduction(
        prompts,
        &mut dialogue,
        AgentRole::LanePlanner,
        BriefShare::Everything,
        &with_server_tools(run, AgentRole::LanePlanner, planner_instructions(prompts, limits)),
    );
    dialogue.say(&(introduction + &prompts.render(Prompt::SplitRequest, &[])));
    let bounds = &config.agent_loop;
    let talk = Talk {
        caller: &caller,
        sources: LookSources::of_commands(commands),
        repairs: bounds.architect_parse_retries,
        looks: bounds.max_look_rounds,
        since: None,
    };
    talk.ask(&mut dialogue, &limits).await
}

impl Grammar for TeamLimits {
    type Answer = TeamPlanned;

    fn is_formed(&self, answer: &str) -> bool {
        TeamPlan::is_formed(answer)
    }

    async fn read(
        &self,
        answer: &str,
    ) -> Result<Result<TeamPlanned, ContractError>, JournalClosed> {
        let read = TeamPlan::parse(answer, *self);
        Ok(read.map(|(plan, tolerances)| TeamPlanned { plan, tolerances }))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::PlanRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        refused_plan(prompts, error)
    }
}
