//! `deepseek review`: checks that git knows the commits to review before a model is called.

use std::path::Path;

use actors::review::Reviewed;
use front::error::{CliError, Kind};
use shell::Git;

/// Checks that `what` names commits of the workspace. If git cannot be started, this succeeds, and the review reports it.
pub(crate) fn check(workspace: &Path, what: &str) -> Result<(), CliError> {
    let Some(of) = Reviewed::read(what) else {
        let error = format!("`{what}` cannot be reviewed");
        return Err(CliError::new(Kind::Usage, error)
            .hint("name commits as for `git diff`, use `--staged`, or name nothing"));
    };
    let git = Git { dir: workspace, hidden: &[] };
    let succeeds = |words: &[&str]| git.output(words).map(|ended| ended.status.success());
    let Ok(is_repository) = succeeds(&["rev-parse", "--git-dir"]) else { return Ok(()) };
    if !is_repository {
        let error = "there is nothing to review: the workspace is not a git repository";
        return Err(CliError::new(Kind::Usage, error)
            .hint("`git init` creates a repository; a review compares with its commits"));
    }
    let Reviewed::Range(range) = of else { return Ok(()) };
    for name in range.split_whitespace().flat_map(|words| words.split("..")) {
        // Splitting at two dots leaves one of three. A missing name means HEAD.
        let name = name.trim_start_matches('.');
        let known = succeeds(&["rev-parse", "--verify", "--quiet", "--end-of-options", name]);
        if !name.is_empty() && !known.unwrap_or(true) {
            let error = format!("there is no commit, branch or tag `{name}` in this repository");
            return Err(CliError::new(Kind::Usage, error)
                .hint("`git branch --all` and `git log --oneline` list possible names"));
        }
    }
    Ok(())
}
