//! Missions: research by many short questions to a model, a card to approve, and the permissions that its approval grants.
//!
//! Decisions are pure; questions to models are effects of the run. Nothing here writes to the workspace.

pub mod card;
pub mod children;
pub mod execution;
mod program;
pub mod research;
pub mod rlm;
