//! Missions: research by many short questions to a model, a card to approve, and the permissions that its approval grants.
//!
//! Decisions are pure; questions to models are effects of the run. Nothing here writes to the workspace.

pub mod card;
pub mod card_text;
pub mod cards;
pub mod changes;
pub mod children;
pub mod compared;
pub mod execution;
pub mod finding;
pub mod gate;
pub mod grant;
mod lead;
pub mod passage;
pub mod plan;
pub mod planning;
mod program;
pub mod research;
mod researcher;
pub mod rlm;
pub mod sampling;
pub mod sources;
