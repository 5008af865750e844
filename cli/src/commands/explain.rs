//! `deepseek explain`: shows an event and its causes, back to the user's request.

use clap::Args;
use facts::event::Event;
use front::error::{CliError, CliErrorKind};
use journal::read::content;
use journal::{Story, StoryEntry, staged_changes};
use serde_json::{Value, json};
use tools::count::counted;

use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render::{self, Paint, changes_as_text, describe, document};
use crate::surroundings::Surroundings;

/// Explain an event and its causes.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The event's number, as listed by `deepseek sessions show`.
    #[arg(value_parser = number)]
    seq: u64,
    /// The session: its id, the start or end of it, or `latest`.
    #[arg(long, value_name = "SESSION", default_value = "latest")]
    session: String,
    /// Include the full request, answer, diff and output.
    #[arg(long)]
    full: bool,
}

/// Parses the number of an event.
fn number(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "not an event number")
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &ExplainArgs,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let session = past.session(&args.session)?;
    let (story, explained) = past.explain(&session, args.seq)?;
    let Some(entry) = story.entry(args.seq) else {
        let none = format!("session {session} has no event {}", args.seq);
        return Err(CliError::new(CliErrorKind::Usage, none).hint(format!(
            "it has {}; `deepseek sessions show {session}` lists them",
            counted(story.summary.events, "event")
        )));
    };
    let entries = |all: &[u64]| all.iter().filter_map(|seq| story.entry(*seq)).collect();
    let explained = Shown {
        entry,
        because: entries(&explained.because),
        led_to: entries(&explained.led_to),
        verdict: entries(&explained.verdict),
    };
    let contents = if args.full { contents(&past, &story, entry) } else { Vec::new() };
    if global.output == OutputFormat::Text {
        render::text(&render::harmless(&as_text(&story, &explained, &contents)));
    } else {
        render::json_line(&as_json(&story, &explained, &contents));
    }
    Ok(())
}

/// An event with its causes and effects.
struct Shown<'s> {
    entry: &'s StoryEntry,
    because: Vec<&'s StoryEntry>,
    led_to: Vec<&'s StoryEntry>,
    verdict: Vec<&'s StoryEntry>,
}

fn as_text(story: &Story, shown: &Shown<'_>, contents: &[(&str, String)]) -> String {
    let Shown { entry, because, led_to, .. } = shown;
    let run = entry.run.as_ref().map(|run| format!(" · run {run}")).unwrap_or_default();
    let lane = entry.lane.as_ref().map(|lane| format!(" · lane {lane}")).unwrap_or_default();
    let mut text = format!(
        "{}\n  {} · session {}{run}{lane}\n",
        describe::event(story, entry),
        entry.at,
        story.summary.id
    );
    for line in details(story, shown) {
        text.push_str(&format!("  {line}\n"));
    }
    for (title, entries) in [("because", because), ("led to", led_to)] {
        if !entries.is_empty() {
            text.push_str(&format!("\n{title}\n"));
        }
        for entry in entries {
            text.push_str(&format!("  {}\n", describe::event(story, entry)));
        }
    }
    for (title, content) in contents {
        text.push_str(&format!("\n--- {title} ---\n{}\n", content.trim_end()));
    }
    text
}

/// Lists details of an event that its summary line does not show.
fn details(story: &Story, Shown { entry, because, verdict, .. }: &Shown<'_>) -> Vec<String> {
    let mut lines = story.call(entry).map(describe::call).unwrap_or_default();
    let events = || std::iter::once(entry).chain(because).filter_map(|it| it.event.as_ref());
    if let Some(iteration) = events().find_map(describe::iteration) {
        lines.push(format!("in iteration {iteration}"));
    }
    if let Some((version, plan)) = events().find_map(describe::describe_plan) {
        lines.push(format!("by plan {version}: {}", plan.steps.join("; ")));
    }
    lines.extend(verdict.iter().map(|entry| format!("then {}", describe::event(story, entry))));
    lines
}

fn as_json(story: &Story, shown: &Shown<'_>, contents: &[(&str, String)]) -> Value {
    let contents: serde_json::Map<String, Value> =
        contents.iter().map(|(title, content)| ((*title).to_owned(), json!(content))).collect();
    let [because, led_to, verdict] = [&shown.because, &shown.led_to, &shown.verdict]
        .map(|entries| entries.iter().map(|entry| document(story, entry)).collect::<Vec<Value>>());
    json!({
        "session": story.summary.id, "event": document(story, shown.entry), "because": because,
        "led_to": led_to, "verdict": verdict, "contents": contents,
    })
}

/// Reads the contents that an event refers to, each with a title. Missing contents are replaced by the error.
fn contents(past: &Past, story: &Story, entry: &StoryEntry) -> Vec<(&'static str, String)> {
    let dir = past.dir(&story.summary.id);
    let read = |blob| match content(&dir, blob) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => format!("({error})"),
    };
    if let Some(call) = story.call(entry) {
        let answer = call.reply.as_ref().and_then(|reply| reply.answer.as_ref());
        let request = [("request", read(&call.body))];
        return request.into_iter().chain(answer.map(|answer| ("answer", read(answer)))).collect();
    }
    if let Some(Event::VerificationRun { output, .. }) = &entry.event {
        return vec![("output", read(output))];
    }
    let Some(patch) = story.patch(entry) else { return Vec::new() };
    let diff = staged_changes(&dir, &patch.files).map_or_else(
        |error| format!("({error})"),
        |changes| changes_as_text(&changes, Paint::Plain),
    );
    vec![("diff", diff)]
}
