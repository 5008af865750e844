//! Small programs that models write, in Python: run in a process of their own, with helpers over texts and nothing else.
//!
//! A program has no files, clock or network. Where it asks a model it pauses: the process ends, and what is left of the program
//! is a state that another process goes on from, whenever the answers are there.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "Python has far more kinds of values than anything takes"
)]

mod arguments;
mod globs;
mod helpers;
mod pieces;
mod task;
mod texts;
mod work;
mod worker;

pub use helpers::TOLD as HELPERS;
pub use pieces::{File, Span};
pub use task::{
    Batch, Begin, Cite, Excerpt, ProgramEnding, ProgramLimits, ProgramOutcome, ProgramQuestion,
    ProgramStep, Task,
};
pub use work::work;
pub use worker::{step, worker};
