//! `deepseek mock`: the scripted fake of the provider, for tests of this program and of others.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use front::error::{CliError, Kind};
use mock::{Script, Server};

use crate::render;

/// Serve a scripted fake of the provider on this machine.
#[derive(Debug, Args)]
pub(crate) struct MockArgs {
    /// What it answers: TOML, or JSON lines when the name ends in .jsonl.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Where it listens; port 0 is any free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    addr: SocketAddr,
    /// Write every request to this file, a line of JSON each.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Runs the command until it is stopped.
pub(crate) async fn run(args: &MockArgs) -> Result<(), CliError> {
    if !args.addr.ip().is_loopback() {
        return Err(CliError::new(
            Kind::Usage,
            format!("{} is not an address of this machine alone", args.addr),
        )
        .hint("use 127.0.0.1 or [::1]"));
    }
    let script =
        Script::load(&args.script).map_err(|error| CliError::caused(Kind::Usage, &error))?;
    let options = script.server.clone();
    let server = Server::start(args.addr, script.replies, options, args.log.as_deref())
        .await
        .map_err(|error| CliError::caused(Kind::Usage, &error))?;
    render::line(&server.base_url());
    tokio::signal::ctrl_c().await.map_err(|error| CliError::caused(Kind::Internal, &error))
}
