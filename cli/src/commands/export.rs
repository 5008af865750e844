//! `deepseek export`: a session as a document to keep, read or pass on. Secrets were taken out before it was journaled.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use journal::projection::answers::{Call, Moment, StoryEvent, Summary};
use journal::projection::usage::Tally;
use journal::staged::{StagedPatch, changes};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::flags::{Global, Output};
use crate::past::Past;
use crate::render::{self, Paint, changes_as_text, told};
use crate::surroundings::Surroundings;

/// Print a session as a document.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Its id, the beginning of it, or `latest`.
    #[arg(default_value = "latest")]
    id: String,
    /// The kind of document [default: md, or json with --output json].
    #[arg(long)]
    format: Option<Format>,
}

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown, for people.
    Md,
    /// JSON, for programs.
    Json,
}

/// A session with all that is told of it.
struct Story {
    summary: Summary,
    /// Each with the diff of a patch set.
    entries: Vec<(StoryEvent, Option<String>)>,
    total: Tally,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &ExportArgs,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let session = past.session(&args.id)?;
    let (summary, entries) = past.story(&session)?;
    let total = Tally::of(calls(&entries));
    let with_diff = |entry: StoryEvent| {
        let Moment::Patch(patch) = &entry.what else { return (entry, None) };
        let diff = diff(&past, patch);
        (entry, Some(diff))
    };
    let entries = entries.into_iter().map(with_diff).collect();
    let story = Story { summary, entries, total };
    let asked_by_program = if global.output == Output::Text { Format::Md } else { Format::Json };
    match args.format.unwrap_or(asked_by_program) {
        Format::Md => render::text(&render::harmless(&as_markdown(&story))),
        Format::Json => render::json_line(&as_json(&story)),
    }
    Ok(())
}

fn calls(entries: &[StoryEvent]) -> impl Iterator<Item = &Call> {
    entries.iter().filter_map(|entry| {
        let Moment::Call(call) = &entry.what else { return None };
        Some(call.as_ref())
    })
}

/// The diff of a patch set, made of the bytes before and after.
fn diff(past: &Past<'_>, patch: &StagedPatch) -> String {
    match changes(&past.dir(&patch.session), &patch.files) {
        Ok(changes) => changes_as_text(&changes, Paint::Plain),
        Err(error) => {
            render::warn(&format!("warning: {error}"));
            format!("({error})\n")
        }
    }
}

fn as_json(story: &Story) -> Value {
    let entry = |(entry, diff): &(StoryEvent, Option<String>)| {
        let mut document = json!(entry);
        if let (Some(fields), Some(diff)) = (document.as_object_mut(), diff) {
            fields.insert("diff".to_owned(), json!(diff));
        }
        document
    };
    let events: Vec<Value> = story.entries.iter().map(entry).collect();
    json!({ "session": story.summary, "usage": story.total, "events": events })
}

fn as_markdown(story: &Story) -> String {
    let Summary { id, started, workspace, version, state, .. } = &story.summary;
    let mut text = format!("# Session {id}\n\n");
    writeln!(text, "- workspace: `{workspace}`\n- started: {started}\n- version: {version}").ok();
    writeln!(text, "- state: {state}\n- cost: {}", spent(&story.total)).ok();
    for (entry, diff) in &story.entries {
        if let Some(part) = part(entry, diff.as_deref()) {
            writeln!(text, "\n{}", part.trim_end()).ok();
        }
    }
    text
}

/// What a document says of an event; nothing of most.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others are for `explain`")]
fn part(entry: &StoryEvent, diff: Option<&str>) -> Option<String> {
    Some(match &entry.what {
        Moment::Turn { speaker, text } if speaker == "user" => {
            format!("## Request\n\n*{}*\n\n{}", entry.at, quoted(text))
        }
        Moment::Turn { text, .. } => format!("### Answer\n\n{text}"),
        Moment::Plan { version, plan } => {
            format!("### Plan {version}\n\n{}", fenced("text", &plan.to_string()))
        }
        Moment::Refusal { of, why } => format!("### The {of} was not taken\n\n{}", quoted(why)),
        Moment::Patch(patch) => {
            let became = if patch.applied { "applied" } else { "not applied" };
            let title = format!("### Patch {} · {} · {became}", patch.id, patch.title);
            format!("{title}\n\n{}", fenced("diff", diff.unwrap_or_default()))
        }
        Moment::Commit { patch, outcome } if outcome != "applied" => {
            format!(
                "- the commit of patch {patch}, cut short before, is {}",
                outcome.replace('_', " ")
            )
        }
        Moment::Answer { answer, effect, why, .. } => {
            let about: Vec<&str> =
                [effect, why].into_iter().flatten().map(String::as_str).collect();
            format!("- {answer} {}", about.join(": "))
        }
        Moment::Proposal { effect, why, .. } => format!("- asked for {effect}: {why}"),
        Moment::Command { command, baseline, outcome, exit, elapsed_ms, .. } => {
            let tree = if *baseline { " on the untouched tree" } else { "" };
            let outcome = outcome.replace('_', " ");
            format!("- check `{command}`{tree}: {outcome} ({exit}, {elapsed_ms} ms)")
        }
        Moment::Failure { class, errors } => {
            format!("- failure: {}, {errors} errors", class.replace('_', " "))
        }
        Moment::Delivery { delivery, .. } => format!("### Outcome\n\n{}", told::outcome(delivery)),
        _ => return None,
    })
}

/// What a session used, in words.
fn spent(total: &Tally) -> String {
    let unknown = match total.calls_of_unknown_usage {
        0 => String::new(),
        calls => format!(" ({calls} calls unknown)"),
    };
    format!(
        "{} (estimate) · {} calls · {} tokens in, {} of them from the cache, {} out{unknown}",
        total.cost(),
        total.calls,
        total.prompt,
        total.hit,
        total.output
    )
}

fn quoted(text: &str) -> String {
    format!("> {}\n", text.trim_end().replace('\n', "\n> "))
}

/// Text in a fence that nothing in it can end.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_fence_ends_it() {
        for text in ["plain", "```\ncode\n```", "`````", "", "a\n````\nb"] {
            let fenced = fenced("text", text);
            let fence = fenced.split("text").next().unwrap();
            let inside = fenced.lines().skip(1).take(fenced.lines().count() - 2);
            assert!(inside.clone().all(|line| !line.starts_with(fence)), "{fenced}");
            assert_eq!(fenced.lines().last(), Some(fence), "{fenced}");
        }
    }
}
