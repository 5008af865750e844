//! What the user sees of a run: one view for people, one for programs that want the end, one for those that want it all.

mod artifact;
pub(crate) mod ask;
mod columns;
mod document;
mod json;
mod terminal;

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use actors::event::Event;
use actors::publisher::{Attendance, Signal};
use actors::scope::Scope;
use front::error::CliError;
use futures_util::future::BoxFuture;
use orchestrator::lock::LockError;
use orchestrator::orchestrator::Outcome;
use serde_json::{Value, json};
use tree::Change;

pub(crate) use columns::side_by_side;
pub(crate) use document::document;
pub(crate) use front::diff::{changes_as_text, harmless_text as harmless};
pub(crate) use front::paint::Paint;
use front::run_view::CommandsGiven;
pub(crate) use front::run_view::settled;
pub(crate) use front::told;
pub(crate) use json::{FinalJson, StreamJson, print as json_line};
pub(crate) use terminal::Terminal;

use crate::flags::{Global, Output};
use crate::surroundings::Surroundings;

/// A line on standard output.
pub(crate) fn line(content: &str) {
    text(&format!("{content}\n"));
}

/// Whether something could not be written to standard output that somebody still waits for.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Text on standard output. A reader that is gone ends the interest in being read.
pub(crate) fn text(content: &str) {
    let mut out = io::stdout().lock();
    match out.write_all(content.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            tracing::debug!("nobody reads standard output any more");
        }
        Err(error) => {
            if !IS_LOST.swap(true, Ordering::Relaxed) {
                warn(&format!("error: standard output cannot be written: {error}"));
            }
        }
    }
}

/// Whether everything was written that was to go to standard output, as far as somebody reads it.
pub(crate) fn is_all_written() -> bool {
    !IS_LOST.load(Ordering::Relaxed)
}

/// A line on standard error.
pub(crate) fn warn(content: &str) {
    if writeln!(io::stderr(), "{content}").is_err() {
        tracing::debug!("nobody reads standard error any more");
    }
}

/// Says that another process is waited for, and which.
pub(crate) fn waits(held: &LockError) {
    warn(&format!("waiting: {held}"));
}

/// Tells of a failure: in words on standard error, and to a program that got no document yet as one on standard output.
pub(crate) fn failed(output: Output, error: &CliError) {
    warn(&harmless(&error.to_string()));
    if output == Output::Text || json::is_printed() {
        return;
    }
    let data = json!({
        "kind": error.kind().name(), "message": error.message(), "hint": error.advice(),
        "exit": error.kind().code(),
    });
    match output {
        Output::StreamJson => json_line(&json!({ "kind": "Error", "data": data })),
        Output::Json | Output::Text => json_line(&json!({ "error": data })),
    }
}

/// Leaves a line that the user was typing: no more bracketed paste, and what follows stands on a line of its own.
pub(crate) fn leave_prompt() {
    let left = write!(io::stdout(), "\x1b[?2004l\r\n").and_then(|()| io::stdout().flush());
    if left.is_err() {
        tracing::debug!("the terminal is gone");
    }
}

/// Shows changes: as a diff for people, with what they are `about` for programs.
pub(crate) fn changes(
    around: &Surroundings,
    global: &Global,
    title: &str,
    mut about: Value,
    changes: &[Change],
) {
    if global.output == Output::Text {
        let paint = match around.paint_out(global.color) {
            Paint::Plain if !around.stdout_is_terminal => Paint::Raw,
            paint @ (Paint::Colour | Paint::OnLight | Paint::Plain | Paint::Raw) => paint,
        };
        warn(&harmless(title));
        text(&changes_as_text(changes, paint));
    } else if let Some(fields) = about.as_object_mut() {
        let files: Vec<_> = changes.iter().map(Change::summary).collect();
        fields.insert("files".to_owned(), json!(files));
        fields.insert("diff".to_owned(), json!(changes_as_text(changes, Paint::Raw)));
        json_line(&about);
    }
}

/// Shows what happens.
pub(crate) trait View: Send {
    /// Something happened, or somebody has to be asked.
    fn signal(&mut self, signal: Signal) -> BoxFuture<'_, ()>;

    /// Whether a question that it is told can be answered.
    fn attendance(&self) -> Attendance {
        Attendance::Unattended
    }

    /// Time went by.
    fn tick(&mut self) {}

    /// A request is about to begin: what is shown while it runs starts clean.
    fn submitted(&mut self) {}

    /// The checkpoint before the first change of the last run that changed something, where the view knows it.
    fn start(&self) -> Option<u64> {
        None
    }

    /// Something the user should know.
    fn note(&mut self, text: &str);

    /// Something that happened to the request before this process lived.
    fn earlier(&mut self, _scope: &Scope, _event: &Event) {}

    /// The request has ended.
    fn outcome(&mut self, outcome: &Outcome, session: &str);
}

/// The view that was asked for.
pub(crate) fn view(around: &Surroundings, global: &Global) -> Box<dyn View> {
    view_naming(around, global, CommandsGiven::OfTheShell)
}

/// The view that was asked for, which names commands as they are given there.
pub(crate) fn view_naming(
    around: &Surroundings,
    global: &Global,
    commands: CommandsGiven,
) -> Box<dyn View> {
    match global.output {
        Output::Text => Box::new(Terminal::new(around, global, commands)),
        Output::Json => Box::new(FinalJson::default()),
        Output::StreamJson => Box::new(StreamJson::default()),
    }
}
