//! Turns findings into a card: the researcher plans the tasks, and their permissions and costs are added up.

use actors::calls::model_call::{CallError, Caller};
use actors::run::Run;
use actors::talk::AnswerError;
use actors::talk::prompts::Prompt;
use config::{Config, NetworkReach};
use facts::amounts::{Allowance, Amount};
use model::price::Usd;
use model::{AgentRole, BYTES_PER_TOKEN};

use crate::card::plan::{MissionPlan, PlanBounds};
use crate::card::{Capabilities, Card, CardLimits, Estimate, EstimateRange, SubTask, TaskKind};
use crate::research::passage::SourceFile;
use crate::research::researcher_dialogue::Thread;
use crate::research::{Research, Researched};

/// Most tasks of a mission.
const MAX_TASKS: usize = 24;
/// Tokens of a lane's initial prompts to its two models, without files.
const LANE_TOKENS: u64 = 4_000;
/// Tokens of a short answer.
const ANSWER_TOKENS: u64 = 600;
/// Seconds that a successful model call takes: least and most.
const CALL_SECONDS: EstimateRange = (2, 60);

impl Research<'_> {
    /// Plans the tasks: for the first time, or again with the changes in `wanted`. If the budget does not cover the dialogue,
    /// it starts over with only the findings.
    pub async fn plan(
        self,
        researched: &mut Researched,
        wanted: Option<&str>,
    ) -> Result<MissionPlan, AnswerError> {
        self.refresh(researched);
        let is_long = !researched.thread.is_new();
        match self.planned(researched, wanted).await {
            Err(AnswerError::Call(CallError::Budget(_))) if is_long => {
                researched.thread = Thread::new(self.run);
                self.planned(researched, wanted).await
            }
            planned => planned,
        }
    }

    async fn planned(
        self,
        researched: &mut Researched,
        wanted: Option<&str>,
    ) -> Result<MissionPlan, AnswerError> {
        let (prompts, config) = (self.run.prompts(), self.run.config());
        let bounds = PlanBounds {
            max_writes: config.lanes.max_lanes,
            max_tasks: MAX_TASKS,
            findings: u32::try_from(researched.findings.len()).unwrap_or(u32::MAX),
        };
        let plan = prompts.render(
            Prompt::MissionPlan,
            &[
                ("findings", &researched.as_checked(prompts)),
                ("max_writes", &bounds.max_writes),
                ("max_tasks", &bounds.max_tasks),
            ],
        );
        let request = match wanted {
            None => plan,
            Some(words) => {
                let revise = prompts.render(Prompt::MissionRevise, &[("words", &words)]);
                // A new dialogue needs the rules of the plan as well.
                if researched.thread.is_new() { format!("{plan}\n\n{revise}") } else { revise }
            }
        };
        let researcher = Caller::of(self.run, AgentRole::Researcher);
        let plan = self.asked(&researcher, &mut researched.thread, &request, &bounds).await?;
        researched.thread.told = researched.findings.len();
        Ok(plan)
    }
}

/// Assembles the card of a plan.
pub fn card(
    run: &Run,
    goal: &str,
    researched: &Researched,
    MissionPlan { groups, mut subtasks }: MissionPlan,
    version: u32,
) -> Card {
    let config = run.config();
    for task in &mut subtasks {
        let role = match task.kind {
            TaskKind::Read => AgentRole::Child,
            TaskKind::Write => AgentRole::Editor,
        };
        task.model = Caller::of(run, role).settings.model;
        let planner = || Caller::of(run, AgentRole::Architect).settings.model;
        task.planner = (task.kind == TaskKind::Write).then(planner);
    }
    let writes = subtasks.iter().any(|task| task.kind == TaskKind::Write);
    let shell = subtasks.iter().any(|task| !task.commands.is_empty());
    let estimate = estimate(run, &researched.sources, &subtasks);
    Card {
        mission_id: run.id().to_owned(),
        version,
        goal: run.redactor.redact(goal).into_owned(),
        groups,
        findings: researched.findings.clone(),
        low_confidence: Card::doubted(&researched.findings),
        capabilities: Capabilities {
            write: writes,
            shell,
            network: shell && config.sandbox.network == NetworkReach::Host,
        },
        estimate,
        limits: limits(config),
        coverage: researched.coverage,
        files: researched.sources.iter().map(|it| (it.path.clone(), it.hash())).collect(),
        cut_by: researched.cut_by,
        spent: Amount::default(),
        changes: Vec::new(),
        subtasks,
    }
}

fn limits(config: &Config) -> CardLimits {
    CardLimits {
        budget: Allowance::from(&config.budget),
        wall_seconds: config.budget.wall_seconds,
        max_subagents: config.lanes.max_subagents,
    }
}

/// Estimates the cost of tasks: the least if all goes well, the most if everything is retried as often as allowed.
fn estimate(run: &Run, sources: &[SourceFile], tasks: &[SubTask]) -> Estimate {
    let config = run.config();
    let (mut calls, mut tokens) = ((0, 0), (0, 0));
    let (mut least, mut most) = (Some(0_u64), Some(0_u64));
    for task in tasks {
        let size = |path| sources.iter().find(|it| it.path == path).map_or(0, |it| it.text.len());
        let bytes: usize = task.reads.iter().cloned().map(size).sum();
        let shown = bytes as u64 / BYTES_PER_TOKEN;
        let (role, (few, many), prompt) = match task.kind {
            TaskKind::Read => {
                let again = u64::from(config.missions.question_retries) + 1;
                (AgentRole::Child, (1, again), shown + ANSWER_TOKENS)
            }
            TaskKind::Write => {
                let again = u64::from(config.agent_loop.max_iterations).saturating_mul(2);
                (AgentRole::Editor, (2, again.max(2)), shown + LANE_TOKENS)
            }
        };
        let model = Caller::of(run, role).settings.model;
        let each = prompt + ANSWER_TOKENS;
        calls = (calls.0 + few, calls.1 + many);
        tokens = (tokens.0 + few * each, tokens.1 + many * each * 2);
        let output = u32::try_from(ANSWER_TOKENS).unwrap_or(u32::MAX);
        let price = run.terms.prices.worst_case(&model, prompt, output).map(Usd::nanos);
        let add = |sum: Option<u64>, times: u64| Some(sum? + price?.saturating_mul(times));
        (least, most) = (add(least, few), add(most, many * 2));
    }
    Estimate {
        calls,
        tokens,
        nano_usd: least.zip(most),
        wall_seconds: (calls.0 * CALL_SECONDS.0, calls.1 * CALL_SECONDS.1),
    }
}
