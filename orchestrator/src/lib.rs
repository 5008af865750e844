//! The root actor of the program and its exclusive duties: writing to the user's workspace, keeping the journal, ending
//! runs.

pub mod autopilot;
pub mod chat;
pub mod checkpoints;
mod copy;
pub mod earlier;
mod evidence;
pub mod lock;
pub mod main_tree;
pub mod memory;
pub mod orchestrator;
pub mod places;
pub mod replay;
pub mod request;
mod routing;
mod supervision;
mod turn;
mod undo;
mod worktrees;
