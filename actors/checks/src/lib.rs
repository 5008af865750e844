//! What a check is worth: which commands check a project, what their results mean, and whether they prove anything. Pure.
//!
//! Nothing here runs a command, and nothing here knows events or actors.

pub mod baseline;
pub mod complaints;
pub mod derive;
pub mod error_lines;
pub mod failure_class;
pub mod missing_prerequisite;
pub mod outcome;
pub mod project_kinds;
pub mod proof;
pub mod proves_nothing;
#[cfg(test)]
mod samples;
pub mod shown_reason;
pub mod test_counts;
pub mod verified;
pub mod wording;
