//! Recorded events as JSON documents: a category, and the fields that are meaningful to consumers.

use facts::event::Event;
use front::describe::{describe_plan, describe_refusal, iteration};
use journal::{Story, StoryEntry};
use serde_json::{Map, Value, json};

/// Formats an event as a document.
pub(crate) fn document(story: &Story, entry: &StoryEntry) -> Value {
    let described = entry.event.as_ref().and_then(|event| describe(story, entry, event));
    let mut document = json!(entry);
    if let Some(fields) = document.as_object_mut() {
        let (what, data) = described.map_or(("other", None), |(what, data)| (what, Some(data)));
        fields.insert("what".to_owned(), what.into());
        fields.extend(data.map(|data| ("data".to_owned(), data)));
    }
    document
}

/// Returns the category of an event and its data. `None` if only the event's kind is shown.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others are shown by their kind")]
fn describe(story: &Story, entry: &StoryEntry, event: &Event) -> Option<(&'static str, Value)> {
    let fields = |names: &[&str]| fields(event, names);
    if let Some(iteration) = iteration(event) {
        return Some(("stage", json!({ "iteration": iteration })));
    }
    if let Some((version, plan)) = describe_plan(event) {
        return Some(("plan", json!({ "version": version, "plan": plan })));
    }
    if let Some((of, why)) = describe_refusal(event) {
        return Some(("refusal", json!({ "of": of, "why": why })));
    }
    Some(match event {
        Event::TurnAdded { .. } => ("turn", fields(&["speaker", "text"])),
        Event::IntentDecided { .. } => ("decision", fields(&["intent", "reason"])),
        Event::SessionStateChanged { to, .. } => ("state", json!({ "state": to })),
        Event::PatchStaged { .. } => {
            let mut data = fields(&["patch", "purpose", "title", "files"]);
            let applied = story.patch(entry).is_some_and(|patch| patch.applied);
            data.as_object_mut()?.insert("applied".to_owned(), applied.into());
            ("patch", data)
        }
        Event::PatchApplied { patch } => {
            ("commit", json!({ "patch": patch, "outcome": "applied" }))
        }
        Event::CommitSettled { .. } => ("commit", fields(&["patch", "outcome"])),
        Event::ApprovalAsked { ask, action, why } => {
            ("proposal", json!({ "ask": ask, "effect": action.to_string(), "why": why }))
        }
        Event::ApprovalGiven { ask, left_out, said } => {
            let mut answer =
                json!({ "ask": ask, "answer": "approved", "effect": null, "why": said });
            if !left_out.is_empty() {
                answer.as_object_mut()?.insert("left_out".to_owned(), json!(left_out));
            }
            ("answer", answer)
        }
        Event::ApprovalDenied { ask, action, why, .. } => {
            let (ask, effect) = (ask.as_deref().unwrap_or_default(), action.to_string());
            let answer = json!({ "ask": ask, "answer": "denied", "effect": effect, "why": why });
            ("answer", answer)
        }
        Event::VerificationRun { .. } => {
            let names = ["command", "baseline", "outcome", "exit", "elapsed_ms", "output"];
            ("command", fields(&names))
        }
        Event::RouterDecision { .. } => {
            let names = ["decision_id", "selected_model", "thinking", "assessment", "prompt_hash"];
            ("routing", fields(&[&names[..], &["tool_schema_hash", "max_tokens"]].concat()))
        }
        Event::CommandTried { .. } => {
            ("trial", fields(&["role", "command", "exit", "elapsed_ms", "output"]))
        }
        Event::OldTreeTested { .. } => {
            ("proof", fields(&["tests", "command", "outcome", "exit", "elapsed_ms", "output"]))
        }
        Event::VerifyCompleted { .. } => ("verification", fields(&["iteration", "outcome"])),
        Event::FailureClassified { .. } => ("failure", fields(&["class", "errors"])),
        Event::ModelRequest { .. } => ("call", json!(story.call(entry)?)),
        Event::ModelReply { .. } | Event::CallDropped { .. } => {
            ("reply", json!({ "request": story.call(entry)?.seq }))
        }
        Event::RunFinished { .. } => ("delivery", fields(&["delivery", "spent"])),
        _ => return None,
    })
}

/// Returns some fields of an event, as recorded in the journal.
fn fields(event: &Event, names: &[&str]) -> Value {
    let Value::Object(mut data) = event.data() else { return Value::Null };
    let named = names.iter().filter_map(|name| Some(((*name).to_owned(), data.remove(*name)?)));
    named.collect::<Map<_, _>>().into()
}
