//! `deepseek mock`: a scripted fake of the provider, for testing this and other programs.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use front::error::{CliError, CliErrorKind};
use mock::{Script, Server};

use crate::render;

/// Run a local fake DeepSeek API from a script.
#[derive(Debug, Args)]
pub(crate) struct MockArgs {
    /// The scripted answers: TOML, or JSON Lines if the name ends in .jsonl.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// The address to listen on; port 0 selects a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    addr: SocketAddr,
    /// Write every request to this file as JSON Lines.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Runs the command until it is stopped.
pub(crate) async fn run(args: &MockArgs) -> Result<(), CliError> {
    if !args.addr.ip().is_loopback() {
        return Err(CliError::new(
            CliErrorKind::Usage,
            format!("{} is not a loopback address", args.addr),
        )
        .hint("use 127.0.0.1 or [::1]"));
    }
    let script = Script::load(&args.script)
        .map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    let options = script.server.clone();
    let server = Server::start(args.addr, script.replies, options, args.log.as_deref())
        .await
        .map_err(|error| CliError::caused(CliErrorKind::Usage, &error))?;
    render::print_line(&server.base_url());
    tokio::signal::ctrl_c().await.map_err(|error| CliError::caused(CliErrorKind::Internal, &error))
}
