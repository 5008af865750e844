//! The tool that finds files by a description.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, said};

pub(crate) const TOOL: Tool = Tool::new::<Query>(
    "index.query",
    "Find files and lines by a description, best match first. Use it when you know what the code does but not what it is called.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// A description of the code to find.
    words: String,
}

impl Arguments for Query {
    fn look(self) -> Result<Look, String> {
        Ok(Look::Query { words: said("words", self.words)? })
    }
}
