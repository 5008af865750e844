//! Judges builds, models and settings on cases with hidden tests: past commits of the user's own repository, or exercises.
//!
//! Each request is carried out by another process of the program, in a scratch repository. Nothing here talks to a model.

pub mod answers;
mod attempt;
mod budget;
mod case_work;
mod drawn;
mod eval_error;
mod evaluate;
mod events;
pub mod results;
mod scratch;
mod setup;

pub use drawn::draw::DrawOptions;
pub use drawn::exercises::ExerciseOptions;
pub use eval_error::EvalError;
pub use evaluate::Evaluation;
pub use events::{EvalEvent, EvalSink};
pub use results::place::{EvalPlace, list_evaluations};
pub use setup::{EvalSetup, RunLimits, ScratchPrograms};
