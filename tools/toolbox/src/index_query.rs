//! The tool that finds files by a description.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, said};

pub(crate) const TOOL: Tool = Tool::new::<Query>(
    "index.query",
    "List the files and lines that a description is about, best first. Use it when you know what the code does, but not its name.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// What is looked for, in words.
    words: String,
}

impl Arguments for Query {
    fn look(self) -> Result<Look, String> {
        Ok(Look::Query { words: said("words", self.words)? })
    }
}
