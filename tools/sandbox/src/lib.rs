//! Confines commands: what they see, what they write, which network they reach.
//!
//! A command runs at one of three levels. [`Sandbox::level`] finds out by trial which one this machine allows. The
//! program confines a command by starting itself once more as a helper ([`helper()`]), which restricts itself and then
//! runs the command.

mod ground;
mod orders;
mod report;
mod sandbox;
mod secrets_and_caches;

#[cfg(target_os = "linux")]
mod alone;
#[cfg(target_os = "linux")]
mod attend;
#[cfg(target_os = "linux")]
mod changed;
#[cfg(target_os = "linux")]
mod git_settings;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod remembered;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod walls;

#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(not(target_os = "linux"))]
mod unsupported_scratch;

#[cfg(target_os = "linux")]
pub use alone::shut_in;
pub use ground::{CommandNeeds, ConfinementLevel, Degree, SandboxPlaces};
#[cfg(target_os = "linux")]
pub use helper::helper;
pub use orders::{
    CommandStreams, ConfinementStep, Ended, Failure, Lack, MAX_TOLD, Network, ProcessBounds,
    ShownElsewhere,
};
pub use report::{ReportFile, Reported};
pub use sandbox::{Confined, Ends, Sandbox};
#[cfg(target_os = "linux")]
pub use scratch::ScratchLayers;
pub use secrets_and_caches::{Tree, TreeWrites};
#[cfg(target_os = "linux")]
pub use start::{pass_streams, unconfined};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{helper, pass_streams, shut_in, unconfined};
#[cfg(not(target_os = "linux"))]
pub use unsupported_scratch::ScratchLayers;
