//! `deepseek autopilot`: works on a long task step by step, until it is done or a limit is reached. Each step is a request of
//! its own; undelivered changes are undone, so that every step starts from a verified tree.

mod desk;
mod pilot;

use std::time::Duration;

use clap::{Args, Subcommand};
use facts::amounts::Spending;
use facts::autopilot::WorkBounds;
use front::describe::describe_course_end;
use front::error::{CliError, CliErrorKind};
use front::session::SessionChoice;
use model::price::Usd;
use orchestrator::autopilot::course::Course;
use orchestrator::autopilot::past_course::{PastCourse, past_course};
use orchestrator::autopilot::pilot_state::PilotState;
use serde::Serialize;
use serde_json::json;
use tools::count::counted;

use self::desk::{Desk, Doing, Whereabouts, Wish, is_alive};
use self::pilot::fly;
use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// Work on a task step by step until it is done or a limit is reached.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "A step's changes are kept only if it is delivered. The budget applies to the whole task. Approvals work as for \
        single requests: to run unattended, use `--approval auto`. `resume` keeps the settings of the start; flags given to it \
        change them. Exit code 0 means that the task is done; a task that was stopped, or that reached a limit of steps or time, \
        ends with 1."
)]
pub(crate) struct AutopilotArgs {
    /// The task, without quotes.
    task: Vec<String>,
    /// Limit the working time, in hours.
    #[arg(long, value_name = "H", requires = "task")]
    hours: Option<f64>,
    /// Limit the number of steps.
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
    /// Show the progress.
    Status,
    /// Pause after the current step.
    Pause,
    /// Resume after a pause or an interruption.
    Resume,
    /// Stop now and print the report.
    Stop,
}

impl AutopilotArgs {
    /// Returns the arguments for working on a task until a command passes.
    pub(crate) fn until(task: &str, command: &str) -> Self {
        Self {
            task: vec![task.to_owned()],
            hours: None,
            iterations: None,
            until: Some(command.to_owned()),
            action: None,
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
            let at = desk.whereabouts()?;
            status(around, global, &at, &kept(around, &at)?, desk.wish());
            Ok(())
        }
        Some(Action::Pause) => instruct(&desk, "pause", "pausing after the current step"),
        Some(Action::Stop) => instruct(&desk, "stop", "stopping"),
        Some(Action::Resume) => {
            let at = desk.whereabouts()?;
            desk.wishes(None)?;
            if is_alive(&at) {
                render::warn("resumed");
                return Ok(());
            }
            let PastCourse { course, config } = kept(around, &at)?;
            let another = "start another with `deepseek autopilot \"…\"`";
            if let Some(end) = course.work.end.as_ref().filter(|end| !end.can_go_on()) {
                let ended = format!("the autopilot has ended: {}", describe_course_end(end));
                return Err(CliError::new(CliErrorKind::Usage, ended).hint(another));
            }
            let settings = around.settings(global, &workspace)?.resuming(&config);
            let settings = settings.ok_or_else(|| {
                let unfit = "the settings of the start do not fit this version";
                CliError::new(CliErrorKind::Usage, unfit).hint(another)
            })?;
            let which = SessionChoice::Earlier(at.session);
            Box::pin(fly(around, global, settings, workspace, desk, course, which)).await
        }
        None => {
            desk.wishes(None)?;
            let settings = around.settings(global, &workspace)?;
            let budget = &settings.config.budget;
            let bounds = WorkBounds {
                iterations: args.iterations,
                time: args.hours.map(|hours| Duration::from_secs_f64((hours * 3600.0).max(0.0))),
                usd: (budget.usd > 0.0).then(|| Usd::from_dollars(budget.usd)),
                tokens: (budget.tokens > 0).then_some(budget.tokens),
            };
            let work = PilotState::new(args.task.join(" "), args.until.clone(), bounds);
            let (course, which) = (Course::new(work), SessionChoice::New);
            Box::pin(fly(around, global, settings, workspace, desk, course, which)).await
        }
    }
}

/// Reads the course of the last autopilot from the journal of its session.
fn kept(around: &Surroundings, at: &Whereabouts) -> Result<PastCourse, CliError> {
    let session = around.state_dir()?.join("sessions").join(&at.session);
    let course =
        past_course(&session).map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
    course.ok_or_else(|| {
        CliError::new(CliErrorKind::Usage, "the session of the last autopilot tells nothing of it")
            .hint("start another with `deepseek autopilot \"…\"`")
    })
}

/// Leaves an instruction for the running autopilot.
fn instruct(desk: &Desk, word: &str, what: &str) -> Result<(), CliError> {
    if !is_alive(&desk.whereabouts()?) {
        return Err(CliError::new(
            CliErrorKind::Usage,
            "no autopilot is running in this workspace",
        )
        .hint("`deepseek autopilot status` shows the last one"));
    }
    desk.wishes(Some(word))?;
    render::warn(what);
    Ok(())
}

/// The autopilot, for programs.
#[derive(Serialize)]
struct StatusDocument<'s> {
    #[serde(flatten)]
    at: &'s Whereabouts,
    /// The current step.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    settings: &'s str,
    work: &'s PilotState,
}

fn status(
    around: &Surroundings,
    global: &Global,
    at: &Whereabouts,
    PastCourse { course, config }: &PastCourse,
    wish: Option<Wish>,
) {
    let (alive, work) = (is_alive(at), &course.work);
    let wish = wish.filter(|_| alive);
    let step = course.current_step();
    if global.output != OutputFormat::Text {
        let spent = work.spent();
        let autopilot = StatusDocument { at, step, settings: config, work };
        render::json_line(&json!({
            "alive": alive,
            "wish": wish,
            "autopilot": autopilot,
            "spent": spent.known,
            "spent_unknown": spent.unknown,
        }));
        return;
    }
    let doing = match (&work.end, at.doing) {
        (Some(end), _) => format!("ended: {}", describe_course_end(end)),
        (None, _) if !alive => "interrupted: `deepseek autopilot resume` resumes it".to_owned(),
        (None, Doing::Choosing) => "choosing the next step".to_owned(),
        (None, Doing::Working) => {
            let (number, since) = (work.rounds.len() + 1, around.local(&at.heartbeat));
            let step = render::harmless(step.as_deref().unwrap_or_default());
            format!("working on step {number} since {since}: {step}")
        }
        (None, Doing::Paused) => "paused: `deepseek autopilot resume` resumes it".to_owned(),
        (None, Doing::Ended) => "ended".to_owned(),
    };
    let wanted = match (wish, at.doing) {
        (Some(Wish::Pause), Doing::Choosing | Doing::Working) => "; it pauses after this step",
        (Some(Wish::Stop), Doing::Choosing | Doing::Working | Doing::Paused) => {
            "; it is being stopped"
        }
        (None | Some(Wish::Pause), _) | (Some(Wish::Stop), Doing::Ended) => "",
    };
    render::text(&format!("{}State    {doing}{wanted}\n", report(work)));
}

/// Formats the report as text.
fn report(work: &PilotState) -> String {
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
    let (Spending { known, unknown }, seconds) = (work.spent(), work.worked.as_secs());
    let unknown = match unknown.calls {
        0 => String::new(),
        calls => format!(
            "; and {} of unknown cost, at most {} and {}",
            counted(calls, "call"),
            counted(unknown.tokens, "token"),
            unknown.nano_usd
        ),
    };
    text.push_str(&format!(
        "Used     {}, {}, {}, {seconds} s{unknown}\n",
        counted(known.calls, "call"),
        counted(known.tokens, "token"),
        known.nano_usd
    ));
    text
}
