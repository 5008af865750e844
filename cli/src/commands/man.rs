//! `deepseek man`: manual pages generated from the help texts.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use front::error::{CliError, CliErrorKind};

use crate::render;
use crate::surroundings::Surroundings;

/// Print the manual page, or write the pages of all commands.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to this directory instead.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Runs the command. `program` is the grammar of the command line.
pub(crate) fn run(around: &Surroundings, args: &ManArgs, program: Command) -> Result<(), CliError> {
    let unwritten = |error: io::Error| {
        CliError::new(CliErrorKind::NotDelivered, format!("cannot write the manual pages: {error}"))
    };
    let Some(dir) = &args.into else {
        let mut page = Vec::new();
        Man::new(program).render(&mut page).map_err(unwritten)?;
        render::text(&String::from_utf8_lossy(&page));
        return Ok(());
    };
    let dir = around.cwd.join(dir);
    fs::create_dir_all(&dir).map_err(unwritten)?;
    clap_mangen::generate_to(program, &dir).map_err(unwritten)?;
    Ok(())
}
