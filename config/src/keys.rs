//! Dotted keys: finds, sets and lists the values of nested tables by their path. Pure.

use toml::{Table, Value};

/// Returns `prefix.key`, or `key` at the top level.
pub(crate) fn join_key(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// The tables of prices, whose names may contain dots.
const PRICES: &str = "llm.prices.";

/// The tables with free keys that may contain dots, and a key in the defaults.
const FREE_KEYS: [(&str, &str); 2] =
    [("policy.options.", "cargo"), ("llm.context_windows.", "*deepseek-flash*")];

/// The tables with free names without dots, the ending of a key in them, and a name in the defaults that has such keys.
const NAMED: [(&str, &str, &str); 5] = [
    ("commands.complaints.", ".cure", "node"),
    ("commands.complaints.", "", "shell"),
    ("projects.", "", "node"),
    ("eval.exercises.", ".run", "rust"),
    ("eval.exercises.", "", "java"),
];

/// The table of servers: their names and most of their keys are free.
pub(crate) const SERVERS: &str = "mcp.servers.";

/// Replaces the free names in a key by names that the defaults have.
pub(crate) fn template(key: &str) -> String {
    if let Some((table, name)) = FREE_KEYS.iter().find(|(table, _)| key.starts_with(table)) {
        return format!("{table}{name}");
    }
    for (tables, ending, name) in NAMED {
        let rest = key.strip_prefix(tables).filter(|rest| rest.ends_with(ending));
        if let Some((_, field)) = rest.and_then(|rest| rest.split_once('.')) {
            return format!("{tables}{name}.{field}");
        }
    }
    match key.strip_prefix(PRICES).and_then(|rest| rest.rsplit_once('.')) {
        Some((_, field)) => format!("{PRICES}deepseek-flash.{field}"),
        None => key.to_owned(),
    }
}

/// Splits a dotted key into the path of tables and the name in the last one.
pub fn split_key(key: &str) -> (Vec<&str>, &str) {
    if let Some((table, name)) =
        FREE_KEYS.iter().find_map(|(table, _)| Some((*table, key.strip_prefix(table)?)))
    {
        return (table.trim_end_matches('.').split('.').collect(), name);
    }
    match key.strip_prefix(PRICES).and_then(|rest| rest.rsplit_once('.')) {
        Some((model, field)) => (vec!["llm", "prices", model], field),
        None => match key.rsplit_once('.') {
            Some((path, name)) => (path.split('.').collect(), name),
            None => (Vec::new(), key),
        },
    }
}

/// Returns the value at a dotted key. Model ids may contain dots, so the longest matching name wins.
pub(crate) fn lookup<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    if let Some(value) = table.get(key) {
        return Some(value);
    }
    key.match_indices('.').find_map(|(at, _)| {
        let (head, tail) = key.split_at_checked(at)?;
        lookup(table.get(head)?.as_table()?, tail.strip_prefix('.')?)
    })
}

/// Sets the value at a dotted key, creating tables on the way.
pub(crate) fn insert(table: &mut Table, key: &str, value: Value) {
    let (path, name) = split_key(key);
    insert_path(table, &path, name, value);
}

/// Sets `name` in the table at `path`, creating tables on the way.
pub(crate) fn insert_path(mut table: &mut Table, path: &[&str], name: &str, value: Value) {
    for step in path {
        let next = table.entry((*step).to_owned()).or_insert_with(|| Value::Table(Table::new()));
        if !next.is_table() {
            *next = Value::Table(Table::new());
        }
        let Some(inner) = next.as_table_mut() else { return };
        table = inner;
    }
    table.insert(name.to_owned(), value);
}

/// Returns every leaf of a table with its dotted key.
pub(crate) fn leaf_settings(table: &Table) -> Vec<(String, Value)> {
    fn walk(table: &Table, prefix: &str, found: &mut Vec<(String, Value)>) {
        for (key, value) in table {
            let name = join_key(prefix, key);
            match value.as_table() {
                Some(inner) => walk(inner, &name, found),
                None => found.push((name, value.clone())),
            }
        }
    }
    let mut found = Vec::new();
    walk(table, "", &mut found);
    found
}
