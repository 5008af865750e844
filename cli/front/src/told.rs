//! Events of the past in words. What the user and models said is quoted, so lines have to be made harmless before they are shown.

use actors::checks::Findings;
use actors::child::ChildEnd;
use actors::delivery::{Delivery, Verified};
use actors::event::Event;
use actors::own_tools::OwnTool;
use actors::plan::{Criterion, Plan};
use actors::proof::OldTree;
use actors::router::{Assessment, Choice, Reason};
use actors::words::{CardAnswer, IntentBy};
use config::{Mode, Policy};
use journal::{Call, CallReply, Story, StoryEntry};
use sandbox::Degree;
use serde::Serialize;
use serde_json::json;
use tree::RepoPath;

/// An event in a line: number, kind, what it says.
pub fn event(story: &Story, entry: &StoryEntry) -> String {
    let said = entry.event.as_ref().map(|event| said(story, entry, event)).unwrap_or_default();
    let lane = entry.lane.as_ref().map(|lane| format!("lane {lane}: ")).unwrap_or_default();
    let part = entry.part.as_ref().map(|part| format!("{part}: ")).unwrap_or_default();
    let (seq, name, said) = (entry.seq, entry.name(), said.replace('\n', " "));
    let line = format!("#{seq:<4} {name:<20} {lane}{part}{said}");
    line.trim_end().to_owned()
}

/// What an event says; nothing where its kind says it all.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others say no more than their kind")]
fn said(story: &Story, entry: &StoryEntry, event: &Event) -> String {
    if let Some(iteration) = iteration(event) {
        return format!("iteration {iteration}");
    }
    if let Some((version, plan)) = plan(event) {
        return format!("plan {version}: {}", beginning(&plan.steps.join("; ")));
    }
    if let Some((of, why)) = refusal(event) {
        return format!("{of} not taken: {}", beginning(&why));
    }
    match event {
        Event::TurnAdded { speaker, text, .. } => {
            format!("{}: {}", speaker.name(), beginning(text))
        }
        Event::IntentDecided { intent, reason } => {
            format!("{}, by {}", intent.name(), why(*reason))
        }
        Event::Looked { role, looks, .. } => {
            let looks: Vec<String> = looks.iter().map(ToString::to_string).collect();
            format!("{} looked at {}", role.as_str(), beginning(&looks.join(", ")))
        }
        Event::ToolResult { role, tool, arguments, ok, .. } => {
            let failed = if *ok { "" } else { ": it failed" };
            format!("{} calls {tool} {}{failed}", role.as_str(), beginning(arguments))
        }
        Event::QaReport { review } => beginning(&review.to_string()),
        Event::ToolsFound { tools } => {
            let names: Vec<String> = tools.iter().map(OwnTool::name).collect();
            format!("the workspace brings {}", beginning(&names.join(", ")))
        }
        Event::UserAsked { .. }
        | Event::UserAnswered { .. }
        | Event::UserSaid { .. }
        | Event::UserSteered { .. } => with_the_user(event),
        Event::RouterDecision { selected_model, assessment, .. } => {
            routed(selected_model, assessment)
        }
        Event::RouterEscalation { reason_codes, from, to, .. } => {
            format!("{to} is asked in place of {from}: {}", words(reason_codes))
        }
        Event::DiffRead { failed: Some(why), .. } => format!("no change was read: {why}"),
        Event::CommandTried { command, exit, .. } => format!("{}: {exit}", beginning(command)),
        Event::FilesNeeded { files } => {
            let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            format!("the plan lacks {}", beginning(&files.join(", ")))
        }
        Event::ChecksBarred { commands, vacuous, .. } if commands.is_empty() => {
            format!("proves nothing: {}", beginning(&vacuous.join(", ")))
        }
        Event::ChecksBarred { commands, .. } => {
            format!("would not be run: {}", beginning(&commands.join(", ")))
        }
        Event::EditorDone { reason } => format!("nothing more: {}", beginning(&reason.to_string())),
        Event::SessionStateChanged { to, .. } => to.to_string(),
        Event::TransitionRefused { from, to } => format!("{from} does not lead to {to}"),
        Event::PatchStaged { patch, title, files, .. } => {
            let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            format!("patch {patch} · {title} · {}", beginning(&files.join(", ")))
        }
        Event::PatchApplied { patch } => format!("patch {patch} applied"),
        Event::CommitSettled { patch, outcome, .. } => format!("patch {patch} {}", word(outcome)),
        Event::ApprovalAsked { action, why, .. } => format!("{action}: asked, since {why}"),
        Event::ApprovalGiven { left_out, said, .. } => approved(left_out, said.as_deref()),
        Event::ApprovalDenied { action, why, .. } => {
            let [what, why] = [action.to_string(), why.to_string()];
            format!("denied: {}: {}", beginning(&what), beginning(&why))
        }
        Event::VerificationRun { .. } => check(event).unwrap_or_default(),
        Event::OldTreeTested { outcome, .. } => on_old_tree(*outcome).to_owned(),
        Event::VerifyCompleted { outcome, .. } => word(outcome),
        Event::FailureClassified { class, errors } => format!("{}, {errors} errors", word(class)),
        Event::ModelRequest { .. } => story.call(entry).map(asked).unwrap_or_default(),
        Event::ModelReply { .. } | Event::CallDropped { .. } => {
            story.call(entry).map(|call| format!("answer to #{}", call.seq)).unwrap_or_default()
        }
        Event::RunFinished { delivery, .. } => outcome(delivery),
        Event::MissionPhaseChanged { from, to } => format!("{from} → {to}"),
        Event::SourcesRead { files, files_total, .. } => format!("{files} of {files_total} files"),
        Event::ResearchStep { step, round, asked, answered, new } => {
            let step = step.name();
            format!("{step} {round}: {answered} of {asked} answered, {new} new findings")
        }
        Event::ResearchCut { .. } => "the time that is left is kept for the card".to_owned(),
        Event::CardMade { version, hash, .. } => format!("version {version}, {hash}"),
        Event::CardAnswered { answer, .. } => match answer {
            CardAnswer::Modify(words) => format!("to be changed: {}", beginning(words)),
            CardAnswer::Approved | CardAnswer::Rejected | CardAnswer::NoOne => word(answer),
        },
        Event::TaskAnswered { task, answer } => {
            format!("task {task}: {}", if answer.is_some() { "done" } else { "no answer" })
        }
        Event::ProgramPaused { .. } => "a program asks small questions".to_owned(),
        Event::ProgramEnded { end, .. } => format!("the program ended: {}", word(end)),
        Event::ChildEnded { end } => match end {
            ChildEnd::Answered(from) => format!("answered ({})", word(from)),
            ChildEnd::Failed(why) => why.to_string(),
            ChildEnd::Cancelled => "given up".to_owned(),
        },
        _ => String::new(),
    }
}

/// The iteration that begins with an event.
pub const fn iteration(event: &Event) -> Option<u32> {
    if let Event::ArchitectStarted { iteration }
    | Event::EditorStarted { iteration }
    | Event::ApplyStarted { iteration }
    | Event::VerifyStarted { iteration, .. } = event
    {
        return Some(*iteration);
    }
    None
}

/// The plan that there is with an event, and its version.
pub const fn plan(event: &Event) -> Option<(u32, &Plan)> {
    if let Event::PlanCreated { version, plan, .. } | Event::PlanRevised { version, plan, .. } =
        event
    {
        return Some((*version, plan));
    }
    None
}

/// What was not taken, plan, draft or patch, and why.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others refuse nothing")]
pub fn refusal(event: &Event) -> Option<(&'static str, String)> {
    Some(match event {
        Event::PlanRefused { error } => ("plan", error.to_string()),
        Event::DraftRefused { error } => ("draft", error.to_string()),
        Event::AnswerRefused { error } => ("answer", error.to_string()),
        Event::PatchRefused { reasons, .. } => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            ("patch", reasons.join("\n"))
        }
        _ => return None,
    })
}

/// What came of a command of a verification.
pub fn check(event: &Event) -> Option<String> {
    let Event::VerificationRun { command, baseline, outcome, exit, elapsed_ms, findings, .. } =
        event
    else {
        return None;
    };
    let tree = if *baseline { " on the untouched tree" } else { "" };
    let walls = walls(findings.as_ref());
    let masked = masked(findings.as_ref()).map(|masked| format!("; {masked}")).unwrap_or_default();
    Some(format!("`{command}`{tree}: {} ({exit}, {elapsed_ms} ms{walls}{masked})", word(outcome)))
}

/// How many secrets were taken out of what a command printed, if there were any.
pub fn masked(findings: Option<&Findings>) -> Option<String> {
    let masked = findings.map(|findings| findings.masked).filter(|masked| *masked > 0)?;
    let secrets = if masked == 1 { "secret" } else { "secrets" };
    Some(format!("{masked} {secrets} in the output masked"))
}

/// How far a command was confined, where it was not wholly.
pub fn walls(findings: Option<&Findings>) -> &'static str {
    match findings.and_then(|findings| findings.confined) {
        Some(Degree::Floor) => ", confined in part",
        Some(Degree::None) => ", not confined",
        Some(Degree::Full) | None => "",
    }
}

/// Says when the user is asked, which the mode decides before the approval does.
pub fn approval(policy: &Policy) -> String {
    match policy.mode {
        Mode::Plan => "read-only".to_owned(),
        Mode::Agent => word(&policy.approval),
        Mode::Yolo => "asks only for unconfined commands".to_owned(),
        Mode::Hetun => format!("as the card says, else {}", word(&policy.approval)),
    }
}

/// An enum that is written as one word, for people.
pub fn word(value: &impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().replace('_', " ")
}

fn asked(Call { role, model, retry, .. }: &Call) -> String {
    let role = role.as_str();
    match retry {
        0 => format!("{role} asks {model}"),
        retry => format!("{role} asks {model} again (retry {retry})"),
    }
}

/// What is known of a call, a line for each thing.
pub fn call(call: &Call) -> Vec<String> {
    let Some(CallReply { seq, outcome, message, usage, cost_nano_usd, avoidable_misses, .. }) =
        &call.reply
    else {
        return vec!["no answer was recorded: tokens and cost are unknown".to_owned()];
    };
    let mut lines = vec![match message.as_str() {
        "" => format!("ended {outcome} with #{seq}"),
        message => format!("ended {outcome} with #{seq}: {message}"),
    }];
    lines.push(usage.map_or_else(
        || "tokens unknown".to_owned(),
        |usage| {
            format!(
                "tokens: {} from the cache, {} not ({avoidable_misses} of them avoidable), {} out, {} of them reasoning",
                usage.hit,
                usage.miss(),
                usage.output,
                usage.reasoning
            )
        },
    ));
    lines.push(cost_nano_usd.map_or_else(
        || "cost unknown".to_owned(),
        |cost| format!("cost {cost}, an estimate by the price table"),
    ));
    lines
}

/// What came of the tests of a change without it.
pub const fn on_old_tree(outcome: OldTree) -> &'static str {
    match outcome {
        OldTree::Fails => "the tests of the change fail without it",
        OldTree::Passes => "the tests of the change pass without it, too",
        OldTree::SaysNothing => {
            "without the change its tests cannot be built, which says nothing about them"
        }
        OldTree::NotRun => "the tests of the change could not be run without it",
    }
}

/// How a request ended.
pub fn outcome(delivery: &Delivery) -> String {
    match delivery {
        Delivery::Delivered { verified: Verified::NotNeeded } => "answered".to_owned(),
        Delivery::Delivered { verified } => format!("delivered, {verified}"),
        Delivery::NoEditNeeded { reason } => format!("no edit needed: {reason}"),
        Delivery::NeedsWork { detail, .. } => format!("needs work: {detail}"),
        Delivery::Denied { what, .. } => format!("denied: {what}"),
        Delivery::Cancelled => "stopped".to_owned(),
        Delivery::BudgetExhausted { detail, .. } => format!("budget exhausted: {detail}"),
        Delivery::Failed { class, message } => format!("failed ({}): {message}", class.name()),
    }
}

/// The criteria of a plan, of a change that was delivered: each with the check that shows it, if one passed that does.
pub fn criteria<'p>(plan: Option<&'p Plan>, delivery: &Delivery) -> Vec<Criterion<'p>> {
    let Delivery::Delivered { verified } = delivery else { return Vec::new() };
    let passed = match verified {
        Verified::NotNeeded => return Vec::new(),
        Verified::Proven | Verified::Passed => true,
        Verified::Unverified(_) => false,
    };
    let of_plan = plan.into_iter().flat_map(Plan::criteria);
    of_plan.map(|it| Criterion { shown_by: it.shown_by.filter(|_| passed), ..it }).collect()
}

/// How it was decided what a message is.
const fn why(reason: IntentBy) -> &'static str {
    match reason {
        IntentBy::Flag => "a flag or the command",
        IntentBy::Words => "its words",
        IntentBy::Model => "asking a model",
        IntentBy::Default => "default: nothing could say",
    }
}

/// Which model answers, and why.
pub fn routed(model: &str, assessment: &Assessment) -> String {
    let Assessment { score, reasons, choice, .. } = assessment;
    let who = match choice {
        Choice::Own => format!("{model} answers"),
        Choice::MaxThink => format!("{model}, which thinks longest, answers"),
        Choice::Uncertain => "a small model is asked which one answers".to_owned(),
    };
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", words(reasons)) };
    format!("{who} (score {score}{why})")
}

fn words(reasons: &[Reason]) -> String {
    reasons.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// The beginning of a text that may be long.
fn beginning(text: &str) -> String {
    const LENGTH: usize = 100;
    let mut beginning: String = text.chars().take(LENGTH).collect();
    if beginning.len() < text.len() {
        beginning.push('…');
    }
    beginning
}

/// What the user and a model said to each other.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events are nothing that was said")]
fn with_the_user(event: &Event) -> String {
    match event {
        Event::UserAsked { question, .. } => format!("the user is asked: {}", beginning(question)),
        Event::UserAnswered { answer } => {
            answer.as_deref().map_or("no user is there to answer".to_owned(), beginning)
        }
        Event::UserSaid { words } => format!("the user says: {}", beginning(words)),
        Event::UserSteered { words } => {
            format!("the model is told: {}", beginning(&words.join(" ")))
        }
        _ => String::new(),
    }
}

/// A yes, with what was left out and why.
pub fn approved(left_out: &[RepoPath], said: Option<&str>) -> String {
    if left_out.is_empty() {
        return "approved".to_owned();
    }
    let paths: Vec<&str> = left_out.iter().map(RepoPath::as_str).collect();
    let why = said.map(|said| format!(": {}", beginning(said))).unwrap_or_default();
    format!("approved, but for {}{why}", beginning(&paths.join(", ")))
}
