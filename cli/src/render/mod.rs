//! The views of a run: text for people, one JSON document at the end, or a stream of JSON events.
//! What happened is folded in [`front`].

mod artifact;
pub(crate) mod ask;
mod columns;
mod document;
mod json;
mod terminal;

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use facts::event::Event;
use facts::scope::Scope;
use facts::signal::{Attendance, Signal};
use front::error::CliError;
use futures_util::future::BoxFuture;
use orchestrator::root::RequestOutcome;
use orchestrator::workspace::lock::LockError;
use serde_json::{Value, json};
use tree::Change;

pub(crate) use columns::side_by_side;
pub(crate) use document::document;
pub(crate) use front::describe;
pub(crate) use front::diff::{changes_as_text, harmless_text as harmless};
pub(crate) use front::paint::Paint;
pub(crate) use front::run_view::settled;
use front::run_view::{CommandsGiven, UndoPoint};
pub(crate) use json::{FinalJson, StreamJson, print as json_line};
pub(crate) use terminal::PlainView;

use crate::flags::{Global, OutputFormat};
use crate::surroundings::Surroundings;

/// Writes a line to standard output.
pub(crate) fn print_line(content: &str) {
    text(&format!("{content}\n"));
}

/// True once a write to standard output has failed for a reason other than a closed pipe.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Writes text to standard output. A closed pipe is not an error: the reader has seen enough.
pub(crate) fn text(content: &str) {
    record(content);
    let mut out = io::stdout().lock();
    match out.write_all(content.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            tracing::debug!("standard output was closed");
        }
        Err(error) => {
            if !IS_LOST.swap(true, Ordering::Relaxed) {
                warn(&format!("error: cannot write to standard output: {error}"));
            }
        }
    }
}

/// What was printed, while it is recorded for the transcript of a conversation.
static RECORDED: Mutex<Option<String>> = Mutex::new(None);

/// Does `work` and returns what it printed.
pub(crate) fn recording(work: impl FnOnce()) -> String {
    let recorded = || RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    *recorded() = Some(String::new());
    work();
    recorded().take().unwrap_or_default()
}

fn record(content: &str) {
    if let Some(recorded) = &mut *RECORDED.lock().unwrap_or_else(PoisonError::into_inner) {
        recorded.push_str(content);
    }
}

/// Returns true if no write to standard output failed, closed pipes aside.
pub(crate) fn is_all_written() -> bool {
    !IS_LOST.load(Ordering::Relaxed)
}

/// Writes a line to standard error.
pub(crate) fn warn(content: &str) {
    record(&format!("{content}\n"));
    if writeln!(io::stderr(), "{content}").is_err() {
        tracing::debug!("standard error was closed");
    }
}

/// Reports which process the program waits for.
pub(crate) fn waits(held: &LockError) {
    warn(&format!("waiting: {held}"));
}

/// Reports a failure: as text on standard error and, in JSON output without a document so far, as a document on standard
/// output.
pub(crate) fn print_failure(output: OutputFormat, error: &CliError) {
    warn(&harmless(&error.to_string()));
    if output == OutputFormat::Text || json::is_printed() {
        return;
    }
    let data = json!({
        "kind": error.kind().name(), "message": error.message(), "hint": error.advice(),
        "exit": error.kind().code(),
    });
    match output {
        OutputFormat::StreamJson => json_line(&json!({ "kind": "Error", "data": data })),
        OutputFormat::Json | OutputFormat::Text => json_line(&json!({ "error": data })),
    }
}

/// Leaves an input line: ends bracketed paste and moves to a new line.
pub(crate) fn leave_prompt() {
    let left = write!(io::stdout(), "\x1b[?2004l\r\n").and_then(|()| io::stdout().flush());
    if left.is_err() {
        tracing::debug!("the terminal is gone");
    }
}

/// Shows changes: as a diff in text output, else as JSON with the fields of `about`.
pub(crate) fn print_changes(
    around: &Surroundings,
    global: &Global,
    title: &str,
    mut about: Value,
    changes: &[Change],
) {
    if global.output == OutputFormat::Text {
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

/// Shows a run as it proceeds.
pub(crate) trait RunPresenter: Send {
    /// Shows an event or text, or asks the user a question. Completes once a question is answered.
    fn signal(&mut self, signal: Signal) -> BoxFuture<'_, ()>;

    /// Returns whether there is a user to answer questions.
    fn attendance(&self) -> Attendance {
        Attendance::Unattended
    }

    /// Updates what depends on time.
    fn tick(&mut self) {}

    /// Clears what is shown of an earlier request: a new one is about to start.
    fn submitted(&mut self) {}

    /// Returns the checkpoint before the first change of the last run that changed something, if the view knows it.
    fn start(&self) -> Option<u64> {
        None
    }

    /// Sets what can be undone of the requests that the session had before it was opened.
    fn resumes_after(&mut self, _undo: UndoPoint) {}

    /// Shows a note to the user.
    fn note(&mut self, text: &str);

    /// Takes in an event that an earlier process recorded for this request.
    fn earlier(&mut self, _scope: &Scope, _event: &Event) {}

    /// Shows how the request ended.
    fn outcome(&mut self, outcome: &RequestOutcome, session: &str);
}

/// Creates the view for the selected output format. Hints name shell commands.
pub(crate) fn view(around: &Surroundings, global: &Global) -> Box<dyn RunPresenter> {
    view_naming(around, global, CommandsGiven::OfTheShell)
}

/// Like [`view`], with a choice of how hints name commands.
pub(crate) fn view_naming(
    around: &Surroundings,
    global: &Global,
    commands: CommandsGiven,
) -> Box<dyn RunPresenter> {
    match global.output {
        OutputFormat::Text => Box::new(PlainView::new(around, global, commands)),
        OutputFormat::Json => Box::new(FinalJson::default()),
        OutputFormat::StreamJson => Box::new(StreamJson::default()),
    }
}
