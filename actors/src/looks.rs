//! What a model may see before it answers: files, definitions, changes, the output of commands and of tools.
//!
//! How it asks for them is a grammar, and does not belong here.

pub mod git_change;
pub mod instructions;
pub mod look_effect;
pub(crate) mod look_or_answer;
pub(crate) mod look_result;
pub mod own_tools;
pub mod programs;
pub mod server_tools;
pub(crate) mod shares;
pub mod shown_lines;
pub(crate) mod tool_call;
pub(crate) mod trial;
