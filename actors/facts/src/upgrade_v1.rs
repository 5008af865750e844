//! Upgrades events of earlier versions. Where an older event has only a sentence, the state is derived from its words
//! here, and nowhere else. Pure.

use serde_json::{Map, Value, json};

/// Returns the kind and the data of an event in the form of this version.
pub fn upgraded(kind: &str, mut data: Value) -> (String, Value) {
    let Some(fields) = data.as_object_mut() else { return (kind.to_owned(), data) };
    let kind = match kind {
        "PatchStaged@v1" => {
            let is_way_back = text(fields, "title").starts_with("back to ");
            let purpose = if is_way_back { "way_back" } else { "change" };
            fields.insert("purpose".to_owned(), purpose.into());
            "PatchStaged@v2"
        }
        "ToolProposed@v1" => {
            action(fields);
            "ApprovalAsked@v1"
        }
        "ToolDenied@v1" => {
            action(fields);
            let unasked = text(fields, "ask").is_empty();
            let by = match text(fields, "why") {
                _ if unasked => "policy",
                "the user said no" => "user",
                _ => "nobody",
            };
            fields.insert("by".to_owned(), by.into());
            if unasked {
                fields.remove("ask");
            }
            "ApprovalDenied@v1"
        }
        "ToolApproved@v1" => "ApprovalGiven@v1",
        "RouterDecision@v1" => "IntentDecided@v1",
        "ContextRequested@v1" => {
            let requests = fields.remove("requests").unwrap_or_default();
            let looks = requests.as_array().into_iter().flatten();
            let looks: Vec<Value> = looks.map(|it| json!({ "context": it })).collect();
            fields.insert("role".to_owned(), "editor".into());
            fields.insert("looks".to_owned(), looks.into());
            "Looked@v1"
        }
        "LaneFailed@v1" => {
            fields.get_mut("why").map(delivery);
            "LaneFailed@v2"
        }
        "LanesFinished@v1" => {
            let lanes = fields.get_mut("lanes").and_then(Value::as_array_mut);
            for why in lanes.into_iter().flatten().filter_map(|lane| lane.get_mut("why")) {
                delivery(why);
            }
            "LanesFinished@v2"
        }
        "LaneCompleted@v1" => {
            fields.get_mut("verified").map(verified);
            "LaneCompleted@v2"
        }
        "RunFinished@v2" => {
            fields.get_mut("delivery").and_then(|it| it.get_mut("verified")).map(verified);
            "RunFinished@v3"
        }
        "RunFinished@v1" => {
            fields.get_mut("delivery").and_then(|it| it.get_mut("verified")).map(verified);
            fields.get_mut("delivery").map(delivery);
            let rollbacks = fields.get_mut("rollbacks").and_then(Value::as_array_mut);
            for to in rollbacks.into_iter().flatten().filter_map(|it| it.get_mut("to")) {
                *to = if *to == json!("the start") { json!("start") } else { json!("best") };
            }
            "RunFinished@v3"
        }
        other => other,
    };
    (kind.to_owned(), data)
}

/// Returns the name of a kind in this version, without the version suffix.
pub fn kind_name(kind: &str) -> &str {
    match kind.split('@').next().unwrap_or_default() {
        "RouterDecision" if kind.ends_with("@v2") => "RouterDecision",
        "ToolProposed" => "ApprovalAsked",
        "ToolApproved" => "ApprovalGiven",
        "ToolDenied" => "ApprovalDenied",
        "RouterDecision" => "IntentDecided",
        "ContextRequested" => "Looked",
        name => name,
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Converts the text shown for an action, `` `cargo test` `` or `patch 01m8…`.
fn action(fields: &mut Map<String, Value>) {
    let what = text(fields, "what");
    let action = match what.strip_prefix("patch ") {
        Some(id) => json!({ "patch": id }),
        None => json!({ "command": what.trim_matches('`') }),
    };
    fields.remove("what");
    fields.insert("action".to_owned(), action);
}

/// Adds the reason to "unverified": in earlier versions it always meant that no command could have failed.
fn verified(verified: &mut Value) {
    if *verified == json!("unverified") {
        *verified = json!({ "unverified": { "why": "nothing_could_fail" } });
    }
}

/// Derives the limit of a budget from the sentence about it.
fn delivery(delivery: &mut Value) {
    let Some(fields) = delivery.as_object_mut() else { return };
    let Some(detail) = fields.get("limit").cloned() else { return };
    let sentence = detail.as_str().unwrap_or_default();
    let limit = if sentence.contains("wall time") {
        "wall_time"
    } else if sentence.contains("has no price") {
        "no_price"
    } else if sentence.contains(" tokens ") {
        "tokens"
    } else if sentence.contains(" calls ") {
        "calls"
    } else {
        "usd"
    };
    fields.insert("limit".to_owned(), limit.into());
    fields.insert("detail".to_owned(), detail);
}
