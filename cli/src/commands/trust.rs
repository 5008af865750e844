//! `deepseek trust`: lets a workspace's own configuration, and the address in its `.env`, apply in full.

use clap::Args;
use front::error::{CliError, CliErrorKind};

use super::config::{add_to, remove_from};
use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// The key with the list of trusted workspaces.
const KEY: &str = "trust.workspaces";

/// Trust this workspace, so that its own configuration applies in full.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Stop trusting this workspace.
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
        CliError::new(CliErrorKind::Usage, "cannot trust a workspace whose path is not UTF-8")
    })?;
    if args.remove {
        remove_from(around, global, KEY, &[name.to_owned()])?;
        render::warn(&format!("{name} is no longer trusted"));
        return Ok(());
    }
    add_to(around, global, KEY, &[name.to_owned()])?;
    render::warn(&format!(
        "{name} is trusted: its .deepseek/config.toml and the address in its .env now apply in full"
    ));
    Ok(())
}
