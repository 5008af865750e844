//! Reads a single table of the defaults, for a command that needs no other configuration and would finish before all of
//! it is parsed. Pure.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::{ConfigError, DEFAULTS};

/// Returns the table `name` of the embedded defaults, with its subtables.
pub fn defaults_of<T: DeserializeOwned>(name: &str) -> Result<T, ConfigError> {
    let is_part =
        |table: &str| table.strip_prefix(name).is_some_and(|rest| rest.starts_with([']', '.']));
    // Only candidate headings are looked at: going through all lines would take longer than the rest.
    let heading = format!("\n[{name}");
    let alike = DEFAULTS.match_indices(&heading).map(|(at, _)| at + 1);
    let tables: String = alike
        .filter_map(|at| DEFAULTS.get(at..))
        .filter(|from| from.strip_prefix('[').is_some_and(is_part))
        .map(|from| from.split_once("\n[").map_or(from, |(table, _)| table))
        .flat_map(|table| [table, "\n"])
        .collect();
    let failed = |message: String| {
        let (place, key) = ("defaults".to_owned(), name.to_owned());
        ConfigError::Value { place, key, message }
    };
    let mut tables: BTreeMap<String, T> =
        toml::from_str(&tables).map_err(|error| failed(error.message().to_owned()))?;
    tables.remove(name).ok_or_else(|| failed("no such table".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inputs, resolve_layers};
    use toml::{Table, Value};

    #[test]
    fn a_table_read_alone_equals_the_same_table_read_with_all() {
        let config = resolve_layers(&Inputs::default()).unwrap().config;
        assert_eq!(defaults_of("limits"), Ok(config.limits));
        assert_eq!(defaults_of("agent_loop"), Ok(config.agent_loop));
        let all: Table = DEFAULTS.parse().unwrap();
        for (name, table) in &all {
            assert_eq!(defaults_of::<Value>(name).as_ref(), Ok(table), "{name}");
        }
        assert!(defaults_of::<Value>("agent").is_err());
    }
}
