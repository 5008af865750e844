//! Whoever runs the programs that models write: it lives above, where many small questions are asked.

use futures_util::future::BoxFuture;

use crate::closed::JournalClosed;

/// What a program comes to, in words for the model that wrote it; or why it came to nothing.
pub type ProgramTold = Result<String, String>;

/// Runs programs over files of the workspace.
pub trait Programs: Send + Sync {
    /// Runs a program over the files of these paths and patterns.
    fn run<'p>(
        &'p self,
        program: &'p str,
        paths: &'p [String],
    ) -> BoxFuture<'p, Result<ProgramTold, JournalClosed>>;
}
