//! The tool that shows changes as a diff.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, directory, revision};

pub(crate) const TOOL: Tool = Tool::new::<Diff>(
    "git.diff",
    "Show a diff: of uncommitted changes, of staged changes, or between commits.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diff {
    /// Commits as `git diff` takes them: `main`, `main..HEAD`, `HEAD~3`. Default: uncommitted changes.
    #[serde(default)]
    range: Option<String>,
    /// Show staged changes only.
    #[serde(default)]
    staged: bool,
    /// Only this file or directory.
    #[serde(default)]
    path: Option<String>,
}

impl Arguments for Diff {
    fn look(self) -> Result<Look, String> {
        if self.staged && self.range.is_some() {
            return Err("use either `staged` or a `range`, not both".to_owned());
        }
        let range = self.range.map(revision).transpose()?;
        Ok(Look::GitDiff { range, staged: self.staged, path: directory(self.path.as_deref())? })
    }
}
