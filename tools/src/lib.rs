//! The outside world: the model, patches, the tree, commands, search.
//!
//! This floor acts on the world or decides about it, one tool a room. It knows nothing of roles, runs or sessions.

pub mod blocking;
pub mod clock;
pub mod fault;
pub mod model;
pub mod patch;
pub mod redact;
pub mod regular;
mod relocate;
pub mod search;
pub mod shell;
pub mod tree;
