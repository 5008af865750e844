//! What users type and see: commands, completion, and the conversation at a terminal.
//! What a request does with the input is in `requests`.

mod bad_input;
mod commands;
mod completions;
mod hands;
pub(crate) mod live;
mod start;
pub(crate) mod visits;
