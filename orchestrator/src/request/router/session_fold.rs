//! A session as far as the router has read its journal, and how it reads on.

use std::path::PathBuf;
use std::sync::Arc;

use facts::model_choice::RouterFold;
use journal::read::{LogPlace, ReadError, read_on};
use tools::blocking::on_a_thread;

/// The journal of a session as the router reads it.
pub(super) trait SessionPages: Send + Sync + 'static {
    /// Reads on to the end of the journal. Blocks.
    fn read_on(&self, past: SessionFold) -> Result<SessionFold, ReadError>;
}

impl SessionPages for PathBuf {
    fn read_on(&self, mut past: SessionFold) -> Result<SessionFold, ReadError> {
        let fold = &mut past.fold;
        let damage = read_on(self, &mut past.read, |record| {
            if let Some(event) = record.event() {
                fold.note(&record.scope(), &event);
            }
        })?;
        damage.map_or(Ok(past), Err)
    }
}

/// A session, as far as its journal was read.
#[derive(Clone)]
pub(super) struct SessionFold {
    pub(super) fold: RouterFold,
    read: LogPlace,
}

impl SessionFold {
    /// The session before its first event.
    pub(super) fn begin() -> Self {
        Self { fold: RouterFold::default(), read: LogPlace::start() }
    }

    /// Returns the session with what was written since.
    pub(super) async fn read_on(self, session: Arc<dyn SessionPages>) -> Result<Self, ReadError> {
        on_a_thread(move || session.read_on(self)).await
    }
}
