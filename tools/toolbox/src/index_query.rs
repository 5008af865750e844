//! The tool that finds files by a description.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, number, said};

pub(crate) const TOOL: Tool = Tool::new::<Query>(
    "index.query",
    "Find files and lines by a description, best match first. Use it when you know what the code does but not what it is called.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// A description of the code to find.
    #[serde(alias = "q")]
    words: String,
    /// The most files to show. Default: as many as fit.
    #[serde(default, deserialize_with = "number")]
    top_k: Option<usize>,
    /// The files to search, such as `*.rs` or `src/**/*.py`. Default: all.
    #[serde(default, alias = "filters", alias = "path")]
    glob: Option<String>,
}

impl Arguments for Query {
    fn look(self) -> Result<Look, String> {
        let glob = self.glob.filter(|glob| !glob.trim().is_empty());
        Ok(Look::Query { words: said("words", self.words)?, most: self.top_k, glob })
    }
}
