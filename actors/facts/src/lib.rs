//! What happened, as it is recorded and shown: events, the values in them, and the grammars of the answers that they hold.
//!
//! Nothing here does anything, or knows an actor, a journal or a screen.

pub mod amounts;
pub mod answered;
pub mod autopilot;
pub mod breach;
pub mod closed;
pub mod delivery;
pub mod event;
pub mod fate;
pub mod grammar;
pub mod lane_id;
pub mod model_choice;
pub mod scope;
pub mod seen;
pub mod signal;
pub mod submission;
pub mod team;
pub mod upgrade_v1;
pub mod words;
pub mod write_failure;
