//! The tool that lists a directory.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, directory};

pub(crate) const TOOL: Tool = Tool::new::<List>(
    "fs.list",
    "List a directory of the workspace; subdirectories are shown with the number of files in them.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// The directory, relative to the workspace. Default: the workspace itself.
    // The name of this parameter in most other tools.
    #[serde(default, alias = "path")]
    directory: Option<String>,
}

impl Arguments for List {
    fn look(self) -> Result<Look, String> {
        Ok(Look::List { directory: directory(self.directory.as_deref())? })
    }
}
