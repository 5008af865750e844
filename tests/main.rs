//! End-to-end tests of the whole program. The folders are listed in reading order.
//!
//! The real binary works in real repositories and calls the fake DeepSeek over real HTTP. Behaviour that can only be
//! reached from inside is tested in its own crate.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "in a test, a panic is the report"
)]

// Projects, a fake provider, and the program under test.
mod support;

// Requests and their models.
mod mcp;
mod model;
mod requests;

// Work that is divided.
mod lanes;
mod missions;

// What checks conclude, what may be reached, and what is left on disk.
mod checking;
mod confinement;
mod files_and_git;

// Judging builds and models.
mod evaluation;

// Interruptions and the past.
mod sessions;

// The program as its users meet it.
mod command_line;

// Documentation and source code.
mod promises;
