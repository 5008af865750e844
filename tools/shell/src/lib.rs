//! Commands of the project: parses them into words, and runs each in its own process group with limits on output and time.
//!
//! `policy` decides whether a command may run; the Verifier interprets its failure.

mod attended;
mod command;
mod environment;
mod fence;
mod leftovers;
mod run;

pub use attended::{Git, Pager, interactive};
pub use command::{CommandLine, CommandSyntaxError, ScriptStep, ShellScript};
pub use environment::Environment;
pub use fence::{CommandConfinement, confinement};
pub use leftovers::end_leftovers;
pub use run::{Captured, CommandOutcome, Exit, OutputSink, RunOptions, run, run_heard};
