//! `deepseek completions`: a completion script for a shell.

use clap::{Args, Command};
use clap_complete::Shell;
use front::error::CliError;

use crate::render;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Runs the command, with the program as its command line describes it.
#[expect(clippy::unnecessary_wraps, reason = "every command has the same form")]
pub(crate) fn run(args: &CompletionsArgs, mut program: Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "deepseek", &mut script);
    render::text(&String::from_utf8_lossy(&script));
    Ok(())
}
