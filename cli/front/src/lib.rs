//! The parts that all front ends share: drives a session, folds it into a view, formats it as lines and maps its end to an exit
//! code.

pub mod answer;
pub mod command_output;
pub mod context;
pub mod describe;
pub mod diff;
pub mod error;
pub mod exit;
pub mod interrupts;
mod lanes;
pub mod paint;
pub mod run_view;
pub mod session;
