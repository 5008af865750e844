//! `deepseek autopilot`: a long piece of work, a step at a time, until it is reached or a bound says no. Each step is a request of
//! its own; what is not delivered is taken back, so that every step begins from a tree that was checked.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actors::delivery::{Delivery, Limit, StagedFor, Target};
use actors::ledger::Amount;
use actors::prompts::Prompts;
use actors::workspace::Staged;
use clap::{Args, Subcommand};
use config::Settings;
use front::error::{CliError, Kind};
use front::session::Which;
use model::price::Usd;
use orchestrator::autopilot::{Bounds, End, Round, Steer, Work};
use orchestrator::chat::Intent;
use orchestrator::orchestrator::Outcome;
use orchestrator::request::Request;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shell::Exit;
use tools::clock::{Clock as _, SystemClock};
use tools::regular;
use tree::Change;

use super::diff::Found;
use super::{diff, sandbox};
use crate::drive::{Drive, Use};
use crate::flags::{Global, Output};
use crate::prompts::of_workspace;
use crate::render::{self, View};
use crate::surroundings::Surroundings;

/// Work on a task, step by step, until it is reached or a bound is.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Each step stays only if it is delivered. The budget is that of the whole work. Nothing is allowed that a request would not be:\n\
without a user to ask, `--approval auto` lets patches and listed commands go ahead."
)]
pub(crate) struct AutopilotArgs {
    /// The task, without quotes.
    task: Vec<String>,
    /// Work at most so many hours.
    #[arg(long, value_name = "H", requires = "task")]
    hours: Option<f64>,
    /// Take at most so many steps.
    #[arg(long, value_name = "N", requires = "task")]
    iterations: Option<usize>,
    /// Stop when this command passes.
    #[arg(long, value_name = "COMMAND", requires = "task")]
    until: Option<String>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Action {
    /// Tell how far it has come.
    Status,
    /// Have it wait after the step in hand.
    Pause,
    /// Go on: with what is paused, or with what was interrupted.
    Resume,
    /// Have it stop now, with its report.
    Stop,
}

impl AutopilotArgs {
    /// Work on a task until this command passes.
    pub(crate) fn until(task: &str, command: &str) -> Self {
        Self {
            task: vec![task.to_owned()],
            hours: None,
            iterations: None,
            until: Some(command.to_owned()),
            action: None,
        }
    }

    /// Whether a model may be asked.
    pub(crate) const fn asks(&self) -> bool {
        matches!(self.action, None | Some(Action::Resume))
    }
}

/// Bytes of a state that is read.
const MAX_BYTES: u64 = 16 << 20;
/// How often a pilot that is paused looks whether it may go on.
const PATIENCE: Duration = Duration::from_millis(200);

/// What is kept of the work, so that it can be looked at and gone on with.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    session: String,
    pid: u32,
    /// When it was written last.
    heartbeat: String,
    /// What it does.
    doing: Doing,
    work: Work,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Doing {
    /// It chooses the next step.
    Choosing,
    /// It works on a step.
    Working,
    /// It waits to be resumed.
    Paused,
    /// It is over.
    Ended,
}

/// What another terminal wants of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Pause,
    Stop,
}

/// Where state and wishes are.
#[derive(Clone)]
struct Desk {
    state: PathBuf,
    wish: PathBuf,
}

impl Desk {
    fn of(around: &Surroundings, workspace: &Path) -> Result<Self, CliError> {
        let own = around.workspace_state(workspace)?;
        Ok(Self { state: own.join("autopilot.json"), wish: own.join("autopilot.wish") })
    }

    fn kept(&self) -> Result<Kept, CliError> {
        let none = || {
            CliError::new(Kind::Usage, "no autopilot has worked in this workspace yet")
                .hint("deepseek autopilot \"what is to be reached\" --until \"cargo test\"")
        };
        let text = regular::read_text(&self.state, MAX_BYTES).map_err(|_| none())?;
        serde_json::from_str(&text).map_err(|error| CliError::caused(Kind::Internal, &error))
    }

    fn wish(&self) -> Option<Wish> {
        match regular::read_text(&self.wish, 16).ok()?.trim() {
            "pause" => Some(Wish::Pause),
            "stop" => Some(Wish::Stop),
            _ => None,
        }
    }

    fn wishes(&self, word: Option<&str>) -> Result<(), CliError> {
        let failed = |error: std::io::Error| CliError::caused(Kind::Internal, &error);
        match word {
            Some(word) => regular::write(&self.wish, word.as_bytes()).map_err(failed),
            None => match std::fs::remove_file(&self.wish) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                Ok(()) | Err(_) => Ok(()),
            },
        }
    }
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &AutopilotArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let desk = Desk::of(around, &workspace)?;
    match args.action {
        Some(Action::Status) => {
            status(global, &desk.kept()?);
            Ok(())
        }
        Some(Action::Pause) => told(&desk, "pause", "it waits after the step in hand"),
        Some(Action::Stop) => told(&desk, "stop", "it stops"),
        Some(Action::Resume) => {
            let kept = desk.kept()?;
            desk.wishes(None)?;
            if is_alive(&kept) {
                render::warn("it goes on");
                return Ok(());
            }
            if let Some(end) = &kept.work.end
                && *end != End::Stopped
            {
                return Err(CliError::new(Kind::Usage, format!("it is over: {}", in_words(end)))
                    .hint("begin another with `deepseek autopilot \"…\"`"));
            }
            let work = Work { end: None, ..kept.work };
            fly(around, global, workspace, desk, work, Which::Earlier(kept.session)).await
        }
        None => {
            desk.wishes(None)?;
            let settings = around.settings(global, &workspace)?;
            let budget = &settings.config.budget;
            let bounds = Bounds {
                iterations: args.iterations,
                time: args.hours.map(|hours| Duration::from_secs_f64((hours * 3600.0).max(0.0))),
                usd: (budget.usd > 0.0).then(|| Usd::from_dollars(budget.usd)),
                tokens: (budget.tokens > 0).then_some(budget.tokens),
            };
            let work = Work {
                task: args.task.join(" "),
                until: args.until.clone(),
                bounds,
                rounds: Vec::new(),
                later: Vec::new(),
                choosing: Amount::default(),
                worked: Duration::ZERO,
                end: None,
            };
            fly(around, global, workspace, desk, work, Which::New).await
        }
    }
}

/// Leaves a wish for the one at work.
fn told(desk: &Desk, word: &str, what: &str) -> Result<(), CliError> {
    let kept = desk.kept()?;
    if !is_alive(&kept) {
        return Err(CliError::new(Kind::Usage, "no autopilot is at work in this workspace")
            .hint("`deepseek autopilot status` says how far the last one came"));
    }
    desk.wishes(Some(word))?;
    render::warn(what);
    Ok(())
}

/// Whether the process that wrote this still lives, and is not over with it.
fn is_alive(kept: &Kept) -> bool {
    kept.doing != Doing::Ended && Path::new(&format!("/proc/{}", kept.pid)).exists()
}

fn status(global: &Global, kept: &Kept) {
    let alive = is_alive(kept);
    if global.output != Output::Text {
        render::json_line(&json!({"alive": alive, "autopilot": kept, "spent": kept.work.spent()}));
        return;
    }
    let doing = match (&kept.work.end, kept.doing) {
        (Some(end), _) => format!("over: {}", in_words(end)),
        (None, _) if !alive => "interrupted: `deepseek autopilot resume` goes on".to_owned(),
        (None, Doing::Choosing) => "choosing the next step".to_owned(),
        (None, Doing::Working) => "working on a step".to_owned(),
        (None, Doing::Paused) => "paused: `deepseek autopilot resume` goes on".to_owned(),
        (None, Doing::Ended) => "over".to_owned(),
    };
    render::text(&format!("{}State    {doing}\n", report(&kept.work)));
}

/// The report, as people read it.
fn report(work: &Work) -> String {
    let mut text = format!("Task     {}\n", render::harmless(&work.task));
    for (at, round) in work.rounds.iter().enumerate() {
        let mark = if round.stays { "✓" } else { "✗" };
        let (step, end) = (render::harmless(&round.step), render::harmless(&round.end));
        text.push_str(&format!("  {mark} {}. {step}\n      {end}\n", at + 1));
        if !round.files.is_empty() {
            text.push_str(&format!("      {}\n", render::harmless(&round.files.join(", "))));
        }
    }
    for step in &work.later {
        text.push_str(&format!("  · {}\n", render::harmless(step)));
    }
    let (spent, seconds) = (work.spent(), work.worked.as_secs());
    text.push_str(&format!(
        "Used     {} calls, {} tokens, {}, {seconds} s\n",
        spent.calls, spent.tokens, spent.nano_usd
    ));
    text
}

fn in_words(end: &End) -> String {
    match end {
        End::Reached => "the command of --until passes".to_owned(),
        End::Done { shown_by } => format!("nothing is left to do: {shown_by}"),
        End::Stuck { reason } => format!("no step brings it further: {reason}"),
        End::NoProgress => "the last steps brought nothing that stays".to_owned(),
        End::Iterations => "as many steps as --iterations allows".to_owned(),
        End::Time => "as long as --hours allows".to_owned(),
        End::Budget => "the budget is used up".to_owned(),
        End::Denied { .. } => "something was not allowed".to_owned(),
        End::Stopped => "stopped".to_owned(),
    }
}

/// Works until it is over, and reports.
async fn fly(
    around: &Surroundings,
    global: &Global,
    workspace: PathBuf,
    desk: Desk,
    work: Work,
    which: Which,
) -> Result<(), CliError> {
    let settings = around.settings(global, &workspace)?;
    let (prompts, _) = of_workspace(&settings, &workspace)?;
    let mut view = render::view(around, global);
    let opened =
        Drive::open(around, &settings, workspace.clone(), which, Use::Write, view.as_mut()).await;
    let mut drive = opened?;
    let of_wishes = desk.clone();
    drive.give_up_when(move || of_wishes.wish() == Some(Wish::Stop));
    let begun = Instant::now();
    let before = work.worked;
    let mut pilot =
        Pilot { around, global, settings, workspace, prompts, desk, drive, work, begun, before };
    let end = pilot.fly(view.as_mut()).await?;
    pilot.work.end = Some(end.clone());
    pilot.keep(Doing::Ended)?;
    pilot.desk.wishes(None)?;
    if global.output == Output::Text {
        render::text(&format!("\n{}Ended    {}\n", report(&pilot.work), in_words(&end)));
    } else {
        let spent = pilot.work.spent();
        render::json_line(&json!({"autopilot": pilot.work, "spent": spent}));
    }
    let error = |kind| CliError::new(kind, format!("the autopilot ended: {}", in_words(&end)));
    let look = "what stays is in the workspace; `deepseek rewind` lists the way back";
    match &end {
        End::Reached | End::Done { .. } => Ok(()),
        End::Budget => Err(error(Kind::Budget).hint(look)),
        End::Denied { hint } => Err(error(Kind::Denied).hint(hint.clone())),
        End::Stopped => Err(error(Kind::Interrupted).hint("deepseek autopilot resume")),
        End::Stuck { .. } | End::NoProgress | End::Iterations | End::Time => {
            Err(error(Kind::NotDelivered).hint(look))
        }
    }
}

struct Pilot<'a> {
    around: &'a Surroundings,
    global: &'a Global,
    settings: Settings,
    workspace: PathBuf,
    prompts: Prompts,
    desk: Desk,
    drive: Drive,
    work: Work,
    begun: Instant,
    /// Time at work before this process.
    before: Duration,
}

impl Pilot<'_> {
    async fn fly(&mut self, view: &mut dyn View) -> Result<End, CliError> {
        // A step that was interrupted is finished first.
        if self.drive.session.cut_short().is_some()
            && let Some(outcome) = self.drive.take_up(view).await?
            && outcome.answer.is_none()
        {
            let step = "the step that was interrupted".to_owned();
            if let Some(end) = self.landed(step, outcome, view).await? {
                return Ok(end);
            }
        }
        loop {
            if let Some(end) = self.may_go_on(view).await? {
                return Ok(end);
            }
            self.keep(Doing::Choosing)?;
            let step = match self.choose(view).await? {
                Ok(step) => step,
                Err(end) => return Ok(end),
            };
            self.keep(Doing::Working)?;
            view.note(&format!("step {}: {}", self.work.rounds.len() + 1, render::harmless(&step)));
            self.keep_to_bounds().await?;
            let outcome = self.drive.run(Request::new(&step, Some(Intent::Edit)), view).await?;
            if let Some(end) = self.landed(step, outcome, view).await? {
                return Ok(end);
            }
        }
    }

    /// Whether another step may follow; why not, otherwise. Whoever is paused waits here.
    async fn may_go_on(&mut self, view: &mut dyn View) -> Result<Option<End>, CliError> {
        let mut said = false;
        loop {
            match self.desk.wish() {
                Some(Wish::Stop) => return Ok(Some(End::Stopped)),
                Some(Wish::Pause) => {
                    if !std::mem::replace(&mut said, true) {
                        view.note("paused; `deepseek autopilot resume` goes on");
                    }
                    self.keep(Doing::Paused)?;
                    tokio::select! {
                        biased;
                        left = self.drive.told_to_leave() => {
                            left?;
                            return Ok(Some(End::Stopped));
                        }
                        () = tokio::time::sleep(PATIENCE) => {}
                    }
                }
                None => break,
            }
        }
        if self.is_reached().await? {
            return Ok(Some(End::Reached));
        }
        self.work.worked = self.before + self.begun.elapsed();
        Ok(self.work.is_over())
    }

    /// Whether the command passes that says so.
    async fn is_reached(&self) -> Result<bool, CliError> {
        let Some(command) = self.work.until.clone() else { return Ok(false) };
        let fence = sandbox::fence(self.around, &self.settings, &self.workspace)?;
        let words = [command];
        let outcome =
            sandbox::run_in(fence, self.around, &self.settings, &self.workspace, &words).await?;
        Ok(outcome.exit == Exit::Code(0))
    }

    /// The next step; or why there is none.
    async fn choose(&mut self, view: &mut dyn View) -> Result<Result<String, End>, CliError> {
        let question = self.work.question(&self.prompts);
        let mut asked = question.clone();
        for _ in 0..2 {
            self.keep_to_bounds().await?;
            let request = Request::new(&asked, Some(Intent::Answer));
            let outcome = self.drive.run(request, view).await?;
            self.count(&outcome);
            if let Some(end) = ended(&outcome.delivery) {
                return Ok(Err(end));
            }
            match Steer::read(outcome.answer.as_deref().unwrap_or_default()) {
                Ok(Steer::Next { step, later }) => {
                    self.work.later = later;
                    return Ok(Ok(step));
                }
                Ok(Steer::Done(shown_by)) => return Ok(Err(End::Done { shown_by })),
                Ok(Steer::Stuck(reason)) => return Ok(Err(End::Stuck { reason })),
                Err(error) => {
                    asked = format!("{question}\n\n{}", error.for_planner(&self.prompts));
                }
            }
        }
        Ok(Err(End::Stuck { reason: "there was no usable answer to what comes next".to_owned() }))
    }

    /// Books what choosing took to the step that comes of it.
    fn count(&mut self, outcome: &Outcome) {
        self.work.choosing = self.work.choosing.plus(outcome.spent);
    }

    /// Takes in what became of a step: what was not delivered is taken back. Why it is over, if it is.
    async fn landed(
        &mut self,
        step: String,
        outcome: Outcome,
        view: &mut dyn View,
    ) -> Result<Option<End>, CliError> {
        let is_done =
            matches!(outcome.delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        if !is_done && !outcome.changes.is_empty() {
            self.take_back(&outcome, view).await?;
        }
        let stays = is_done && !outcome.changes.is_empty();
        let paths = outcome.changes.iter().flat_map(Change::paths).map(ToString::to_string);
        let files: Vec<String> = if stays { paths.collect() } else { Vec::new() };
        let spent = outcome.spent.plus(std::mem::take(&mut self.work.choosing));
        let end = front::told::outcome(&outcome.delivery);
        self.work.rounds.push(Round { step, end, stays, files, spent });
        self.work.worked = self.before + self.begun.elapsed();
        self.keep(Doing::Choosing)?;
        Ok(ended(&outcome.delivery))
    }

    /// Takes back what a step changed that was not delivered.
    async fn take_back(&mut self, outcome: &Outcome, view: &mut dyn View) -> Result<(), CliError> {
        let start = outcome.rollbacks.iter().find(|rollback| rollback.to == Target::Start);
        let Some(start) = start else { return Ok(()) };
        let Found { patch, changes } = diff::find(self.around, self.global, Some(&start.patch))?;
        let staged = Staged {
            id: Some(patch.id),
            purpose: StagedFor::WayBack,
            title: patch.title.as_str().into(),
            changes,
            repairs: Vec::new(),
            put_aside: Vec::new(),
        };
        front::exit::of_change(self.drive.apply(staged, view).await?)
    }

    /// Has the next request keep to what is left of time and budget.
    async fn keep_to_bounds(&mut self) -> Result<(), CliError> {
        let mut config = self.settings.config.clone();
        let spent = self.work.spent();
        let Bounds { time, usd, tokens, .. } = self.work.bounds;
        if let Some(most) = usd {
            // What is used up is not without a limit.
            let left = most.saturating_sub(spent.nano_usd).nanos().max(1);
            config.budget.usd = Usd::from_nanos(left).dollars();
        }
        if let Some(most) = tokens {
            config.budget.tokens = most.saturating_sub(spent.tokens).max(1);
        }
        if let Some(most) = time {
            let worked = self.before + self.begun.elapsed();
            config.budget.wall_seconds = most.saturating_sub(worked).as_secs().max(1);
        }
        let kept = self.drive.session.keep_to(config).await;
        kept.map_err(|error| CliError::caused(Kind::Internal, &error))
    }

    /// Writes down how far it has come.
    fn keep(&self, doing: Doing) -> Result<(), CliError> {
        let kept = Kept {
            session: self.drive.session.id.clone(),
            pid: std::process::id(),
            heartbeat: SystemClock.now().to_string(),
            doing,
            work: self.work.clone(),
        };
        let failed = |error: std::io::Error| CliError::caused(Kind::Internal, &error);
        let text = serde_json::to_vec(&kept).map_err(|error| failed(error.into()))?;
        let half = self.desk.state.with_extension("half");
        regular::write(&half, &text).map_err(failed)?;
        std::fs::rename(half, &self.desk.state).map_err(failed)
    }
}

/// Whether a step's end is the end of all.
fn ended(delivery: &Delivery) -> Option<End> {
    match delivery {
        Delivery::Cancelled => Some(End::Stopped),
        Delivery::BudgetExhausted { limit: Limit::WallTime, .. } => Some(End::Time),
        Delivery::BudgetExhausted { .. } => Some(End::Budget),
        Delivery::Denied { hint, .. } => Some(End::Denied { hint: hint.to_string() }),
        Delivery::Delivered { .. }
        | Delivery::NoEditNeeded { .. }
        | Delivery::NeedsWork { .. }
        | Delivery::Failed { .. } => None,
    }
}
