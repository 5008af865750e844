//! Commands of the project: read into words, run in their own process group, drained, capped and timed.
//!
//! Whether a command may run is decided in `policy`; what its failure means, by the Verifier.

mod attended;
mod command;
mod environment;
mod fence;
mod leftovers;
mod run;

pub use attended::{Git, Pager, interactive};
pub use command::{CommandLine, CommandSyntaxError};
pub use environment::Environment;
pub use fence::{Fence, confinement};
pub use leftovers::end_leftovers;
pub use run::{Captured, CommandOutcome, Exit, Hears, RunOptions, run, run_heard};
