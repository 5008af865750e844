//! Rules that tell which paths to ignore.

use crate::pattern::{Glob, GlobError};

#[derive(Debug, Clone)]
struct Rule {
    glob: Glob,
    include: bool,
    directories_only: bool,
}

/// An ordered list of rules.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// Reads one rule from each line. Blank lines and lines that begin with `#` say nothing. An error has the number
    /// of its line, from 1.
    pub fn parse(text: &str) -> Result<Self, (usize, GlobError)> {
        let mut rules = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            rules.push(rule(line).map_err(|error| (index + 1, error))?);
        }
        Ok(Rules { rules })
    }

    /// Whether to ignore a path.
    pub fn ignores(&self, path: &str, is_directory: bool) -> bool {
        self.rules
            .iter()
            .find(|rule| rule.glob.matches(path) && (is_directory || !rule.directories_only))
            .is_some_and(|rule| !rule.include)
    }
}

fn rule(line: &str) -> Result<Rule, GlobError> {
    let include = line.starts_with('!');
    let text = line.trim_start_matches('!');
    let directories_only = text.ends_with('/');
    let text = text.trim_end_matches('/');
    let glob = if text.contains('/') { Glob::new(text)? } else { Glob::new(&format!("**/{text}"))? };
    Ok(Rule { glob, include, directories_only })
}
