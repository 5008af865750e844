//! What an evaluation records, where, and what follows from the records. Nothing here starts a program.

pub mod compare;
pub mod guard;
pub mod interval;
pub(crate) mod log;
pub(crate) mod place;
pub mod record;
