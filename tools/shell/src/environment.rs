//! The environment variables that commands see: what they need to work, without secrets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tools::redact::is_secret_name;

/// The environment of commands: these variables and no others.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The variables by name.
    pub vars: Arc<BTreeMap<String, String>>,
}

impl Environment {
    /// Selects the `vars` listed in `given`, by name or by prefix (`CARGO_*`), except those in `never`. Secrets must be
    /// listed by their full name.
    pub fn of(vars: &BTreeMap<String, String>, given: &[String], never: &[&str]) -> Self {
        let is_given = |name: &str| {
            given.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => name.starts_with(start) && !is_secret_name(name),
                None => name == pattern,
            })
        };
        let seen =
            vars.iter().filter(|(name, _)| is_given(name) && !never.contains(&name.as_str()));
        let vars = seen.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { vars: Arc::new(vars) }
    }

    /// Returns whether a directory of `PATH` contains a program of this name. Blocks.
    pub fn finds(&self, program: &str) -> bool {
        self.dir_of(program).is_some()
    }

    /// Returns the first directory of `PATH` that contains a program of this name. Blocks.
    pub fn dir_of(&self, program: &str) -> Option<PathBuf> {
        let path = self.vars.get("PATH").map(String::as_str).unwrap_or_default();
        std::env::split_paths(path).find(|dir| dir.join(program).is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_variables_are_passed_but_secrets_only_by_their_full_name() {
        let names =
            ["PATH", "CARGO_HOME", "CARGO_REGISTRY_TOKEN", "NPM_TOKEN", "MY_KEY", "OTHER", "PATHS"];
        let vars = names.map(|name| (name.to_owned(), "x".to_owned())).into();
        let seen = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|it| (*it).to_owned()).collect();
            let seen = Environment::of(&vars, &given, &["MY_KEY"]);
            seen.vars.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(seen(&["PATH", "CARGO_*"]), "CARGO_HOME PATH");
        assert_eq!(seen(&["*"]), "CARGO_HOME OTHER PATH PATHS");
        assert_eq!(seen(&["NPM_TOKEN", "MY_KEY", "NONE"]), "NPM_TOKEN");
    }
}
