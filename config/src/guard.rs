//! What a workspace's own file may set: nothing that widens policy, raises budgets, has more work done at once, or chooses
//! where a key goes and what is copied where. Pure.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::keys::lookup;
use crate::layers::{Inputs, Setting, WorkspaceTrust};

/// Keys that an untrusted workspace can not set.
const GUARDED: [&str; 10] = [
    "llm.base_url",
    "llm.api_key_env",
    "llm.prices",
    "llm.peak",
    "policy",
    "budget",
    "trust",
    "checkpoints",
    "lanes",
    "agent_loop.safety_gate",
];

/// Lists that an untrusted workspace can only add to, because longer means narrower.
const ADDITIVE: [&str; 2] = ["policy.deny_commands", "policy.secret_files"];

/// Whether the user's own file trusts this workspace.
pub(crate) fn trust(user: &[Setting], inputs: &Inputs) -> WorkspaceTrust {
    let root = inputs.workspace_root.to_string_lossy();
    let trusted = user
        .iter()
        .filter(|setting| setting.key == "trust.workspaces")
        .filter_map(|setting| setting.value.as_array())
        .flatten()
        .any(|path| path.as_str() == Some(root.as_ref()));
    if trusted { WorkspaceTrust::Trusted } else { WorkspaceTrust::Untrusted }
}

/// The lists that may only grow, as they stand before the workspace adds to them.
pub(crate) fn merged_list(
    defaults: &Table,
    user: &[Setting],
) -> BTreeMap<&'static str, Vec<Value>> {
    ADDITIVE
        .iter()
        .map(|key| {
            let own = user.iter().rev().find(|setting| setting.key == *key).map(|s| &s.value);
            let list = own.or_else(|| lookup(defaults, key)).and_then(Value::as_array);
            (*key, list.cloned().unwrap_or_default())
        })
        .collect()
}

/// Drops what an untrusted workspace may not set, with a warning each.
pub(crate) fn guard(
    settings: Vec<Setting>,
    trust: WorkspaceTrust,
    lists: &BTreeMap<&'static str, Vec<Value>>,
    warnings: &mut Vec<String>,
) -> Vec<Setting> {
    if trust == WorkspaceTrust::Trusted {
        return settings;
    }
    let mut kept = Vec::new();
    for mut setting in settings {
        let guarded = GUARDED
            .iter()
            .any(|key| setting.key == *key || setting.key.starts_with(&format!("{key}.")));
        let addition = lists.get(setting.key.as_str()).zip(setting.value.as_array_mut());
        match addition {
            Some((list, added)) => {
                added.splice(0..0, list.iter().cloned());
                kept.push(setting);
            }
            None if guarded => warnings.push(format!(
                "{}: `{}` is not taken from a workspace you have not trusted (add its path to trust.workspaces)",
                setting.place, setting.key
            )),
            None => kept.push(setting),
        }
    }
    kept
}
