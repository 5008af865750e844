//! Runs small Python programs that models write, each in a separate process, with helpers over texts and nothing else.
//!
//! A program has no files, clock or network. When it asks a model, it pauses: the process ends, and the program is
//! saved as a state from which another process continues once the answers are available.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "no code here handles all of Python's many types"
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
pub use pieces::{File, SourceLines};
pub use task::{
    Batch, Begin, Cite, Excerpt, ProgramEnding, ProgramLimits, ProgramOutcome, ProgramQuestion,
    ProgramStep, Task,
};
pub use work::work;
pub use worker::{step, worker};
