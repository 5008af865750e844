//! Shows what happens in an evaluation while it is at work: on standard error, or as lines of JSON.

use std::sync::Arc;

use eval::results::record::{AttemptResult, CaseGround, TestVerdict};
use eval::{EvalEvent, EvalSink};
use tools::count::counted;

use crate::flags::OutputFormat;
use crate::render;

/// Returns what receives the events of an evaluation.
pub(super) fn sink(output: OutputFormat) -> EvalSink {
    Arc::new(move |event: EvalEvent| match output {
        OutputFormat::StreamJson => {
            if let Ok(value) = serde_json::to_value(&event) {
                render::print_line(&value.to_string());
            }
        }
        OutputFormat::Json | OutputFormat::Text => {
            if let Some(line) = line(&event) {
                render::warn(&render::harmless(&line));
            }
        }
    })
}

/// Returns an event as a line; `None` for events that only programs want.
fn line(event: &EvalEvent) -> Option<String> {
    Some(match event {
        EvalEvent::LeftOut(left) => format!("  {}  {}: {}", left.id, left.title, left.why),
        EvalEvent::Checking { .. } | EvalEvent::Began { .. } => return None,
        EvalEvent::Checked { case, ground } => format!("{} {case}{}", mark(ground), said(ground)),
        EvalEvent::Judged { case, variant, attempt, result } => {
            let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            format!("{case} · {variant}{attempt}: {}", outcome(result))
        }
        EvalEvent::OverBudget { spent } => {
            format!(
                "no more attempts: {spent} of the budget is spent; `deepseek eval run` with a larger --budget-usd continues"
            )
        }
    })
}

const fn mark(ground: &CaseGround) -> &'static str {
    match ground {
        CaseGround::Holds { .. } => "✓",
        CaseGround::NoCase { .. } | CaseGround::CannotRun { .. } => "✗",
    }
}

fn said(ground: &CaseGround) -> String {
    match ground {
        CaseGround::Holds { commands, notes } => {
            let all: Vec<&str> = commands.iter().chain(notes).map(String::as_str).collect();
            format!("  {}", all.join("; "))
        }
        CaseGround::NoCase { why } => format!("  no case: {why}"),
        CaseGround::CannotRun { why } => format!("  cannot run here: {why}"),
    }
}

/// Returns the outcome of an attempt in words.
fn outcome(result: &AttemptResult) -> String {
    let verdict = match &result.verdict {
        TestVerdict::Passed => "hidden tests pass".to_owned(),
        TestVerdict::Failed(why) => format!("hidden tests fail ({why})"),
        TestVerdict::CannotRun(why) => format!("hidden tests cannot run ({why})"),
    };
    let cost = result.used.cost_nano_usd;
    let cost = cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
    format!(
        "{verdict}; {}, {}, {cost}",
        result.own_verdict().words(),
        counted(result.used.calls, "call")
    )
}
