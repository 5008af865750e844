//! The table of model calls. Pure.

use facts::event::Event;
use journal::{CallReply, RecordedCall, Story, StoryEntry};

use crate::markup::Escaped;

/// Renders the table; empty if there were no calls.
pub(crate) fn table(story: &Story) -> String {
    let is_request = |entry: &&StoryEntry| matches!(entry.event, Some(Event::ModelRequest { .. }));
    let asked = story.entries.iter().filter(is_request).filter_map(|entry| story.call(entry));
    let rows: Vec<String> = asked.map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        ("Event", ""),
        ("Role", ""),
        ("Model", ""),
        ("Tokens in", "number"),
        ("From the cache", "number"),
        ("Tokens out", "number"),
        ("Cost", "number"),
        ("Ended", ""),
    ];
    let head = head.map(|(name, class)| format!("<th scope=\"col\" class=\"{class}\">{name}</th>"));
    format!(
        "<section aria-labelledby=\"calls\">\n<h2 id=\"calls\">Model calls</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table of model calls\">\n<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n</section>\n",
        head.concat(),
        rows.concat()
    )
}

fn row(call: &RecordedCall) -> String {
    let RecordedCall { seq, role, model, lane, retry, reply, .. } = call;
    let lane = lane.map(|lane| format!(" (lane {lane})")).unwrap_or_default();
    let again = if *retry == 0 { String::new() } else { format!(", retry {retry}") };
    let unknown = || "unknown".to_owned();
    let usage = reply.as_ref().and_then(|reply| reply.usage);
    let [prompt, hit, output] = usage.map_or_else(
        || [unknown(), unknown(), unknown()],
        |usage| {
            let share =
                |hit: u64| hit.saturating_mul(100).checked_div(usage.prompt).unwrap_or_default();
            let hit = usage.hit.map_or_else(unknown, |hit| format!("{}%", share(hit)));
            [usage.prompt.to_string(), hit, usage.output.to_string()]
        },
    );
    let cost = reply.as_ref().and_then(|reply| reply.cost_nano_usd);
    let cost = cost.map_or_else(unknown, |cost| cost.to_string());
    let ended = match reply {
        Some(CallReply { outcome, message, .. }) if message.is_empty() => outcome.clone(),
        Some(CallReply { outcome, message, .. }) => format!("{outcome}: {message}"),
        None => "no answer".to_owned(),
    };
    let number = |text: &str| format!("<td class=\"number\">{}</td>", Escaped(text));
    format!(
        "<tr><td>#{seq}</td><td>{}</td><td>{}</td>{}{}{}{}<td>{}</td></tr>\n",
        Escaped(&format!("{}{lane}{again}", role.as_str())),
        Escaped(model),
        number(&prompt),
        number(&hit),
        number(&output),
        number(&cost),
        Escaped(&ended)
    )
}
