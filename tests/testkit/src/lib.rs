//! Support for tests and benchmarks inside the crates: a workspace, a scripted model, and its answers.
//!
//! Only the model and the environment are fake: actors, journal and files are real. End-to-end tests use `tests/support`,
//! which adds processes and an HTTP provider.
#![expect(clippy::unwrap_used, clippy::panic, reason = "in a test, a panic is the report")]

pub mod answers;
mod model;
mod run_record;
mod world;

pub use model::{AnswerSource, ScriptedModel};
pub use run_record::{RunRecord, children_of, ignore};
pub use world::World;
