//! The user's workspace and what is kept for it: who may write to it, its checkpoints, copies and directories. Whether a
//! change is allowed is decided in `gate`.

pub mod checkpoints;
pub(crate) mod copy;
pub mod lock;
pub mod main_tree;
pub(crate) mod main_workspace;
pub mod places;
pub(crate) mod rewind;
pub(crate) mod worktrees;
