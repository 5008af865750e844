//! `deepseek chat`, `ask` and `plan`: single requests and interactive sessions.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use actors::delivery::Delivery;
use config::Settings;
use front::command_output::CommandOutput;
use front::error::{CliError, Kind};
use front::exit;
use front::interrupts::Interrupt;
use front::run_view::{CommandsGiven, UndoPoint};
use front::session::{Session, Which};
use orchestrator::chat::Intent;
use orchestrator::request::Request;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::{Config as LineConfig, DefaultEditor};
use tools::ids::short;
use tools::regular::{self, MAX_NOTE_BYTES};
use tui::{Facts, Host as _, Left, Line, Opening, Visits};

use crate::banner::{Banner, Begins};
use crate::commands::review;
use crate::drive::{Drive, Use};
use crate::flags::{Global, Output, Require};
use crate::host::ProgramHost;
use crate::nameable::{self, kept};
use crate::past::Past;
use crate::recap;
use crate::render;
use crate::surroundings::Surroundings;

/// Returns the single request from `-p` or standard input. Returns `None` if standard input is a terminal.
pub(crate) fn prompt(around: &Surroundings, global: &Global) -> Result<Option<Request>, CliError> {
    if let Some(prompt) = &global.prompt {
        return request(prompt, global).map(Some);
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
        return Ok(Request::new(text, intent(global)));
    }
    match tui::line(&text) {
        Line::Request(text, said) => Ok(Request::new(text, wanted(said, global))),
        Line::Review(what) => {
            Err(only_there(&format!("`{}`", format!("deepseek review {what}").trim_end())))
        }
        Line::Program(words) => Err(only_there(&format!("`deepseek {}`", words.join(" ")))),
        Line::Not(why) => Err(CliError::new(Kind::Usage, why)),
        Line::Undo => Err(only_there("`deepseek rewind` lists the checkpoints")),
        Line::Resume(_) => Err(only_there("`deepseek -r ID` resumes a session")),
        Line::Shell(_) => {
            let error = "`!` runs a command in a conversation; it does not begin a request";
            Err(CliError::new(Kind::Usage, error)
                .hint("`deepseek sandbox -- COMMAND` runs a command in the sandbox"))
        }
        Line::Set(..) | Line::Help(_) | Line::Status | Line::Clear | Line::Exit => {
            Err(only_there("`deepseek` starts a conversation; `deepseek --help`"))
        }
    }
}

/// Returns the intent of a request that names one itself, together with the flags.
fn wanted(said: Option<Intent>, global: &Global) -> Option<Intent> {
    let by_flag = intent(global);
    if said == Some(Intent::Edit) { by_flag.or(said) } else { said.or(by_flag) }
}

fn filled(text: &str) -> Result<String, CliError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(CliError::new(Kind::Usage, "the request is empty")
            .hint("deepseek -p \"fix the failing test\""));
    }
    Ok(text.to_owned())
}

/// Returns the intent that the flags force; `None` if the request itself decides.
pub(crate) fn intent(global: &Global) -> Option<Intent> {
    if global.plan_only {
        Some(Intent::Plan)
    } else if !global.tools {
        Some(Intent::Answer)
    } else if global.force_execute {
        Some(Intent::Edit)
    } else {
        None
    }
}

/// Returns the session that the flags select.
fn which(around: &Surroundings, global: &Global) -> Result<Which, CliError> {
    let past = || Past::find(around, global);
    match &global.resume {
        Some(id) if id.is_empty() => Err(CliError::new(Kind::Usage, "-r needs a session id here")
            .hint("`deepseek sessions` lists them; `deepseek -r ID` resumes one")),
        Some(id) if id == "latest" => past()?.talk().map(Which::Earlier),
        Some(id) => past()?.here(id).map(Which::Earlier),
        None if global.continue_last => past()?.talk().map(Which::Earlier),
        None => Ok(Which::New),
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
    exit::of(&outcome.delivery, global.require.map(Require::level))
}

/// Runs the interactive session until the user leaves; `/resume` and `/new` switch to other sessions.
pub(crate) async fn converse(around: &Surroundings, global: &Global) -> Result<(), CliError> {
    let mut global = global.clone();
    let is_open = global.resume.as_deref() == Some("");
    if is_open && around.may_visit(&global) {
        let paint = around.paint_out(global.color);
        let Some(id) = tui::pick(kept(&Past::find(around, &global)?)?, paint).await? else {
            return Ok(());
        };
        global.resume = Some(id);
    }
    loop {
        match talk(around, &global).await? {
            Left::ForGood => return Ok(()),
            Left::For(id) => {
                global.continue_last = false;
                global.resume = Some(id);
            }
            Left::ForANew => {
                global.continue_last = false;
                global.resume = None;
            }
        }
    }
}

/// Runs the interactive session in one session of the journal. Returns where the user goes next.
async fn talk(around: &Surroundings, global: &Global) -> Result<Left, CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let mut view = render::view_naming(around, global, CommandsGiven::OfTheConversation);
    let which = which(around, global)?;
    let mut drive =
        Drive::open(around, &settings, workspace.clone(), which.clone(), Use::Write, view.as_mut())
            .await?;
    let earlier = match &which {
        Which::New => Earlier::default(),
        Which::Earlier(id) => Earlier::of(around, global, id),
    };
    let banner = banner(around, global, &settings, &workspace, &which, &drive.session);
    let banner = earlier.turns.iter().fold(banner, |banner, turns| banner + "\n" + turns);
    if around.has_live_rows(global) {
        let mut opening = opening(around, global, &settings, &workspace, &drive.session, banner)?;
        opening.undo = earlier.undo;
        let host = Arc::new(ProgramHost::new(around.clone(), global.clone(), workspace, &settings));
        return tui::converse(drive.session, opening, host).await;
    }
    view.note(&banner);
    view.resumes_after(earlier.undo);
    finish_earlier(&mut drive, global, view.as_mut()).await?;
    view.note("Ask a question or describe a change. /help lists commands; Ctrl-D exits.");
    let history = around.state_dir()?.join("history");
    let line_config = LineConfig::builder().auto_add_history(true).build();
    let mut editor =
        DefaultEditor::with_config(line_config).map_err(|error| no_terminal(&error))?;
    // A missing history file is created; anything that is not a readable file is left alone.
    let has_history = regular::read(&history, MAX_NOTE_BYTES)
        .map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |_| true);
    if has_history {
        editor.load_history(&history).ok();
    }
    let host =
        Arc::new(ProgramHost::new(around.clone(), global.clone(), workspace.clone(), &settings));
    let mut facts = Facts { session: drive.session.id.clone(), ..Facts::default() };
    facts.workspace = render::harmless(&workspace.display().to_string());
    facts.update(&settings.config);
    let mut plain = Plain { global, workspace, host, facts };
    loop {
        drive.session.release();
        let terminal = Terminal::now();
        let (returned, line) = tokio::select! {
            biased;
            // Listen for signals before showing the prompt: one may be sent as soon as it is visible.
            leaves = drive.asked_to_leave() => {
                terminal.restore();
                return leaves.map(|()| Left::ForGood);
            }
            read = read_line(editor) => read?,
        };
        editor = returned;
        // Save now, because the terminal can be closed at any time.
        if has_history && editor.append_history(&history).is_err() {
            tracing::warn!("the input history could not be saved");
        }
        match line {
            Ok(line) => match line.trim() {
                "" => {}
                "exit" | "quit" => break,
                text => match plain.perform(text, &mut drive, view.as_mut()).await? {
                    Some(left) => {
                        drive.session.close().await;
                        return Ok(left);
                    }
                    None if drive.leaves => break,
                    None => {}
                },
            },
            Err(ReadlineError::Interrupted) => view.note("(Ctrl-D or /exit to exit)"),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(no_terminal(&error)),
        }
    }
    Ok(Left::ForGood)
}

/// Formats the banner, with a hint if a request was interrupted in this workspace.
fn banner(
    around: &Surroundings,
    global: &Global,
    settings: &Settings,
    workspace: &Path,
    which: &Which,
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
            Which::New => Begins::New,
            Which::Earlier(id) if session.interrupted().is_some() => Begins::Interrupted(id),
            Which::Earlier(id) => Begins::Continued(id),
        },
    };
    let interrupted = match which {
        Which::New => Past::find(around, global).and_then(|past| past.interrupted()).ok(),
        Which::Earlier(_) => None,
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
        intent: intent(global),
        commits: around.offers_commits(global),
        visits: if global.no_alt_screen { Visits::Never } else { Visits::Allowed },
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

/// The terminal's settings, to be restored when reading a line is abandoned.
struct Terminal(Option<Termios>);

impl Terminal {
    fn now() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }

    fn restore(self) {
        let Self(Some(settings)) = self else { return };
        // If the terminal is gone, there is nothing to restore.
        tcsetattr(io::stdin(), OptionalActions::Now, &settings).ok();
        render::leave_prompt();
    }
}

/// A conversation of plain lines, as far as its lines are commands.
struct Plain<'p> {
    global: &'p Global,
    workspace: PathBuf,
    host: Arc<ProgramHost>,
    facts: Facts,
}

impl Plain<'_> {
    /// Does what a line asks for. Why this session is left, if it is.
    async fn perform(
        &mut self,
        text: &str,
        drive: &mut Drive,
        view: &mut dyn render::View,
    ) -> Result<Option<Left>, CliError> {
        let not =
            |why: &dyn fmt::Display| render::harmless(&tui::as_slash_commands(&why.to_string()));
        match tui::line(text) {
            Line::Request(text, said) => {
                let request = Request::new(text, wanted(said, self.global));
                self.request(request, drive, view).await?;
            }
            Line::Review(what) => match review::check(&self.workspace, &what) {
                Ok(()) => {
                    let text = format!("review {what}");
                    let request = Request::new(text.trim_end(), Some(Intent::Review));
                    self.request(request, drive, view).await?;
                }
                Err(error) => view.note(&not(&error)),
            },
            Line::Program(words) => self.program(words).await?,
            Line::Undo => match view.start() {
                Some(checkpoint) => {
                    self.program(vec!["rewind".to_owned(), checkpoint.to_string()]).await?;
                }
                None => {
                    view.note(
                        "no request has changed anything here yet; /rewind lists checkpoints",
                    );
                }
            },
            Line::Shell(line) => self.shell(&line, drive, view).await?,
            Line::Set(setting, value) => {
                let said = match self.host.configured(setting, &value) {
                    Ok(config) => {
                        self.facts.update(&config);
                        let kept = drive.session.configure(config).await;
                        let Facts { mode, approval, model, .. } = &self.facts;
                        kept.map_or_else(
                            |error| format!("error: {error}"),
                            |()| format!("from the next request on: {mode} · {approval} · {model}"),
                        )
                    }
                    Err(why) => why,
                };
                view.note(&render::harmless(&said));
            }
            Line::Help(lines) => view.note(&lines),
            Line::Status => view.note(&self.facts.lines()),
            Line::Resume(called) => match self.host.session(&called) {
                Ok(id) if id == drive.session.id => view.note("this session is already open"),
                Ok(id) if self.host.is_open(&id) => view.note(&tui::open_elsewhere(&id)),
                Ok(id) => return Ok(Some(Left::For(id))),
                Err(why) => view.note(&not(&why)),
            },
            Line::Clear => return Ok(Some(Left::ForANew)),
            Line::Exit => return Ok(Some(Left::ForGood)),
            Line::Not(why) => view.note(&render::harmless(&why)),
        }
        Ok(None)
    }

    /// Takes a request to its delivery.
    async fn request(
        &self,
        request: Request,
        drive: &mut Drive,
        view: &mut dyn render::View,
    ) -> Result<(), CliError> {
        if let Err(error) = drive.acquire().await {
            view.note(&error.to_string());
            return Ok(());
        }
        let outcome = drive.run(request, view).await?;
        tell(&outcome.delivery, self.global, view);
        Ok(())
    }

    /// Runs a command of the program, which prints what it has to say.
    async fn program(&self, words: Vec<String>) -> Result<(), CliError> {
        let host = Arc::clone(&self.host);
        let done = tokio::task::spawn_blocking(move || host.command(&words)).await;
        done.map_err(|error| CliError::caused(Kind::Internal, &error))
    }

    /// Runs a shell command and prints its output as it arrives.
    async fn shell(
        &self,
        line: &str,
        drive: &mut Drive,
        view: &mut dyn render::View,
    ) -> Result<(), CliError> {
        let output: Arc<Mutex<CommandOutput>> = Arc::default();
        let on_output = {
            let output = Arc::clone(&output);
            move |bytes: &[u8]| {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                output.add(bytes);
                output.ready().iter().for_each(|line| render::line(line));
            }
        };
        let ran = tokio::select! {
            ran = self.host.shell(line, Box::new(on_output)) => ran.unwrap_or_else(|why| why),
            interrupt = drive.stopped() => {
                drive.leaves |= interrupt? == Interrupt::Leave;
                "stopped".to_owned()
            }
        };
        let rest = output.lock().unwrap_or_else(PoisonError::into_inner).end();
        for line in &rest {
            render::line(line);
        }
        if !ran.is_empty() {
            view.note(&render::harmless(&ran));
        }
        Ok(())
    }
}

/// Reports an undelivered request. It does not end the conversation.
fn tell(delivery: &Delivery, global: &Global, view: &mut dyn render::View) {
    // That the user has stopped it is already shown.
    if *delivery != Delivery::Cancelled
        && let Err(error) = exit::of(delivery, global.require.map(Require::level))
    {
        view.note(&tui::as_slash_commands(&error.to_string()));
    }
}

/// Reads a line without blocking the runtime.
async fn read_line(
    mut editor: DefaultEditor,
) -> Result<(DefaultEditor, Result<String, ReadlineError>), CliError> {
    tokio::task::spawn_blocking(move || {
        let line = editor.readline("› ");
        (editor, line)
    })
    .await
    .map_err(|error| CliError::caused(Kind::Internal, &error))
}

fn no_terminal(error: &ReadlineError) -> CliError {
    CliError::caused(Kind::Internal, error).hint("give the request with -p")
}
