//! The error of a journal that takes no more events: whoever depends on one being written ends with it.

use thiserror::Error;

/// The journal takes no more events: it failed, or the session is over.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
#[error("the journal takes no more events")]
pub struct JournalClosed;
