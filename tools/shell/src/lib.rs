//! Commands of the project: parses them into words, and runs each in its own process group with limits on output and time.
//! Also long-lived programs that serve this one.
//!
//! `policy` decides whether a command may run; the Verifier interprets its failure.

mod attended;
mod captured;
mod command;
mod environment;
mod fence;
mod group;
mod leftovers;
mod run;
mod service;

pub use attended::{Git, Pager, interactive};
pub use captured::Captured;
pub use command::{CommandLine, CommandSyntaxError, ScriptStep, ShellScript};
pub use environment::Environment;
pub use fence::{CommandConfinement, confinement};
pub use group::Exit;
pub use leftovers::end_leftovers;
pub use run::{CommandOutcome, OutputSink, RunOptions, run, run_heard};
pub use service::{Service, ServiceEnd, ServiceOptions, start_service, start_service_elsewhere};
