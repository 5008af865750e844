//! What the program says about itself, for those who mend it: off unless asked for, on standard error, never a prompt or a key.

use std::io;

use front::error::{CliError, Kind};
use tracing_subscriber::EnvFilter;

use crate::surroundings::Surroundings;

/// Starts logging as `-v` and `DEEPSEEK_LOG` ask for it.
pub(crate) fn start(verbose: u8, around: &Surroundings) -> Result<(), CliError> {
    let filter = match (around.vars.get("DEEPSEEK_LOG"), verbose) {
        (Some(filter), _) => filter.clone(),
        (None, 0) => return Ok(()),
        (None, 1) => {
            "warn,actors=info,lanes=info,orchestrator=info,tools=info,deepseek=info".to_owned()
        }
        (None, _) => {
            "info,actors=debug,lanes=debug,orchestrator=debug,tools=debug,deepseek=debug".to_owned()
        }
    };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        CliError::new(Kind::Usage, format!("DEEPSEEK_LOG cannot be used: {error}"))
    })?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    Ok(())
}
