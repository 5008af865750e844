//! The tool that lists a directory.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, directory};

pub(crate) const TOOL: Tool = Tool::new::<List>(
    "fs.list",
    "List what a directory of the workspace holds; directories with the number of files below them.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// The directory, relative to the workspace; the workspace itself if left out.
    // The name of this parameter in most other tools.
    #[serde(default, alias = "path")]
    directory: Option<String>,
}

impl Arguments for List {
    fn look(self) -> Result<Look, String> {
        Ok(Look::List { directory: directory(self.directory.as_deref())? })
    }
}
