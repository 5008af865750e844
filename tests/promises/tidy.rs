//! Rules for the source that the compiler does not check. Rules for the documents are beside this folder.

mod effects;
pub(crate) mod exceptions;
mod layout;
mod prompt_text;
pub(crate) mod sources;
mod type_names;
