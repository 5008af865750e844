//! Events of the past in words. What the user and models said is quoted, so lines have to be made harmless before they are shown.

use actors::delivery::{Delivery, Verified};
use journal::projection::answers::{Call, CallReply, Moment, StoryEvent};

/// An event in a line: number, kind, what it says.
pub(crate) fn event(entry: &StoryEvent) -> String {
    let said = moment(&entry.what).replace('\n', " ");
    let lane = entry.lane.as_ref().map(|lane| format!("lane {lane}: ")).unwrap_or_default();
    let line = format!("#{:<4} {:<20} {lane}{said}", entry.seq, entry.name());
    line.trim_end().to_owned()
}

fn moment(moment: &Moment) -> String {
    match moment {
        Moment::Turn { speaker, text } => format!("{speaker}: {}", beginning(text)),
        Moment::Decision { intent, reason } => format!("{intent}, by {}", why(reason)),
        Moment::State { state } => state.clone(),
        Moment::Stage { iteration } => format!("iteration {iteration}"),
        Moment::Plan { version, plan } => {
            format!("plan {version}: {}", beginning(&plan.steps.join("; ")))
        }
        Moment::Refusal { of, why } => format!("{of} not taken: {}", beginning(why)),
        Moment::Patch(patch) => {
            let files: Vec<&str> = patch.files.iter().map(|file| file.path.as_str()).collect();
            format!("patch {} · {} · {}", patch.id, patch.title, beginning(&files.join(", ")))
        }
        Moment::Commit { patch, outcome } => format!("patch {patch} {}", outcome.replace('_', " ")),
        Moment::Proposal { effect, why, .. } => format!("{effect}: asked, since {why}"),
        Moment::Answer { answer, effect, why, .. } => {
            let about = [effect, why].into_iter().flatten();
            let about: Vec<String> = about.map(|text| format!(": {}", beginning(text))).collect();
            format!("{answer}{}", about.concat())
        }
        Moment::Command { command, baseline, outcome, exit, elapsed_ms, .. } => {
            let tree = if *baseline { " on the untouched tree" } else { "" };
            let outcome = outcome.replace('_', " ");
            format!("`{command}`{tree}: {outcome} ({exit}, {elapsed_ms} ms)")
        }
        Moment::Verification { outcome, .. } => outcome.replace('_', " "),
        Moment::Failure { class, errors } => {
            format!("{}, {errors} errors", class.replace('_', " "))
        }
        Moment::Call(call) => asked(call),
        Moment::Reply { request } => format!("answer to #{request}"),
        Moment::Delivery { delivery, .. } => outcome(delivery),
        Moment::Other => String::new(),
    }
}

fn asked(Call { role, model, retry, .. }: &Call) -> String {
    match retry {
        0 => format!("{role} asks {model}"),
        retry => format!("{role} asks {model} again (retry {retry})"),
    }
}

/// What is known of a call, a line for each thing.
pub(crate) fn call(call: &Call) -> Vec<String> {
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

/// How a request ended.
pub(crate) fn outcome(delivery: &Delivery) -> String {
    match delivery {
        Delivery::Delivered { verified: Verified::Passed } => "delivered, verified".to_owned(),
        Delivery::Delivered { verified: Verified::Unverified } => {
            "delivered, not verified: no command could have shown a failure".to_owned()
        }
        Delivery::Delivered { verified: Verified::NotNeeded } => "answered".to_owned(),
        Delivery::NoEditNeeded { reason } => format!("no edit needed: {reason}"),
        Delivery::NeedsWork { detail, .. } => format!("needs work: {detail}"),
        Delivery::Denied { what, .. } => format!("denied: {what}"),
        Delivery::Cancelled => "stopped".to_owned(),
        Delivery::BudgetExhausted { detail, .. } => format!("budget exhausted: {detail}"),
        Delivery::Failed { class, message } => format!("failed ({}): {message}", class.name()),
    }
}

/// The reason of a router's decision.
fn why(reason: &str) -> &str {
    match reason {
        "flag" => "a flag or the command",
        "words" => "its words",
        "model" => "asking a model",
        "default" => "default: nothing could say",
        other => other,
    }
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
