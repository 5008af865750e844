//! Lists that extend the lists of the layers below. Pure.

use toml::{Table, Value};

use crate::keys::lookup;
use crate::setting::LayerSetting;

/// The list entry that stands for the entries of the layers below.
pub const BELOW: &str = "...";

/// Replaces [`BELOW`] in every list of `settings` by the entries that the list has in `below`.
pub(crate) fn fill_lists(mut settings: Vec<LayerSetting>, below: &Table) -> Vec<LayerSetting> {
    for LayerSetting { key, value, .. } in &mut settings {
        let entries = lookup(below, key).and_then(Value::as_array);
        if let Some(list) = value.as_array_mut() {
            *list = whole(list, entries.map(Vec::as_slice).unwrap_or_default());
        }
    }
    settings
}

/// Returns the list with its [`BELOW`] entries expanded, without duplicates. A list without such entries is unchanged.
fn whole(list: &[Value], below: &[Value]) -> Vec<Value> {
    let is_mark = |entry: &Value| entry.as_str() == Some(BELOW);
    let entries = list
        .iter()
        .flat_map(|entry| if is_mark(entry) { below } else { std::slice::from_ref(entry) });
    let mut whole: Vec<Value> = Vec::new();
    for entry in entries {
        if !list.iter().any(is_mark) || !whole.contains(entry) {
            whole.push(entry.clone());
        }
    }
    whole
}
