//! The tool that searches for lines that match a regular expression.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, said};

pub(crate) const TOOL: Tool = Tool::new::<Search>(
    "fs.search_rg",
    "Search the workspace for lines that match a regular expression, like ripgrep.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// The regular expression; it matches within a line.
    pattern: String,
    /// The files to search, such as `*.rs` or `src/**/*.py`. Default: all.
    // The name of this parameter in most other tools.
    #[serde(default, alias = "path")]
    glob: Option<String>,
}

impl Arguments for Search {
    fn look(self) -> Result<Look, String> {
        let glob = self.glob.filter(|glob| !glob.trim().is_empty());
        Ok(Look::Search { pattern: said("pattern", self.pattern)?, glob })
    }
}
