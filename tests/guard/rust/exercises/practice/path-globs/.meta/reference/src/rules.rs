//! Rules that tell which paths to ignore.

use crate::pattern::{Glob, GlobError};

#[derive(Debug, Clone)]
struct Rule {
    glob: Glob,
    include: bool,
    directories_only: bool,
    /// Compared with the last name of a path only.
    any_depth: bool,
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
        let above = path.match_indices('/').any(|(end, _)| self.excludes(&path[..end], true));
        above || self.excludes(path, is_directory)
    }

    /// What the last rule for this path says, without a look at the directories above.
    fn excludes(&self, path: &str, is_directory: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.rules
            .iter()
            .rev()
            .filter(|rule| is_directory || !rule.directories_only)
            .find(|rule| rule.glob.matches(if rule.any_depth { name } else { path }))
            .is_some_and(|rule| !rule.include)
    }
}

fn rule(line: &str) -> Result<Rule, GlobError> {
    let (include, text) = strip(line, '!');
    let (from_top, text) = strip(text, '/');
    let skipped = usize::from(include) + usize::from(from_top);
    let (directories_only, text) = match text.strip_suffix('/') {
        Some(shorter) => (true, shorter),
        None => (false, text),
    };
    let any_depth = !from_top && !text.contains('/');
    let glob = Glob::new(text).map_err(|error| GlobError { column: error.column + skipped, ..error })?;
    Ok(Rule { glob, include, directories_only, any_depth })
}

fn strip(text: &str, mark: char) -> (bool, &str) {
    match text.strip_prefix(mark) {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}
