//! One table of the defaults, read alone: for a command that reads no configuration and is over before all of it would be
//! read. Pure.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::{ConfigError, DEFAULTS};

/// The table `name` of the embedded defaults, with the tables in it.
pub fn defaults_of<T: DeserializeOwned>(name: &str) -> Result<T, ConfigError> {
    let is_part =
        |table: &str| table.strip_prefix(name).is_some_and(|rest| rest.starts_with([']', '.']));
    // All that begins like it is looked at, and no other line: that would take longer than the rest.
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
    tables.remove(name).ok_or_else(|| failed("there is no such table".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inputs, resolve};
    use toml::{Table, Value};

    #[test]
    fn a_table_read_alone_is_the_same() {
        let config = resolve(&Inputs::default()).unwrap().config;
        assert_eq!(defaults_of("limits"), Ok(config.limits));
        assert_eq!(defaults_of("agent_loop"), Ok(config.agent_loop));
        let all: Table = DEFAULTS.parse().unwrap();
        for (name, table) in &all {
            assert_eq!(defaults_of::<Value>(name).as_ref(), Ok(table), "{name}");
        }
        assert!(defaults_of::<Value>("agent").is_err());
    }
}
