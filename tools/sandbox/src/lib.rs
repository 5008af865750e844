//! Confines commands: what they see, what they write, whom they reach.
//!
//! A command runs at one of three levels, of which [`Sandbox::level`] finds out by trying which this machine allows. The walls
//! are put up by the program itself, started once more as a helper ([`helper()`]), which then runs the command behind them.

mod orders;
mod sandbox;
mod survey;

#[cfg(target_os = "linux")]
mod alone;
#[cfg(target_os = "linux")]
mod attend;
#[cfg(target_os = "linux")]
mod changed;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod walls;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

#[cfg(target_os = "linux")]
pub use alone::shut_in;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{helper, shut_in};
#[cfg(target_os = "linux")]
pub use helper::helper;
pub use orders::{Ended, Failure, Lack, Network, ProcessBounds, Step};
pub use sandbox::{
    Confined, Confining, Degree, Ends, ReportFile, Reported, Sandbox, SandboxPlaces, Wanted,
};
pub use survey::{Tree, Writes};
