//! What tests and benchmarks inside the program stand on: one world, one scripted model, and the answers that it gives.
//!
//! Only the world is fake: actors, journal and files are the real ones. Tests of the whole program have processes and a provider
//! besides, in `tests/support`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "in a test, a panic is the report")]

pub mod answers;
mod model;
mod told;
mod world;

pub use model::{Says, Scripted};
pub use told::{Heard, hired, ignore};
pub use world::World;
