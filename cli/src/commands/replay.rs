//! `deepseek replay`: re-runs a recorded session and checks that the result is identical.

use actors::run::recording::Difference;
use clap::Args;
use facts::event::{Blob, Event};
use front::error::{CliError, CliErrorKind};
use journal::read::content;
use orchestrator::session::past_requests::EarlierError;
use orchestrator::session::replay::{ReplayError, Replayed, replay};
use serde_json::{Value, json};
use tools::count::counted;

use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// Arguments of `deepseek replay`.
#[derive(Debug, Args)]
#[command(
    after_help = "The same actors process the same requests. Model answers, command output, file contents and your answers come \
        from the journal; plans, patches, decisions and the bytes of requests are recomputed and compared. No model calls, no \
        commands, no changes to your files. Exits with 1 at the first difference."
)]
pub(crate) struct ReplayArgs {
    /// The session: its id, the start or end of it, or `latest`.
    #[arg(default_value = "latest")]
    session: String,
    /// Show the first difference side by side.
    #[arg(long)]
    diff: bool,
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &ReplayArgs,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let session = past.session(&args.session)?;
    let dir = past.dir(&session);
    let scratch = tempfile::tempdir().map_err(|error| not_replayed(&error.into()))?;
    let replayed = replay(&dir, scratch.path()).await.map_err(|error| not_replayed(&error))?;
    if replayed.is_empty() {
        render::warn("this session has no requests; there is nothing to compare");
    }
    let difference = replayed.iter().find_map(|run| run.difference.as_ref());
    if global.output == OutputFormat::Text {
        for run in &replayed {
            render::print_line(&render::harmless(&as_line(run)));
        }
    } else {
        let events: usize = replayed.iter().map(|run| run.events).sum();
        render::json_line(&json!({
            "session": session, "runs": replayed.len(), "events": events,
            "identical": difference.is_none(), "difference": difference.map(as_json),
        }));
    }
    let Some(difference) = difference else { return Ok(()) };
    if args.diff && global.output == OutputFormat::Text {
        let (recorded, replayed) = both(difference, &|blob| content(&dir, blob).ok());
        render::text(&render::side_by_side(&recorded, &replayed));
    }
    let error =
        CliError::new(CliErrorKind::NotDelivered, format!("the replay differs: {difference}"));
    Err(if args.diff { error } else { error.hint("`deepseek replay --diff` shows both sides") })
}

fn as_line(run: &Replayed) -> String {
    let Replayed { run: id, request, events, finished, difference } = run;
    let events = counted(*events, "event");
    let result = match (difference, finished) {
        (Some(_), _) => format!("differs after {events}"),
        (None, true) => format!("identical, {events}"),
        (None, false) => format!("identical, {events}, then interrupted"),
    };
    format!("{id}  {result}  {}", request.lines().next().unwrap_or_default())
}

fn as_json(difference: &Difference) -> Value {
    let Difference { recorded, done } = difference;
    json!({
        "seq": recorded.as_ref().map(|it| it.seq),
        "recorded": recorded.as_ref().map(|it| json!({ "kind": it.event.kind(), "data": it.event.data() })),
        "replayed": done.as_ref().map(|event| json!({ "kind": event.kind(), "data": event.data() })),
    })
}

/// Formats both sides of a difference: the event, followed by the contents that only this side refers to.
fn both(difference: &Difference, kept: &dyn Fn(&Blob) -> Option<Vec<u8>>) -> (String, String) {
    let Difference { recorded, done } = difference;
    let (old, new) = (recorded.as_ref().map(|it| &it.event), done.as_ref());
    let side = |event: Option<&Event>, own: Vec<&Blob>, other: &[&Blob]| {
        let shown = |event: &Event| format!("{}\n{:#}\n", event.kind(), event.data());
        let mut text = event.map_or_else(|| "(nothing)\n".to_owned(), shown);
        for blob in own.iter().filter(|blob| !other.iter().any(|it| it.blob == blob.blob)) {
            let bytes =
                if blob.content.is_empty() { kept(blob) } else { Some(blob.content.to_vec()) };
            text.push_str(&readable(&bytes.unwrap_or_default()));
        }
        text
    };
    (side(old, named(old), &named(new)), side(new, named(new), &named(old)))
}

fn named(event: Option<&Event>) -> Vec<&Blob> {
    event.map(Event::blobs).unwrap_or_default()
}

/// Formats content for people: JSON is indented, and `\n` in its strings becomes a line break.
fn readable(content: &[u8]) -> String {
    match serde_json::from_slice::<Value>(content) {
        Ok(value) => format!("{value:#}\n").replace("\\n", "\n"),
        Err(_) => format!("{}\n", String::from_utf8_lossy(content)),
    }
}

fn not_replayed(error: &ReplayError) -> CliError {
    match error {
        ReplayError::Read(_) => CliError::caused(CliErrorKind::Internal, error)
            .hint("`deepseek doctor --repair` keeps the valid part of a damaged journal"),
        ReplayError::Earlier(EarlierError::Read(_)) => {
            CliError::caused(CliErrorKind::Internal, error)
                .hint("some of this session's content is missing; `deepseek export` shows the rest")
        }
        ReplayError::Earlier(_) => CliError::caused(CliErrorKind::Internal, error)
            .hint("it may have been recorded by another version of the program"),
        ReplayError::Start(_) | ReplayError::Scratch(_) => {
            CliError::caused(CliErrorKind::Internal, error)
        }
    }
}
