//! The mission parts of the page: findings with their evidence, tasks, the answer to the card, and a table of the small
//! questions. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use facts::answered::{AnswerFrom, ChildEnd};
use facts::event::{Blob, Event};
use facts::words::{CardAnswer, ResearchStep};
use missions::card::{Card, SealedCard, SubTask};
use missions::research::finding::{Confidence, Observation};
use model::price::Usd;
use tools::count::counted;
use tree::FileHash;

use crate::markup::{Escaped, first_line, heading};
use crate::page::{PageRequest, PageSources};

/// Renders an event of a mission for the timeline; `None` for other events.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others do not belong to missions")]
pub(crate) fn part(
    request: &PageRequest<'_>,
    event: &Event,
    sources: &PageSources<'_>,
) -> Option<String> {
    let note = |class: &str, mark: &str, title: &str, text: &str| {
        let text =
            if text.is_empty() { String::new() } else { format!("<p>{}</p>\n", Escaped(text)) };
        Some(heading(class, mark, title) + &text)
    };
    match event {
        Event::SourcesRead { files, files_total, .. } => {
            note("", "", "Read", &format!("{files} of {files_total} files"))
        }
        Event::ResearchStep { step, round, asked, answered, new } => {
            let what = match step {
                ResearchStep::Claims => String::new(),
                ResearchStep::Sampling | ResearchStep::Program | ResearchStep::Hypotheses => {
                    format!(", {}", counted(*new, "new finding"))
                }
            };
            let title = format!("Research: {} {round}", step.name());
            note("", "", &title, &format!("{answered} of {asked} questions answered{what}"))
        }
        Event::CardMade { hash, card: kept, .. } => Some(card(&read(kept, sources)?, *hash)),
        Event::CardAnswered { answer, .. } => match answer {
            CardAnswer::Approved => note("good", "approved", "The card", ""),
            CardAnswer::Rejected => note("bad", "rejected", "The card", ""),
            CardAnswer::NoOne => note("warn", "waiting", "The card", ""),
            CardAnswer::Modify(words) => note("warn", "change requested", "The card", words),
        },
        Event::TaskAnswered { task, answer } => {
            let answer = answer.as_ref().and_then(|answer| (sources.kept)(answer));
            let answer = answer.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let (class, mark) =
                if answer.is_some() { ("good", "done") } else { ("bad", "no answer") };
            let title = heading(class, mark, &format!("Task {task}"));
            let answer = answer.unwrap_or_default();
            Some(format!("{title}<div class=\"answer\">{}</div>\n", Escaped(answer.trim())))
        }
        Event::MissionReported { hash: Some(hash), spent, .. } => {
            let card = request.entries.iter().find_map(|entry| match &entry.event {
                Some(Event::CardMade { hash: made, card, .. }) if made == hash => {
                    read(card, sources)
                }
                Some(Event::CardTaken { hash: taken, card: Some(card) }) if taken == hash => {
                    read(card, sources)
                }
                Some(_) | None => None,
            })?;
            note("", "", "Receipt", &card.receipt(*spent))
        }
        _ => None,
    }
}

fn read(card: &Blob, sources: &PageSources<'_>) -> Option<Card> {
    SealedCard::read((sources.kept)(card)?).map(SealedCard::into_card)
}

/// Renders a card in full, because it is what the user approves.
fn card(card: &Card, hash: FileHash) -> String {
    let mut text = heading("", "", &format!("Mission card, version {}", card.version));
    writeln!(text, "<p class=\"quiet\">hash <code>{hash}</code></p>").ok();
    let grouped =
        |it: &&Observation| card.groups.iter().any(|group| group.findings.contains(&it.id));
    let others: Vec<&Observation> = card.findings.iter().filter(|it| !grouped(it)).collect();
    writeln!(
        text,
        "<details open>\n<summary>{}</summary>\n{}{}</details>",
        counted(card.findings.len(), "finding"),
        groups(card, None),
        findings(&others)
    )
    .ok();
    let tasks: Vec<String> = card.subtasks.iter().map(task).collect();
    writeln!(
        text,
        "<details open>\n<summary>{}</summary>\n<ul>\n{}</ul>\n</details>",
        counted(tasks.len(), "task"),
        tasks.concat()
    )
    .ok();
    if !card.changes.is_empty() {
        let title = format!("Changes since version {}", card.version.saturating_sub(1));
        let changes =
            card.changes.iter().map(|it| format!("<li>{}</li>\n", Escaped(&it.to_string())));
        let changes: String = changes.collect();
        writeln!(
            text,
            "<details open>\n<summary>{title}</summary>\n<ul>\n{changes}</ul>\n</details>"
        )
        .ok();
    }
    let facts = [
        ("May", card.may()),
        ("Models", card.carried_out_by()),
        ("Estimate", card.estimated()),
        ("Limits", card.limited()),
        ("Read", card.covered()),
    ];
    let facts = facts
        .map(|(name, text)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", Escaped(&text)));
    text + "<dl>\n" + &facts.concat() + "</dl>\n"
}

/// Renders the subgroups of a group (`None`: the top level), each with its findings and its own subgroups.
fn groups(card: &Card, above: Option<u32>) -> String {
    let mut text = String::new();
    for group in card.groups.iter().filter(|group| group.above == above) {
        let own =
            card.findings.iter().filter(|it| group.findings.contains(&it.id)).collect::<Vec<_>>();
        let below = groups(card, Some(group.id));
        writeln!(text, "<li>{}\n{}{below}</li>", Escaped(&group.text), findings(&own)).ok();
    }
    if text.is_empty() { text } else { format!("<ul>\n{text}</ul>\n") }
}

fn findings(findings: &[&Observation]) -> String {
    let mut text = String::new();
    for finding in findings {
        let sure = match (finding.confidence(), finding.objection()) {
            (Confidence::High, _) => "<span class=\"mark good\">checked</span>".to_owned(),
            (Confidence::Unchecked, _) => "<span class=\"quiet\">not checked</span>".to_owned(),
            (Confidence::Low, doubt) => {
                let doubt = doubt.map(|doubt| format!(": {doubt}")).unwrap_or_default();
                let doubt = Escaped(&doubt).to_string();
                format!("<span class=\"mark warn\">low confidence</span>{doubt}")
            }
        };
        let evidence = finding.evidence.to_string();
        writeln!(
            text,
            "<li>{}. {} <code>{}</code> {sure}</li>",
            finding.id,
            Escaped(&finding.claim),
            Escaped(&evidence)
        )
        .ok();
    }
    if text.is_empty() { text } else { format!("<ul class=\"steps\">\n{text}</ul>\n") }
}

fn task(task: &SubTask) -> String {
    let SubTask { id, kind, title, goal, .. } = task;
    let mut text =
        format!("<li>{id} {}: {}\n<p>{}</p>\n<ul>\n", kind.name(), Escaped(title), Escaped(goal));
    let lists = [
        ("reads", task.reads.iter().map(ToString::to_string).collect::<Vec<_>>()),
        ("writes", task.writes.iter().map(ToString::to_string).collect()),
        ("runs", task.commands.clone()),
        ("accepted when", task.acceptance.clone()),
        ("after", task.after.iter().map(ToString::to_string).collect()),
    ];
    for (name, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
        let items: Vec<String> =
            items.iter().map(|item| format!("<code>{}</code>", Escaped(item))).collect();
        writeln!(text, "<li>{name} {}</li>", items.join(", ")).ok();
    }
    text + "</ul>\n</li>\n"
}

/// A child question, as far as its events are known.
#[derive(Default)]
struct Question {
    text: String,
    end: Option<ChildEnd>,
    prompt: u64,
    hit: u64,
    nano_usd: u64,
}

/// Renders the table of a request's child questions; empty if there were none.
pub(crate) fn questions(request: &PageRequest<'_>, sources: &PageSources<'_>) -> String {
    let mut asked: BTreeMap<u64, Question> = BTreeMap::new();
    // A question is identified by its first event; the later ones refer to the same part of the run.
    let mut numbers: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &request.entries {
        let Some(part) = &entry.part else { continue };
        #[expect(clippy::wildcard_enum_match_arm, reason = "the others do not concern questions")]
        match &entry.event {
            Some(Event::ChildAsked { question, .. }) => {
                numbers.insert(part, entry.seq);
                let text = (sources.kept)(question).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).into_owned();
                asked.insert(entry.seq, Question { text, ..Question::default() });
            }
            Some(event) => {
                let number = numbers.get(part.as_str());
                let Some(question) = number.and_then(|number| asked.get_mut(number)) else {
                    continue;
                };
                match event {
                    Event::ChildEnded { end } => question.end = Some(*end),
                    Event::ModelReply { usage: Some(usage), cost_nano_usd, .. } => {
                        question.prompt += usage.prompt;
                        question.hit += usage.hit.unwrap_or_default();
                        question.nano_usd += cost_nano_usd.map_or(0, Usd::nanos);
                    }
                    _ => {}
                }
            }
            None => {}
        }
    }
    if asked.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = asked.iter().map(|(seq, question)| row(*seq, question)).collect();
    let head = [
        ("Event", ""),
        ("Question", ""),
        ("Tokens in", "number"),
        ("From the cache", "number"),
        ("Cost", "number"),
        ("Ended", ""),
    ];
    let head = head.map(|(name, class)| format!("<th scope=\"col\" class=\"{class}\">{name}</th>"));
    format!(
        "<details>\n<summary>{}</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table of child questions\">\n<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n</details>\n",
        counted(rows.len(), "child question"),
        head.concat(),
        rows.concat()
    )
}

fn row(seq: u64, question: &Question) -> String {
    let Question { text, end, prompt, hit, nano_usd } = question;
    let ended = match end {
        Some(ChildEnd::Answered(AnswerFrom::Model)) => {
            "<span class=\"mark good\">answered</span>".to_owned()
        }
        Some(ChildEnd::Answered(AnswerFrom::Kept)) => "answered earlier".to_owned(),
        Some(ChildEnd::Failed(why)) => {
            format!("<span class=\"mark bad\">failed</span>: {}", Escaped(&why.to_string()))
        }
        Some(ChildEnd::Cancelled) => "cancelled".to_owned(),
        None => "unfinished".to_owned(),
    };
    let cost = Usd::from_nanos(*nano_usd).to_string();
    let cost = Escaped(&cost).to_string();
    let share = hit.saturating_mul(100).checked_div(*prompt).unwrap_or_default();
    format!(
        "<tr><td>#{seq}</td><td class=\"text\">{}</td><td class=\"number\">{prompt}</td><td class=\"number\">{share}%</td><td class=\"number\">{cost}</td><td>{ended}</td></tr>\n",
        Escaped(first_line(text))
    )
}
