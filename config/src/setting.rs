//! A setting from one source, and what can be wrong with it. Values only.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;
use toml::Value;

/// Where a value came from, lowest precedence first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The embedded defaults.
    Default,
    /// The user's file, or the one given by `--config`.
    User(PathBuf),
    /// The workspace's `.deepseek/config.toml`.
    Workspace(PathBuf),
    /// A `[profiles.NAME]` table of one of the files.
    Profile(String),
    /// An environment variable, by name.
    Env(String),
    /// A command-line flag, by name.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::User(path) => write!(f, "user {}", path.display()),
            Self::Workspace(path) => write!(f, "workspace {}", path.display()),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::Env(name) => write!(f, "env {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Why the configuration could not be resolved.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// The file is not TOML.
    #[error("{path}:{line}: {message}")]
    Syntax {
        /// The file.
        path: String,
        /// One-based line.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// A key that does not exist.
    #[error("{path}:{line}: unknown key `{key}`{}", .nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    UnknownKey {
        /// The file or flag.
        path: String,
        /// One-based line.
        line: usize,
        /// The dotted key.
        key: String,
        /// The most similar existing key, if one is similar enough.
        nearest: Option<String>,
    },
    /// A value of the wrong type or out of range.
    #[error("{place}: `{key}`: {message}")]
    Value {
        /// File and line, variable or flag.
        place: String,
        /// The dotted key.
        key: String,
        /// What is wrong with the value.
        message: String,
    },
    /// A profile that no file defines.
    #[error("no profile `{name}`{}", if .known.is_empty() { String::new() } else { format!("; known profiles: {}", .known.join(", ")) })]
    UnknownProfile {
        /// The name that was asked for.
        name: String,
        /// The profiles that exist, sorted.
        known: Vec<String>,
    },
}

impl ConfigError {
    /// Returns true if the error is about the content of this file.
    pub fn is_in(&self, file: &str) -> bool {
        match self {
            Self::Syntax { path, .. } | Self::UnknownKey { path, .. } => path == file,
            Self::Value { place, .. } => {
                place.strip_prefix(file).is_some_and(|line| line.starts_with(':'))
            }
            Self::UnknownProfile { .. } => false,
        }
    }
}

/// One assignment found in a layer.
#[derive(Clone)]
pub(crate) struct LayerSetting {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) source: Source,
    pub(crate) place: String,
    pub(crate) line: usize,
}
