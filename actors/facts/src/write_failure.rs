//! Why a change that was allowed is not in the tree. Values only.

use checks::wording::Wording;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a change that was allowed was not applied.
#[derive(Debug, Clone, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteFailure {
    /// A file is no longer what the change was made for.
    #[error("{path} was changed by another process in the meantime")]
    Stale {
        /// The file.
        path: String,
    },
    /// The system refused the write.
    #[error("the change could not be written: {message}")]
    NotWritten {
        /// The system's message.
        message: Wording,
    },
}

impl PartialEq for WriteFailure {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stale { path: a }, Self::Stale { path: b }) => a == b,
            (Self::NotWritten { .. }, Self::NotWritten { .. }) => true,
            (Self::Stale { .. }, Self::NotWritten { .. })
            | (Self::NotWritten { .. }, Self::Stale { .. }) => false,
        }
    }
}

impl Eq for WriteFailure {}
