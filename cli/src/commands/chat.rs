//! `deepseek chat`, `ask` and `plan`: single requests and interactive sessions. The screen of a session is in [`tui`].

mod piped;
mod plain;

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use actors::delivery::Delivery;
use config::Settings;
use front::error::{CliError, Kind};
use front::exit;
use front::run_view::{CommandsGiven, UndoPoint};
use front::session::{Session, SessionChoice};
use orchestrator::chat::Intent;
use orchestrator::request::Request;
use tools::ids::short;
use tui::{ConversationEnd, Facts, Opening, PlainLine};

use crate::banner::{Banner, Begins};
use crate::drive::{Drive, Use};
use crate::flags::{Global, Output, Require};
use crate::host::ProgramHost;
use crate::nameable::{self, kept};
use crate::past::Past;
use crate::recap;
use crate::render;
use crate::surroundings::Surroundings;

pub(crate) use piped::with_piped;
use plain::{Plain, tell};

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
        CliError::new(Kind::Usage, format!("cannot read standard input: {error}"))
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
        CliError::new(Kind::Usage, error).hint(hint)
    };
    if !text.starts_with(['/', '!']) {
        return Ok(Request::new(text, global.intent()));
    }
    match tui::line(&text) {
        PlainLine::Request(text, said) => Ok(Request::new(text, global.intent_of(said))),
        PlainLine::Review(what) => {
            Err(only_there(&format!("`{}`", format!("deepseek review {what}").trim_end())))
        }
        PlainLine::Program(words) => Err(only_there(&format!("`deepseek {}`", words.join(" ")))),
        PlainLine::Not(why) => Err(CliError::new(Kind::Usage, why)),
        PlainLine::Undo => Err(only_there("`deepseek rewind` lists the checkpoints")),
        PlainLine::Resume(_) => Err(only_there("`deepseek -r ID` resumes a session")),
        PlainLine::Shell(_) => {
            let error = "`!` runs a command in a conversation; it does not begin a request";
            Err(CliError::new(Kind::Usage, error)
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
        return Err(CliError::new(Kind::Usage, "the request is empty")
            .hint("deepseek -p \"fix the failing test\""));
    }
    Ok(text.to_owned())
}

/// Returns the session that the flags select.
fn which(around: &Surroundings, global: &Global) -> Result<SessionChoice, CliError> {
    let past = || Past::find(around, global);
    match &global.resume {
        Some(id) if id.is_empty() => Err(CliError::new(Kind::Usage, "-r needs a session id here")
            .hint("`deepseek sessions` lists them; `deepseek -r ID` resumes one")),
        Some(id) if id == "latest" => past()?.talk().map(SessionChoice::Earlier),
        Some(id) => past()?.here(id).map(SessionChoice::Earlier),
        None if global.continue_last => past()?.talk().map(SessionChoice::Earlier),
        None => Ok(SessionChoice::New),
    }
}

/// Resumes the session's interrupted request, if there is one, before anything new is asked.
async fn finish_earlier(
    drive: &mut Drive,
    global: &Global,
    view: &mut dyn render::View,
) -> Result<(), CliError> {
    let Some(outcome) = drive.resume(view).await? else { return Ok(()) };
    // With `--output json` there is one document: that of the new request.
    if global.output != Output::Json {
        view.outcome(&outcome, &drive.session.id);
    }
    tell(&outcome.delivery, global, view);
    // Stopping it also stops the request that was to follow.
    if outcome.delivery == Delivery::Cancelled { exit::of(&outcome.delivery, None) } else { Ok(()) }
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
    once(around, &global, question, Some(Intent::Answer)).await
}

/// Runs one request to its delivery.
pub(crate) async fn once(
    around: &Surroundings,
    global: &Global,
    text: String,
    intent: Option<Intent>,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let text = filled(&text)?;
    let which = which(around, global)?;
    let from = around.within(&workspace);
    let note =
        from.map(|from| format!("workspace: {} (from {}/)", workspace.display(), from.display()));
    let purpose = match intent {
        Some(Intent::Answer | Intent::Plan | Intent::Review) => Use::Read,
        Some(Intent::Edit | Intent::Mission) | None => Use::Write,
    };
    let mut view = render::view(around, global);
    if let Some(note) = note {
        view.note(&render::harmless(&note));
    }
    let mut drive =
        Drive::open(around, &settings, workspace, which, purpose, view.as_mut()).await?;
    if purpose == Use::Read && drive.session.interrupted().is_some() {
        let open = "this session has an interrupted request, which may change files";
        let hint = format!("resume it first with `deepseek run {}`", drive.session.id);
        return Err(CliError::new(Kind::NotDelivered, open).hint(hint));
    }
    finish_earlier(&mut drive, global, view.as_mut()).await?;
    let outcome = drive.run(Request::new(text, intent), view.as_mut()).await?;
    drive.session.close().await;
    exit::of(&outcome.delivery, global.require.map(Require::level))
}

/// Runs the interactive session until the user leaves; `/resume` and `/new` switch to other sessions.
pub(crate) async fn converse(around: &Surroundings, global: &Global) -> Result<(), CliError> {
    let mut global = global.clone();
    let is_open = global.resume.as_deref() == Some("");
    let screen = around.alternate_screen(&global);
    if is_open && screen.is_allowed() {
        let paint = around.paint_out(global.color);
        let kept = kept(&Past::find(around, &global)?)?;
        let Some(id) = tui::pick(kept, paint, screen).await? else {
            return Ok(());
        };
        global.resume = Some(id);
    }
    loop {
        let (ended, session) = talk(around, &global).await?;
        match ended {
            ConversationEnd::Exit => {
                let past = Past::find(around, &global)?;
                if around.has_live_rows(&global) && past.talk().is_ok_and(|last| last == session) {
                    render::warn("`deepseek -c` continues this conversation");
                }
                return Ok(());
            }
            ConversationEnd::Resume(id) => {
                global.continue_last = false;
                global.resume = Some(id);
            }
            ConversationEnd::New => {
                global.continue_last = false;
                global.resume = None;
            }
        }
    }
}

/// Runs the interactive session in one session of the journal. Returns where the user goes next, and the session.
async fn talk(
    around: &Surroundings,
    global: &Global,
) -> Result<(ConversationEnd, String), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let mut view = render::view_naming(around, global, CommandsGiven::OfTheConversation);
    let which = which(around, global)?;
    let mut drive =
        Drive::open(around, &settings, workspace.clone(), which.clone(), Use::Write, view.as_mut())
            .await?;
    let earlier = match &which {
        SessionChoice::New => Earlier::default(),
        SessionChoice::Earlier(id) => Earlier::of(around, global, id),
    };
    let banner = banner(around, global, &settings, &workspace, &which, &drive.session);
    let banner = earlier.turns.iter().fold(banner, |banner, turns| banner + "\n" + turns);
    if around.has_live_rows(global) {
        let mut opening = opening(around, global, &settings, &workspace, &drive.session, banner)?;
        opening.undo = earlier.undo;
        let host = Arc::new(ProgramHost::new(around.clone(), global.clone(), workspace, &settings));
        let id = drive.session.id.clone();
        return Ok((tui::converse(drive.session, opening, host).await?, id));
    }
    view.note(&banner);
    view.resumes_after(earlier.undo);
    finish_earlier(&mut drive, global, view.as_mut()).await?;
    view.note("Ask a question or describe a change. /help lists commands; Ctrl-D exits.");
    let host =
        Arc::new(ProgramHost::new(around.clone(), global.clone(), workspace.clone(), &settings));
    let mut facts = Facts { session: drive.session.id.clone(), ..Facts::default() };
    facts.workspace = render::harmless(&workspace.display().to_string());
    facts.update(&settings.config);
    let plain = Plain { global, workspace, host, facts, drive, view: view.as_mut() };
    let id = plain.drive.session.id.clone();
    Ok((plain.converse(&around.state_dir()?.join("history")).await?, id))
}

/// Formats the banner, with a hint if a request was interrupted in this workspace.
fn banner(
    around: &Surroundings,
    global: &Global,
    settings: &Settings,
    workspace: &Path,
    which: &SessionChoice,
    session: &Session,
) -> String {
    let from = around.within(workspace);
    let from = from.map(|from| render::harmless(&from.display().to_string()));
    let banner = Banner {
        version: env!("CARGO_PKG_VERSION"),
        workspace: &render::harmless(&workspace.display().to_string()),
        from: from.as_deref(),
        config: &settings.config,
        session: match which {
            SessionChoice::New => Begins::New,
            SessionChoice::Earlier(id) if session.interrupted().is_some() => {
                Begins::Interrupted(id)
            }
            SessionChoice::Earlier(id) => Begins::Continued(id),
        },
    };
    let interrupted = match which {
        SessionChoice::New => Past::find(around, global).and_then(|past| past.interrupted()).ok(),
        SessionChoice::Earlier(_) => None,
    };
    let command = if around.has_live_rows(global) { "/resume" } else { "deepseek run" };
    let resume = interrupted.map(|id| {
        format!("\na request was interrupted here; to resume it: {command} {}", short(&id))
    });
    banner.lines() + &resume.unwrap_or_default()
}

/// What a conversation needs to know about the earlier requests of its session.
#[derive(Default)]
struct Earlier {
    /// Lines about the last turns; `None` if there are none or they cannot be read.
    turns: Option<String>,
    undo: UndoPoint,
}

impl Earlier {
    /// Reads it from the session with this id.
    fn of(around: &Surroundings, global: &Global, session: &str) -> Self {
        let story = Past::find_quietly(around, global).and_then(|past| past.story(session));
        let Ok(story) = story else { return Self::default() };
        let mut undo = UndoPoint::default();
        story.entries.iter().filter_map(|it| it.event.as_ref()).for_each(|it| undo.note(it));
        let own = story.entries.iter().filter(|it| it.lane.is_none() && it.part.is_none());
        let turns = recap::lines(session, own.filter_map(|entry| entry.event.as_ref()));
        Self { turns, undo }
    }
}

/// Collects what a conversation with live rows needs to start.
fn opening(
    around: &Surroundings,
    global: &Global,
    settings: &Settings,
    workspace: &Path,
    session: &Session,
    banner: String,
) -> Result<Opening, CliError> {
    let config = &settings.config;
    let mut facts = Facts {
        workspace: render::harmless(&workspace.display().to_string()),
        session: session.id.clone(),
        intent: global.intent(),
        commits: around.offers_commits(global),
        alternate_screen: around.screen(global, &config.tui),
        calls: around.calls(),
        models: nameable::models(settings),
        keys: nameable::keys(settings),
        ..Facts::default()
    };
    facts.update(config);
    Ok(Opening {
        facts,
        paint: around.paint_out(global.color),
        background: around.background(),
        cuts: around.terminal_cuts(),
        history: around.workspace_state(workspace)?.join("history.jsonl"),
        require: global.require.map(Require::level),
        banner,
        undo: UndoPoint::default(),
    })
}
