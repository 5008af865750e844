//! `deepseek mcp`: servers of tools. Lists them, adds and removes entries, and approves what they are and offer. A server is
//! started only by `approve` and `check`, and only if the user says so.

mod approve;
mod check;
mod desk;
mod entries;
mod login;
mod shown;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use front::error::CliError;

use self::desk::McpDesk;
use crate::flags::Global;
use crate::surroundings::Surroundings;

/// List, add, approve and check servers of tools (MCP).
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the servers of your configuration and of the workspace's .mcp.json, and which of them are approved.
    List,
    /// Show one server: what is started or called, what the approval holds for, and its tools.
    Get {
        /// The server's name.
        name: String,
    },
    /// Add a server to your configuration, or to the workspace's .mcp.json.
    Add(entries::AddArgs),
    /// Remove a server, its approvals and its login.
    Remove {
        /// The server's name.
        name: String,
        /// Remove it from the workspace's .mcp.json, not from your configuration.
        #[arg(long)]
        project: bool,
    },
    /// List the approved tools of a server, with the names and arguments for models. Starts nothing.
    Tools {
        /// The server's name.
        name: String,
    },
    /// Start a server, show its tools, and approve them as they are.
    Approve(approve::ApproveArgs),
    /// Start the approved servers, or one, and compare their tools with what you approved.
    Check {
        /// The server's name; all approved ones without it.
        name: Option<String>,
    },
    /// Log in at a server that is at an address.
    Login(login::LoginArgs),
    /// Forget the login at a server.
    Logout {
        /// The server's name.
        name: String,
    },
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &McpArgs,
) -> Result<ExitCode, CliError> {
    let desk = McpDesk::new(around, global)?;
    match args.action.as_ref().unwrap_or(&Action::List) {
        Action::List => shown::list(&desk),
        Action::Get { name } => shown::get(&desk, name),
        Action::Add(args) => entries::add(&desk, args),
        Action::Remove { name, project } => entries::remove(&desk, name, *project).await,
        Action::Tools { name } => shown::tools(&desk, name),
        Action::Approve(args) => approve::approve(&desk, args).await,
        Action::Check { name } => return check::check(&desk, name.as_deref()).await,
        Action::Login(args) => login::login(&desk, args).await,
        Action::Logout { name } => login::logout(&desk, name).await,
    }
    .map(|()| ExitCode::SUCCESS)
}
