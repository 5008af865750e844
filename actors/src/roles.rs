//! The roles of a crew: one actor per file, in reading order: message, error, handle, actor.
//!
//! What a role knows about checks, plans and answers is pure and does not belong here.

pub mod applier;
pub mod architect;
pub mod editor;
mod role_host;
pub mod verifier;
