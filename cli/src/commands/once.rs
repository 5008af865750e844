//! A single request from the command line: `deepseek -p`, `deepseek ask`, and a request in words.
//!
//! A conversation is another command.

mod piped;

use crate::drive::{Drive, WorkspaceUse};
use crate::flags::{Global, OutputFormat, Require};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;
use config::{LaneMode, Mode};
use facts::delivery::Delivery;
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::session::SessionChoice;
use orchestrator::request::Request;
use orchestrator::request::intent::RequestIntent;
use std::io::{self, Read as _};
use tui::PlainLine;

pub(crate) use piped::with_piped;

/// Returns the single request from `-p` or standard input. Returns `None` if standard input is a terminal.
pub(crate) fn prompt(around: &Surroundings, global: &Global) -> Result<Option<Request>, CliError> {
    if let Some(prompt) = &global.prompt {
        return request(&with_piped(filled(prompt)?)?, global).map(Some);
    }
    if around.stdin_is_terminal {
        return Ok(None);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| {
        CliError::new(CliErrorKind::Usage, format!("cannot read standard input: {error}"))
    })?;
    request(&text, global).map(Some)
}

/// Reads a request that may begin with a slash command, as in a conversation. Commands that are not requests are refused,
/// because a model cannot perform them; so is `!COMMAND`, which runs only where the user sees what it is taken for.
pub(crate) fn request(text: &str, global: &Global) -> Result<Request, CliError> {
    let text = filled(text)?;
    let only_there = |hint: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        let error = format!("{word} is a command of the conversation, not a request");
        CliError::new(CliErrorKind::Usage, error).hint(hint)
    };
    if !text.starts_with(['/', '!']) {
        return Ok(Request::new(text, global.intent()));
    }
    match tui::read_plain_line(&text) {
        PlainLine::Request(text, said) => Ok(Request::new(text, global.intent_of(said))),
        PlainLine::Review(what) => {
            Err(only_there(&format!("`{}`", format!("deepseek review {what}").trim_end())))
        }
        PlainLine::Program(words) => Err(only_there(&format!("`deepseek {}`", words.join(" ")))),
        PlainLine::Not(why) => Err(CliError::new(CliErrorKind::Usage, why)),
        PlainLine::Undo => Err(only_there("`deepseek rewind` lists the checkpoints")),
        PlainLine::Resume(_) => Err(only_there("`deepseek -r ID` resumes a session")),
        PlainLine::Shell(_) => {
            let error = "`!` runs a command in a conversation; it does not begin a request";
            Err(CliError::new(CliErrorKind::Usage, error)
                .hint("`deepseek sandbox -- COMMAND` runs a command in the sandbox"))
        }
        PlainLine::Set(..)
        | PlainLine::Help(_)
        | PlainLine::Status
        | PlainLine::Compact
        | PlainLine::Context
        | PlainLine::Clear
        | PlainLine::Exit => Err(only_there("`deepseek` starts a conversation; `deepseek --help`")),
    }
}

fn filled(text: &str) -> Result<String, CliError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(CliError::new(CliErrorKind::Usage, "the request is empty")
            .hint("deepseek -p \"fix the failing test\""));
    }
    Ok(text.to_owned())
}

/// Returns the session that the flags select.
pub(crate) fn which(around: &Surroundings, global: &Global) -> Result<SessionChoice, CliError> {
    let past = || Past::find(around, global);
    match &global.resume {
        Some(id) if id.is_empty() => {
            Err(CliError::new(CliErrorKind::Usage, "-r needs a session id here")
                .hint("`deepseek sessions` lists them; `deepseek -r ID` resumes one"))
        }
        Some(id) if id == "latest" => past()?.talk().map(SessionChoice::Earlier),
        Some(id) => past()?.here(id).map(SessionChoice::Earlier),
        None if global.continue_last => past()?.talk().map(SessionChoice::Earlier),
        None => Ok(SessionChoice::New),
    }
}

/// Resumes the session's interrupted request, if there is one, before anything new is asked.
pub(crate) async fn finish_earlier(
    drive: &mut Drive,
    global: &Global,
    view: &mut dyn render::RunPresenter,
) -> Result<(), CliError> {
    let Some(outcome) = drive.resume(view).await? else { return Ok(()) };
    // With `--output json` there is one document: that of the new request.
    if global.output != OutputFormat::Json {
        view.outcome(&outcome, &drive.session.id);
    }
    tell(&outcome.delivery, global, view);
    // Stopping it also stops the request that was to follow.
    if outcome.delivery == Delivery::Cancelled {
        exit::exit_error(&outcome.delivery, None)
    } else {
        Ok(())
    }
}

/// Answers one question. Without tools, the model sees only the evidence gathered for it up front.
pub(crate) async fn ask(
    around: &Surroundings,
    global: &Global,
    question: String,
) -> Result<(), CliError> {
    let mut global = global.clone();
    if !global.tools {
        global.set.push(("agent_loop.max_look_rounds".to_owned(), "0".to_owned()));
    }
    once(around, &global, question, Some(RequestIntent::Answer)).await
}

/// Runs one request to its delivery.
pub(crate) async fn once(
    around: &Surroundings,
    global: &Global,
    text: String,
    intent: Option<RequestIntent>,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let text = filled(&text)?;
    let which = which(around, global)?;
    let from = around.within(&workspace);
    let note =
        from.map(|from| format!("workspace: {} (from {}/)", workspace.display(), from.display()));
    let purpose = match intent {
        Some(RequestIntent::Answer | RequestIntent::Plan | RequestIntent::Review) => {
            WorkspaceUse::Read
        }
        Some(RequestIntent::Edit | RequestIntent::Mission) | None => WorkspaceUse::Write,
    };
    let mut view = render::view(around, global);
    if let Some(note) = note {
        view.note(&render::harmless(&note));
    }
    let is_long =
        settings.config.policy.mode == Mode::Hetun || settings.config.lanes.mode == LaneMode::On;
    if is_long || intent == Some(RequestIntent::Mission) {
        Drive::warn_of_peak(&settings, view.as_mut());
    }
    let mut drive =
        Drive::open(around, &settings, workspace, which, purpose, view.as_mut()).await?;
    if purpose == WorkspaceUse::Read && drive.session.interrupted().is_some() {
        let open = "this session has an interrupted request, which may change files";
        let hint = format!("resume it first with `deepseek run {}`", drive.session.id);
        return Err(CliError::new(CliErrorKind::NotDelivered, open).hint(hint));
    }
    finish_earlier(&mut drive, global, view.as_mut()).await?;
    let outcome = drive.run(Request::new(text, intent), view.as_mut()).await?;
    drive.session.close().await;
    exit::exit_error(&outcome.delivery, global.require.map(Require::level))
}

/// Reports an undelivered request. It does not end the conversation.
pub(crate) fn tell(delivery: &Delivery, global: &Global, view: &mut dyn render::RunPresenter) {
    // That the user has stopped it is already shown.
    if *delivery != Delivery::Cancelled
        && let Err(error) = exit::exit_error(delivery, global.require.map(Require::level))
    {
        view.note(&tui::as_slash_commands(&error.to_string()));
    }
}
