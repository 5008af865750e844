//! What models, commands and repositories may reach, and what the user is asked.
//! Damage that nobody intends is in `files_and_git`.

mod asked_commands;
mod blocking_files;
pub(crate) mod environment;
mod fence;
mod hostile;
mod hostile_commands;
mod permissions;
pub(crate) mod sandbox;
mod secrets;
