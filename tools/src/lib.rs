//! What every tool builds on: clock and ids, threads for blocking work, regular files and their encodings, redaction, fault
//! points, counts with their noun, the words of names, text without what is too long or what only a terminal shows, this program
//! as a worker.
//!
//! The tools themselves are the crates next to this one. This layer acts on the world or decides about it, one tool per
//! crate, and knows nothing about roles, runs or sessions.

pub mod blocking;
pub mod clock;
pub mod count;
pub mod encoding;
pub mod fault;
pub mod ids;
pub mod long_lines;
pub mod plain;
pub mod redact;
pub mod regular;
pub mod relocate;
pub mod words;
pub mod worker_process;
