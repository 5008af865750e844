//! The interface for running programs that models write; it is implemented in a higher layer, which asks the child
//! questions.

use facts::closed::JournalClosed;
use futures_util::future::BoxFuture;

/// The result of a program in words for the model that wrote it, or why there is none.
pub type ProgramTold = Result<String, String>;

/// Runs model-written programs over files of the workspace.
pub trait Programs: Send + Sync {
    /// Runs a program over the files that match these paths and patterns.
    fn run<'p>(
        &'p self,
        program: &'p str,
        paths: &'p [String],
    ) -> BoxFuture<'p, Result<ProgramTold, JournalClosed>>;
}
