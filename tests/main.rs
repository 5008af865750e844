//! End-to-end tests of the whole program. The modules are listed in reading order.
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

// Test support: projects, a fake provider, and the program under test.
mod support;

// Whole requests, start to finish.
mod dialogue;
mod scenarios;
mod teams;
mod turns;
mod twins;

// A request in the source of a real crate.
mod real_crate;

// Properties that hold for every request.
mod instructions;
mod invariants;

// Problems on the user's side.
mod autopilot;
mod bad_input;
mod builds;
mod checks;
mod deep_trees;
mod derived;
mod ends;
mod environment;
mod fence;
mod files;
mod full_disk;
mod hands;
mod hints;
mod hostile;
mod hostile_commands;
mod permissions;
mod projects;
mod sandbox;
mod secrets;

// Problems on the provider's side.
mod faults;
mod servers;

// Interruptions, concurrent processes and live sessions.
mod interruptions;
mod live;
mod steering;
mod visits;

// Recovery after kill -9, and resume and replay.
mod cards;
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
mod verdicts;
mod verification;
mod verified;
mod wording;

// Undoing changes, and committing them to git.
mod commit;
mod moved;
mod rewind;
mod their_git;
mod their_review;

// The record of past work.
mod programs;
mod projections;

// The rest of the command line.
mod commands;
mod completions;
mod lanes;
mod start;

// Documentation and source code.
mod circles;
mod docs;
mod schema;
mod tidy;
mod trials;
mod way;
