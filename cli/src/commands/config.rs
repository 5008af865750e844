//! `deepseek config`: shows the configuration with the source of each value, and changes it without losing comments.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use config::{BELOW, Settings, Source, named_here, other_names, split_key};
use front::error::{CliError, CliErrorKind};
use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, Table, TableLike};

use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::{CommandSource, Surroundings, read_config};

/// Show and change the configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show every value with its source.
    Show,
    /// Show one value.
    Get {
        /// The dotted key, for example `agent_loop.max_iterations`.
        key: String,
    },
    /// Set one value in your configuration.
    Set {
        /// The dotted key, for example `agent_loop.max_iterations`.
        key: String,
        /// The value as TOML; a bare word is a string.
        value: String,
        /// Change the workspace's .deepseek/config.toml instead.
        #[arg(long)]
        local: bool,
    },
    /// Add values to a list, keeping its other entries.
    Add {
        /// The dotted key, for example `policy.allow_commands`.
        key: String,
        /// The values, without TOML quotes.
        #[arg(required = true)]
        values: Vec<String>,
        /// Change the workspace's .deepseek/config.toml instead.
        #[arg(long)]
        local: bool,
    },
    /// Remove values from a list.
    Remove {
        /// The dotted key, for example `policy.allow_commands`.
        key: String,
        /// The values, without TOML quotes.
        #[arg(required = true)]
        values: Vec<String>,
        /// Change the workspace's .deepseek/config.toml instead.
        #[arg(long)]
        local: bool,
    },
    /// Remove a key from your configuration, so that its default applies again.
    Unset {
        /// The dotted key, for example `agent_loop.max_iterations`.
        key: String,
        /// Change the workspace's .deepseek/config.toml instead.
        #[arg(long)]
        local: bool,
    },
    /// Open your configuration in $VISUAL or $EDITOR.
    Edit {
        /// Open the workspace's .deepseek/config.toml instead.
        #[arg(long)]
        local: bool,
    },
}

impl ConfigArgs {
    /// Returns true if the action only shows values.
    pub(crate) const fn is_shown(&self) -> bool {
        matches!(self.action, Action::Show | Action::Get { .. })
    }
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &ConfigArgs,
) -> Result<(), CliError> {
    match &args.action {
        Action::Show => show(around, global),
        Action::Get { key } => get(around, global, &here(key)),
        Action::Set { key, value, local } => {
            let value = config::parse_value(value);
            let (key, value) = named_here(key, &value).unwrap_or_else(|| (key.clone(), value));
            let (key, value) = (&key, value.to_string());
            let edit = |table: &mut Table| put(table, key, value.parse().ok()?);
            change(around, global, *local, key, &edit)?;
            report(around, global, *local, &format!("{key} is set"))
        }
        Action::Add { key, values, local } => {
            let key = &here(key);
            let count = add(around, global, *local, (key, values))?;
            report(around, global, *local, &format!("{key} has {}", entries(count)))
        }
        Action::Remove { key, values, local } => {
            let key = &here(key);
            let count = remove(around, global, *local, (key, values))?;
            report(around, global, *local, &format!("{key} has {}", entries(count)))
        }
        Action::Unset { key, local } => {
            let key = &here(key);
            let path = file(around, global, *local)?;
            if own(&path)?.get(key).is_none_or(|(_, source)| *source == Source::Default) {
                let not_set = format!("{key} is not set in {}", path.display());
                return Err(CliError::new(CliErrorKind::Usage, not_set));
            }
            change(around, global, *local, key, &|table| unset(table, key))?;
            report(around, global, *local, &format!("{key} is no longer set"))
        }
        Action::Edit { local } => edit(around, global, *local),
    }
}

/// Adds values to a list in the user's configuration.
pub(super) fn add_to(
    around: &Surroundings,
    global: &Global,
    key: &str,
    values: &[String],
) -> Result<(), CliError> {
    add(around, global, false, (key, values)).map(|_| ())
}

/// Removes values from a list in the user's configuration. Fails if one of them is not in the list.
pub(super) fn remove_from(
    around: &Surroundings,
    global: &Global,
    key: &str,
    values: &[String],
) -> Result<(), CliError> {
    remove(around, global, false, (key, values)).map(|_| ())
}

/// Sets keys below a table in the user's configuration.
pub(super) fn put_all(
    around: &Surroundings,
    global: &Global,
    table: &str,
    values: &BTreeMap<String, String>,
) -> Result<(), CliError> {
    let edit = |into: &mut Table| {
        values
            .iter()
            .try_for_each(|(key, value)| put(into, &format!("{table}.{key}"), value.parse().ok()?))
    };
    change(around, global, false, table, &edit)
}

/// Removes a key or a table from the user's configuration.
pub(super) fn take_out(around: &Surroundings, global: &Global, key: &str) -> Result<(), CliError> {
    change(around, global, false, key, &|table| unset(table, key))
}

/// Adds values to a list and returns its new length.
fn add(
    around: &Surroundings,
    global: &Global,
    local: bool,
    (key, values): (&str, &[String]),
) -> Result<usize, CliError> {
    let ListOf { own, mut all } = list(around, global, local, key)?;
    let mut own = own.unwrap_or_else(|| vec![BELOW.to_owned()]);
    for value in values {
        if !all.contains(value) {
            own.push(value.clone());
            all.push(value.clone());
        }
    }
    change(around, global, local, key, &|table| put(table, key, array(&own)))?;
    Ok(all.len())
}

/// Removes values from a list and returns its new length.
fn remove(
    around: &Surroundings,
    global: &Global,
    local: bool,
    (key, values): (&str, &[String]),
) -> Result<usize, CliError> {
    let ListOf { own, mut all } = list(around, global, local, key)?;
    if let Some(missing) = values.iter().find(|value| !all.contains(value)) {
        return Err(CliError::new(CliErrorKind::Usage, format!("`{missing}` is not in {key}"))
            .hint(format!("`deepseek config get {key}` shows the list")));
    }
    all.retain(|value| !values.contains(value));
    // An entry inherited from a lower layer can only be removed by listing all the others.
    let is_own = |own: &Vec<String>| values.iter().all(|value| own.contains(value));
    let left = match own.filter(is_own) {
        Some(mut own) => {
            own.retain(|value| !values.contains(value));
            own
        }
        None => all.clone(),
    };
    let edit = |table: &mut Table| {
        if left == [BELOW] { unset(table, key) } else { put(table, key, array(&left)) }
    };
    change(around, global, local, key, &edit)?;
    Ok(all.len())
}

fn settings(around: &Surroundings, global: &Global) -> Result<(Settings, PathBuf), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    Ok((settings, workspace))
}

fn show(around: &Surroundings, global: &Global) -> Result<(), CliError> {
    let (settings, workspace) = settings(around, global)?;
    let access = around.access(&settings, &workspace);
    for warning in settings.warnings.iter().chain(&access.warnings) {
        render::warn(&format!("warning: {warning}"));
    }
    // The API key is never shown, not even in part.
    let key = if access.key.is_some() { "set" } else { "not set" };
    if global.output == OutputFormat::Text {
        for (name, value, source) in settings.values() {
            let value = if is_secret(name) { "…".to_owned() } else { value.to_string() };
            render::print_line(&format!("{name} = {value}  # {source}"));
        }
        let from = if access.key.is_some() {
            format!(", from {}", access.key_source)
        } else {
            String::new()
        };
        render::print_line(&format!("# the API key is {key}{from}"));
        render::print_line(&format!("# requests go to {}", access.base_url));
    } else {
        let values: Map<String, Value> = settings
            .values()
            .iter()
            .map(|(name, value, source)| {
                let value = if is_secret(name) { json!(null) } else { json!(value) };
                (name.clone(), json!({"value": value, "source": source.to_string()}))
            })
            .collect();
        render::json_line(&json!({
            "values": values, "key": key, "key_source": access.key_source, "base_url": access.base_url,
        }));
    }
    Ok(())
}

/// Returns true if the value of a key may be a secret: a variable or a header for a server of tools.
fn is_secret(key: &str) -> bool {
    let of_server = key.strip_prefix("mcp.servers.").and_then(|rest| rest.split('.').nth(1));
    of_server.is_some_and(|field| field == "env" || field == "headers")
}

fn get(around: &Surroundings, global: &Global, key: &str) -> Result<(), CliError> {
    let (settings, _) = settings(around, global)?;
    let found = settings.get(key).map(|(value, _)| value);
    let value = found.ok_or_else(|| no_key(key))?;
    if global.output == OutputFormat::Text {
        render::print_line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    } else {
        render::json_line(&json!(value));
    }
    Ok(())
}

/// Returns the name that a key has here.
fn here(key: &str) -> String {
    named_here(key, &config::parse_value("")).map_or_else(|| key.to_owned(), |(key, _)| key)
}

/// Gives the settings of a file the names that they have here.
fn rename_all(table: &mut Table) {
    for key in other_names() {
        let value = found(table, &key).and_then(Item::as_value).map(ToString::to_string);
        let named = value.and_then(|value| named_here(&key, &config::parse_value(value.trim())));
        let Some((to, value)) = named else { continue };
        if let Ok(value) = value.to_string().parse() {
            unset(table, &key);
            put(table, &to, value);
        }
    }
}

fn no_key(key: &str) -> CliError {
    CliError::new(CliErrorKind::Usage, format!("there is no key `{key}`"))
        .hint("`deepseek config show` lists them")
}

fn file(around: &Surroundings, global: &Global, local: bool) -> Result<PathBuf, CliError> {
    if local {
        Ok(around.workspace(global)?.join(".deepseek/config.toml"))
    } else {
        around.user_config(global)
    }
}

/// Changes a configuration file, keeping its comments. Writes nothing if the result would be invalid.
fn change(
    around: &Surroundings,
    global: &Global,
    local: bool,
    key: &str,
    edit: &dyn Fn(&mut Table) -> Option<()>,
) -> Result<(), CliError> {
    let path = file(around, global, local)?;
    let unreadable = |error: &dyn std::fmt::Display| {
        CliError::new(CliErrorKind::Usage, format!("cannot change {}: {error}", path.display()))
    };
    let old = read_config(&path)?.map(|file| file.text).unwrap_or_default();
    let mut document: DocumentMut =
        old.parse().map_err(|error: toml_edit::TomlError| unreadable(&error))?;
    rename_all(document.as_table_mut());
    edit(document.as_table_mut()).ok_or_else(|| no_key(key))?;
    let text = document.to_string();
    check(around, global, &path, &text, local)?;
    write(&path, &text).map_err(|error| unreadable(&error))
}

fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

fn report(around: &Surroundings, global: &Global, local: bool, what: &str) -> Result<(), CliError> {
    let later = match around.given {
        CommandSource::Shell => "",
        CommandSource::PlainLines | CommandSource::LiveRows => {
            "; what `/approval` and `/mode` set holds at once, the rest from the next conversation on (/clear)"
        }
    };
    render::warn(&format!("{what} in {}{later}", file(around, global, local)?.display()));
    Ok(())
}

/// Resolves one configuration file on top of the defaults.
fn own(path: &Path) -> Result<Settings, CliError> {
    resolved(&config::Inputs { user: read_config(path)?, ..config::Inputs::default() })
}

fn resolved(inputs: &config::Inputs) -> Result<Settings, CliError> {
    config::resolve_layers(inputs).map_err(|error| CliError::caused(CliErrorKind::Usage, &error))
}

/// A list of strings in a configuration file.
struct ListOf {
    /// The entries in the file itself; `None` if it does not set the key.
    own: Option<Vec<String>>,
    /// The entries in effect, including those inherited from lower layers.
    all: Vec<String>,
}

/// Reads the list that a key has in a configuration file.
fn list(
    around: &Surroundings,
    global: &Global,
    local: bool,
    key: &str,
) -> Result<ListOf, CliError> {
    let no_list = || {
        CliError::new(CliErrorKind::Usage, format!("{key} is not a list of strings"))
            .hint(format!("deepseek config set {key} VALUE"))
    };
    let text = read_config(&file(around, global, local)?)?.map(|file| file.text);
    let document: DocumentMut = text.unwrap_or_default().parse().unwrap_or_default();
    let own = found(document.as_table(), key);
    let own = own.map(|item| texts(item).ok_or_else(no_list)).transpose()?;
    let settings = if local {
        self::own(&around.user_config(global)?)?
    } else {
        resolved(&config::Inputs::default())?
    };
    let below = match settings.get(key) {
        Some((value, _)) => {
            let texts = value.as_array().map(|list| list.iter().map(|text| text.as_str()));
            let texts = texts.and_then(|list| list.map(|it| it.map(str::to_owned)).collect());
            texts.ok_or_else(no_list)?
        }
        None if own.is_some() => Vec::new(),
        None => return Err(no_key(key)),
    };
    let all = match &own {
        None => below,
        Some(own) => {
            let whole = own.iter().flat_map(|entry| {
                if entry == BELOW { below.as_slice() } else { std::slice::from_ref(entry) }
            });
            whole.cloned().collect()
        }
    };
    Ok(ListOf { own, all })
}

/// Looks up a dotted key in a table.
fn found<'t>(table: &'t Table, key: &str) -> Option<&'t Item> {
    let (path, name) = split_key(key);
    let mut table: &dyn TableLike = table;
    for step in path {
        table = table.get(step)?.as_table_like()?;
    }
    table.get(name)
}

/// Returns a list of strings; `None` if the item is anything else.
fn texts(item: &Item) -> Option<Vec<String>> {
    item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

/// Builds a TOML array, with one entry per line if it is long.
fn array(list: &[String]) -> toml_edit::Value {
    let mut array: toml_edit::Array = list.iter().collect();
    if array.to_string().len() > 100 {
        for item in array.iter_mut() {
            item.decor_mut().set_prefix("\n    ");
        }
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    array.into()
}

/// Checks that a file with this new text would resolve, and prints its warnings.
fn check(
    around: &Surroundings,
    global: &Global,
    path: &Path,
    text: &str,
    local: bool,
) -> Result<(), CliError> {
    let text = Some(config::FileText { path: path.to_owned(), text: text.to_owned() });
    let mut inputs =
        config::Inputs { workspace_root: around.workspace(global)?, ..config::Inputs::default() };
    if local {
        inputs.workspace = text;
    } else {
        inputs.user = text;
    }
    let settings = config::resolve_layers(&inputs).map_err(|error| {
        CliError::caused(CliErrorKind::Usage, &error)
            .hint("nothing was changed; `deepseek config show` lists every key")
    })?;
    for warning in settings.warnings {
        render::warn(&format!("warning: {warning}"));
    }
    Ok(())
}

/// Sets a dotted key, creating tables as needed.
fn put(table: &mut Table, key: &str, value: toml_edit::Value) -> Option<()> {
    let (path, name) = split_key(key);
    let mut table: &mut dyn TableLike = table;
    for step in path {
        let item = table.entry(step).or_insert_with(|| {
            let mut inner = Table::new();
            inner.set_implicit(true);
            Item::Table(inner)
        });
        table = item.as_table_like_mut()?;
    }
    table.insert(name, Item::Value(value));
    Some(())
}

/// Removes a dotted key, and its table if that becomes empty. Returns `None` if the key is not set.
fn unset(table: &mut Table, key: &str) -> Option<()> {
    let (path, name) = split_key(key);
    let mut inner: &mut dyn TableLike = table;
    for step in &path {
        inner = inner.get_mut(step)?.as_table_like_mut()?;
    }
    inner.remove(name)?;
    if let ([step], true) = (path.as_slice(), inner.is_empty()) {
        table.remove(step);
    }
    Some(())
}

/// Replaces a file atomically.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn edit(around: &Surroundings, global: &Global, local: bool) -> Result<(), CliError> {
    let path = file(around, global, local)?;
    let editor = around.editor().ok_or_else(|| {
        CliError::new(CliErrorKind::Usage, "neither VISUAL nor EDITOR is set")
            .hint(format!("set $EDITOR, or edit {} yourself", path.display()))
    })?;
    if !path.exists() {
        write(
            &path,
            "# deepseek configuration; `deepseek config show` lists every key with its value.\n",
        )
        .map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    }
    tui::restore_echo();
    let status = shell::interactive(editor, &path).map_err(|error| {
        CliError::new(CliErrorKind::Usage, format!("cannot start {editor}: {error}"))
    })?;
    if !status.success() {
        return Err(CliError::new(CliErrorKind::Usage, format!("{editor} ended with {status}")));
    }
    // Check the edited file now rather than at the next start.
    settings(around, global).map(|_| ())
}
