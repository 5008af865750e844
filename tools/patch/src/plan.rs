//! A complete set of changes, or none. What makes up a change is decided in the other folders.

pub(crate) mod merge;
pub(crate) mod planner;
pub(crate) mod prepare;
pub(crate) mod texts;
pub(crate) mod tolerance;
