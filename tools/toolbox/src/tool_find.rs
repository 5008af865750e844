//! The tool that finds tools of servers, where there are too many to offer them all.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, said};

pub(crate) const TOOL: Tool = Tool::new::<Find>(
    "tool.find",
    "Find further tools by words or by name, with the arguments that they take.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Find {
    /// Words about what the tool should do, or its name.
    words: String,
}

impl Arguments for Find {
    fn look(self) -> Result<Look, String> {
        Ok(Look::FindTool { words: said("words", self.words)? })
    }
}
