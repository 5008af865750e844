//! Judges builds, models and settings on cases with hidden tests: past commits of the user's own repository, or exercises.
//!
//! Each request is carried out by another process of the program, in a scratch repository. Nothing here talks to a model.

pub mod answers;
mod attempt;
mod budget;
mod case_work;
mod commits;
pub mod compare;
mod draw;
mod eval_error;
mod evaluate;
mod exercises;
mod ground;
pub mod guard;
mod hidden;
pub mod interval;
mod later;
mod log;
mod place;
mod process;
pub mod record;
mod scratch;
mod trial;
mod workshop;

pub use draw::DrawOptions;
pub use eval_error::EvalError;
pub use evaluate::{EvalEvent, EvalSetup, EvalSink, Evaluation, RunLimits, ScratchPrograms};
pub use exercises::ExerciseOptions;
pub use place::{EvalPlace, list_evaluations};
