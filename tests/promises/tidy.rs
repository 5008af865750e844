//! Rules for the source that the compiler does not check. Rules for the documents are beside this folder.

mod effects;
mod layout;
mod offenders;
mod prompt_text;
pub(crate) mod sources;
mod type_names;
