//! The root actor of the program and its exclusive duties: writing to the user's workspace, keeping the journal, ending
//! runs.

pub mod autopilot;
mod gate;
mod mission;
pub mod request;
pub mod root;
pub mod session;
pub mod workspace;
