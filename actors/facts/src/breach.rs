//! How a model request can differ from the terms of its run. Values only.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a request differs from the terms of its run. This indicates a bug, and the request is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breach {
    /// The mode is not the one that the run began with.
    Mode,
    /// The model would reason although the user did not choose that for the role, or the other way round.
    Reasoning,
    /// The stage may not offer this tool.
    Tool(String),
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Mode => "its mode is not that of the run",
            Self::Reasoning => "the user chose otherwise about reasoning",
            Self::Tool(name) => {
                return write!(f, "a request is not sent: its stage may not offer `{name}`");
            }
        };
        write!(f, "a request is not sent: {what}")
    }
}

impl std::error::Error for Breach {}
