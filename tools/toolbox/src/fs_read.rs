//! A file, or lines of one.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, path};

pub(crate) const TOOL: Tool = Tool::new::<Read>(
    "fs.read",
    "Read a text file of the workspace, or lines of it, with line numbers. Of a file that is too long its definitions are listed.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// The file, relative to the workspace.
    path: String,
    /// The first line, from one.
    #[serde(default)]
    first_line: Option<usize>,
    /// The last line.
    #[serde(default)]
    last_line: Option<usize>,
}

impl Arguments for Read {
    fn look(self) -> Result<Look, String> {
        let path = path(&self.path)?;
        let lines = match (self.first_line, self.last_line) {
            (None, None) => None,
            (first, last) => Some((first.unwrap_or(1), last.unwrap_or(usize::MAX))),
        };
        if lines.is_some_and(|(first, last)| first == 0 || last < first) {
            return Err("lines count from one, and the last is not before the first".to_owned());
        }
        Ok(Look::Context { path, lines })
    }
}
