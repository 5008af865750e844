//! Text for parts of a run: commits, checks, plans and what models say. Pure.

use std::fmt::Write as _;

use anstyle::AnsiColor;
use checks::outcome::CheckOutcome;
use checks::shown_reason::{Reasons, reasons};
use checks::wording::Wording;
use facts::event::{Blob, Event, NamedImage};
use facts::grammar::draft::NeededFile;
use facts::grammar::look::Look;
use facts::grammar::plan::{Criterion, Plan};
use facts::model_choice::{ChoiceReason, ModelChoice};
use facts::words::ToolCallEnd;
use model::AgentRole;
use serde_json::Value;
use tools::count::counted;
use tree::{RepoPath, Settlement};

use crate::describe::thinks_longer;
use crate::diff::{harmless, harmless_text};

/// Describes what happened to a commit that a crash had interrupted.
pub fn settled(patch: &str, outcome: Settlement, left: &[RepoPath]) -> String {
    let became = match outcome {
        Settlement::Completed => "was completed",
        Settlement::TakenBack => "was undone",
        Settlement::Stuck => "can be neither completed nor undone; check its files yourself",
    };
    let mut text = format!("an interrupted change ({patch}) {became}");
    for path in left {
        text.push_str(&match outcome {
            Settlement::Completed | Settlement::TakenBack => {
                format!("\n  {path} was changed in the meantime and is left unchanged")
            }
            Settlement::Stuck => format!("\n  {path}"),
        });
    }
    text
}

/// Lists where a diff was read leniently, without duplicates.
pub(super) fn tolerated(repairs: &[Wording]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for repair in repairs {
        let text = harmless_text(&repair.to_string()).trim_end().replace('\n', "\n    ");
        let line = format!("  read leniently: {text}\n");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// Returns the outcome of a check in words, with their colour.
pub(crate) const fn check_in_words(outcome: CheckOutcome) -> (AnsiColor, &'static str) {
    match outcome {
        CheckOutcome::Passed => (AnsiColor::Green, "passed"),
        CheckOutcome::Flaky => (AnsiColor::Yellow, "flaky: failed, then passed"),
        CheckOutcome::Unverified => (AnsiColor::Yellow, "ran no test"),
        CheckOutcome::Environment => (AnsiColor::Yellow, "cannot run here"),
        CheckOutcome::PreExisting => (AnsiColor::Yellow, "fails as before"),
        CheckOutcome::Infrastructure => (AnsiColor::Red, "the machine failed"),
        CheckOutcome::TimedOut => (AnsiColor::Red, "timed out"),
        CheckOutcome::CommandMissing => (AnsiColor::Red, "not installed"),
        CheckOutcome::PolicyDenied => (AnsiColor::Red, "denied"),
        CheckOutcome::CodeFailure => (AnsiColor::Red, "failed"),
    }
}

/// Returns the lines of the output that say why a check did not pass, and how many failures are left out.
pub(crate) fn why_it_failed(outcome: CheckOutcome, output: &Blob) -> Vec<String> {
    const CODE_LINES: usize = 12;
    const MACHINE_LINES: usize = 3;
    let most = match outcome {
        CheckOutcome::CodeFailure => CODE_LINES,
        CheckOutcome::TimedOut
        | CheckOutcome::Infrastructure
        | CheckOutcome::Environment
        | CheckOutcome::CommandMissing => MACHINE_LINES,
        CheckOutcome::Passed
        | CheckOutcome::Flaky
        | CheckOutcome::Unverified
        | CheckOutcome::PreExisting
        | CheckOutcome::PolicyDenied => return Vec::new(),
    };
    let Reasons { lines, more } = reasons(&String::from_utf8_lossy(&output.content), most);
    let more = (more > 0).then(|| format!("… and {}", counted(more, "more failure")));
    lines.iter().map(|line| harmless(line)).chain(more).collect()
}

/// Returns the only argument of a tool if it is text of several lines, such as a program.
fn only_text(arguments: &str) -> Option<String> {
    let Value::Object(arguments) = serde_json::from_str(arguments).ok()? else { return None };
    let mut values = arguments.into_iter().map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(Value::String(text)), None) if text.contains('\n') => Some(text),
        _ => None,
    }
}

/// Returns the model that is asked to think longer than the role's own would, and why, if the event says so.
pub(super) fn longer_thinker(event: &Event) -> Option<(&str, &[ChoiceReason])> {
    if let Event::RouterEscalation { to, reason_codes, .. } = event {
        return Some((to, reason_codes));
    }
    let Event::RouterDecision { selected_model, assessment, .. } = event else { return None };
    let is_longer = assessment.choice == ModelChoice::MaxThink;
    is_longer.then_some((selected_model, &assessment.reasons))
}

/// Returns the lines for what models say and do other than plans and diffs.
pub(super) fn said_by_models(event: &Event) -> Vec<String> {
    let who = |role: &AgentRole| match role {
        AgentRole::Architect => "the Architect",
        AgentRole::Editor => "the Editor",
        AgentRole::LanePlanner => "the lane planner",
        AgentRole::Researcher => "the researcher",
        AgentRole::Analysis | AgentRole::Intent | AgentRole::Child => "the model",
    };
    if let Event::Looked { role, looks, refused, .. } = event {
        // A trial run is shown when it ends.
        let looks = looks.iter().filter(|look| !matches!(look, Look::Run { .. }));
        let looks: Vec<String> = looks.map(|look| harmless(&look.to_string())).collect();
        let at = || format!("  {} looks at {}", who(role), looks.join(", "));
        let refused = refused.iter().map(|line| format!("  {}", harmless(&line.to_string())));
        return (!looks.is_empty()).then(at).into_iter().chain(refused).collect();
    }
    if let Event::ToolResult { role, tool, arguments, ok, .. } = event {
        let failed = if *ok { "" } else { " (failed)" };
        let (who, tool) = (who(role), harmless(tool));
        if let Some(text) = only_text(arguments) {
            let lines = text.lines().map(|line| format!("    {}", harmless(line)));
            return std::iter::once(format!("  {who} calls {tool}{failed}")).chain(lines).collect();
        }
        return vec![format!("  {who} calls {tool} {}{failed}", harmless(arguments))];
    }
    if let Event::ServerToolAnswered { server, end, told, .. } = event
        && matches!(end, ToolCallEnd::Refused | ToolCallEnd::Unknown)
    {
        const LONGEST: usize = 500;
        let why = String::from_utf8_lossy(&told.content);
        let why: String = why.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
        let line = format!("  {}: {}", harmless(server), harmless(&why));
        return if why.is_empty() { Vec::new() } else { vec![line] };
    }
    if let Event::DraftPassedOver { why, .. } = event {
        let why = harmless(&why.to_string());
        return vec![format!("  the diff that came with the plan is not used: {why}")];
    }
    if let Event::UserAnswered { answer: None } = event {
        return vec![
            "  no answer from the user: the model decides and states its assumption".to_owned(),
        ];
    }
    if let Event::UserSteered { words } = event {
        let sent = |words: &String| format!("  sent to the model: {}", harmless(words));
        return words.iter().map(sent).collect();
    }
    if let Some((model, reasons)) = longer_thinker(event) {
        return vec![format!("  {}", harmless(&thinks_longer(model, reasons)))];
    }
    if let Event::CommandTried { role, command, exit, .. } = event {
        return vec![format!("  {} tries `{}`: {}", who(role), harmless(command), harmless(exit))];
    }
    if let Event::ChecksBarred { vacuous, .. } = event {
        let vacuous: Vec<String> =
            vacuous.iter().map(|check| format!("`{}`", harmless(check))).collect();
        let line = || format!("  proves nothing: {}", vacuous.join(", "));
        return (!vacuous.is_empty()).then(line).into_iter().collect();
    }
    if let Event::ImagesRead { images, unseen_by } = event {
        let line = |image: &NamedImage| match (image.content(), unseen_by) {
            (None, _) => format!("  image not shown: {}", harmless(&image.to_string())),
            (Some(_), None) => format!("  image {}", harmless(&image.to_string())),
            (Some(_), Some(model)) => {
                let (image, model) = (harmless(&image.to_string()), harmless(model));
                format!("  image not shown: {image}: {model} takes none (llm.images.models)")
            }
        };
        return images.iter().map(line).collect();
    }
    if let Event::AnswerRepeated { role, times } = event {
        return vec![format!("  {} gave the same answer {times} times", who(role))];
    }
    if let Event::FilesNeeded { files } = event {
        let line =
            |file: &NeededFile| format!("  the plan lacks {}: {}", file.path, harmless(&file.why));
        return files.iter().map(line).collect();
    }
    if let Event::EditorDone { reason } = event {
        return vec![format!("  the Editor has nothing to add: {}", harmless(&reason.to_string()))];
    }
    Vec::new()
}

pub(super) fn plan_text(plan: &Plan) -> String {
    let mut text = String::new();
    for (at, step) in plan.steps.iter().enumerate() {
        writeln!(text, "  {}. {}", at + 1, harmless(step)).ok();
    }
    for file in &plan.files {
        let lines: Vec<String> =
            file.lines.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        let colon = if lines.is_empty() { "" } else { ":" };
        let (path, lines) = (&file.path, lines.join(","));
        writeln!(text, "  {path}{colon}{lines} — {}", harmless(&file.intent)).ok();
    }
    for planned in &plan.operations {
        writeln!(text, "  {} — {}", planned.described(), harmless(&planned.why)).ok();
    }
    for look in &plan.show {
        writeln!(text, "  {look} — to read").ok();
    }
    for command in &plan.verify {
        writeln!(text, "  verify: {}", harmless(command)).ok();
    }
    for Criterion { criterion, .. } in plan.criteria() {
        writeln!(text, "  accept: {}", harmless(criterion)).ok();
    }
    for assumption in &plan.assumptions {
        writeln!(text, "  assumes: {}", harmless(assumption)).ok();
    }
    for risk in &plan.risks {
        writeln!(text, "  risk: {}", harmless(risk)).ok();
    }
    if let Some(more) = &plan.more {
        writeln!(text, "  then, planned later: {}", harmless(more)).ok();
    }
    text
}
