//! The conversation in plain lines, for terminals that can do no more.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use front::command_output::CommandOutput;
use front::error::{CliError, CliErrorKind};
use front::interrupts::Interrupt;
use orchestrator::request::Request;
use orchestrator::request::intent::RequestIntent;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::{Config as LineConfig, DefaultEditor};
use tools::regular::{self, MAX_NOTE_BYTES};
use tui::{ConversationEnd, ConversationSetting, Facts, Host, PlainLine};

use crate::commands::once::tell;
use crate::commands::review;
use crate::drive::Drive;
use crate::flags::Global;
use crate::render;

/// A conversation of plain lines.
pub(super) struct Plain<'p> {
    pub(super) global: &'p Global,
    pub(super) workspace: PathBuf,
    pub(super) host: Arc<dyn Host>,
    pub(super) facts: Facts,
    pub(super) drive: Drive,
    pub(super) view: &'p mut dyn render::RunPresenter,
}

impl Plain<'_> {
    /// Reads and performs lines until the user leaves. Returns where the user goes next.
    pub(super) async fn converse(mut self, history: &Path) -> Result<ConversationEnd, CliError> {
        let line_config = LineConfig::builder().auto_add_history(true).build();
        let mut editor =
            DefaultEditor::with_config(line_config).map_err(|error| no_terminal(&error))?;
        // A missing history file is created; anything that is not a readable file is left alone.
        let has_history = regular::read_regular_file(history, MAX_NOTE_BYTES)
            .map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |_| true);
        if has_history {
            editor.load_history(history).ok();
        }
        loop {
            self.drive.session.release();
            let terminal = Terminal::now();
            let (returned, line) = tokio::select! {
                biased;
                // Listen for signals before showing the prompt: one may be sent as soon as it is visible.
                leaves = self.drive.asked_to_leave() => {
                    terminal.restore();
                    return leaves.map(|()| ConversationEnd::Exit);
                }
                read = read_line(editor) => read?,
            };
            editor = returned;
            // Save now, because the terminal can be closed at any time.
            if has_history && editor.append_history(history).is_err() {
                tracing::warn!("the input history could not be saved");
            }
            match line {
                Ok(line) => match line.trim() {
                    "" => {}
                    "exit" | "quit" => break,
                    text => match self.perform(text).await? {
                        Some(left) => {
                            self.drive.session.close().await;
                            return Ok(left);
                        }
                        None if self.drive.leaves => break,
                        None => {}
                    },
                },
                Err(ReadlineError::Interrupted) => self.view.note("(Ctrl-D or /exit to exit)"),
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(no_terminal(&error)),
            }
        }
        Ok(ConversationEnd::Exit)
    }

    /// Does what a line asks for. Why this session is left, if it is.
    async fn perform(&mut self, text: &str) -> Result<Option<ConversationEnd>, CliError> {
        let not =
            |why: &dyn fmt::Display| render::harmless(&tui::as_slash_commands(&why.to_string()));
        match tui::read_plain_line(text) {
            PlainLine::Request(text, said) => {
                let request = Request::new(text, self.global.intent_of(said));
                self.request(request).await?;
            }
            PlainLine::Review(what) => match review::check(&self.workspace, &what) {
                Ok(()) => {
                    let text = format!("review {what}");
                    let request = Request::new(text.trim_end(), Some(RequestIntent::Review));
                    self.request(request).await?;
                }
                Err(error) => self.view.note(&not(&error)),
            },
            PlainLine::Program(words) => {
                let also = tui::also_sets(&words);
                self.program(words).await?;
                if let Some((setting, value)) = also {
                    self.set(setting, &value).await;
                }
            }
            PlainLine::Undo => match self.view.start() {
                Some(checkpoint) => {
                    self.program(vec!["rewind".to_owned(), checkpoint.to_string()]).await?;
                }
                None => {
                    self.view.note(
                        "no request has changed anything here yet; /rewind lists checkpoints",
                    );
                }
            },
            PlainLine::Shell(line) => self.shell(&line).await?,
            PlainLine::Set(setting, value) => self.set(setting, &value).await,
            PlainLine::Help(lines) => self.view.note(&lines),
            PlainLine::Status => self.view.note(&self.facts.lines()),
            PlainLine::Compact => {
                let said = self.drive.session.compact().await;
                self.view.note(&said.unwrap_or_else(|why| why.to_string()));
            }
            PlainLine::Context => {
                let said = self.drive.session.context().await;
                self.view.note(&said.unwrap_or_else(|why| why.to_string()));
            }
            PlainLine::Resume(called) => match self.host.session(&called) {
                Ok(id) if id == self.drive.session.id => {
                    self.view.note("this session is already open");
                }
                Ok(id) if self.host.is_open(&id) => self.view.note(&tui::open_elsewhere(&id)),
                Ok(id) => return Ok(Some(ConversationEnd::Resume(id))),
                Err(why) => self.view.note(&not(&why)),
            },
            PlainLine::Clear => return Ok(Some(ConversationEnd::New)),
            PlainLine::Exit => return Ok(Some(ConversationEnd::Exit)),
            PlainLine::Not(why) => self.view.note(&render::harmless(&why)),
        }
        Ok(None)
    }

    /// Takes a request to its delivery.
    async fn request(&mut self, request: Request) -> Result<(), CliError> {
        if let Err(error) = self.drive.acquire().await {
            self.view.note(&error.to_string());
            return Ok(());
        }
        let outcome = self.drive.run(request, self.view).await?;
        tell(&outcome.delivery, self.global, self.view);
        Ok(())
    }

    /// Changes a setting for the requests that follow.
    async fn set(&mut self, setting: ConversationSetting, value: &str) {
        let said = match self.host.configured(setting, value) {
            Ok(config) => {
                self.facts.update(&config);
                let kept = self.drive.session.configure(config).await;
                let Facts { mode, approval, model, .. } = &self.facts;
                kept.map_or_else(
                    |error| format!("error: {error}"),
                    |()| format!("from the next request on: {mode} · {approval} · {model}"),
                )
            }
            Err(why) => why,
        };
        self.view.note(&render::harmless(&said));
    }

    /// Runs a command of the program, which prints what it has to say.
    async fn program(&self, words: Vec<String>) -> Result<(), CliError> {
        let (host, session) = (Arc::clone(&self.host), self.drive.session.id.clone());
        let done = tokio::task::spawn_blocking(move || host.command(&session, &words)).await;
        done.map(drop).map_err(|error| CliError::caused(CliErrorKind::Internal, &error))
    }

    /// Runs a shell command and prints its output as it arrives.
    async fn shell(&mut self, line: &str) -> Result<(), CliError> {
        let output: Arc<Mutex<CommandOutput>> = Arc::default();
        let on_output = {
            let output = Arc::clone(&output);
            move |bytes: &[u8]| {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                output.add(bytes);
                output.ready().iter().for_each(|line| render::print_line(line));
            }
        };
        let ran = tokio::select! {
            ran = self.host.shell(line, Box::new(on_output)) => ran.unwrap_or_else(|why| why),
            interrupt = self.drive.stopped() => {
                self.drive.leaves |= interrupt? == Interrupt::Leave;
                "stopped".to_owned()
            }
        };
        let rest = output.lock().unwrap_or_else(PoisonError::into_inner).end();
        for line in &rest {
            render::print_line(line);
        }
        if !ran.is_empty() {
            self.view.note(&render::harmless(&ran));
        }
        Ok(())
    }
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

/// Reads a line without blocking the runtime.
async fn read_line(
    mut editor: DefaultEditor,
) -> Result<(DefaultEditor, Result<String, ReadlineError>), CliError> {
    tokio::task::spawn_blocking(move || {
        let line = editor.readline("› ");
        (editor, line)
    })
    .await
    .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))
}

fn no_terminal(error: &ReadlineError) -> CliError {
    CliError::caused(CliErrorKind::Internal, error).hint("give the request with `-p TEXT`")
}

#[cfg(test)]
mod tests {
    use super::{ReadlineError, no_terminal};

    #[test]
    fn without_a_terminal_to_read_from_the_request_is_an_argument() {
        let error = no_terminal(&ReadlineError::Io(std::io::Error::from_raw_os_error(5)));
        assert_eq!(error.advice(), Some("give the request with `-p TEXT`"));
    }
}
