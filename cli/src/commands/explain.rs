//! `deepseek explain`: what an event was, and why it happened: its causes, back to what the user asked.

use clap::Args;
use journal::causes::{causes, chain};
use journal::projection::answers::{Call, Moment, StoryEvent};
use journal::read::content;
use journal::staged::changes;
use serde_json::{Value, json};

use crate::error::{CliError, Kind};
use crate::flags::{Global, Output};
use crate::past::Past;
use crate::render::{self, Paint, changes_as_text, told};
use crate::surroundings::Surroundings;

/// Tell what an event was, and why it happened.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Its number, as `deepseek sessions show` lists it.
    seq: u64,
    /// The session: its id, the beginning of it, or `latest`.
    #[arg(long, value_name = "ID", default_value = "latest")]
    session: String,
    /// Show all there is of it: request and answer, diff, output.
    #[arg(long)]
    full: bool,
}

/// An event with what led to it and what it led to.
struct Explained<'s> {
    entry: &'s StoryEvent,
    /// Nearest first.
    because: Vec<&'s StoryEvent>,
    led_to: Vec<&'s StoryEvent>,
    /// Of a command of a verification: what the whole came to.
    verdict: Vec<&'s StoryEvent>,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &ExplainArgs,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let session = past.session(&args.session)?;
    let (_, story) = past.story(&session)?;
    let Some(explained) = explain(&story, args.seq) else {
        let none = format!("session {session} has no event {}", args.seq);
        return Err(CliError::new(Kind::Usage, none).hint(format!(
            "it has {}; `deepseek sessions show {session}` lists them",
            story.len()
        )));
    };
    let contents = if args.full { contents(&past, &session, &explained) } else { Vec::new() };
    if global.output == Output::Text {
        render::text(&render::harmless(&as_text(&session, &explained, &contents)));
    } else {
        render::json_line(&as_json(&session, &explained, &contents));
    }
    Ok(())
}

/// Finds what belongs to an event.
fn explain(story: &[StoryEvent], seq: u64) -> Option<Explained<'_>> {
    let of = |seq: u64| story.get(usize::try_from(seq.checked_sub(1)?).ok()?);
    let entry = of(seq)?;
    let causes = causes(story);
    let because = chain(&causes, seq).into_iter().skip(1).filter_map(of).collect();
    let mut led_to = Vec::new();
    // What is decided about an effect belongs to it, up to its being in the workspace.
    let mut followed = vec![seq];
    for (effect, cause) in story.iter().zip(&causes) {
        if cause.is_some_and(|cause| followed.contains(&cause)) {
            led_to.push(effect);
            if is_of_the_gate(effect) {
                followed.push(effect.seq);
            }
        }
    }
    let verdict = verdict(story, entry);
    Some(Explained { entry, because, led_to, verdict })
}

/// Whether an event is about whether and how a change may be made.
fn is_of_the_gate(entry: &StoryEvent) -> bool {
    const GATE: [&str; 4] =
        ["ToolProposed", "ToolApproved", "CheckpointCreated", "PatchCommitting"];
    GATE.contains(&entry.name())
}

fn as_text(session: &str, explained: &Explained<'_>, contents: &[(&str, String)]) -> String {
    let Explained { entry, because, led_to, .. } = explained;
    let run = entry.run.as_ref().map(|run| format!(" · run {run}")).unwrap_or_default();
    let lane = entry.lane.as_ref().map(|lane| format!(" · lane {lane}")).unwrap_or_default();
    let mut text =
        format!("{}\n  {} · session {session}{run}{lane}\n", told::event(entry), entry.at);
    for line in details(explained) {
        text.push_str(&format!("  {line}\n"));
    }
    for (title, entries) in [("because", because), ("led to", led_to)] {
        if !entries.is_empty() {
            text.push_str(&format!("\n{title}\n"));
        }
        for entry in entries {
            text.push_str(&format!("  {}\n", told::event(entry)));
        }
    }
    for (title, content) in contents {
        text.push_str(&format!("\n--- {title} ---\n{}\n", content.trim_end()));
    }
    text
}

/// What there is to know of an event beyond its line.
fn details(Explained { entry, because, verdict, .. }: &Explained<'_>) -> Vec<String> {
    let mut lines = call_of(entry, because).map(told::call).unwrap_or_default();
    let chain = || std::iter::once(entry).chain(because);
    let iteration = chain().find_map(|entry| {
        let Moment::Stage { iteration } = entry.what else { return None };
        Some(iteration)
    });
    let plan = chain().find_map(|entry| {
        let Moment::Plan { version, plan } = &entry.what else { return None };
        Some((version, plan))
    });
    if let Some(iteration) = iteration {
        lines.push(format!("in iteration {iteration}"));
    }
    if let Some((version, plan)) = plan {
        lines.push(format!("by plan {version}: {}", plan.steps.join("; ")));
    }
    lines.extend(verdict.iter().map(|entry| format!("then {}", told::event(entry))));
    lines
}

/// The call that an event begins or ends.
fn call_of<'s>(entry: &'s StoryEvent, because: &[&'s StoryEvent]) -> Option<&'s Call> {
    let answered = matches!(entry.what, Moment::Reply { .. });
    let asked = if answered { because.first()? } else { entry };
    let Moment::Call(call) = &asked.what else { return None };
    Some(call)
}

/// What a verification of which this command is a part came to, and how its failure was classified.
fn verdict<'s>(story: &'s [StoryEvent], entry: &StoryEvent) -> Vec<&'s StoryEvent> {
    let Moment::Command { baseline: false, .. } = entry.what else { return Vec::new() };
    let same = |later: &&StoryEvent| (&later.run, &later.lane) == (&entry.run, &entry.lane);
    let later = story.iter().filter(|later| later.seq > entry.seq).filter(same);
    later
        .skip_while(|later| !matches!(later.what, Moment::Verification { .. }))
        .take_while(|later| {
            matches!(
                later.what,
                Moment::Verification { .. } | Moment::Failure { .. } | Moment::State { .. }
            )
        })
        .filter(|later| !matches!(later.what, Moment::State { .. }))
        .collect()
}

fn as_json(session: &str, explained: &Explained<'_>, contents: &[(&str, String)]) -> Value {
    let Explained { entry, because, led_to, verdict } = explained;
    let contents: serde_json::Map<String, Value> =
        contents.iter().map(|(title, content)| ((*title).to_owned(), json!(content))).collect();
    json!({
        "session": session, "event": entry, "because": because, "led_to": led_to, "verdict": verdict, "contents": contents,
    })
}

/// The content that an event names, with what it is. What is missing says so.
fn contents(
    past: &Past<'_>,
    session: &str,
    Explained { entry, because, .. }: &Explained<'_>,
) -> Vec<(&'static str, String)> {
    let dir = past.dir(session);
    let read = |blob| match content(&dir, blob) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => format!("({error})"),
    };
    if let Some(call) = call_of(entry, because) {
        let answer = call.reply.as_ref().and_then(|reply| reply.answer.as_ref());
        let request = [("request", read(&call.body))];
        return request.into_iter().chain(answer.map(|answer| ("answer", read(answer)))).collect();
    }
    if let Moment::Command { output, .. } = &entry.what {
        return vec![("output", read(output))];
    }
    let Moment::Patch(patch) = &entry.what else { return Vec::new() };
    let diff = changes(&dir, &patch.files).map_or_else(
        |error| format!("({error})"),
        |changes| changes_as_text(&changes, Paint::Plain),
    );
    vec![("diff", diff)]
}
