//! `deepseek export`: prints a session as a document to keep, read or share. Secrets were redacted before it was journaled.

mod atif;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use facts::event::{Blob, Event, NamedImage};
use facts::words::Side;
use front::error::{CliError, CliErrorKind};
use journal::read::content;
use journal::{StagedPatch, Story, StoryEntry, Summary, Tally, staged_changes};
use report::{PageSources, session_page};
use serde_json::{Value, json};
use tools::count::counted;

use self::atif::{TrajectorySources, trajectory};
use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render::{self, Paint, changes_as_text, describe, document};
use crate::surroundings::Surroundings;

/// Print a session as Markdown, JSON, HTML or a trajectory (ATIF).
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The session: its id, the start or end of it, or `latest`.
    #[arg(value_name = "SESSION", default_value = "latest")]
    id: String,
    /// The format [default: md, or json with --output json].
    #[arg(long)]
    format: Option<Format>,
    /// Print a self-contained HTML page; same as --format html.
    #[arg(long, conflicts_with = "format")]
    html: bool,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A document format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown.
    Md,
    /// JSON.
    Json,
    /// A single HTML page.
    Html,
    /// A trajectory in ATIF 1.8, the form in which agents are compared.
    Atif,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &ExportArgs,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let session = past.session(&args.id)?;
    let story = past.story(&session)?;
    let asked_by_program =
        if global.output == OutputFormat::Text { Format::Md } else { Format::Json };
    let format = if args.html { Some(Format::Html) } else { args.format };
    let format = format.unwrap_or(asked_by_program);
    if format == Format::Html && args.out.is_none() && around.stdout_is_terminal {
        let error = "a page is for a browser, not for the terminal";
        return Err(CliError::new(CliErrorKind::Usage, error).hint(
            around.naming("`deepseek export --html --out report.html` writes it to a file"),
        ));
    }
    let text = match format {
        Format::Html => as_page(around, &past, &story),
        Format::Md => render::harmless(&as_markdown(&past, &story)),
        Format::Json => format!("{}\n", as_json(&past, &story)),
        Format::Atif => format!("{}\n", as_trajectory(&past, &story)),
    };
    let Some(file) = &args.out else {
        render::text(&text);
        return Ok(());
    };
    let file = around.cwd.join(file);
    fs::write(&file, text).map_err(|error| {
        CliError::new(
            CliErrorKind::NotDelivered,
            format!("cannot write {}: {error}", file.display()),
        )
    })?;
    render::warn(&format!("written to {}", render::harmless(&file.display().to_string())));
    Ok(())
}

/// Computes the diff of a patch set from the contents before and after.
fn diff(past: &Past, patch: &StagedPatch) -> String {
    match staged_changes(&past.dir(&patch.session), &patch.files) {
        Ok(changes) => changes_as_text(&changes, Paint::Plain),
        Err(error) => {
            render::warn(&format!("warning: {error}"));
            format!("({error})\n")
        }
    }
}

fn as_page(around: &Surroundings, past: &Past, story: &Story) -> String {
    let dir = past.dir(&story.summary.id);
    let output = |event: &Event| {
        let Event::VerificationRun { output, .. } = event else { return String::new() };
        kept_text(&dir, output)
    };
    let sources = PageSources {
        diff: &|patch| diff(past, patch),
        output: &output,
        kept: &|blob| content(&dir, blob).ok(),
        local: &|moment| around.local(moment),
    };
    session_page(story, &sources)
}

fn as_trajectory(past: &Past, story: &Story) -> Value {
    let dir = past.dir(&story.summary.id);
    let sources =
        TrajectorySources { text: &|blob| kept_text(&dir, blob), diff: &|patch| diff(past, patch) };
    trajectory(story, &sources)
}

/// Returns kept text, or why it cannot be read.
fn kept_text(dir: &Path, blob: &Blob) -> String {
    content(dir, blob).map_or_else(
        |error| format!("({error})"),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

fn as_json(past: &Past, story: &Story) -> Value {
    let entry = |entry: &StoryEntry| {
        let mut document = document(story, entry);
        if let (Some(fields), Some(patch)) = (document.as_object_mut(), story.patch(entry)) {
            fields.insert("diff".to_owned(), diff(past, &patch).into());
        }
        document
    };
    let events: Vec<Value> = story.entries.iter().map(entry).collect();
    json!({ "session": story.summary, "usage": story.summary.usage, "events": events })
}

fn as_markdown(past: &Past, story: &Story) -> String {
    let Summary { id, started, workspace, version, state, usage, .. } = &story.summary;
    let mut text = format!("# Session {id}\n\n");
    writeln!(text, "- workspace: `{workspace}`\n- started: {started}\n- version: {version}").ok();
    writeln!(text, "- state: {state}\n- cost: {}", spent(usage)).ok();
    for entry in &story.entries {
        let patch = story.patch(entry).map(|patch| (diff(past, &patch), patch));
        let part = match (&entry.event, patch) {
            (_, Some((diff, patch))) => Some(staged(&patch, &diff)),
            (Some(event), None) => part(entry, event),
            (None, None) => None,
        };
        if let Some(part) = part {
            writeln!(text, "\n{}", part.trim_end()).ok();
        }
    }
    text
}

fn staged(patch: &StagedPatch, diff: &str) -> String {
    let became = if patch.applied { "applied" } else { "not applied" };
    let title = format!("### Patch {} · {} · {became}", patch.id, patch.title);
    format!("{title}\n\n{}", fenced("diff", diff))
}

/// Formats an event as Markdown; `None` for most events, which the document leaves out.
#[expect(clippy::wildcard_enum_match_arm, reason = "only `explain` shows the others")]
fn part(entry: &StoryEntry, event: &Event) -> Option<String> {
    if let Some((version, plan)) = describe::describe_plan(event) {
        return Some(format!("### Plan {version}\n\n{}", fenced("text", &plan.to_string())));
    }
    if let Some((of, why)) = describe::describe_refusal(event) {
        return Some(format!("### The {of} was rejected\n\n{}", quoted(&why)));
    }
    Some(match event {
        Event::TurnAdded { speaker: Side::User, text, .. } => {
            format!("## Request\n\n*{}*\n\n{}", entry.at, quoted(text))
        }
        Event::TurnAdded { text, .. } => format!("### Answer\n\n{text}"),
        Event::ImagesRead { images, .. } => {
            let line = |image: &NamedImage| match image.content() {
                Some(content) => format!("- image {image}, {} bytes\n", content.bytes),
                None => format!("- image not shown: {image}\n"),
            };
            images.iter().map(line).collect()
        }
        Event::AutopilotBegan { task, .. } => format!("## Autopilot\n\n{}", quoted(task)),
        Event::AutopilotAnswered { answer, .. } => {
            format!("### The next step\n\n{}", fenced("text", answer))
        }
        Event::CommitSettled { patch, outcome, .. } => {
            let outcome = describe::word(outcome);
            format!("- the interrupted commit of patch {patch} is {outcome}")
        }
        Event::ApprovalGiven { left_out, said, .. } => {
            format!("- {}", describe::approved(left_out, said.as_deref()))
        }
        Event::ApprovalDenied { action, why, .. } => format!("- denied {action}: {why}"),
        Event::ApprovalAsked { action, why, .. } => format!("- asked to approve {action}: {why}"),
        Event::VerificationRun { .. } => format!("- check {}", describe::describe_check(event)?),
        Event::FailureClassified { class, errors } => {
            format!("- failure: {}, {}", describe::word(class), counted(*errors, "error"))
        }
        Event::RunFinished { delivery, .. } => {
            format!("### Outcome\n\n{}", describe::outcome(delivery))
        }
        _ => return None,
    })
}

/// Formats the cost and tokens of a session.
fn spent(total: &Tally) -> String {
    let unknown = match total.calls_of_unknown_usage {
        0 => String::new(),
        calls => format!(" ({} without usage)", counted(calls, "call")),
    };
    format!(
        "{} (estimate) · {} · {} tokens in, {} of them from the cache, {} out{unknown}",
        total.cost(),
        counted(total.calls, "call"),
        total.prompt,
        total.hit.map_or_else(|| "unknown".to_owned(), |hit| hit.to_string()),
        total.output
    )
}

fn quoted(text: &str) -> String {
    format!("> {}\n", text.trim_end().replace('\n', "\n> "))
}

/// Wraps text in a code fence that is longer than any run of backticks in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_is_longer_than_any_in_the_text() {
        for text in ["plain", "```\ncode\n```", "`````", "", "a\n````\nb"] {
            let fenced = fenced("text", text);
            let fence = fenced.split("text").next().unwrap();
            let inside = fenced.lines().skip(1).take(fenced.lines().count() - 2);
            assert!(inside.clone().all(|line| !line.starts_with(fence)), "{fenced}");
            assert_eq!(fenced.lines().last(), Some(fence), "{fenced}");
        }
    }
}
