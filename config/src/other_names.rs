//! Settings under names that they have elsewhere: each is read as what it is called here. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use crate::setting::{ConfigError, LayerSetting};

const NAMES: &str = include_str!("other_names.toml");

#[derive(Deserialize)]
struct Names {
    names: Vec<OtherName>,
}

#[derive(Deserialize)]
struct OtherName {
    from: String,
    to: Option<String>,
    #[serde(default)]
    values: BTreeMap<String, String>,
    always: Option<Value>,
    #[serde(default)]
    why: String,
}

/// What a key and its value are here.
enum Here {
    /// This key with this value.
    Set(String, Value),
    /// What is so anyway.
    Anyway,
    /// Nothing, for this reason; the value is ignored.
    Ignored(String),
    /// Nothing, and this value is not true here, for this reason.
    Refused(String),
}

fn here(key: &str, value: &Value) -> Option<Here> {
    let names: Names = toml::from_str(NAMES).ok()?;
    let it = names.names.into_iter().find(|it| it.from == key && !value.is_table())?;
    Some(match (it.to, it.always) {
        (Some(to), _) => {
            let named = value.as_str().and_then(|word| it.values.get(word));
            Here::Set(to, named.map_or_else(|| value.clone(), |word| word.as_str().into()))
        }
        (None, Some(always)) if always == *value => Here::Anyway,
        (None, Some(_)) => Here::Refused(it.why),
        (None, None) => Here::Ignored(it.why),
    })
}

/// Returns what a key and its value are called here, if it is something else.
pub fn named_here(key: &str, value: &Value) -> Option<(String, Value)> {
    match here(key, value)? {
        Here::Set(to, set) => Some((to, set)).filter(|(to, set)| to != key || set != value),
        Here::Anyway | Here::Ignored(_) | Here::Refused(_) => None,
    }
}

/// Returns the keys of other names that are settings here.
pub fn other_names() -> Vec<String> {
    let names = toml::from_str::<Names>(NAMES).map(|names| names.names).unwrap_or_default();
    names.into_iter().filter(|it| it.to.is_some()).map(|it| it.from).collect()
}

/// Gives settings the names that they have here. Those that have no effect become warnings.
pub(crate) fn renamed(
    settings: Vec<LayerSetting>,
    warnings: &mut Vec<String>,
) -> Result<Vec<LayerSetting>, ConfigError> {
    let mut all = Vec::new();
    for mut setting in settings {
        let mut parts = setting.key.splitn(3, '.');
        let profile = match (parts.next(), parts.next(), parts.next()) {
            (Some("profiles"), Some(name), Some(key)) => Some((format!("profiles.{name}."), key)),
            _ => None,
        };
        let (prefix, key) = profile.unwrap_or_else(|| (String::new(), &setting.key));
        match here(key, &setting.value) {
            None => {}
            Some(Here::Set(to, value)) => {
                setting.key = prefix + &to;
                setting.value = value;
            }
            Some(Here::Anyway) => continue,
            Some(Here::Ignored(why)) => {
                warnings.push(format!("{}: `{}` is ignored: {why}", setting.place, setting.key));
                continue;
            }
            Some(Here::Refused(message)) => {
                let LayerSetting { place, key, .. } = setting;
                return Err(ConfigError::Value { place, key, message });
            }
        }
        all.push(setting);
    }
    Ok(all)
}
