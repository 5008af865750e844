//! The whole program, tested from outside: a list of modules in reading order.
//!
//! The real binary works in real repositories and asks the fake DeepSeek over real HTTP. What can only be reached from
//! inside is tested inside.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "in a test, a panic is the report"
)]

// A project, a provider, and the program between them.
mod support;

// Requests from beginning to end.
mod dialogue;
mod scenarios;
mod teams;
mod twins;

// One of them in somebody else's code.
mod real_crate;

// What holds in each of them.
mod invariants;

// What goes wrong on the user's side.
mod autopilot;
mod bad_input;
mod checks;
mod fence;
mod hints;
mod hostile;
mod hostile_commands;
mod permissions;
mod projects;
mod sandbox;
mod secrets;

// What goes wrong on the other side of the wire.
mod faults;
mod servers;

// What stops it, and who else is there.
mod interruptions;
mod live;
mod steering;
mod visits;

// What kill -9 leaves behind.
mod crashes;
mod fork;
mod memory;
mod missions;
mod own_tools;
mod prompts;
mod replay;
mod resume;
mod review;
mod routing;
mod team_crashes;
mod tool_calls;
mod verified;
mod wording;

// The way back, and the way into git.
mod commit;
mod rewind;

// What was done before.
mod programs;
mod projections;

// The command line around the requests.
mod commands;
mod completions;
mod lanes;
mod start;

// Documents and sources.
mod circles;
mod docs;
mod schema;
mod tidy;
mod trials;
mod way;
