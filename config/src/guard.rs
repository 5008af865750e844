//! What an untrusted workspace's configuration may set: lower limits and stricter rules. It may not widen policy, spend
//! more, run more work in parallel, or choose where a key is sent and what is copied where. Pure.

use toml::{Table, Value};

use crate::keys::{insert, lookup};
use crate::layers::{Inputs, WorkspaceTrust, check_known};
use crate::setting::LayerSetting;

/// Keys that an untrusted workspace cannot set at all, because none of their values is stricter than another.
const NEVER: [&str; 15] = [
    "llm.base_url",
    "llm.api_key_env",
    "llm.dialect",
    "llm.dialects",
    "llm.finish_reasons",
    "llm.context_windows",
    "llm.prices",
    "llm.peak",
    "trust",
    "checkpoints",
    "eval",
    "lanes",
    "mcp",
    "projects",
    "sandbox",
];

/// Lists that an untrusted workspace can only extend, because a longer list is stricter. It can only shorten other
/// lists.
const ADDITIVE: [&str; 3] =
    ["policy.deny_commands", "policy.secret_files", "policy.executed_files"];

/// Values of a key, or of all keys with this ending, from strictest to widest. Values that are not in a common list are
/// not comparable.
const STRICTEST_FIRST: [(&str, &[&str]); 6] = [
    ("policy.approval", &["suggest", "auto"]),
    ("policy.approval", &["never", "auto"]),
    ("policy.mode", &["plan", "agent", "yolo"]),
    ("agent_loop.baseline", &["off", "skip", "wait"]),
    ("agent_loop.apply_strategy", &["auto", "three_way"]),
    (".effort", &["low", "high", "max"]),
];

/// Returns whether the user's own file trusts this workspace.
pub(crate) fn trust(user: &[LayerSetting], inputs: &Inputs) -> WorkspaceTrust {
    let root = inputs.workspace_root.to_string_lossy();
    let trusted = user
        .iter()
        .filter(|setting| setting.key == "trust.workspaces")
        .filter_map(|setting| setting.value.as_array())
        .flatten()
        .any(|path| path.as_str() == Some(root.as_ref()));
    if trusted { WorkspaceTrust::Trusted } else { WorkspaceTrust::Untrusted }
}

/// Drops the settings that an untrusted workspace may not make, with a warning each. `before` has the values without
/// them.
pub(crate) fn guard(
    settings: Vec<LayerSetting>,
    trust: WorkspaceTrust,
    before: &Table,
    warnings: &mut Vec<String>,
) -> Vec<LayerSetting> {
    if trust == WorkspaceTrust::Trusted {
        return settings;
    }
    let mut kept = Vec::new();
    for mut setting in settings {
        let current = lookup(before, &setting.key);
        if ADDITIVE.contains(&setting.key.as_str())
            && let (Some(list), Some(added)) =
                (current.and_then(Value::as_array), setting.value.as_array_mut())
        {
            added.retain(|entry| !list.contains(entry));
            added.splice(0..0, list.iter().cloned());
            kept.push(setting);
        } else if current.is_some_and(|current| narrows(&setting.key, current, &setting.value)) {
            kept.push(setting);
        } else if let Err(unknown) = check_known(&setting, before) {
            warnings.push(format!("{unknown} (ignored)"));
        } else {
            warnings.push(format!(
                "{}: ignored `{}`: this workspace is not trusted, so its configuration can only tighten settings; to trust it: deepseek trust",
                setting.place, setting.key
            ));
        }
    }
    kept
}

/// Returns `values` with `settings` applied.
pub(crate) fn with<'a>(
    mut values: Table,
    settings: impl Iterator<Item = &'a LayerSetting>,
) -> Table {
    for setting in settings {
        insert(&mut values, &setting.key, setting.value.clone());
    }
    values
}

/// Returns true if `new` allows nothing that `current` does not.
fn narrows(key: &str, current: &Value, new: &Value) -> bool {
    if new == current {
        return true;
    }
    if NEVER.iter().any(|never| key == *never || key.starts_with(&format!("{never}."))) {
        return false;
    }
    if let (Some(current), Some(new)) = (limit(key, current), limit(key, new)) {
        return new <= current;
    }
    if let (Some(current), Some(new)) = (current.as_array(), new.as_array()) {
        return new.iter().all(|item| current.contains(item));
    }
    if let (Some(current), Some(new)) = (current.as_str(), new.as_str()) {
        return is_stricter(key, new, current);
    }
    // Only switches are left: they may be turned off.
    current.as_bool() == Some(true) && new.as_bool() == Some(false)
}

/// Returns a number as a limit; a budget of 0 is infinite. `None` if the value is not a number.
fn limit(key: &str, value: &Value) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
    let number = value.as_float().or(value.as_integer().map(|number| number as f64))?;
    let unlimited = number.is_nan() || (key.starts_with("budget.") && number <= 0.0);
    Some(if unlimited { f64::INFINITY } else { number })
}

fn is_stricter(key: &str, new: &str, current: &str) -> bool {
    STRICTEST_FIRST.iter().any(|(of, values)| {
        let place = |value: &str| values.iter().position(|it| *it == value);
        let places = place(new).zip(place(current));
        (key == *of || (of.starts_with('.') && key.ends_with(of)))
            && places.is_some_and(|(new, current)| new < current)
    })
}
