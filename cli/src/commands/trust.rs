//! `deepseek trust`: whether what a workspace brings, its configuration and the address in its `.env`, counts in full.

use clap::Args;
use front::error::{CliError, Kind};

use super::config::{add_to, remove_from};
use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// The list of workspaces that are trusted.
const KEY: &str = "trust.workspaces";

/// Trust this workspace: its configuration may set policy, budgets and models, and its `.env` the server.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Trust it no longer.
    #[arg(long)]
    remove: bool,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &TrustArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let name = workspace.to_str().ok_or_else(|| {
        CliError::new(Kind::Usage, "a workspace whose path is no text cannot be trusted")
    })?;
    if args.remove {
        remove_from(around, global, KEY, &[name.to_owned()])?;
        render::warn(&format!("{name} is not trusted any more"));
        return Ok(());
    }
    add_to(around, global, KEY, &[name.to_owned()])?;
    render::warn(&format!(
        "{name} is trusted: its .deepseek/config.toml counts in full, and so does the address in its .env"
    ));
    Ok(())
}
