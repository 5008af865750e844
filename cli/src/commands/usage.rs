//! `deepseek usage`: calls, tokens and cost of past model calls.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use front::error::{CliError, CliErrorKind};
use jiff::civil::Date;
use journal::{
    DecidedBy, DecidedQuestion, Reach, RecordedCall, RecordedToolCall, Tally, ToolTally, told_apart,
};
use model::price::Prices;
use serde_json::{Value, json};

use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// Show calls, tokens and cost.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Group by.
    #[arg(long, value_name = "WHAT", default_value = "day")]
    by: By,
    /// Count only calls from this day on, in UTC.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    since: Option<Date>,
    /// Include the sessions of all workspaces.
    #[arg(long)]
    all: bool,
}

/// The grouping of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Day, in UTC.
    Day,
    /// Session.
    Session,
    /// Model.
    Model,
    /// Role that made the call, for example architect or editor.
    Role,
    /// Lane, for example `02`; `-` for calls outside lanes.
    Lane,
    /// How the model of a question was chosen, with how many of these questions were answered. Other calls do not count.
    Decision,
    /// Tool of a server, with the calls of it. Model calls do not count.
    Tool,
}

impl By {
    const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Session => "session",
            Self::Model => "model",
            Self::Role => "role",
            Self::Lane => "lane",
            Self::Decision => "decision",
            Self::Tool => "tool",
        }
    }

    /// Returns the group of a call; those of decisions and tools are found elsewhere.
    fn key(self, call: &RecordedCall) -> String {
        match self {
            Self::Day => call.day().to_owned(),
            Self::Session => call.session.clone(),
            Self::Model => call.model.clone(),
            Self::Role => call.role.as_str().to_owned(),
            Self::Lane => call.lane.map_or_else(|| "-".to_owned(), |lane| lane.to_string()),
            Self::Decision | Self::Tool => String::new(),
        }
    }
}

/// Parses a date.
fn day(text: &str) -> Result<Date, &'static str> {
    text.parse().map_err(|_| "not a date such as 2026-11-23")
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &UsageArgs,
) -> Result<(), CliError> {
    let past = Past::find(around, global)?;
    let reach = if args.all { Reach::Everywhere } else { Reach::Here };
    if args.by == By::Decision {
        by_decision(past.decisions(reach)?, args.since, global.output);
        return Ok(());
    }
    if args.by == By::Tool {
        let llm = around.settings(global, &around.workspace(global)?)?.config.llm;
        let prices = Prices::new(&llm.prices, &llm.peak);
        let prices = prices.map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
        by_tool(past.tool_calls(reach)?, &prices, args.since, global.output);
        return Ok(());
    }
    let mut calls = past.calls(reach)?;
    if let Some(since) = args.since {
        let since = since.to_string();
        calls.retain(|call| call.day() >= since.as_str());
    }
    let tallies = told_apart(&calls, |call| args.by.key(call));
    let total = Tally::of(&calls);
    if global.output == OutputFormat::Text {
        if calls.is_empty() {
            render::warn(
                "there are no model calls in this workspace yet (--all includes all workspaces)",
            );
            return Ok(());
        }
        let name = args.by.name();
        render::print_line(&as_line(name, TITLES.map(str::to_owned)));
        for (key, tally) in &tallies {
            render::print_line(&as_line(&render::harmless(key), columns(tally)));
        }
        render::print_line(&as_line("all", columns(&total)));
        if total.calls_of_unknown_usage > 0 {
            let calls = if total.calls_of_unknown_usage == 1 { "call" } else { "calls" };
            render::warn(&format!("{} {calls} reported no usage", total.calls_of_unknown_usage));
        }
        render::warn("cost is an estimate from the price table");
    } else {
        let rows: Vec<Value> = tallies
            .iter()
            .map(|(key, tally)| json!({ args.by.name(): key, "usage": tally }))
            .collect();
        let since = args.since.map(|since| since.to_string());
        render::json_line(&json!({
            "by": args.by.name(), "since": since, "rows": rows, "total": total,
        }));
    }
    Ok(())
}

/// The questions whose models were chosen in the same way.
#[derive(Debug, Default)]
struct DecisionTally {
    questions: usize,
    delivered: usize,
    calls: Vec<RecordedCall>,
}

/// Shows what the choices of models led to.
fn by_decision(mut questions: Vec<DecidedQuestion>, since: Option<Date>, output: OutputFormat) {
    let since = since.map(|since| since.to_string());
    questions.retain(|it| since.as_deref().is_none_or(|since| it.at.as_str() >= since));
    let mut rows: BTreeMap<DecidedBy, DecisionTally> = BTreeMap::new();
    let mut total = DecisionTally::default();
    for DecidedQuestion { by, delivered, calls, .. } in questions {
        for row in [rows.entry(by).or_default(), &mut total] {
            row.questions += 1;
            row.delivered += usize::from(delivered == Some(true));
            row.calls.extend(calls.iter().cloned());
        }
    }
    let named = rows.iter().map(|(by, row)| (by.name(), row));
    if output != OutputFormat::Text {
        let as_json = |(name, row): (&str, &DecisionTally)| {
            let DecisionTally { questions, delivered, calls } = row;
            let usage = Tally::of(calls);
            json!({ "decision": name, "questions": questions, "delivered": delivered, "usage": usage })
        };
        let rows: Vec<Value> = named.map(as_json).collect();
        let (by, total) = (By::Decision.name(), as_json(("all", &total)));
        render::json_line(&json!({ "by": by, "since": since, "rows": rows, "total": total }));
        return;
    }
    if total.questions == 0 {
        render::warn("no model was chosen for a question yet (--all includes all workspaces)");
        return;
    }
    let titles = TITLES.map(str::to_owned);
    let line = |name: &str, [questions, delivered]: [String; 2], columns| {
        format!("{questions:>9} {delivered:>9} {}", as_line(name, columns))
    };
    let asked = ["questions", "delivered"].map(str::to_owned);
    render::print_line(&line(By::Decision.name(), asked, titles));
    for (name, row) in named.chain([("all", &total)]) {
        let asked = [row.questions, row.delivered].map(|number| number.to_string());
        render::print_line(&line(name, asked, columns(&Tally::of(&row.calls))));
    }
    render::warn("cost is an estimate from the price table");
}

/// Shows the calls of servers' tools.
fn by_tool(
    mut calls: Vec<RecordedToolCall>,
    prices: &Prices,
    since: Option<Date>,
    output: OutputFormat,
) {
    let since = since.map(|since| since.to_string());
    calls.retain(|it| since.as_deref().is_none_or(|since| it.at.as_str() >= since));
    let mut rows: BTreeMap<(&str, &str), ToolTally> = BTreeMap::new();
    let mut total = ToolTally::default();
    for call in &calls {
        let at = call.at.parse().ok();
        let cost = at.and_then(|at| prices.cost(&call.model, Some(call.usage()), at));
        rows.entry((&call.server, &call.tool)).or_default().add(call, cost);
        total.add(call, cost);
    }
    if output != OutputFormat::Text {
        let rows: Vec<Value> = rows
            .iter()
            .map(
                |((server, tool), usage)| json!({ "server": server, "tool": tool, "usage": usage }),
            )
            .collect();
        let by = By::Tool.name();
        render::json_line(&json!({ "by": by, "since": since, "rows": rows, "total": total }));
        return;
    }
    if calls.is_empty() {
        render::warn("no tool of a server was called yet (--all includes all workspaces)");
        return;
    }
    let line = |name: &str, columns: [String; 7]| {
        let [calls, failed, unknown, sent, answered, seconds, cost] = columns;
        render::print_line(&format!(
            "{name:<40} {calls:>6} {failed:>7} {unknown:>8} {sent:>8} {answered:>9} {seconds:>8}   {cost}"
        ));
    };
    let titles = ["calls", "failed", "unknown", "sent", "answered", "seconds", "cost"];
    line(By::Tool.name(), titles.map(str::to_owned));
    let named = rows.iter().map(|((_, tool), row)| (render::harmless(tool), row));
    for (name, row) in named.chain([("all".to_owned(), &total)]) {
        let ToolTally { calls, failed, unknown, sent, answered, elapsed_ms, .. } = *row;
        let seconds = format!("{}.{}", elapsed_ms / 1000, elapsed_ms % 1000 / 100);
        let [calls, failed, unknown, sent, answered] =
            [calls, failed, unknown, sent, answered].map(|count| count.to_string());
        line(&name, [calls, failed, unknown, sent, answered, seconds, row.cost()]);
    }
    render::warn(
        "tokens are estimates; the cost is that of writing the arguments and of reading the answer once, and is part of what the model's calls cost",
    );
}

const TITLES: [&str; 7] = ["calls", "new", "cached", "unknown", "output", "reasoning", "cost"];

/// Returns the columns: tokens that were not in the provider's cache, tokens that were, and those of which it does not say;
/// the answer, and its reasoning.
fn columns(tally: &Tally) -> [String; 7] {
    let known = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |it| it.to_string());
    [
        tally.calls.to_string(),
        tally.miss().to_string(),
        known(tally.hit),
        tally.prompt_of_unknown_hit.to_string(),
        tally.output.to_string(),
        known(tally.reasoning),
        tally.cost(),
    ]
}

fn as_line(
    key: &str,
    [calls, new, cached, unknown, output, reasoning, cost]: [String; 7],
) -> String {
    format!(
        "{key:<20} {calls:>6} {new:>10} {cached:>10} {unknown:>10} {output:>10} {reasoning:>10}   {cost}"
    )
}
