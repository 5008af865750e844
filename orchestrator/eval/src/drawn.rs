//! Where cases come from: the history of a repository, or a directory of exercises. Nothing here runs a test.

pub(crate) mod commits;
pub(crate) mod draw;
pub(crate) mod exercises;
