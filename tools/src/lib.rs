//! What every tool stands on: the clock and ids, threads for what blocks, regular files, redaction, places to fail.
//!
//! The tools themselves are the crates beside it: this floor acts on the world or decides about it, one tool a crate, and
//! knows nothing of roles, runs or sessions.

pub mod blocking;
pub mod clock;
pub mod fault;
pub mod ids;
pub mod redact;
pub mod regular;
pub mod relocate;
