//! The page of a session: a timeline of each request, and a table of model calls. Pure.

use std::fmt::Write as _;

use checks::outcome::CheckOutcome;
use checks::wording::short_number;
use facts::delivery::Delivery;
use facts::event::{Blob, Event, ImageRead, NamedImage};
use facts::grammar::plan::{Plan, StepMark};
use facts::lane_id::LaneId;
use facts::team::PlannedLane;
use facts::words::Side;
use front::describe;
use journal::{StagedPatch, Story, StoryEntry, Summary};
use tools::count::counted;

use crate::markup::{Escaped, coloured, filled, first_line, heading};
use crate::{calls, mission};

/// The page template.
const PAGE: &str = include_str!("report.html");

/// Larger images are named and not shown.
const MAX_INLINE_BYTES: u64 = 500_000;

/// Access to what the page shows that is not part of the story itself.
pub struct PageSources<'s> {
    /// Returns the diff of a patch set.
    pub diff: &'s dyn Fn(&StagedPatch) -> String,
    /// Returns the output of a check.
    pub output: &'s dyn Fn(&Event) -> String,
    /// Reads content that is stored separately from the journal; `None` if it is missing.
    pub kept: &'s dyn Fn(&Blob) -> Option<Vec<u8>>,
    /// Formats a timestamp in the reader's time zone.
    pub local: &'s dyn Fn(&str) -> String,
}

/// A request with its events.
pub(crate) struct PageRequest<'s> {
    text: &'s str,
    pub(crate) entries: Vec<&'s StoryEntry>,
}

/// Renders the page of a session.
pub fn session_page(story: &Story, sources: &PageSources<'_>) -> String {
    let requests = requests(story);
    let title = requests.first().map_or("Session without requests", |first| first_line(first.text));
    let mut contents = String::new();
    let mut sections = String::new();
    for (request, number) in requests.iter().zip(1..) {
        let text = Escaped(first_line(request.text));
        writeln!(contents, "<li><a href=\"#request-{number}\">{text}</a></li>").ok();
        // Numbers distinguish requests with the same text.
        let own = if requests.len() > 1 { format!("{number}. ") } else { String::new() };
        sections.push_str(&section(story, sources, request, (number, &own)));
    }
    // A single request needs no table of contents.
    let contents = match requests.len() {
        0 | 1 => String::new(),
        _ => format!("<nav aria-label=\"Requests\">\n<ol>\n{contents}</ol>\n</nav>\n"),
    };
    let version = Escaped(&story.summary.version).to_string();
    let texts: [(&str, &str); 6] = [
        ("title", &Escaped(title).to_string()),
        ("facts", &facts(&story.summary, sources)),
        ("contents", &contents),
        ("requests", &sections),
        ("calls", &calls::table(story)),
        ("version", &version),
    ];
    filled(PAGE, &texts)
}

/// Renders the list of facts at the top of the page.
fn facts(summary: &Summary, sources: &PageSources<'_>) -> String {
    let Summary { id, started, workspace, usage, ended, .. } = summary;
    let tokens = format!("{} in, {} out", short_number(usage.prompt), short_number(usage.output));
    let hits = usage.hit_percent().map_or_else(|| "unknown".to_owned(), |it| format!("{it}%"));
    let facts = [
        ("Session", id.clone()),
        ("Started", (sources.local)(started)),
        ("Workspace", workspace.clone()),
        ("Last request", ended.unwrap_or("unfinished").replace('_', " ")),
        ("Model calls", usage.calls.to_string()),
        ("Tokens", tokens),
        ("From the cache", hits),
        ("Cost", usage.cost()),
    ];
    let fact = |(name, text): (&str, String)| {
        format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", Escaped(&text))
    };
    facts.map(fact).concat()
}

/// Splits a session into requests. Events before the first request are left out.
fn requests(story: &Story) -> Vec<PageRequest<'_>> {
    let mut requests: Vec<PageRequest<'_>> = Vec::new();
    for entry in &story.entries {
        if let Some(
            Event::TurnAdded { speaker: Side::User, text, .. }
            | Event::AutopilotAsked { task: text, .. },
        ) = &entry.event
        {
            requests.push(PageRequest { text, entries: Vec::new() });
        }
        if let Some(request) = requests.last_mut() {
            request.entries.push(entry);
        }
    }
    requests
}

fn section(
    story: &Story,
    sources: &PageSources<'_>,
    request: &PageRequest<'_>,
    (number, own): (usize, &str),
) -> String {
    let mut text = format!(
        "<section aria-labelledby=\"request-{number}\">\n<h2 id=\"request-{number}\">{own}{}</h2>\n",
        Escaped(first_line(request.text))
    );
    if request.text.trim().lines().count() > 1 {
        writeln!(text, "<blockquote>{}</blockquote>", Escaped(request.text.trim())).ok();
    }
    text.push_str("<ol class=\"timeline\">\n");
    for entry in &request.entries {
        let part = match (&entry.event, story.patch(entry)) {
            (_, Some(patch)) => Some(patched(&patch, &(sources.diff)(&patch))),
            (Some(event), None) => part(request, entry.lane, event, sources),
            (None, None) => None,
        };
        let Some(part) = part else { continue };
        let at = &entry.at;
        let lane = entry.lane.map(|lane| format!(" · lane {lane}")).unwrap_or_default();
        let time = (sources.local)(at);
        let time = time.split_once(' ').map_or(time.as_str(), |(_, time)| time);
        writeln!(
            text,
            "<li><time datetime=\"{}\">{}</time><span class=\"quiet\">{lane} · #{}</span>\n{}</li>",
            Escaped(at),
            Escaped(time),
            entry.seq,
            part
        )
        .ok();
    }
    text + "</ol>\n" + &mission::questions(request, sources) + "</section>\n"
}

fn patched(patch: &StagedPatch, diff: &str) -> String {
    let (class, mark) = if patch.applied { ("good", "applied") } else { ("warn", "not applied") };
    let title = heading(class, mark, &format!("Patch: {}", patch.title));
    let files: Vec<String> = patch
        .files
        .iter()
        .map(|file| format!("{} +{} -{}", file.path, file.added, file.removed))
        .collect();
    let files = Escaped(&files.join(", ")).to_string();
    format!("{title}<details open>\n<summary>{files}</summary>\n{}</details>\n", coloured(diff))
}

/// Renders a plan with the result of each step. Only events of its own lane count, because another lane can have a plan with
/// the same version.
fn plan(request: &PageRequest<'_>, lane: Option<LaneId>, version: u32, plan: &Plan) -> String {
    let mark = |at: usize| {
        let marked = |entry: &&StoryEntry| match &entry.event {
            Some(Event::StepMarked { plan, step, mark }) if *plan == version && *step == at => {
                Some(*mark)
            }
            Some(_) | None => None,
        };
        let own = request.entries.iter().rev().copied().filter(|entry| entry.lane == lane);
        match own.into_iter().find_map(|entry| marked(&entry)) {
            Some(StepMark::Done) => "<span class=\"mark good\">✓ done</span>",
            Some(StepMark::Failed) => "<span class=\"mark bad\">✗ failed</span>",
            Some(StepMark::Untouched) => "<span class=\"quiet\">its files are unchanged</span>",
            None => "<span class=\"quiet\">no result</span>",
        }
    };
    let mut text = heading("", "", &format!("Plan {version}"));
    text.push_str("<ul class=\"steps\">\n");
    for (step, at) in plan.steps.iter().zip(1..) {
        writeln!(text, "<li>{at}. {} {}</li>", Escaped(step), mark(at)).ok();
    }
    text.push_str("</ul>\n<ul>\n");
    for file in &plan.files {
        let path = file.path.to_string();
        writeln!(text, "<li><code>{}</code>: {}</li>", Escaped(&path), Escaped(&file.intent)).ok();
    }
    for planned in &plan.operations {
        let (what, why) = (planned.described(), Escaped(&planned.why));
        writeln!(text, "<li>{}: {why}</li>", Escaped(&what)).ok();
    }
    for command in &plan.verify {
        writeln!(text, "<li>checked by <code>{}</code></li>", Escaped(command)).ok();
    }
    text + "</ul>\n"
}

fn check(event: &Event, sources: &PageSources<'_>) -> Option<String> {
    let Event::VerificationRun { command, baseline, outcome, exit, elapsed_ms, .. } = event else {
        return None;
    };
    let class = match outcome {
        CheckOutcome::Passed => "good",
        CheckOutcome::CodeFailure | CheckOutcome::TimedOut | CheckOutcome::Infrastructure => "bad",
        CheckOutcome::Flaky
        | CheckOutcome::Unverified
        | CheckOutcome::Environment
        | CheckOutcome::PreExisting
        | CheckOutcome::CommandMissing
        | CheckOutcome::PolicyDenied => "warn",
    };
    let tree = if *baseline { "Before the change: " } else { "Check: " };
    let mut text = heading(class, &describe::word(outcome), &format!("{tree}{command}"));
    // The event of a baseline check records no time.
    let time = if *baseline { String::new() } else { format!(", {elapsed_ms} ms") };
    writeln!(text, "<p class=\"quiet\">{}{time}</p>", Escaped(exit)).ok();
    let output = (sources.output)(event);
    if !output.trim().is_empty() {
        let open = if class == "bad" { " open" } else { "" };
        writeln!(
            text,
            "<details{open}>\n<summary>Output</summary>\n<pre tabindex=\"0\" role=\"group\" aria-label=\"output\">{}</pre>\n</details>",
            Escaped(output.trim_end())
        )
        .ok();
    }
    Some(text)
}

/// Renders an image that the request names: with its picture, if it is small.
fn named_image(named: &NamedImage, sources: &PageSources<'_>) -> String {
    let ImageRead::Usable { kind, image, .. } = &named.read else {
        return heading("warn", "not shown", &format!("Image {named}"));
    };
    let title = heading("", "", &format!("Image {named}, {} bytes", image.bytes));
    let small = (image.bytes <= MAX_INLINE_BYTES).then(|| (sources.kept)(image)).flatten();
    let picture = small.map(|bytes| {
        let (name, kind, base64) =
            (Escaped(&named.name), kind.media_type(), images::base64(&bytes));
        format!("<img alt=\"{name}\" src=\"data:{kind};base64,{base64}\">\n")
    });
    title + &picture.unwrap_or_default()
}

/// Renders an event for the timeline; `None` for most events, which it leaves out.
#[expect(clippy::wildcard_enum_match_arm, reason = "only `explain` shows the others")]
fn part(
    request: &PageRequest<'_>,
    lane: Option<LaneId>,
    event: &Event,
    sources: &PageSources<'_>,
) -> Option<String> {
    if let Some((version, planned)) = describe::describe_plan(event) {
        return Some(plan(request, lane, version, planned));
    }
    if let Some((of, why)) = describe::describe_refusal(event) {
        let title = heading("warn", "rejected", &format!("The {of}"));
        return Some(format!("{title}<blockquote>{}</blockquote>\n", Escaped(why.trim())));
    }
    let note = |class: &str, mark: &str, title: &str, text: &str| {
        let text =
            if text.is_empty() { String::new() } else { format!("<p>{}</p>\n", Escaped(text)) };
        Some(heading(class, mark, title) + &text)
    };
    if let Some(part) = mission::part(request, event, sources) {
        return Some(part);
    }
    match event {
        Event::TurnAdded { speaker: Side::Assistant, text, .. } => Some(format!(
            "{}<div class=\"answer\">{}</div>\n",
            heading("", "", "Answer"),
            Escaped(text)
        )),
        Event::ImagesRead { images, .. } => {
            Some(images.iter().map(|image| named_image(image, sources)).collect())
        }
        Event::VerificationRun { .. } => check(event, sources),
        Event::ApprovalAsked { action, why, .. } => {
            note("", "", &format!("Approval asked: {action}"), &why.to_string())
        }
        Event::ApprovalGiven { left_out, said, .. } if !left_out.is_empty() => {
            let left_out: Vec<&str> = left_out.iter().map(tree::RepoPath::as_str).collect();
            let title = format!("Left out: {}", left_out.join(", "));
            note("warn", "partial", &title, said.as_deref().unwrap_or_default())
        }
        Event::ApprovalGiven { .. } => note("good", "yes", "Approval", ""),
        Event::ApprovalDenied { action, why, .. } => {
            note("bad", "denied", &action.to_string(), &why.to_string())
        }
        Event::FailureClassified { class, errors } => {
            let title = format!("Failure: {}", describe::word(class));
            note("", "", &title, &counted(*errors, "error"))
        }
        Event::LanesPlanned { lanes, .. } => {
            let lane = |lane: &PlannedLane| format!("{} {}", lane.lane, lane.title);
            let lanes: Vec<String> = lanes.iter().map(lane).collect();
            note("", "", "Split into lanes", &lanes.join(" · "))
        }
        Event::LaneSpawned { title, attempt, .. } => {
            note("", "", &format!("Started: {title}"), &again(*attempt))
        }
        Event::LaneCompleted { verified, .. } => {
            note("good", "done", "Lane", &verified.to_string())
        }
        Event::LaneFailed { why, .. } => note("bad", "failed", "Lane", &describe::outcome(why)),
        Event::LaneMerged { lane, .. } => note("good", "merged", &format!("Lane {lane}"), ""),
        Event::LaneConflicted { lane, paths, .. } => {
            let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
            note("warn", "conflict", &format!("Lane {lane}"), &paths.join(", "))
        }
        Event::RunFinished { delivery, .. } => {
            let (class, mark) =
                if is_delivered(delivery) { ("good", "✓") } else { ("bad", "✗") };
            note(class, mark, "Outcome", &describe::outcome(delivery))
        }
        _ => None,
    }
}

fn again(attempt: u32) -> String {
    if attempt > 1 { format!("replanned, attempt {attempt}") } else { String::new() }
}

const fn is_delivered(delivery: &Delivery) -> bool {
    matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. })
}
