//! Diagnostic logging for developers: off by default, to standard error, never a prompt or a key. What is late is noted for
//! `doctor` whether or not anything is logged.

pub(crate) mod late_answers;

use std::io;

use front::error::{CliError, CliErrorKind};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use self::late_answers::LateAnswers;
use crate::surroundings::Surroundings;

/// Starts logging at the level that `-v` and `DEEPSEEK_LOG` select.
pub(crate) fn start_logging(verbose: u8, around: &Surroundings) -> Result<(), CliError> {
    let filter = match (around.vars.get("DEEPSEEK_LOG"), verbose) {
        (Some(filter), _) => Some(filter.clone()),
        (None, 0) => None,
        // The names of all our crates begin with it.
        (None, 1) => Some("warn,deepseek=info".to_owned()),
        (None, _) => Some("info,deepseek=debug".to_owned()),
    };
    let filter = filter.map(EnvFilter::try_new).transpose().map_err(|error| {
        CliError::new(CliErrorKind::Usage, format!("DEEPSEEK_LOG is invalid: {error}"))
    })?;
    let shown = filter
        .map(|filter| tracing_subscriber::fmt::layer().with_writer(io::stderr).with_filter(filter));
    // Without a state directory there are no sessions.
    let noted = around.state_dir().ok().map(|state| {
        let is_late =
            filter_fn(|span| span.is_span() && span.target() == actors::mailbox::LOG_TARGET);
        LateAnswers::new(state.join("sessions")).with_filter(is_late)
    });
    tracing_subscriber::registry().with(shown).with(noted).init();
    Ok(())
}
