//! What the user's git says: its output, or its refusal with its own cure.

use std::io;
use std::process::Output;

use front::error::{CliError, CliErrorKind};
use shell::Git;

/// Returns git's output, or an error in git's words. What git says below the first line is the hint: how to go on.
pub(crate) fn output_of(ended: io::Result<Output>) -> Result<String, CliError> {
    bytes_of(ended).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// As [`output_of`], for what may not be text.
pub(crate) fn bytes_of(ended: io::Result<Output>) -> Result<Vec<u8>, CliError> {
    let ended = ended.map_err(|error| not_started(&error))?;
    if ended.status.success() {
        return Ok(ended.stdout);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let why = lines.next().unwrap_or("it said nothing").trim_start_matches("fatal: ");
    let error = CliError::new(CliErrorKind::NotDelivered, format!("git: {why}"));
    let rest = lines.collect::<Vec<_>>().join(" ");
    Err(if rest.is_empty() { error } else { error.hint(rest) })
}

/// Returns the path of `git.dir` within its repository, with a slash at its end. Where git refuses the repository, the
/// error has git's reason; where there is none, it is of the kind `without` and says what
/// one is needed for.
pub(crate) fn prefix(
    git: Git<'_>,
    needed_for: &str,
    without: CliErrorKind,
) -> Result<String, CliError> {
    let said = output_of(git.output(&["rev-parse", "--show-prefix"]));
    said.map(|prefix| prefix.trim_end_matches('\n').to_owned()).map_err(|refusal| {
        if tree::is_in_repository(git.dir) {
            return refusal;
        }
        let error = "the workspace is not a git repository";
        let hint = format!("{needed_for} needs one; to create it: git init");
        CliError::new(without, error).hint(hint)
    })
}

/// Returns the error for a git that cannot be started.
pub(crate) fn not_started(error: &io::Error) -> CliError {
    CliError::new(CliErrorKind::NotDelivered, format!("cannot start git: {error}"))
}
