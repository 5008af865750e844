//! The tool that shows a commit, or a file as of a commit.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, number, parse_file_part, revision};

pub(crate) const TOOL: Tool = Tool::new::<Show>(
    "git.show",
    "Show a commit with its message and diff, or a file, or some of its lines, as of a commit.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Show {
    /// The commit: a hash, a branch, a tag, `HEAD~2`.
    revision: String,
    /// The file to show as of the commit. Default: the commit itself.
    #[serde(default)]
    path: Option<String>,
    /// The first line of the file, counted from 1.
    #[serde(default, deserialize_with = "number")]
    first_line: Option<usize>,
    /// The last line.
    #[serde(default, deserialize_with = "number")]
    last_line: Option<usize>,
}

impl Arguments for Show {
    fn look(self) -> Result<Look, String> {
        let revision = revision(self.revision)?;
        let path = self.path.as_deref().map(str::trim);
        Ok(match path.filter(|path| !["", ".", "./"].contains(path)) {
            None => Look::GitShow { revision, path: None, lines: None },
            Some(path) => {
                let (path, lines) = parse_file_part(path, (self.first_line, self.last_line))?;
                Look::GitShow { revision, path: Some(path), lines }
            }
        })
    }
}
