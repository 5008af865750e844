//! What a look found where the workspace's files do not say it: in commands, tools, programs, and answers of the user.

use checks::verified::Missing;

/// The result of a look that is not answered from files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LookResult {
    /// A command ran.
    Ran {
        /// Its exit status.
        exit: String,
        /// Its output.
        output: String,
        /// A prerequisite outside the code for want of which it failed, if one was recognized.
        missing: Option<Missing>,
        /// True if it did not succeed.
        failed: bool,
    },
    /// An answer in words.
    Told(String),
    /// There is nothing to see, for this reason.
    Nothing(String),
}
