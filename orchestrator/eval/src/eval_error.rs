//! Why an evaluation cannot go on.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why an evaluation cannot go on.
#[derive(Debug, Error)]
pub enum EvalError {
    /// Git failed.
    #[error("git {words}: {why}")]
    Git {
        /// What it was asked.
        words: String,
        /// What it said.
        why: String,
    },
    /// A commit cannot be read.
    #[error("the commit {id} cannot be read")]
    NoCommit {
        /// Its id.
        id: String,
    },
    /// A file or directory cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A directory does not have exercises as they should be.
    #[error("{}: {why}", dir.display())]
    Exercise {
        /// The directory.
        dir: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no repository around the workspace.
    #[error("the workspace is not in a git repository")]
    NoRepository,
    /// Another process works on the evaluation.
    #[error("another process is working on this evaluation")]
    InUse,
    /// A variant ended before its request began.
    #[error("{variant} could not begin: {why}")]
    NotStarted {
        /// Its name.
        variant: String,
        /// What it said.
        why: String,
    },
    /// The network was away for too long.
    #[error("paused: {why}")]
    Paused {
        /// Why.
        why: String,
    },
    /// No cases have been drawn.
    #[error("no cases have been drawn")]
    NotDrawn,
    /// Drawing the cases was interrupted.
    #[error("drawing these cases was interrupted: it is not known which commands test them")]
    HalfDrawn,
}
