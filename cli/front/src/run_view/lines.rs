//! Parts of a run in lines. Pure.

use std::fmt::Write as _;

use actors::checks::CheckOutcome;
use actors::draft::NeededFile;
use actors::event::{Blob, Event};
use actors::look::Look;
use actors::plan::{Criterion, Plan};
use actors::reasons::{Reasons, reasons};
use actors::router::Choice;
use actors::wording::Wording;
use anstyle::AnsiColor;
use model::AgentRole;
use tree::{RepoPath, Settlement};

use crate::diff::harmless;
use crate::told::routed;

/// What became of a commit that a crash interrupted, for people.
pub fn settled(patch: &str, outcome: Settlement, left: &[RepoPath]) -> String {
    let became = match outcome {
        Settlement::Completed => "was completed",
        Settlement::TakenBack => "was taken back",
        Settlement::Stuck => "can be neither completed nor taken back; look at its files yourself",
    };
    let mut text = format!("a change that was interrupted ({patch}) {became}");
    for path in left {
        text.push_str(&match outcome {
            Settlement::Completed | Settlement::TakenBack => {
                format!("\n  {path} was changed meanwhile and is left as it is")
            }
            Settlement::Stuck => format!("\n  {path}"),
        });
    }
    text
}

/// Where a diff was read tolerantly; what happened several times is told once.
pub(super) fn tolerated(repairs: &[Wording]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for repair in repairs {
        let line = format!("  read tolerantly: {}\n", harmless(&repair.to_string()));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// What came of a check.
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

/// The lines that say why a check did not pass.
pub(crate) fn why_it_failed(outcome: CheckOutcome, output: &Blob) -> Vec<String> {
    const MOST: usize = 12;
    const OF_THE_MACHINE: usize = 3;
    let most = match outcome {
        CheckOutcome::CodeFailure => MOST,
        CheckOutcome::TimedOut
        | CheckOutcome::Infrastructure
        | CheckOutcome::Environment
        | CheckOutcome::CommandMissing => OF_THE_MACHINE,
        CheckOutcome::Passed
        | CheckOutcome::Flaky
        | CheckOutcome::Unverified
        | CheckOutcome::PreExisting
        | CheckOutcome::PolicyDenied => return Vec::new(),
    };
    let Reasons { lines, more } = reasons(&String::from_utf8_lossy(&output.content), most);
    let more = match more {
        0 => None,
        1 => Some("… and 1 more failure".to_owned()),
        more => Some(format!("… and {more} more failures")),
    };
    lines.iter().map(|line| harmless(line)).chain(more).collect()
}

/// What models say beside plans and diffs, in lines.
pub(super) fn said_by_models(event: &Event) -> Vec<String> {
    let who = |role: &AgentRole| match role {
        AgentRole::Architect => "the Architect",
        AgentRole::Editor => "the Editor",
        AgentRole::LanePlanner => "the lane planner",
        AgentRole::Researcher => "the researcher",
        AgentRole::Analysis | AgentRole::Intent | AgentRole::Child => "the model",
    };
    if let Event::Looked { role, looks, refused, .. } = event {
        // What was tried is told when it ends.
        let looks = looks.iter().filter(|look| !matches!(look, Look::Run { .. }));
        let looks: Vec<String> = looks.map(|look| harmless(&look.to_string())).collect();
        let at = || format!("  {} looks at {}", who(role), looks.join(", "));
        let refused = refused.iter().map(|line| format!("  {}", harmless(&line.to_string())));
        return (!looks.is_empty()).then(at).into_iter().chain(refused).collect();
    }
    if let Event::ToolResult { role, tool, arguments, ok, .. } = event {
        let failed = if *ok { "" } else { " (in vain)" };
        let (tool, arguments) = (harmless(tool), harmless(arguments));
        return vec![format!("  {} calls {tool} {arguments}{failed}", who(role))];
    }
    if let Event::UserAnswered { answer: None } = event {
        return vec![
            "  no user is there to answer: the model chooses, and says what it assumed".to_owned(),
        ];
    }
    if let Event::UserSteered { words } = event {
        let told = |words: &String| format!("  the model is told: {}", harmless(words));
        return words.iter().map(told).collect();
    }
    if let Event::RouterDecision { selected_model, assessment, .. } = event {
        let is_own = assessment.choice != Choice::MaxThink;
        let line = || format!("  {}", harmless(&routed(selected_model, assessment)));
        return (!is_own).then(line).into_iter().collect();
    }
    if let Event::RouterEscalation { from, to, .. } = event {
        return vec![format!("  {from} gave no usable answer; {to} is asked")];
    }
    if let Event::CommandTried { role, command, exit, .. } = event {
        return vec![format!("  {} tries `{}`: {}", who(role), harmless(command), harmless(exit))];
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
    for look in &plan.show {
        writeln!(text, "  {look} — to read").ok();
    }
    for command in &plan.verify {
        writeln!(text, "  verify: {}", harmless(command)).ok();
    }
    for Criterion { criterion, .. } in plan.criteria() {
        writeln!(text, "  accept: {}", harmless(criterion)).ok();
    }
    text
}
