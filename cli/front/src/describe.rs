//! Describes recorded events in words. Text of the user and of models is quoted unchanged, so callers must make lines harmless
//! before they show them.

use actors::looks::own_tools::OwnTool;
use actors::talk::child_question::ChildEnd;
use checks::outcome::{Findings, WrittenByCheck};
use checks::proof::OldTree;
use config::{Mode, Policy};
use facts::autopilot::AutopilotEnd;
use facts::delivery::{Delivery, Verified};
use facts::event::Event;
use facts::grammar::plan::{Criterion, Plan};
use facts::model_choice::{Assessment, ChoiceReason, ModelChoice};
use facts::words::{CardAnswer, IntentBy};
use journal::{CallReply, RecordedCall, Story, StoryEntry};
use orchestrator::autopilot::pilot_state::MOST_ALIKE;
use sandbox::Degree;
use serde::Serialize;
use serde_json::json;
use tools::count::counted;
use tree::RepoPath;

use crate::diff::harmless;

/// Returns an event in one line: its number, kind and description.
pub fn event(story: &Story, entry: &StoryEntry) -> String {
    let text =
        entry.event.as_ref().map(|event| description(story, entry, event)).unwrap_or_default();
    let lane = entry.lane.as_ref().map(|lane| format!("lane {lane}: ")).unwrap_or_default();
    let part = entry.part.as_ref().map(|part| format!("{part}: ")).unwrap_or_default();
    let (seq, name, text) = (entry.seq, entry.name(), text.replace('\n', " "));
    let line = format!("#{seq:<4} {name:<20} {lane}{part}{text}");
    line.trim_end().to_owned()
}

/// Says how far a conversation was compacted.
pub fn compacted(turns: usize, before: usize, after: usize) -> String {
    let turns = counted(turns, "turn");
    format!("{turns} summarized: {before} tokens of conversation before, {after} after")
}

/// Describes an event about tools of servers.
fn describe_server_tools(event: &Event) -> Option<String> {
    if let Event::ServerToolsFound { tools, .. } = event {
        return Some(format!("tools of servers: {}", beginning(&tools.join(", "))));
    }
    if let Event::ServerToolCalled { role, tool, arguments, .. } = event {
        return Some(format!("{} calls {tool} {}", role.as_str(), beginning(arguments)));
    }
    let Event::ServerToolAnswered { tool, end, elapsed_ms, .. } = event else { return None };
    Some(format!("{tool}: {} in {elapsed_ms} ms", word(end)))
}

/// Describes an event; empty if its kind already says everything.
#[expect(clippy::wildcard_enum_match_arm, reason = "the kind of every other event says everything")]
fn description(story: &Story, entry: &StoryEntry, event: &Event) -> String {
    if let Some(iteration) = iteration(event) {
        return describe_iteration(event, iteration);
    }
    if let Some((version, plan)) = describe_plan(event) {
        return format!("plan {version}: {}", beginning(&plan.steps.join("; ")));
    }
    if let Some((of, why)) = describe_refusal(event) {
        return format!("{of} refused: {}", beginning(&why));
    }
    if let Some(of_server) = describe_server_tools(event) {
        return of_server;
    }
    match event {
        Event::TurnAdded { speaker, text, .. } => {
            format!("{}: {}", speaker.name(), beginning(text))
        }
        Event::ConversationCompacted { turns, before, after, .. } => {
            compacted(*turns, *before, *after)
        }
        Event::EarlierChangesFound { fates } => counted(fates.len(), "earlier change"),
        Event::IntentDecided { intent, reason } => {
            format!("{}, by {}", intent.name(), why(*reason))
        }
        Event::Looked { role, looks, .. } => {
            let looks: Vec<String> = looks.iter().map(ToString::to_string).collect();
            format!("{} looked at {}", role.as_str(), beginning(&looks.join(", ")))
        }
        Event::InstructionsRead { files, .. } => {
            let files: Vec<String> = files.iter().map(ToString::to_string).collect();
            format!("instructions: {}", beginning(&files.join(", ")))
        }
        Event::ToolResult { role, tool, arguments, ok, .. } => {
            let failed = if *ok { "" } else { " (failed)" };
            format!("{} calls {tool} {}{failed}", role.as_str(), beginning(arguments))
        }
        Event::QaReport { review } => beginning(&review.to_string()),
        Event::ToolsFound { tools } => {
            let names: Vec<String> = tools.iter().map(OwnTool::name).collect();
            format!("tools of the workspace: {}", beginning(&names.join(", ")))
        }
        Event::UserAsked { .. }
        | Event::UserAnswered { .. }
        | Event::UserSaid { .. }
        | Event::UserSteered { .. } => exchange_with_user(event),
        Event::RequestBlocked { role, breach, .. } => format!("{}: {breach}", word(role)),
        Event::RouterDecision { selected_model, assessment, .. } => {
            routed(selected_model, assessment)
        }
        Event::RouterEscalation { reason_codes, from, to, .. } => {
            format!("asking {to} instead of {from}: {}", words(reason_codes))
        }
        Event::DiffRead { failed: Some(why), .. } => format!("the diff could not be read: {why}"),
        Event::CommandTried { command, exit, .. } => format!("{}: {exit}", beginning(command)),
        Event::FilesNeeded { files } => {
            let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            format!("the plan lacks {}", beginning(&files.join(", ")))
        }
        Event::ImagesRead { images, .. } => {
            let images: Vec<String> = images.iter().map(ToString::to_string).collect();
            images.join(", ")
        }
        Event::AnswerRepeated { role, times } => {
            format!("{}: the same answer {times} times", word(role))
        }
        Event::ChecksBarred { commands, vacuous, .. } if commands.is_empty() => {
            format!("proves nothing: {}", beginning(&vacuous.join(", ")))
        }
        Event::ChecksBarred { commands, .. } => {
            format!("would not be run: {}", beginning(&commands.join(", ")))
        }
        Event::EditorDone { reason } => {
            format!("nothing to add: {}", beginning(&reason.to_string()))
        }
        Event::SessionStateChanged { to, .. } => to.to_string(),
        Event::TransitionRefused { from, to } => format!("no transition from {from} to {to}"),
        Event::PatchStaged { patch, title, files, .. } => {
            let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            format!("patch {patch} · {title} · {}", beginning(&files.join(", ")))
        }
        Event::PatchApplied { patch } => format!("patch {patch} applied"),
        Event::CommitSettled { patch, outcome, .. } => format!("patch {patch} {}", word(outcome)),
        Event::ApprovalAsked { action, why, .. } => format!("{action}: needs approval: {why}"),
        Event::ApprovalGiven { left_out, said, .. } => approved(left_out, said.as_deref()),
        Event::ApprovalDenied { action, why, .. } => {
            let [what, why] = [action.to_string(), why.to_string()];
            format!("denied: {}: {}", beginning(&what), beginning(&why))
        }
        Event::VerificationRun { .. } => describe_check(event).unwrap_or_default(),
        Event::OldTreeTested { outcome, .. } => on_old_tree(*outcome).to_owned(),
        Event::VerifyCompleted { outcome, .. } => word(outcome),
        Event::FailureClassified { class, errors } => {
            format!("{}, {}", word(class), counted(*errors, "error"))
        }
        Event::ModelRequest { .. } => story.call(entry).map(asked).unwrap_or_default(),
        Event::ModelReply { .. } | Event::CallDropped { .. } => {
            story.call(entry).map(|call| format!("answer to #{}", call.seq)).unwrap_or_default()
        }
        Event::RunFinished { delivery, .. } => outcome(delivery),
        _ => in_course(event).unwrap_or_else(|| in_mission(event)),
    }
}

/// Describes an event of an autopilot; `None` for all others.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events are described elsewhere")]
fn in_course(event: &Event) -> Option<String> {
    Some(match event {
        Event::AutopilotBegan { task, .. } => beginning(task),
        Event::AutopilotAsked { opens: true, .. } => "a new dialogue".to_owned(),
        Event::AutopilotAsked { .. } => "the next question".to_owned(),
        Event::AutopilotAnswered { answer, .. } => beginning(answer),
        Event::AutopilotStepTaken { step, delivery, stays, .. } => {
            let stays = if *stays { "kept" } else { "undone" };
            format!("{stays}, {}: {}", delivery.in_words(), beginning(step))
        }
        Event::AutopilotEnded { end, .. } => describe_course_end(end),
        _ => return None,
    })
}

/// Says why an autopilot ended.
pub fn describe_course_end(end: &AutopilotEnd) -> String {
    match end {
        AutopilotEnd::Reached => "the --until command passes".to_owned(),
        AutopilotEnd::Done { shown_by } => format!("nothing is left to do: {shown_by}"),
        AutopilotEnd::Stuck { reason } => format!("no further step was found: {reason}"),
        AutopilotEnd::NoProgress => "the last steps made no progress".to_owned(),
        AutopilotEnd::SameFailure => {
            format!("the --until command prints the same as before the last {MOST_ALIKE} steps")
        }
        AutopilotEnd::Iterations => "the limit of --iterations was reached".to_owned(),
        AutopilotEnd::Time => "the limit of --hours was reached".to_owned(),
        AutopilotEnd::Budget => "the budget is exhausted".to_owned(),
        AutopilotEnd::Denied { .. } => "an approval was denied".to_owned(),
        AutopilotEnd::Stopped => "stopped".to_owned(),
    }
}

/// Describes an event of a mission; empty for all others.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events are described elsewhere")]
fn in_mission(event: &Event) -> String {
    match event {
        Event::MissionPhaseChanged { from, to } => format!("{from} → {to}"),
        Event::EvidenceCompared { stale, changed } => {
            format!(
                "{} and {} have changed",
                counted(stale.len(), "finding"),
                counted(changed.len(), "file")
            )
        }
        Event::SourcesRead { files, files_total, .. } => format!("{files} of {files_total} files"),
        Event::ResearchStep { step, round, asked, answered, new } => {
            let step = step.name();
            let new = counted(*new, "new finding");
            format!("{step} {round}: {answered} of {asked} answered, {new}")
        }
        Event::ResearchCut { .. } => {
            "research ends early to leave enough of the budget for the card".to_owned()
        }
        Event::CardMade { version, hash, .. } => format!("version {version}, {hash}"),
        Event::CardAnswered { answer, .. } => match answer {
            CardAnswer::Modify(words) => format!("changes requested: {}", beginning(words)),
            CardAnswer::Approved | CardAnswer::Rejected | CardAnswer::NoOne => word(answer),
        },
        Event::TaskAnswered { task, answer } => {
            format!("task {task}: {}", if answer.is_some() { "done" } else { "no answer" })
        }
        Event::ProgramPaused { .. } => "a program asks child questions".to_owned(),
        Event::ProgramEnded { end, .. } => format!("the program ended: {}", word(end)),
        Event::ChildEnded { end } => match end {
            ChildEnd::Answered(from) => format!("answered ({})", word(from)),
            ChildEnd::Failed(why) => why.to_string(),
            ChildEnd::Cancelled => "cancelled".to_owned(),
        },
        _ => String::new(),
    }
}

fn describe_iteration(event: &Event, iteration: u32) -> String {
    let has_diff = matches!(event, Event::EditorStarted { call: Some(_), .. });
    let with_plan = if has_diff { ": the diff came with the plan" } else { "" };
    format!("iteration {iteration}{with_plan}")
}

/// Returns the iteration that starts with an event; `None` for events that start none.
pub const fn iteration(event: &Event) -> Option<u32> {
    if let Event::ArchitectStarted { iteration }
    | Event::EditorStarted { iteration, .. }
    | Event::ApplyStarted { iteration }
    | Event::VerifyStarted { iteration, .. } = event
    {
        return Some(*iteration);
    }
    None
}

/// Returns the plan that an event created or revised, with its version; `None` for other events.
pub const fn describe_plan(event: &Event) -> Option<(u32, &Plan)> {
    if let Event::PlanCreated { version, plan, .. } | Event::PlanRevised { version, plan, .. } =
        event
    {
        return Some((*version, plan));
    }
    None
}

/// Returns what was refused (plan, draft, answer or patch) and why; `None` for other events.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other events are not refusals")]
pub fn describe_refusal(event: &Event) -> Option<(&'static str, String)> {
    Some(match event {
        Event::PlanRefused { error } => ("plan", error.to_string()),
        Event::DraftRefused { error } => ("draft", error.to_string()),
        Event::DraftPassedOver { why, .. } => ("draft with the plan", why.to_string()),
        Event::AnswerRefused { error } => ("answer", error.to_string()),
        Event::PatchRefused { reasons, .. } => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            ("patch", reasons.join("\n"))
        }
        _ => return None,
    })
}

/// Describes the result of a check; `None` for other events.
pub fn describe_check(event: &Event) -> Option<String> {
    let Event::VerificationRun { command, baseline, outcome, exit, elapsed_ms, findings, .. } =
        event
    else {
        return None;
    };
    let tree = if *baseline { " on the untouched tree" } else { "" };
    let walls = walls(findings.as_ref());
    let masked =
        describe_masked(findings.as_ref()).map(|masked| format!("; {masked}")).unwrap_or_default();
    Some(format!("`{command}`{tree}: {} ({exit}, {elapsed_ms} ms{walls}{masked})", word(outcome)))
}

/// Returns how many tests a check skipped; `None` if it skipped none.
pub fn skipped(tests: u64) -> Option<String> {
    (tests > 0).then(|| format!("{} skipped", counted(tests, "test")))
}

/// Returns how many secrets were masked in the output of a command; `None` if there were none.
pub fn describe_masked(findings: Option<&Findings>) -> Option<String> {
    let masked = findings.map(|findings| findings.masked).filter(|masked| *masked > 0)?;
    Some(format!("{} in the output masked", counted(masked, "secret")))
}

/// Returns the confinement of a command as a suffix; empty if it was fully confined, or not recorded.
pub fn walls(findings: Option<&Findings>) -> &'static str {
    match findings.and_then(|findings| findings.confined) {
        Some(Degree::Floor) => ", partly confined",
        Some(Degree::None) => ", not confined",
        Some(Degree::Full) | None => "",
    }
}

/// Returns when the user is asked. The mode takes precedence over the approval setting.
pub fn approval(policy: &Policy) -> String {
    match policy.mode {
        Mode::Plan => "read-only".to_owned(),
        Mode::Agent => word(&policy.approval),
        Mode::Yolo => "asks only for unconfined commands".to_owned(),
        Mode::Hetun => format!("as the card says, else {}", word(&policy.approval)),
    }
}

/// Returns an enum that is serialized as one word, with spaces for underscores.
pub fn word(value: &impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().replace('_', " ")
}

fn asked(RecordedCall { role, model, retry, .. }: &RecordedCall) -> String {
    let role = role.as_str();
    match retry {
        0 => format!("{role} asks {model}"),
        retry => format!("{role} asks {model} again (retry {retry})"),
    }
}

/// Describes a model call, one fact per line.
pub fn call(call: &RecordedCall) -> Vec<String> {
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
            let unknown = || "unknown".to_owned();
            let cache = usage.hit.map_or_else(
                || format!("{} in, unknown from the cache", usage.prompt),
                |hit| {
                    let miss = usage.miss();
                    format!(
                        "{hit} from the cache, {miss} not ({avoidable_misses} of them avoidable)"
                    )
                },
            );
            let reasoning = usage.reasoning.map_or_else(unknown, |it| it.to_string());
            format!("tokens: {cache}, {} out, {reasoning} of them reasoning", usage.output)
        },
    ));
    lines.push(cost_nano_usd.map_or_else(
        || "cost unknown".to_owned(),
        |cost| format!("cost {cost}, an estimate by the price table"),
    ));
    lines
}

/// Describes the result of running the tests of a change without the change.
pub const fn on_old_tree(outcome: OldTree) -> &'static str {
    match outcome {
        OldTree::Fails => "the tests of the change fail without it",
        OldTree::Passes => "the tests of the change also pass without it",
        OldTree::SaysNothing => {
            "without the change, its tests cannot be built, which proves nothing"
        }
        OldTree::TimedOut => "without the change, its tests took too long to build or to run",
        OldTree::NotRun => "the tests of the change could not be run without it",
    }
}

/// Describes what happened to files of the project while the checks ran, one fact per line.
pub fn after_checks(moved: &[String], written: &[WrittenByCheck]) -> Vec<String> {
    let mut lines = Vec::new();
    if let [first, rest @ ..] = moved {
        let more =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let first = harmless(first);
        lines.push(format!("{first}{more} changed while the checks ran; they are run again"));
    }
    lines.extend(written.iter().map(|WrittenByCheck { path, command }| {
        let command = harmless(command);
        format!("`{command}` changed {path}, which is not kept; later checks run again without it")
    }));
    lines
}

/// Describes how a request ended.
pub fn outcome(delivery: &Delivery) -> String {
    delivery.in_words()
}

/// Returns the acceptance criteria of the plan, each with the passed check that shows it, if there is one. Empty if no change was
/// delivered.
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

/// Returns what the plan of a delivered change takes for granted and what may still go wrong, each after its word.
pub fn caveats<'p>(plan: Option<&'p Plan>, delivery: &Delivery) -> Vec<(&'static str, &'p str)> {
    let Delivery::Delivered { verified } = delivery else { return Vec::new() };
    let plan = plan.filter(|_| *verified != Verified::NotNeeded);
    let assumed = plan.into_iter().flat_map(|plan| &plan.assumptions).map(|it| ("assumes", it));
    let risks = plan.into_iter().flat_map(|plan| &plan.risks).map(|it| ("risk", it));
    assumed.chain(risks).map(|(word, it)| (word, it.as_str())).collect()
}

/// Returns how the intent of a message was decided.
const fn why(reason: IntentBy) -> &'static str {
    match reason {
        IntentBy::Flag => "a flag or the command",
        IntentBy::Words => "its words",
        IntentBy::Model => "asking a model",
        IntentBy::User => "asking you",
        IntentBy::Default => "default: nothing else decided",
    }
}

/// Returns which model answers, and why.
pub fn routed(model: &str, assessment: &Assessment) -> String {
    let Assessment { score, reasons, choice, .. } = assessment;
    let who = match choice {
        ModelChoice::Own => format!("{model} answers"),
        ModelChoice::MaxThink => format!("{model}, which thinks longest, answers"),
        ModelChoice::Uncertain => "a small model decides which one answers".to_owned(),
    };
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", words(reasons)) };
    format!("{who} (score {score}{why})")
}

/// Returns the line that tells the user which model is asked to think longer, and why.
pub(crate) fn thinks_longer(model: &str, reasons: &[ChoiceReason]) -> String {
    let because = reasons.iter().map(|reason| match reason {
        ChoiceReason::AskedFor => "you asked for it",
        ChoiceReason::Keywords => "the request is about planning or design",
        ChoiceReason::Structure => "the request has a list or arrows",
        ChoiceReason::Length => "the request is long",
        ChoiceReason::Constraints => "the request states constraints",
        ChoiceReason::Breadth => "it concerns several files",
        ChoiceReason::Failures => "earlier requests failed",
        ChoiceReason::FailingChecks => "checks fail",
        ChoiceReason::Unsure => "the last plan rests on assumptions",
        ChoiceReason::Ambiguous => "the request is vague",
        ChoiceReason::Unattended => "nobody waits for the answer",
        ChoiceReason::SmallModel => "a small model says that it needs thought",
        ChoiceReason::NoUsableAnswer => "there was no usable answer",
        ChoiceReason::Fixed => "you chose it",
    });
    let because: Vec<&str> = because.collect();
    format!("asking {model} to think longer: {}", because.join(", "))
}

fn words(reasons: &[ChoiceReason]) -> String {
    reasons.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Returns the first 100 characters of a text, with an ellipsis if there are more.
fn beginning(text: &str) -> String {
    const LENGTH: usize = 100;
    let mut beginning: String = text.chars().take(LENGTH).collect();
    if beginning.len() < text.len() {
        beginning.push('…');
    }
    beginning
}

/// Describes a question, answer or message between the user and a model.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events are not such messages")]
fn exchange_with_user(event: &Event) -> String {
    match event {
        Event::UserAsked { question, .. } => {
            format!("question to the user: {}", beginning(question))
        }
        Event::UserAnswered { answer } => {
            answer.as_deref().map_or("no answer from the user".to_owned(), beginning)
        }
        Event::UserSaid { words } => format!("the user says: {}", beginning(words)),
        Event::UserSteered { words } => {
            format!("sent to the model: {}", beginning(&words.join(" ")))
        }
        _ => String::new(),
    }
}

/// Describes an approval, with the files that were left out and why.
pub fn approved(left_out: &[RepoPath], said: Option<&str>) -> String {
    if left_out.is_empty() {
        return "approved".to_owned();
    }
    let paths: Vec<&str> = left_out.iter().map(RepoPath::as_str).collect();
    let why = said.map(|said| format!(": {}", beginning(said))).unwrap_or_default();
    format!("approved except {}{why}", beginning(&paths.join(", ")))
}
