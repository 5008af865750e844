//! Shows what an autopilot does, passes on what the user wants, and reports its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Settings;
use facts::autopilot::AutopilotEnd;
use facts::signal::Attendance;
use front::describe::describe_course_end;
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::session::{SessionChoice, SessionEvent};
use orchestrator::autopilot::course::{Course, CourseWish};
use orchestrator::autopilot::{Autopilot, CourseBroken, CourseNews, FinishedCourse};
use serde_json::json;
use shell::{CommandLine, RunOptions};

use super::super::sandbox;
use super::desk::{Desk, Doing, Wish};
use super::report;
use crate::drive::{Drive, WorkspaceUse};
use crate::flags::{Global, OutputFormat};
use crate::render::{self, RunPresenter};
use crate::surroundings::Surroundings;

/// Runs the autopilot until it ends, then prints the report.
pub(super) async fn fly(
    around: &Surroundings,
    global: &Global,
    settings: Settings,
    workspace: PathBuf,
    desk: Desk,
    mut course: Course,
    which: SessionChoice,
) -> Result<(), CliError> {
    let mut view = render::view(around, global);
    let goal = |command: &String| goal(around, (&settings, &workspace), command);
    let mut goal = course.work.until.as_ref().map(goal).transpose()?;
    if which == SessionChoice::New
        && let (Some(command), Some((line, options))) = (&course.work.until, &goal)
        && shell::run(line, options).await.succeeded()
    {
        go_on_without(command, view.attendance()).await?;
        (course.work.until, goal) = (None, None);
    }
    let mut drive = Drive::open(
        around,
        &settings,
        workspace.clone(),
        which,
        WorkspaceUse::Write,
        view.as_mut(),
    )
    .await?;
    Drive::warn_of_peak(&settings, view.as_mut());
    drive.show_interrupted(view.as_mut());
    let config = Arc::new(settings.config);
    let autopilot = drive
        .session
        .start_autopilot(course, config, goal)
        .await
        .map_err(|error| exit::not_started(&error))?;
    heed(&mut drive, &desk, &autopilot);
    let FinishedCourse { work, end } =
        follow(global, &desk, &mut drive, &autopilot, view.as_mut()).await?;
    let end = end.map_err(|broken| broken_off(broken, view.attendance()))?;
    let is_wanted = desk.wish() == Some(Wish::Stop);
    desk.note(&drive.session.id, Doing::Ended)?;
    desk.wishes(None)?;
    if global.output == OutputFormat::Text {
        render::text(&format!("\n{}Ended    {}\n", report(&work), describe_course_end(&end)));
    } else {
        let spent = work.spent();
        render::json_line(
            &json!({"autopilot": work, "spent": spent.known, "spent_unknown": spent.unknown}),
        );
    }
    exit_error(&end, is_wanted)
}

/// Passes on what other terminals want, whenever that changes.
fn heed(drive: &mut Drive, desk: &Desk, autopilot: &Autopilot) {
    let (desk, autopilot, mut heard) = (desk.clone(), autopilot.clone(), None);
    drive.heeding(move || {
        let wish = desk.wish();
        if std::mem::replace(&mut heard, wish) != wish {
            autopilot.wish(wish.map(|wish| match wish {
                Wish::Pause => CourseWish::Pause,
                Wish::Stop => CourseWish::Stop,
            }));
        }
    });
}

/// Shows what happens until the course has ended.
async fn follow(
    global: &Global,
    desk: &Desk,
    drive: &mut Drive,
    autopilot: &Autopilot,
    view: &mut dyn RunPresenter,
) -> Result<FinishedCourse, CliError> {
    // What the steering model writes is for the program.
    let mut is_quiet = true;
    loop {
        let told = match drive.follow(autopilot, view, is_quiet).await? {
            SessionEvent::AutopilotNews(told) => told,
            SessionEvent::AutopilotEnded(Ok(finished)) => return Ok(*finished),
            SessionEvent::AutopilotEnded(Err(died)) | SessionEvent::Ended(Err(died)) => {
                return Err(exit::died(&died));
            }
            SessionEvent::Signal(_) | SessionEvent::Ended(Ok(_)) | SessionEvent::Applied(_) => {
                continue;
            }
        };
        let doing = match told.news {
            CourseNews::Taken(outcome) => {
                // With `--output json` a single document covers all steps.
                if global.output != OutputFormat::Json {
                    view.outcome(&outcome, &drive.session.id);
                }
                Doing::Choosing
            }
            CourseNews::Choosing => {
                view.submitted();
                Doing::Choosing
            }
            CourseNews::TakenUp(step) => step.map_or(Doing::Choosing, |_| Doing::Working),
            CourseNews::Working { number, step } => {
                view.note(&format!("step {number}: {}", render::harmless(&step)));
                view.submitted();
                Doing::Working
            }
            CourseNews::Paused => {
                view.note("paused; `deepseek autopilot resume` resumes it");
                Doing::Paused
            }
        };
        is_quiet = doing != Doing::Working || global.output == OutputFormat::Json;
        desk.note(&drive.session.id, doing)?;
        // An autopilot that is gone waits for nothing.
        told.shown.send(()).ok();
    }
}

/// Returns the command that decides whether the task is done, and how it is run.
fn goal(
    around: &Surroundings,
    (settings, workspace): (&Settings, &Path),
    command: &str,
) -> Result<(CommandLine, RunOptions), CliError> {
    let line = CommandLine::parse(command)
        .map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    let fence = sandbox::fence(around, settings, workspace)?;
    Ok((line, sandbox::options_in(fence, around, (settings, workspace))))
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

fn broken_off(broken: CourseBroken, attendance: Attendance) -> CliError {
    let error = match broken {
        CourseBroken::NotUndone(refused) => {
            return match exit::of_change(Some(Err(refused)), attendance) {
                Ok(_) => CliError::new(CliErrorKind::Internal, "a step is not undone"),
                Err(error) => error,
            };
        }
        paused @ CourseBroken::Paused(_) => CliError::caused(CliErrorKind::Provider, &paused),
        CourseBroken::Unreadable(error) => CliError::caused(CliErrorKind::Internal, &error),
        CourseBroken::Journal(error) => CliError::caused(CliErrorKind::Internal, &error),
        CourseBroken::Config(error) => CliError::caused(CliErrorKind::Internal, &error),
        CourseBroken::Died(error) => CliError::caused(CliErrorKind::Internal, &error),
    };
    error.hint("deepseek autopilot resume")
}

/// Returns the error of a course that ended, unless its task is done. `is_wanted` is true if another terminal stopped it.
fn exit_error(end: &AutopilotEnd, is_wanted: bool) -> Result<(), CliError> {
    let error =
        |kind| CliError::new(kind, format!("the autopilot ended: {}", describe_course_end(end)));
    let look =
        "delivered steps are in the workspace; `deepseek rewind` lists checkpoints to undo them";
    match end {
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
