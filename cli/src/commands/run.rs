//! `deepseek run`: resumes an interrupted request.

use clap::Args;
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::session::SessionChoice;

use crate::drive::{Drive, WorkspaceUse};
use crate::flags::Global;
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// Arguments of `deepseek run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Completed work is not repeated: answers and changes are kept, and the request continues with the settings it \
        started with. Calls and commands that were in progress are repeated."
)]
pub(crate) struct RunArgs {
    /// The session: its id, or the start or end of it [default: the latest with an interrupted request].
    session: Option<String>,
    /// More words, from a user who expects a request here.
    #[arg(hide = true)]
    more: Vec<String>,
}

impl RunArgs {
    /// Returns the arguments that select the latest session with an interrupted request.
    pub(crate) const fn latest() -> Self {
        Self { session: None, more: Vec::new() }
    }
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &RunArgs,
) -> Result<(), CliError> {
    let words: Vec<&str> = args.session.iter().chain(&args.more).map(String::as_str).collect();
    let request = words.join(" ");
    if request.contains(char::is_whitespace) {
        let error = "`deepseek run` resumes an interrupted request; it takes a session id";
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint(format!("to start a task: deepseek -p \"{request}\"")));
    }
    let past = Past::find(around, global)?;
    let id = match &args.session {
        Some(id) => past.here(id)?,
        None => past.interrupted()?,
    };
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let mut view = render::view(around, global);
    let which = SessionChoice::Earlier(id.clone());
    let mut drive =
        Drive::open(around, &settings, workspace, which, WorkspaceUse::Write, view.as_mut())
            .await?;
    match drive.resume(view.as_mut()).await? {
        Some(outcome) => {
            view.outcome(&outcome, &drive.session.id);
            exit::exit_error(&outcome.delivery, None)
        }
        None => Err(CliError::new(
            CliErrorKind::Usage,
            format!("session {id} has no interrupted request"),
        )
        .hint(format!("`deepseek -r {id}` continues the session"))),
    }
}
