//! The tool that runs a small program over files of the workspace.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, said};

pub(crate) const TOOL: Tool = Tool::new::<Run>(
    "rlm.run",
    "Run a small Python program over many files: to count, list or compare, or to have small models read many parts at once. Run the program `help` first: it lists the helper functions.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Run {
    /// The program.
    program: String,
    /// The files that it can read: paths, `directory/`, or patterns such as `src/**/*.rs`. Default: all, up to a size limit.
    #[serde(default)]
    paths: Vec<String>,
}

impl Arguments for Run {
    fn look(self) -> Result<Look, String> {
        Ok(Look::Program { program: said("program", self.program)?, paths: self.paths })
    }
}
