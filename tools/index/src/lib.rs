//! Which files and lines of a tree a request is about.
//!
//! Everything here blocks and belongs on a blocking thread. Nothing here writes into a tree, and nothing asks a model.

mod definitions;
mod document;
mod grammar;
mod manifest;
mod patterns;
mod postings;
mod stem;
mod store;
mod words;

pub use definitions::{Definition, definitions};
pub use document::Document;
