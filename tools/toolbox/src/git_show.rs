//! A commit, or a file as it was.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, directory, revision};

pub(crate) const TOOL: Tool = Tool::new::<Show>(
    "git.show",
    "Show a commit with its message and its diff, or a file as it was in a commit.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Show {
    /// The commit: a hash, a branch, a tag, `HEAD~2`.
    revision: String,
    /// The file as it was there; the commit itself if left out.
    #[serde(default)]
    path: Option<String>,
}

impl Arguments for Show {
    fn look(self) -> Result<Look, String> {
        let (revision, path) = (revision(self.revision)?, directory(self.path.as_deref())?);
        Ok(Look::GitShow { revision, path })
    }
}
