//! The tool that reads a file, or lines of it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, number, parse_file_part};

pub(crate) const TOOL: Tool = Tool::new::<Read>(
    "fs.read",
    "Read a text file of the workspace, or some of its lines, with line numbers. A file that is too long is listed by its definitions instead.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// The file, relative to the workspace.
    path: String,
    /// The first line, counted from 1.
    #[serde(default, deserialize_with = "number")]
    first_line: Option<usize>,
    /// The last line.
    #[serde(default, deserialize_with = "number")]
    last_line: Option<usize>,
}

impl Arguments for Read {
    fn look(self) -> Result<Look, String> {
        let (path, lines) = parse_file_part(&self.path, (self.first_line, self.last_line))?;
        Ok(Look::Context { path, lines })
    }
}
