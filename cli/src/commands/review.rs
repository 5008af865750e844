//! `deepseek review`: whether what is to be reviewed can be named to git, before a model is asked.

use std::path::Path;

use actors::review::Reviewed;
use front::error::{CliError, Kind};
use shell::Git;

/// Checks that `what` names commits of the workspace. Where git cannot be started, the review itself says so.
pub(crate) fn check(workspace: &Path, what: &str) -> Result<(), CliError> {
    let Some(of) = Reviewed::read(what) else {
        let error = format!("`{what}` is not something to review");
        return Err(CliError::new(Kind::Usage, error)
            .hint("name commits as `git diff` takes them, `--staged`, or nothing"));
    };
    let git = Git { dir: workspace, hidden: &[] };
    let is_said = |words: &[&str]| git.output(words).map(|ended| ended.status.success());
    let Ok(is_repository) = is_said(&["rev-parse", "--git-dir"]) else { return Ok(()) };
    if !is_repository {
        let error = "there is nothing to review: the workspace is not under git";
        return Err(CliError::new(Kind::Usage, error)
            .hint("`git init` begins a repository; a review compares with its commits"));
    }
    let Reviewed::Range(range) = of else { return Ok(()) };
    for name in range.split_whitespace().flat_map(|words| words.split("..")) {
        // Of three dots one is left; without a name, HEAD is meant.
        let name = name.trim_start_matches('.');
        let known = is_said(&["rev-parse", "--verify", "--quiet", "--end-of-options", name]);
        if !name.is_empty() && !known.unwrap_or(true) {
            let error = format!("there is no commit, branch or tag `{name}` in this repository");
            return Err(CliError::new(Kind::Usage, error)
                .hint("`git branch --all` and `git log --oneline` list what can be named"));
        }
    }
    Ok(())
}
