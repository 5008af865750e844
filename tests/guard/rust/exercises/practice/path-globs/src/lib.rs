//! Globs for relative paths, and rules that tell which paths to ignore.

mod matcher;
mod pattern;
mod rules;

pub use pattern::{Glob, GlobError};
pub use rules::Rules;
