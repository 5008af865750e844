//! The autopilot's loop: choose a step, run it, undo what was not delivered, and repeat.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actors::run::workspace::Staged;
use actors::talk::dialogue::fenced;
use actors::talk::prompts::Prompts;
use actors::talk::refused_plan;
use config::Settings;
use facts::amounts::Spending;
use facts::delivery::{Delivery, Limit, StagedFor, UndoTarget};
use facts::signal::Acceptance;
use facts::signal::Attendance;
use front::error::{CliError, CliErrorKind};
use front::session::SessionChoice;
use model::price::Usd;
use orchestrator::request::Request;
use orchestrator::request::intent::RequestIntent;
use orchestrator::root::RequestOutcome;
use orchestrator::session::autopilot::{
    AutopilotEnd, ChangedFile, PilotState, Steer, TakenStep, WorkBounds,
};
use serde_json::json;
use shell::{CommandOutcome, Exit};
use tools::clock::{Clock as _, SystemClock};
use tools::regular;
use tree::{Change, FileState, RepoPath};

use super::super::diff::FoundPatch;
use super::super::{diff, sandbox};
use super::desk::{Desk, Doing, KeptWork, Wish};
use super::{in_words, report};
use crate::drive::{Drive, WorkspaceUse};
use crate::flags::{Global, OutputFormat};
use crate::prompts::of_workspace;
use crate::render::{self, RunPresenter};
use crate::surroundings::Surroundings;

/// The most bytes of a command's output that the model sees, from its start and end.
const TOLD: usize = 2_000;
/// How often a paused autopilot checks whether it should continue.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs the autopilot until it ends, then prints the report.
pub(super) async fn fly(
    around: &Surroundings,
    global: &Global,
    settings: Settings,
    workspace: PathBuf,
    desk: Desk,
    mut work: PilotState,
    which: SessionChoice,
) -> Result<(), CliError> {
    let (prompts, _) = of_workspace(&settings, &workspace)?;
    let mut view = render::view(around, global);
    if which == SessionChoice::New
        && let Some(command) = &work.until
        && passes(around, (&settings, &workspace), command).await?.exit == Exit::Code(0)
    {
        go_on_without(command, view.attendance()).await?;
        work.until = None;
    }
    let opened = Drive::open(
        around,
        &settings,
        workspace.clone(),
        which,
        WorkspaceUse::Write,
        view.as_mut(),
    )
    .await;
    let mut drive = opened?;
    let of_wishes = desk.clone();
    drive.give_up_when(move || of_wishes.wish() == Some(Wish::Stop));
    let begun = Instant::now();
    let before = work.worked;
    let mut pilot = Pilot {
        around,
        global,
        settings,
        workspace,
        prompts,
        desk,
        drive,
        work,
        begun,
        before,
        said: String::new(),
        step: None,
    };
    let end = pilot.fly(view.as_mut()).await?;
    let is_wanted = pilot.desk.wish() == Some(Wish::Stop);
    pilot.work.end = Some(end.clone());
    pilot.keep(Doing::Ended)?;
    pilot.desk.wishes(None)?;
    if global.output == OutputFormat::Text {
        render::text(&format!("\n{}Ended    {}\n", report(&pilot.work), in_words(&end)));
    } else {
        let spent = pilot.work.spent();
        render::json_line(
            &json!({"autopilot": pilot.work, "spent": spent.known, "spent_unknown": spent.unknown}),
        );
    }
    let error = |kind| CliError::new(kind, format!("the autopilot ended: {}", in_words(&end)));
    let look =
        "delivered steps are in the workspace; `deepseek rewind` lists checkpoints to undo them";
    match &end {
        AutopilotEnd::Reached | AutopilotEnd::Done { .. } => Ok(()),
        AutopilotEnd::Budget => Err(error(CliErrorKind::Budget).hint(look)),
        AutopilotEnd::Denied { hint } => Err(error(CliErrorKind::Denied)
            .hint(format!("{hint}; then go on with `deepseek autopilot resume`"))),
        AutopilotEnd::Stopped if is_wanted => {
            let error =
                CliError::new(CliErrorKind::NotDelivered, "stopped before the task was done");
            Err(error.hint("deepseek autopilot resume"))
        }
        AutopilotEnd::Stopped => {
            Err(error(CliErrorKind::Interrupted).hint("deepseek autopilot resume"))
        }
        AutopilotEnd::Stuck { .. }
        | AutopilotEnd::NoProgress
        | AutopilotEnd::SameFailure
        | AutopilotEnd::Iterations
        | AutopilotEnd::Time => Err(error(CliErrorKind::NotDelivered).hint(look)),
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
    work: PilotState,
    begun: Instant,
    /// The working time of earlier processes.
    before: Duration,
    /// The last output of the `--until` command, as an excerpt for the model.
    said: String,
    /// The current step.
    step: Option<String>,
}

impl Pilot<'_> {
    async fn fly(&mut self, view: &mut dyn RunPresenter) -> Result<AutopilotEnd, CliError> {
        // Finish an interrupted step, or the question about the next one, first.
        if let Some(interrupted) = self.drive.session.interrupted() {
            let step = interrupted.request().to_owned();
            match self.drive.resume(view).await? {
                Some(outcome) if outcome.answer.is_none() => {
                    if let Some(end) = self.record(step, outcome, view).await? {
                        return Ok(end);
                    }
                }
                Some(outcome) => self.work.chose(outcome.spent),
                None => {}
            }
        }
        loop {
            if let Some(end) = self.may_continue(view).await? {
                return Ok(end);
            }
            self.keep(Doing::Choosing)?;
            let step = match self.choose(view).await? {
                Ok(step) => step,
                Err(end) => return Ok(end),
            };
            self.step = Some(step.clone());
            self.keep(Doing::Working)?;
            view.note(&format!("step {}: {}", self.work.rounds.len() + 1, render::harmless(&step)));
            self.keep_to_bounds().await?;
            let request = Request::new(&step, Some(RequestIntent::Edit));
            // With `--output json` a single document covers all steps.
            let outcome = if self.global.output == OutputFormat::Json {
                self.drive.run_quietly(request, view).await?
            } else {
                self.drive.run(request, view).await?
            };
            if let Some(end) = self.record(step, outcome, view).await? {
                return Ok(end);
            }
        }
    }

    /// Returns why the autopilot ends, or `None` if another step may follow. Waits here while paused.
    async fn may_continue(
        &mut self,
        view: &mut dyn RunPresenter,
    ) -> Result<Option<AutopilotEnd>, CliError> {
        let mut said = false;
        loop {
            match self.desk.wish() {
                Some(Wish::Stop) => return Ok(Some(AutopilotEnd::Stopped)),
                Some(Wish::Pause) => {
                    if !std::mem::replace(&mut said, true) {
                        view.note("paused; `deepseek autopilot resume` resumes it");
                    }
                    self.keep(Doing::Paused)?;
                    tokio::select! {
                        biased;
                        left = self.drive.asked_to_leave() => {
                            left?;
                            return Ok(Some(AutopilotEnd::Stopped));
                        }
                        () = tokio::time::sleep(PATIENCE) => {}
                    }
                }
                None => break,
            }
        }
        if self.is_reached().await? {
            return Ok(Some(AutopilotEnd::Reached));
        }
        self.work.worked = self.before + self.begun.elapsed();
        Ok(self.work.is_over())
    }

    /// Runs the `--until` command, if there is one, and returns true if it passes.
    async fn is_reached(&mut self) -> Result<bool, CliError> {
        let Some(command) = self.work.until.clone() else { return Ok(false) };
        let outcome = passes(self.around, (&self.settings, &self.workspace), &command).await?;
        self.work.failed_with(&outcome.output.text());
        self.said = fenced(&self.prompts, "output", &outcome.output.excerpt(TOLD));
        Ok(outcome.exit == Exit::Code(0))
    }

    /// Asks the model for the next step. Returns the reason to end if there is none.
    async fn choose(
        &mut self,
        view: &mut dyn RunPresenter,
    ) -> Result<Result<String, AutopilotEnd>, CliError> {
        let question = self.work.question(&self.prompts, &self.said);
        let mut asked = question.clone();
        for _ in 0..2 {
            self.keep_to_bounds().await?;
            let request = Request::new(&asked, Some(RequestIntent::Answer));
            let outcome = self.drive.run_quietly(request, view).await?;
            self.work.chose(outcome.spent);
            if let Some(end) = ended(&outcome.delivery) {
                return Ok(Err(end));
            }
            let answer = outcome.answer.as_deref().unwrap_or_default();
            match Steer::read(answer, self.work.until.as_deref()) {
                Ok(Steer::Next { step, later }) => {
                    self.work.later = later;
                    return Ok(Ok(step));
                }
                Ok(Steer::Done(shown_by)) => return Ok(Err(AutopilotEnd::Done { shown_by })),
                Ok(Steer::Stuck(reason)) => return Ok(Err(AutopilotEnd::Stuck { reason })),
                Err(error) => {
                    asked = format!("{question}\n\n{}", refused_plan(&self.prompts, &error));
                }
            }
        }
        Ok(Err(AutopilotEnd::Stuck {
            reason: "the model gave no usable answer about the next step".to_owned(),
        }))
    }

    /// Records the outcome of a step, undoing its changes if it was not delivered. Returns the reason to end, if there is one.
    async fn record(
        &mut self,
        step: String,
        outcome: RequestOutcome,
        view: &mut dyn RunPresenter,
    ) -> Result<Option<AutopilotEnd>, CliError> {
        let is_done =
            matches!(outcome.delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        if !is_done && !outcome.changes.is_empty() {
            self.undo(&outcome, view).await?;
        }
        let stays = is_done && !outcome.changes.is_empty();
        let paths = outcome.changes.iter().flat_map(Change::paths).map(ToString::to_string);
        let files: Vec<String> = if stays { paths.collect() } else { Vec::new() };
        let turned =
            |(path, before, after): (&RepoPath, Option<&FileState>, Option<&FileState>)| {
                let (before, after) = (before.map(FileState::hash), after.map(FileState::hash));
                ChangedFile { path: path.to_string(), before, after }
            };
        let sides = outcome.changes.iter().flat_map(Change::sides).filter(|_| stays);
        let turned = sides.map(turned).collect();
        let Spending { known: spent, unknown: spent_unknown } =
            self.work.charged_to_step(outcome.spent);
        let end = front::describe::outcome(&outcome.delivery);
        let (to_come, failure) = (self.work.later.len(), None);
        let taken =
            TakenStep { step, end, stays, files, turned, spent, spent_unknown, to_come, failure };
        self.work.rounds.push(taken);
        self.work.worked = self.before + self.begun.elapsed();
        self.step = None;
        self.keep(Doing::Choosing)?;
        Ok(ended(&outcome.delivery))
    }

    /// Undoes the changes of a step that was not delivered.
    async fn undo(
        &mut self,
        outcome: &RequestOutcome,
        view: &mut dyn RunPresenter,
    ) -> Result<(), CliError> {
        let start = outcome.rollbacks.iter().find(|rollback| rollback.to == UndoTarget::Start);
        let Some(start) = start else { return Ok(()) };
        let FoundPatch { patch, changes } =
            diff::find(self.around, self.global, Some(&start.patch))?;
        let staged = Staged {
            id: Some(patch.id),
            purpose: StagedFor::WayBack,
            title: patch.title.as_str().into(),
            changes,
            repairs: Vec::new(),
            put_aside: Vec::new(),
            taken: Acceptance::Whole,
        };
        front::exit::of_change(self.drive.apply(staged, view).await?, view.attendance()).map(drop)
    }

    /// Limits the next request to the remaining time and budget.
    async fn keep_to_bounds(&mut self) -> Result<(), CliError> {
        let mut config = self.settings.config.clone();
        let spent = self.work.spent().at_most();
        let WorkBounds { time, usd, tokens, .. } = self.work.bounds;
        if let Some(most) = usd {
            // Zero would mean no limit.
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
        let kept = self.drive.session.configure(config).await;
        kept.map_err(|error| CliError::caused(CliErrorKind::Internal, &error))
    }

    /// Saves the current state to disk.
    fn keep(&self, doing: Doing) -> Result<(), CliError> {
        let kept = KeptWork {
            session: self.drive.session.id.clone(),
            pid: std::process::id(),
            heartbeat: SystemClock.now().to_string(),
            doing,
            step: self.step.clone(),
            settings: Some(config::to_record(&self.settings.config)),
            work: PilotState { worked: self.before + self.begun.elapsed(), ..self.work.clone() },
        };
        let failed = |error: std::io::Error| CliError::caused(CliErrorKind::Internal, &error);
        let text = serde_json::to_vec(&kept).map_err(|error| failed(error.into()))?;
        let half = self.desk.state.with_extension("half");
        regular::write_regular_file(&half, &text).map_err(failed)?;
        std::fs::rename(half, &self.desk.state).map_err(failed)
    }
}

/// Runs the `--until` command.
async fn passes(
    around: &Surroundings,
    (settings, workspace): (&Settings, &Path),
    command: &str,
) -> Result<CommandOutcome, CliError> {
    let fence = sandbox::fence(around, settings, workspace)?;
    let words = [command.to_owned()];
    sandbox::run_in(fence, around, (settings, workspace), &words, &mut |_| {}).await
}

/// Asks whether to go on with a task whose command passes before the first step, until the model says that it is done.
async fn go_on_without(command: &str, attendance: Attendance) -> Result<(), CliError> {
    let passes = format!("`{}` passes already, so it shows nothing", render::harmless(command));
    let question = format!("{passes}. Work until the model says that the task is done?");
    if attendance == Attendance::Attended && render::ask::yes_or_no(&question, None).await? {
        return Ok(());
    }
    Err(CliError::new(CliErrorKind::Usage, passes)
        .hint("name a command that fails until the task is done, or leave out --until"))
}

/// Returns why the autopilot ends with this step, or `None` if it continues.
fn ended(delivery: &Delivery) -> Option<AutopilotEnd> {
    match delivery {
        Delivery::Cancelled => Some(AutopilotEnd::Stopped),
        Delivery::BudgetExhausted { limit: Limit::WallTime, .. } => Some(AutopilotEnd::Time),
        Delivery::BudgetExhausted { .. } => Some(AutopilotEnd::Budget),
        Delivery::Denied { hint, .. } => Some(AutopilotEnd::Denied { hint: hint.to_string() }),
        Delivery::Delivered { .. }
        | Delivery::NoEditNeeded { .. }
        | Delivery::NeedsWork { .. }
        | Delivery::Failed { .. } => None,
    }
}
