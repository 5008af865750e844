//! The layers of configuration and how they are merged: later layers win, and every value records where it came from.
//!
//! Pure: texts and variables come in, settings come out. Nothing here reads a file or the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize as _;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::guard::{guard, trust, with};
use crate::keys::{SERVERS, insert, join_key, leaf_settings, lookup, template};
use crate::lists::fill_lists;
use crate::misfit::misfit;
use crate::other_names::renamed;
use crate::setting::{ConfigError, LayerSetting, Source};
use crate::{Config, Effort, SUBAGENTS};

/// The embedded defaults: the lowest layer, which also lists all keys.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// Whether the workspace's own file may set everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceTrust {
    /// The user named it in `trust.workspaces`.
    Trusted,
    /// It may not widen policy, raise budgets, or set keys, prices and base URLs.
    Untrusted,
}

/// One file of configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

/// Everything that the configuration is resolved from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The user's file.
    pub user: Option<FileText>,
    /// The workspace's file.
    pub workspace: Option<FileText>,
    /// Absolute path of the workspace, looked up in `trust.workspaces`.
    pub workspace_root: PathBuf,
    /// The selected profile.
    pub profile: Option<String>,
    /// Keys set by environment variables: (dotted key, variable, value).
    pub env: Vec<(&'static str, &'static str, String)>,
    /// Keys set by flags: (dotted key, flag, value as TOML, bare words allowed).
    pub flags: Vec<(&'static str, &'static str, String)>,
    /// Keys set with `--set`, which override everything else: (dotted key, value as TOML, bare words allowed). Later
    /// ones win.
    pub set: Vec<(String, String)>,
}

/// The configuration with the source of every value.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The values.
    pub config: Config,
    /// Warnings for the user, without duplicates.
    pub warnings: Vec<String>,
    /// Whether the workspace is trusted.
    pub trust: WorkspaceTrust,
    values: Vec<(String, Value, Source)>,
}

impl Settings {
    /// Returns every leaf: dotted key, value, source, in the order of `defaults.toml`.
    pub fn values(&self) -> &[(String, Value, Source)] {
        &self.values
    }

    /// Returns the settings with which work goes on that was begun with the configuration `record`: that one, what flags
    /// set now, and what is forbidden by now. `None` if the record does not fit this version.
    pub fn resuming(self, record: &str) -> Option<Self> {
        let mut table = Table::try_from(recorded(record)?).ok()?;
        for (key, value, source) in &self.values {
            if matches!(source, Source::Flag(_)) || is_left_out(key) {
                insert(&mut table, key, value.clone());
            }
        }
        let mut config = Config::deserialize(Value::Table(table)).ok()?;
        let now = &self.config.policy;
        for (kept, now) in [
            (&mut config.policy.deny_commands, &now.deny_commands),
            (&mut config.policy.secret_files, &now.secret_files),
        ] {
            let new: Vec<String> = now.iter().filter(|it| !kept.contains(it)).cloned().collect();
            kept.extend(new);
        }
        Some(Self { config, ..self })
    }

    /// Returns one leaf by its dotted key.
    pub fn get(&self, key: &str) -> Option<(&Value, &Source)> {
        self.values.iter().find(|(name, ..)| name == key).map(|(_, value, source)| (value, source))
    }
}

/// Resolves the layers into settings.
pub fn resolve_layers(inputs: &Inputs) -> Result<Settings, ConfigError> {
    let defaults = defaults();
    let mut merged = defaults.clone();
    let mut warnings = Vec::new();

    let user = renamed(file_settings(inputs.user.as_ref(), Source::User)?, &mut warnings)?;
    let workspace = file_settings(inputs.workspace.as_ref(), Source::Workspace)?;
    let workspace = renamed(workspace, &mut warnings)?;
    let trust = trust(&user, inputs);

    let (user_profiles, user) = split_profiles(user);
    let (workspace_profiles, workspace) = split_profiles(workspace);
    let profile = inputs.profile.as_deref();
    check_profile(profile, user_profiles.iter().chain(&workspace_profiles))?;
    for setting in user_profiles.iter().chain(&workspace_profiles) {
        // A mistake in a profile that is not selected is an error as well.
        if let Some(key) = setting.key.splitn(3, '.').nth(2) {
            check_known(&LayerSetting { key: key.to_owned(), ..setting.clone() }, &defaults)?;
        }
    }

    let user = fill_lists(user, &defaults);
    let before = with(defaults.clone(), user.iter());
    let workspace = guard(fill_lists(workspace, &before), trust, &before, &mut warnings);
    let before = with(before, workspace.iter());
    let user_profile = fill_lists(pick_profile(user_profiles, profile), &before);
    let before = with(before, user_profile.iter());
    let workspace_profile = fill_lists(pick_profile(workspace_profiles, profile), &before);
    let workspace_profile = guard(workspace_profile, trust, &before, &mut warnings);

    let mut settings = user;
    settings.extend(workspace);
    settings.extend(user_profile);
    settings.extend(workspace_profile);
    settings.extend(given(&inputs.env, |name| Source::Env(name.to_owned())));
    settings.extend(given(&inputs.flags, |name| Source::Flag(name.to_owned())));
    if !inputs.set.is_empty() {
        let before = with(defaults.clone(), settings.iter());
        let set = renamed(one_by_one(&inputs.set), &mut warnings)?;
        settings.extend(fill_lists(set, &before));
    }

    let mut sources = BTreeMap::new();
    for setting in &settings {
        check_known(setting, &defaults)?;
        insert(&mut merged, &setting.key, setting.value.clone());
        sources.insert(setting.key.clone(), setting.source.clone());
    }
    let mut config = match Config::deserialize(Value::Table(merged.clone())) {
        Ok(config) => config,
        Err(error) => return Err(blame(&settings, &defaults, error.message())),
    };
    check_ranges(&config, &settings)?;
    rename_retired(&mut config, &mut warnings);

    let values = leaf_settings(&merged)
        .into_iter()
        .map(|(key, value)| {
            let source = sources.get(&key).cloned().unwrap_or(Source::Default);
            (key, value, source)
        })
        .collect();
    Ok(Settings { config, warnings, trust, values })
}

/// What is left out of records, as readers have no need of it: the provider's address, and servers, which may name secrets.
const LEFT_OUT: [(&str, &str); 2] = [("llm", "base_url"), ("mcp", "servers")];

fn is_left_out(key: &str) -> bool {
    key.starts_with(SERVERS) || LEFT_OUT.iter().any(|(table, name)| key == join_key(table, name))
}

/// Returns the configuration as text for [`recorded`] to read back, without what is left out of records.
pub fn to_record(config: &Config) -> String {
    let mut table = Table::try_from(config).unwrap_or_default();
    for (inner, name) in LEFT_OUT {
        if let Some(inner) = table.get_mut(inner).and_then(Value::as_table_mut) {
            inner.remove(name);
        }
    }
    table.to_string()
}

/// Reads a configuration written by [`to_record`]. Keys and tables added by later versions get their defaults. Returns
/// `None` if the text does not fit this version.
pub fn recorded(text: &str) -> Option<Config> {
    let mut merged = defaults();
    overlay(&mut merged, text.parse().ok()?);
    Config::deserialize(Value::Table(merged)).ok()
}

fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Returns the embedded defaults as a table.
pub(crate) fn defaults() -> Table {
    DEFAULTS.parse().unwrap_or_default()
}

/// Returns the assignments of one file in order, with their lines.
fn file_settings(
    file: Option<&FileText>,
    source: fn(PathBuf) -> Source,
) -> Result<Vec<LayerSetting>, ConfigError> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let path = file.path.display().to_string();
    let table = DeTable::parse(&file.text).map_err(|error| ConfigError::Syntax {
        path: path.clone(),
        line: line_of(&file.text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    let mut settings = Vec::new();
    let ends: Vec<usize> = file.text.match_indices('\n').map(|(at, _)| at).collect();
    collect(table.get_ref(), "", &mut |key, value, offset| {
        let line = ends.partition_point(|end| *end < offset) + 1;
        settings.push(LayerSetting {
            key,
            value,
            source: source(file.path.clone()),
            place: format!("{path}:{line}"),
            line,
        });
    });
    Ok(settings)
}

/// Calls `found` with the dotted key, the value and the byte offset of the key of every leaf.
fn collect(table: &DeTable<'_>, prefix: &str, found: &mut impl FnMut(String, Value, usize)) {
    for (key, value) in table {
        let name = join_key(prefix, key.get_ref());
        if let DeValue::Table(inner) = value.get_ref()
            && !inner.is_empty()
        {
            collect(inner, &name, found);
        } else {
            found(name, plain(value.get_ref()), key.span().start);
        }
    }
}

/// Returns a parsed value without its spans.
fn plain(value: &DeValue<'_>) -> Value {
    Value::deserialize(toml::de::ValueDeserializer::from(Spanned::new(0..0, value.clone())))
        .unwrap_or_else(|_| Value::String(String::new()))
}

/// Returns the one-based line of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Returns the settings made by variables or flags, whose values may be bare words.
fn given(
    pairs: &[(&'static str, &'static str, String)],
    source: impl Fn(&'static str) -> Source,
) -> Vec<LayerSetting> {
    pairs
        .iter()
        .map(|(key, name, text)| LayerSetting {
            key: (*key).to_owned(),
            value: parse_value(text),
            source: source(name),
            place: (*name).to_owned(),
            line: 1,
        })
        .collect()
}

/// Returns the settings made with `--set`.
fn one_by_one(pairs: &[(String, String)]) -> Vec<LayerSetting> {
    const FLAG: &str = "--set";
    let setting = |(key, text): &(String, String)| LayerSetting {
        key: key.clone(),
        value: parse_value(text),
        source: Source::Flag(FLAG.to_owned()),
        place: FLAG.to_owned(),
        line: 1,
    };
    pairs.iter().map(setting).collect()
}

/// Parses a value as TOML, or takes it as a bare string.
pub fn parse_value(text: &str) -> Value {
    format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("v"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Separates `profiles.NAME.…` from the rest.
fn split_profiles(settings: Vec<LayerSetting>) -> (Vec<LayerSetting>, Vec<LayerSetting>) {
    settings.into_iter().partition(|setting| setting.key.starts_with("profiles."))
}

/// Returns the settings of one profile, without their prefix.
fn pick_profile(settings: Vec<LayerSetting>, profile: Option<&str>) -> Vec<LayerSetting> {
    let Some(name) = profile else { return Vec::new() };
    let prefix = format!("profiles.{name}.");
    settings
        .into_iter()
        .filter_map(|mut setting| {
            setting.key = setting.key.strip_prefix(&prefix)?.to_owned();
            setting.source = Source::Profile(name.to_owned());
            Some(setting)
        })
        .collect()
}

/// Checks that the selected profile is defined somewhere.
fn check_profile<'a>(
    profile: Option<&str>,
    settings: impl Iterator<Item = &'a LayerSetting>,
) -> Result<(), ConfigError> {
    let Some(name) = profile else { return Ok(()) };
    let mut known: Vec<String> =
        settings.filter_map(|setting| setting.key.split('.').nth(1)).map(str::to_owned).collect();
    known.sort();
    known.dedup();
    if known.iter().any(|profile| profile == name) {
        return Ok(());
    }
    Err(ConfigError::UnknownProfile { name: name.to_owned(), known })
}

/// Checks that the key exists; tables with free names are described by one of their entries.
pub(crate) fn check_known(setting: &LayerSetting, defaults: &Table) -> Result<(), ConfigError> {
    // What a server may have is known to its schema.
    if setting.key.starts_with(SERVERS)
        || lookup(defaults, &template(&setting.key)).is_some_and(|value| !value.is_table())
        || (setting.value.as_table().is_some_and(Table::is_empty)
            && lookup(defaults, &setting.key).is_some_and(Value::is_table))
    {
        return Ok(());
    }
    let known = leaf_settings(defaults);
    let nearest = known
        .iter()
        .map(|(key, _)| (strsim::damerau_levenshtein(key, &setting.key), key))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= setting.key.len().div_ceil(2))
        .map(|(_, key)| key.clone());
    Err(ConfigError::UnknownKey {
        path: setting.place.rsplit_once(':').map_or(setting.place.as_str(), |(p, _)| p).to_owned(),
        line: setting.line,
        key: setting.key.clone(),
        nearest,
    })
}

/// Finds the setting at fault by trying each alone on top of the defaults.
fn blame(settings: &[LayerSetting], defaults: &Table, message: &str) -> ConfigError {
    for setting in settings {
        let mut alone = defaults.clone();
        insert(&mut alone, &setting.key, setting.value.clone());
        if let Err(error) = Config::deserialize(Value::Table(alone)) {
            let default = lookup(defaults, &template(&setting.key));
            let misfit = default.and_then(|default| misfit(&setting.value, default));
            return ConfigError::Value {
                place: setting.place.clone(),
                key: setting.key.clone(),
                message: misfit.unwrap_or_else(|| error.message().to_owned()),
            };
        }
    }
    ConfigError::Value {
        place: "configuration".to_owned(),
        key: String::new(),
        message: message.to_owned(),
    }
}

/// Checks values that have the right type but may be out of range.
fn check_ranges(config: &Config, settings: &[LayerSetting]) -> Result<(), ConfigError> {
    let classifier = &config.agent_loop.failure_classifier;
    let rules = [
        ("agent_loop.max_iterations", config.agent_loop.max_iterations >= 1, "must be at least 1"),
        ("llm.max_concurrent_calls", config.llm.max_concurrent_calls >= 1, "must be at least 1"),
        ("lanes.max_lanes", (1..=99).contains(&config.lanes.max_lanes), "must be between 1 and 99"),
        (
            "lanes.max_subagents",
            SUBAGENTS.contains(&config.lanes.max_subagents),
            "must be between 1 and 20",
        ),
        (
            "lanes.share",
            config.lanes.share.iter().all(|path| is_inside(path)),
            "must be paths below the workspace",
        ),
        ("missions.passage_lines", config.missions.passage_lines >= 1, "must be at least 1"),
        (
            "missions.plateau",
            (0.0..=1.0).contains(&config.missions.plateau),
            "must be between 0 and 1",
        ),
        ("limits.journal_queue", config.limits.journal_queue >= 1, "must be at least 1"),
        ("limits.screen_queue", config.limits.screen_queue >= 1, "must be at least 1"),
        ("limits.stall_seconds", config.limits.stall_seconds >= 1, "must be at least 1"),
        (
            "agent_loop.failure_classifier.repeat_threshold",
            classifier.repeat_threshold >= 1,
            "must be at least 1",
        ),
        (
            "agent_loop.failure_classifier.similarity_threshold",
            (0.0..=1.0).contains(&classifier.similarity_threshold),
            "must be between 0 and 1",
        ),
        (
            "budget.usd",
            config.budget.usd.is_finite() && config.budget.usd >= 0.0,
            "must be 0 (no limit) or more",
        ),
    ];
    for (key, holds, message) in rules {
        if !holds {
            let place = settings.iter().rev().find(|setting| setting.key == key);
            return Err(ConfigError::Value {
                place: place.map_or_else(|| "defaults".to_owned(), |s| s.place.clone()),
                key: key.to_owned(),
                message: message.to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns true if a path leads to something below the workspace and not into `.git`.
fn is_inside(path: &str) -> bool {
    path.split('/').all(|name| {
        !matches!(name, "" | "." | "..")
            && !name.contains(['\\', ':'])
            && !name.eq_ignore_ascii_case(".git")
    })
}

/// Replaces retired model names by their successors, with one warning for all.
fn rename_retired(config: &mut Config, warnings: &mut Vec<String>) {
    let llm = &mut config.llm;
    let mut renamed = Vec::new();
    for role in [&mut llm.max_think_model, &mut llm.base_model, &mut llm.flash_model] {
        let thinking = match role.model.as_str() {
            "deepseek-chat" => false,
            "deepseek-reasoner" => true,
            _ => continue,
        };
        let old = std::mem::replace(&mut role.model, "deepseek-flash".to_owned());
        role.thinking = thinking;
        if thinking && role.effort == Effort::Low {
            role.effort = Effort::High;
        }
        if !renamed.contains(&old) {
            renamed.push(old);
        }
    }
    if !renamed.is_empty() {
        warnings.push(format!(
            "{} is retired: deepseek-flash is used instead (thinking off for deepseek-chat, on for deepseek-reasoner)",
            renamed.join(" and ")
        ));
    }
}

#[cfg(test)]
mod tests;
