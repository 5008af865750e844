//! The tool that shows the git status of the workspace.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool};

pub(crate) const TOOL: Tool = Tool::new::<Status>(
    "git.status",
    "Show the current branch and the changed, staged and new files.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Status {}

impl Arguments for Status {
    fn look(self) -> Result<Look, String> {
        Ok(Look::GitStatus)
    }
}
