//! The error of a closed journal: everything that depends on writing an event stops with it.

use thiserror::Error;

/// The journal takes no more events: writing failed, or the session has ended.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
#[error("the journal takes no more events")]
pub struct JournalClosed;
