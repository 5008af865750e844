//! `deepseek review`: checks that git knows the commits to review before a model is called.

use std::path::Path;

use facts::grammar::review::Reviewed;
use front::error::{CliError, CliErrorKind};
use shell::Git;

use crate::their_git;

/// Checks that `what` names commits of the workspace, and that git reads its repository for this user.
pub(crate) fn check(workspace: &Path, what: &str) -> Result<(), CliError> {
    let Some(of) = Reviewed::read(what) else {
        let error = format!("`{what}` cannot be reviewed");
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint("name commits as for `git diff`, use `--staged`, or name nothing"));
    };
    let git = Git { dir: workspace, hidden: &[] };
    their_git::prefix(git, "a review", CliErrorKind::Usage)?;
    let Reviewed::Range(range) = of else { return Ok(()) };
    for name in range.split_whitespace().flat_map(|words| words.split("..")) {
        // Splitting at two dots leaves one of three. A missing name means HEAD.
        let name = name.trim_start_matches('.');
        let known = git.output(&["rev-parse", "--verify", "--quiet", "--end-of-options", name]);
        if !name.is_empty() && !known.is_ok_and(|ended| ended.status.success()) {
            let error = format!("there is no commit, branch or tag `{name}` in this repository");
            return Err(CliError::new(CliErrorKind::Usage, error)
                .hint("`git branch --all` and `git log --oneline` list possible names"));
        }
    }
    Ok(())
}
