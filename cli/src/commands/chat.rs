//! `deepseek chat`, `ask` and `plan`: single requests and interactive sessions. The screen of a session is in [`tui`].

mod plain;

use std::path::Path;
use std::sync::Arc;

use config::Settings;
use front::error::CliError;
use front::run_view::{CommandsGiven, UndoPoint};
use front::session::{Session, SessionChoice};
use tools::ids::short_id;
use tui::{ConversationEnd, Facts, Opening};

use crate::banner::{Banner, SessionStart};
use crate::commands::once::{finish_earlier, which};
use crate::completion_candidates::{self, kept_sessions};
use crate::drive::{Drive, WorkspaceUse};
use crate::flags::{Global, Require};
use crate::host::ProgramHost;
use crate::past::Past;
use crate::recap;
use crate::render;
use crate::surroundings::Surroundings;

use plain::Plain;

/// Runs the interactive session until the user leaves; `/resume` and `/new` switch to other sessions.
pub(crate) async fn converse(around: &Surroundings, global: &Global) -> Result<(), CliError> {
    let mut global = global.clone();
    let is_open = global.resume.as_deref() == Some("");
    let screen = around.alternate_screen(&global);
    if is_open && screen.is_allowed() {
        let paint = around.paint_out(global.color);
        let kept = kept_sessions(&Past::find(around, &global)?)?;
        let Some(id) = tui::pick(kept, paint, screen).await? else {
            return Ok(());
        };
        global.resume = Some(id);
    }
    loop {
        let (ended, session) = Box::pin(talk(around, &global)).await?;
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
    let mut drive = Drive::open(
        around,
        &settings,
        workspace.clone(),
        which.clone(),
        WorkspaceUse::Write,
        view.as_mut(),
    )
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
            SessionChoice::New => SessionStart::New,
            SessionChoice::Earlier(id) if session.interrupted().is_some() => {
                SessionStart::Interrupted(id)
            }
            SessionChoice::Earlier(id) => SessionStart::Continued(id),
        },
    };
    let interrupted = match which {
        SessionChoice::New => Past::find(around, global).and_then(|past| past.interrupted()).ok(),
        SessionChoice::Earlier(_) => None,
    };
    let command = if around.has_live_rows(global) { "/resume" } else { "deepseek run" };
    let resume = interrupted.map(|id| {
        format!("\na request was interrupted here; to resume it: {command} {}", short_id(&id))
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
        let turns = recap::recap_lines(session, own.filter_map(|entry| entry.event.as_ref()));
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
        models: completion_candidates::models(settings),
        keys: completion_candidates::keys(settings),
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
