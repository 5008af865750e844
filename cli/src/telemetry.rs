//! Diagnostic logging for developers: off by default, to standard error, never a prompt or a key.

use std::io;

use front::error::{CliError, CliErrorKind};
use tracing_subscriber::EnvFilter;

use crate::surroundings::Surroundings;

/// Starts logging at the level that `-v` and `DEEPSEEK_LOG` select.
pub(crate) fn start_logging(verbose: u8, around: &Surroundings) -> Result<(), CliError> {
    let filter = match (around.vars.get("DEEPSEEK_LOG"), verbose) {
        (Some(filter), _) => filter.clone(),
        (None, 0) => return Ok(()),
        // The names of all our crates begin with it.
        (None, 1) => "warn,deepseek=info".to_owned(),
        (None, _) => "info,deepseek=debug".to_owned(),
    };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        CliError::new(CliErrorKind::Usage, format!("DEEPSEEK_LOG is invalid: {error}"))
    })?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    Ok(())
}
