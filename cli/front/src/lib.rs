//! A session as every front sees it, whatever it paints with: driven, folded into a view, told in lines, ended with a code.

pub mod answer;
pub mod diff;
pub mod error;
pub mod exit;
pub mod heard;
pub mod interrupts;
mod lanes;
pub mod paint;
pub mod run_view;
pub mod session;
pub mod told;
